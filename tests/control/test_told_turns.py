"""A turn in words: as lines of the log, and as a turn of a simulated run."""

from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from reconciler.control.live.turn_lines import NewLines, result_lines
from reconciler.control.log import LogLevel
from reconciler.control.simulated_run import Turn
from reconciler.control.simulated_run_document import run_document, run_turn
from reconciler.control.turn.turn_report import ActionResult, LoopReport, ResultState
from reconciler.plan.plan import Action, ActionKind, Bound, Plan
from reconciler.plan.reason import Reason
from reconciler.plan.replay import RunTotals
from reconciler.providers.contract import RemovalProgress, RemovalState
from reconciler.rendering.documents.simulated_run import BrokenRule
from reconciler.simulation.embedded.journal import Event, Happened
from reconciler.simulation.embedded.rules import Violation
from tests.builders import machine_deployment

NOW = 1_800_000_000
TARGET = machine_deployment("a")


def _result(
    state: ResultState, code: str = "", message: str = "", *, kind: ActionKind = ActionKind.RESIZE, nodes: tuple[str, ...] = ()
) -> ActionResult:
    action = Action(
        kind=kind, group="a", target=str(TARGET), from_=2, to=3, nodes=nodes,
        bound=Bound(resource_version="1", replicas=2, owner_digest="", policy_digest=""), reason=Reason("Why", "pods wait"),
    )  # fmt: skip
    return ActionResult(action=action, state=state, code=code, message=message)


def _removal(node: str, state: RemovalState, message: str = "", code: str = "") -> RemovalProgress:
    return RemovalProgress(target=TARGET, node=node, state=state, message=message, code=code)


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (_result(ResultState.DONE), (LogLevel.INFO, "Resize", "pods wait")),
        (_result(ResultState.DONE, "Held"), (LogLevel.INFO, "Resize", "pods wait")),
        (_result(ResultState.REFUSED, "NotFound", "gone"), (LogLevel.WARNING, "ResizeRefused", "gone. Retry in 10 s")),
        (_result(ResultState.SKIPPED, "Stale", "moved"), (LogLevel.INFO, "ResizeSkipped", "moved")),
        *((_result(ResultState.SKIPPED, code), None) for code in ("Observe", "Held", "Deferred", "BurstArriving")),
    ],
)
def test_an_action_is_a_line_unless_the_plan_has_said_it(result: ActionResult, told: tuple[LogLevel, str, str] | None) -> None:
    """Done and refused always; what was not tried because the plan says so never."""
    lines = list(result_lines(LoopReport(at_seconds=NOW, results=(result,))))
    assert [(line.level, line.code, line.message) for line in lines] == ([] if told is None else [told])
    if told is not None:
        (line,) = lines
        assert (line.fields["fromReplicas"], line.fields["toReplicas"], line.fields["reason"]) == (2, 3, "Why")


@pytest.mark.parametrize(
    ("removal", "told"),
    [
        (
            _removal("n1", RemovalState.FINISHED),
            (LogLevel.INFO, "RemovalFinished", f"the machine of n1 is being deleted, and {TARGET} does not count it any more"),
        ),
        (
            _removal("n1", RemovalState.FAILED, "a pod came", "Unavailable"),
            (LogLevel.WARNING, "RemovalFailed", "a pod came. The node takes pods again. Retry in 10 s"),
        ),
        (_removal("n1", RemovalState.DRAINING, "waits"), None),
    ],
)
def test_a_removal_is_a_line_when_it_ends(removal: RemovalProgress, told: tuple[LogLevel, str, str] | None) -> None:
    lines = list(result_lines(LoopReport(at_seconds=NOW, removals=(removal,))))
    assert [(line.level, line.code, line.message) for line in lines] == ([] if told is None else [told])


def test_what_a_line_says_of_a_removal() -> None:
    """Target, nodes and code, as fields; one that ended where the view has no machine has no target."""
    ended = _removal("n1", RemovalState.FAILED, "a pod came", "Blocked")
    nowhere = RemovalProgress(target=None, node="n2", state=RemovalState.FAILED, code="NotFound", message="no machine")
    lines = list(result_lines(LoopReport(at_seconds=NOW, removals=(ended, nowhere))))
    assert [line.fields for line in lines] == [
        {"target": str(TARGET), "nodes": ("n1",), "resultCode": "Blocked"},
        {"target": "", "nodes": ("n2",), "resultCode": "NotFound"},
    ]


def test_nodes_that_leave_for_different_reasons_are_told_by_an_example() -> None:
    """One line for both, whose words are not alike; from the largest size to the smallest."""
    first, second = (
        _result(ResultState.DONE, message=text, kind=ActionKind.REMOVE_NODE, nodes=(node,))
        for node, text in (("n1", "n1 was cordoned"), ("n2", "the budget allowed it"))
    )
    second = msgspec.structs.replace(second, action=msgspec.structs.replace(second.action, from_=1, to=0))
    (line,) = result_lines(LoopReport(at_seconds=NOW, results=(first, second)))
    assert line.message == "2 nodes: for example n1 was cordoned"
    assert (line.fields["fromReplicas"], line.fields["toReplicas"], line.fields["nodes"]) == (2, 0, ("n1", "n2"))


@pytest.mark.parametrize(
    ("states", "changed"),
    [((), False), ((ResultState.SKIPPED,), False), ((ResultState.SKIPPED, ResultState.DONE), True), ((ResultState.DONE,), True)],
)
def test_whether_a_turn_did_anything(states: tuple[ResultState, ...], changed: bool) -> None:
    """One write that was accepted is enough."""
    assert LoopReport(at_seconds=NOW, results=tuple(map(_result, states))).changed is changed


def _turn(report: LoopReport, *events: Event, broken: tuple[Violation, ...] = ()) -> Turn:
    return Turn(at_seconds=NOW + 60, report=report, events=events, violations=broken)


def test_a_turn_in_which_nothing_was_done_is_not_printed() -> None:
    """Nor one before which only what nobody asked about happened."""
    quiet = LoopReport(at_seconds=NOW, plan=Plan(now="", mode="Enforce", summary="No changes."))
    evicted = Event(at_seconds=NOW, kind=Happened.POD_BOUND, object="shop/web")
    assert run_turn(_turn(quiet), NOW) is None
    assert run_turn(_turn(quiet, evicted), NOW) is None


@pytest.mark.parametrize(
    ("kind", "field", "text"),
    [
        (Happened.SCENARIO, "told", "why"),
        (Happened.DEMAND_CHANGED, "told", "why"),
        (Happened.MACHINE_FAILED, "told", "machine x failed: why"),
        (Happened.REMOVAL_FAILED, "told", "the removal of node x was given up: why"),
        (Happened.WRITE_REFUSED, "told", "a write to x was refused: why"),
        (Happened.NODE_JOINED, "joined", "x"),
        (Happened.NODE_GONE, "gone", "x"),
    ],
)
def test_what_happened_before_a_turn(kind: Happened, field: str, text: str) -> None:
    """Each kind in its own words."""
    turn = run_turn(_turn(LoopReport(at_seconds=NOW), Event(at_seconds=NOW, kind=kind, object="x", detail="why")), NOW)
    assert turn is not None
    told = {"told": turn.told, "joined": turn.joined, "gone": turn.gone}
    assert told == {"told": (), "joined": (), "gone": (), field: (text,)}
    assert (turn.at, turn.at_seconds, turn.summary) == ("2027-01-15T08:01:00Z", 60, "")


def test_a_turn_with_results_or_broken_rules() -> None:
    """Actions with their ends, why nothing was decided, and each rule that was broken."""
    plan = Plan(now="", mode="Enforce", summary="Plan: 1 group up.")
    turn = run_turn(_turn(LoopReport(at_seconds=NOW, plan=plan, results=(_result(ResultState.DONE, message="written"),))), NOW)
    assert turn is not None
    (action,) = turn.actions
    assert (action.kind, action.from_, action.to, action.state, action.message) == ("Resize", 2, 3, "Done", "pods wait")
    assert (action.explanation, turn.summary) == ("written", "Plan: 1 group up.")
    blind = run_turn(_turn(LoopReport(at_seconds=NOW, unavailable="no view")), NOW)
    assert blind is not None
    assert blind.unavailable == "no view"
    broken = Violation(at_seconds=NOW, rule="PDB", object="shop/web", message="two at once")
    found = run_turn(_turn(LoopReport(at_seconds=NOW), broken=(broken,)), NOW)
    assert found is not None
    assert found.violations == ("PDB shop/web: two at once",)


def test_what_a_run_says_at_its_end() -> None:
    """Actions that were done, totals, each broken rule with the time since the start, and what was expected in vain."""
    totals = {
        "seconds": 600, "pods_placed": 3, "pods_never_placed": 2, "wait_p50_seconds": 1, "wait_p95_seconds": 2,
        "wait_max_seconds": 4, "pods_pending": 5, "node_seconds": 6, "cost": "0.10", "currency": "USD", "unpriced": ("a",),
        "evictions": 7, "nodes_joined": 8, "nodes_removed": 9, "machines_failed": 10, "writes_refused": 11,
    }  # fmt: skip
    broken = Violation(at_seconds=NOW + 90, rule="PDB", object="shop/web", message="two at once")
    run: Any = SimpleNamespace(
        start_seconds=NOW, summary=lambda: RunTotals(**totals), rules=SimpleNamespace(violations=[broken]),
        unmet=lambda: ("1 pod is pending",),
    )  # fmt: skip
    results = (_result(ResultState.DONE), _result(ResultState.REFUSED), _result(ResultState.DONE))
    turn = run_turn(_turn(LoopReport(at_seconds=NOW, results=results)), NOW)
    assert turn is not None
    document = run_document(run, "short", [turn, turn], 12)
    assert (document.scenario, document.turns, document.decisions, document.actions) == ("short", (turn, turn), 12, 4)
    assert msgspec.structs.asdict(document.summary) == totals
    assert document.violations == (
        BrokenRule(at="2027-01-15T08:01:30Z", at_seconds=90, rule="PDB", object="shop/web", message="two at once"),
    )
    assert document.unmet == ("1 pod is pending",)


def test_a_target_that_does_not_answer_is_told_once() -> None:
    """One line a change, whatever the seconds in its message; what was done is told every time."""
    lines = NewLines()

    def told(result: ActionResult) -> int:
        return len(lines.of(tuple(result_lines(LoopReport(at_seconds=NOW, results=(result,))))))

    waits = [_result(ResultState.FAILED, "Unavailable", f"asked again in {left} s") for left in (9, 8, 7)]
    assert [told(one) for one in waits] == [1, 0, 0]
    assert [told(one) for one in (_result(ResultState.DONE), _result(ResultState.DONE), waits[0])] == [1, 1, 1]


def test_targets_that_wait_for_one_cause_are_one_line() -> None:
    """Whatever their names; one that waits for something else, or joins for the same, is judged by its cause."""
    lines = NewLines()

    def waits(name: str, why: str) -> ActionResult:
        result = _result(ResultState.REFUSED, "Unavailable", f"{name}: {why}")
        return msgspec.structs.replace(result, action=msgspec.structs.replace(result.action, group=name, target=name))

    def told(*results: ActionResult) -> list[tuple[str, object]]:
        found = lines.of(tuple(result_lines(LoopReport(at_seconds=NOW, results=results))))
        return [(line.message, line.fields.get("targets")) for line in found]

    first, second, third = (waits(name, f"throttled; asked again in {left} s") for name, left in (("a", 5), ("b", 4), ("c", 3)))
    assert told(first, second) == [("2 targets wait, for example: a: throttled; asked again in 5 s", ("a", "b"))]
    assert told(second, third) == []
    other = waits("d", "no route to host")
    assert told(first, other) == [("d: no route to host", None)]
