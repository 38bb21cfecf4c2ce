"""When a live process turns, and what it says: one look at a time, with loop, view and lease made up."""

import gc
import io
import json
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import msgspec
import pytest

from reconciler.control.live.live_run import LiveRun
from reconciler.control.live.wake import Wake
from reconciler.control.log import Log
from reconciler.control.turn.figures import Figures
from reconciler.control.turn.turn_report import ActionResult, Decided, LoopReport, ResultState
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.kube.leading.lease import NotLeaderError
from reconciler.plan.plan import Action, ActionKind, Bound, Plan
from reconciler.plan.reason import Reason
from reconciler.policy.documents import ScaleDown
from tests.builders import ClusterBuilder, node_group, policy

PLAN = Plan(now="2026-11-21T12:00:00Z", mode="Enforce", summary="No changes.")
RESIZE = Action(
    kind=ActionKind.RESIZE, group="general", target="MachineDeployment prod/general", from_=1, to=3,
    bound=Bound(resource_version="1", replicas=1, owner_digest="", policy_digest=""),
    reason=Reason(code="PendingPods", message="2 pending pods on 2 new nodes"),
)  # fmt: skip


class Stage:
    """A run whose world the test sets."""

    def __init__(self) -> None:
        self.leading, self.missing = 1, ""
        self.within: list[int] = []
        self.turn: Callable[[], LoopReport] = lambda: LoopReport(at_seconds=1000, plan=PLAN)
        self.turns = self.begun = 0
        self.told: list[LoopReport] = []
        self.figures = Figures()
        self.stream = io.StringIO()
        self.wake = Wake(lambda: 0.0)
        self.clock = self.took = 0.0
        self.wall = 1000.0

        class View:
            def doubts(self) -> tuple[str, ...]:
                return ()

            def age_seconds(self) -> float:
                return 0.5

        class Loop:
            def turn(inner) -> LoopReport:  # noqa: N805 - the stage is self
                self.turns += 1
                self.clock += self.took
                return self.turn()

        self.run = LiveRun(
            Loop(), View(), self.wake, self.figures, Log(self.stream, lambda: 1000), term=lambda: self.leading,
            within=self._within, policy_missing=lambda: self.missing, monotonic=lambda: self.clock,
            wall_seconds=lambda: self.wall, leader=lambda: "pod-7 leads", began=self._began, after_turn=self.told.append,
        )  # fmt: skip

    def _within(self, term: int) -> AbstractContextManager[None]:
        self.within.append(term)
        return nullcontext()

    def _began(self) -> None:
        self.begun += 1

    def codes(self) -> list[str]:
        """Codes of the lines since the last call."""
        lines = [json.loads(line) for line in self.stream.getvalue().splitlines()]
        self.stream.truncate(0)
        self.stream.seek(0)
        return [line["code"] for line in lines]


def _said(stage: Stage) -> list[tuple[str, str, str]]:
    """Level, code and message of each line."""
    lines = [json.loads(line) for line in stage.stream.getvalue().splitlines()]
    return [(line["level"], line["code"], line["message"]) for line in lines]


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_one_that_stands_by_does_not_turn(stage: Stage) -> None:
    """It says once who leads; when it leads it begins anew, says so and turns."""
    stage.leading = 0
    stage.run.look()
    stage.run.look()
    assert (stage.turns, stage.begun, stage.codes(), stage.figures.seen().leader) == (0, 0, ["StandingBy"], False)
    stage.leading = 1
    stage.run.look()
    assert (stage.turns, stage.begun, stage.codes(), stage.figures.seen().leader) == (1, 1, ["Leading", "Plan"], True)


def test_one_that_led_again_between_two_looks_begins_anew(stage: Stage) -> None:
    """Lost and regained while nobody looked: another one may have led, so that what was known is forgotten."""
    stage.run.look()
    stage.leading = 2
    stage.run.look()
    stage.run.look()
    assert (stage.turns, stage.begun, stage.within) == (3, 2, [1, 2, 2])
    assert stage.codes() == ["Leading", "Plan", "Leading"]


def test_what_is_said_of_who_leads_and_what_is_decided(stage: Stage) -> None:
    """In words: who leads instead, that this one does or does again, the plan, and that there is a view and a policy again."""
    stage.leading = 0
    stage.run.look()
    stage.leading, stage.missing = 1, "not read yet"
    stage.run.look()
    stage.missing = ""
    stage.run.look()
    stage.leading = 2
    stage.run.look()
    stage.turn = lambda: LoopReport(at_seconds=1000, plan=None, unavailable="no view")
    stage.run.look()
    assert _said(stage) == [
        ("info", "StandingBy", "pod-7 leads"),
        ("info", "Leading", "this instance leads"),
        ("warning", "NoPolicy", "nothing is decided: not read yet"),
        ("info", "Available", "there is a view to trust and a policy again"),
        ("info", "Plan", "No changes."),
        ("info", "Leading", "this instance leads again, and starts over: another one may have led"),
        ("warning", "Unavailable", "nothing is decided: no view"),
    ]


def test_the_soonest_of_what_is_due(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A burst that ends comes before the next step of a removal."""
    found: list[float] = []
    monkeypatch.setattr(stage.wake, "again", found.append)
    results = (
        _result(ActionKind.REMOVE_NODE, ResultState.DONE),
        _result(ActionKind.RESIZE, ResultState.SKIPPED, "BurstArriving"),
    )
    stage.turn = lambda: LoopReport(at_seconds=1000, plan=PLAN, results=results)
    stage.run.look()
    assert found == [0.5]


def test_without_a_policy_nothing_is_decided(stage: Stage) -> None:
    """Said once."""
    stage.missing = "policies was not read yet"
    stage.run.look()
    stage.run.look()
    assert (stage.turns, stage.codes()) == (0, ["Leading", "NoPolicy"])
    seen = stage.figures.seen()
    # It lives, so that no probe ends it, and is not ready.
    assert (seen.turned_seconds, seen.unavailable) == (1000, "there is no policy: policies was not read yet")
    assert seen.turn_seconds_sum == 0


def test_a_turn_like_the_one_before_is_no_news(stage: Stage) -> None:
    """The plan is said when its summary or its actions change, whatever its ages."""
    stage.run.look()
    assert stage.codes() == ["Leading", "Plan"]
    stage.turn = lambda: LoopReport(at_seconds=1010, plan=Plan(now="2026-11-21T12:00:10Z", mode="Enforce", summary="No changes."))
    stage.run.look()
    assert (stage.codes(), len(stage.told)) == ([], 2)


def test_pods_that_are_being_bound_are_no_news(stage: Stage) -> None:
    """Each turn sees fewer of a burst; pods that cannot be placed are news whenever their number changes."""
    for text in (
        "No changes, 90 pods fit existing or upcoming nodes.",
        "No changes, 15 pods fit existing or upcoming nodes.",
        "No changes, 1 pod fits existing or upcoming nodes.",
        "No changes, 2 pods cannot be placed, 1 pod fits existing or upcoming nodes.",
        "No changes, 1 pod cannot be placed, 1 pod fits existing or upcoming nodes.",
        "No changes.",
        "No changes, 3 pods fit existing or upcoming nodes.",
    ):
        plan = Plan(now="2026-11-21T12:00:10Z", mode="Enforce", summary=text)
        stage.turn = lambda plan=plan: LoopReport(at_seconds=1010, plan=plan)
        stage.run.look()
    said = [message for _, code, message in _said(stage) if code == "Plan"]
    assert [text.removeprefix("No changes").partition(" fit")[0] for text in said] == [
        ", 90 pods", ", 2 pods cannot be placed, 1 pod", ", 1 pod cannot be placed, 1 pod", ".", ", 3 pods",
    ]  # fmt: skip


def test_what_was_done_is_said_and_what_is_only_put_off_is_not(stage: Stage) -> None:
    """Done, refused: a line each. Observed, held, deferred: the plan has said it."""
    results = [
        ActionResult(action=RESIZE, state=ResultState.DONE),
        ActionResult(action=RESIZE, state=ResultState.REFUSED, code="Conflict", message="conflict with kubectl"),
        *(ActionResult(action=RESIZE, state=ResultState.SKIPPED, code=code) for code in ("Observe", "Held", "Deferred")),
    ]
    stage.turn = lambda: LoopReport(at_seconds=1000, plan=PLAN, results=tuple(results))
    stage.run.look()
    assert stage.codes() == ["Leading", "Plan", "Resize", "ResizeRefused"]


def test_a_lost_lease_ends_the_turn(stage: Stage) -> None:
    """What the guard raises is said; nothing is told to the cluster, which is another instance's now."""

    def turn() -> LoopReport:
        raise NotLeaderError("the lease was renewed 11 s ago")

    stage.turn = turn
    assert stage.run.look() is None
    assert (stage.codes(), stage.told) == (["Leading", "LostLease"], [])


def test_a_defect_does_not_end_the_loop(stage: Stage) -> None:
    """It is said, readiness sees it, and the next turn is made; when that one goes well, that is said too."""

    def turn() -> LoopReport:
        raise KeyError("n7")

    stage.turn = turn
    stage.run.look()
    assert stage.codes() == ["Leading", "TurnFailed"]
    assert stage.figures.seen().unavailable == "KeyError: 'n7'"
    stage.turn = lambda: LoopReport(at_seconds=1010, plan=PLAN)
    stage.run.look()
    assert (stage.codes(), stage.figures.seen().unavailable) == (["Available", "Plan"], "")


def test_how_long_turns_took(stage: Stage) -> None:
    """Those that ended by a defect, too."""
    stage.clock, stage.took = 1000.0, 2.5
    stage.run.look()
    stage.turn = lambda: 1 // 0  # type: ignore[assignment, return-value]
    stage.run.look()
    assert stage.figures.seen().turn_seconds_sum == 5


def test_the_first_view_is_set_aside_once(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the first turn that decided: its objects stay, and no collection walks them again."""
    done: list[str] = []
    monkeypatch.setattr(gc, "collect", lambda: done.append("collect"))
    monkeypatch.setattr(gc, "freeze", lambda: done.append("freeze"))
    decides = stage.turn
    stage.turn = lambda: LoopReport(at_seconds=1000, unavailable="no view")
    stage.run.look()
    assert done == []
    stage.turn = decides
    for _ in range(3):
        stage.run.look()
    assert done == ["collect", "freeze"]


def test_no_turn_begins_after_the_stop(stage: Stage) -> None:
    """The loop may have been woken just before."""
    stage.wake.stop()
    assert stage.run.look() is None
    assert stage.turns == 0


def _result(kind: ActionKind, state: ResultState, code: str = "") -> ActionResult:
    return ActionResult(action=msgspec.structs.replace(RESIZE, kind=kind), state=state, code=code)


@pytest.mark.parametrize(
    ("result", "asked"),
    [
        (_result(ActionKind.RESIZE, ResultState.SKIPPED, "BurstArriving"), [0.76]),
        (_result(ActionKind.ADOPT, ResultState.DONE), [0.25]),
        (_result(ActionKind.ADOPT, ResultState.REFUSED, "Stale"), []),
        (_result(ActionKind.REMOVE_NODE, ResultState.DONE), [0.5]),
        (_result(ActionKind.REMOVE_NODE, ResultState.REFUSED, "Stale"), []),
        (_result(ActionKind.RESIZE, ResultState.DONE), []),
    ],
)
def test_what_nobody_tells_of_is_looked_at_soon(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, result: ActionResult, asked: list[float]
) -> None:
    """A burst that ends, counted in whole seconds, a removal that has begun, a group that was taken over."""
    found: list[float] = []
    stage.wall = 1000.25
    monkeypatch.setattr(stage.wake, "again", found.append)
    stage.turn = lambda: LoopReport(at_seconds=1000, plan=PLAN, results=(result,))
    stage.run.look()
    assert found == pytest.approx(asked)


def test_a_timer_that_runs_out_is_looked_at_then(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A node may go 30 s after the second of the decision, of which a part has passed: the turn that lets it go waits neither for
    the period nor for a whole second more."""
    found: list[float] = []
    monkeypatch.setattr(stage.wake, "again", found.append)
    rules = policy(node_group("general", scale_down=ScaleDown(unneeded_time_seconds=30)))
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    plan, memory = decide(cluster.world(), rules, Memory(), 1000)
    decided = Decided(world=cluster.world(), policy=rules, memory=memory, now_seconds=1000)
    stage.turn = lambda: LoopReport(at_seconds=1000, plan=plan, decided=decided)
    stage.wall = 1000.75
    stage.run.look()
    assert found == [29.25]


def test_a_timer_that_has_run_out_since_is_looked_at_now(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The turn took longer than the timer."""
    found: list[float] = []
    monkeypatch.setattr(stage.wake, "again", found.append)
    rules = policy(node_group("general", scale_down=ScaleDown(unneeded_time_seconds=30)))
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    plan, memory = decide(cluster.world(), rules, Memory(), 900)
    decided = Decided(world=cluster.world(), policy=rules, memory=memory, now_seconds=900)
    stage.turn = lambda: LoopReport(at_seconds=900, plan=plan, decided=decided)
    stage.run.look()
    assert found == [0]


def test_nodes_whose_time_is_up_one_soon_after_the_other_go_together(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three of four that are removable within five seconds of the first are waited for, the fourth is not."""
    found: list[float] = []
    monkeypatch.setattr(stage.wake, "again", found.append)
    rules = policy(node_group("general", scale_down=ScaleDown(unneeded_time_seconds=30)))
    cluster = ClusterBuilder()
    cluster.group("general", nodes=4)
    world = cluster.world()
    plan, memory = decide(world, rules, Memory(), 1000)
    since = dict(zip(memory.unneeded_since, (1000, 1001, 1005, 1006), strict=True))
    memory = msgspec.structs.replace(memory, unneeded_since=since)
    plan, memory = decide(world, rules, memory, 1007)
    decided = Decided(world=world, policy=rules, memory=memory, now_seconds=1000)
    stage.turn = lambda: LoopReport(at_seconds=1000, plan=plan, decided=decided)
    stage.run.look()
    assert found == [35.0]


def test_silence_that_lasts_is_said_once(stage: Stage) -> None:
    """The seconds in the sentence grow from turn to turn; another stream is news."""
    for name, seconds in (("Pods", 130), ("Pods", 140), ("Nodes", 141)):
        stage.turn = lambda name=name, seconds=seconds: LoopReport(  # type: ignore[misc]
            at_seconds=1000, unavailable=f"{name}: the server has been silent for {seconds} s"
        )
        stage.run.look()
    assert stage.codes() == ["Leading", "Unavailable", "Unavailable"]
