"""The last decisions of a loop: each is told once, with what became of it."""

import itertools

import msgspec
import pytest

from reconciler.control.turn.decision_history import MOST, History
from reconciler.control.turn.figures import Figures
from reconciler.control.turn.recent_hours import MOST_SAMPLES, Recent
from reconciler.control.turn.turn_report import ActionResult, LoopReport, ResultState
from reconciler.decisions.memory import BackoffState, Memory
from reconciler.plan.decided import Fate
from reconciler.plan.plan import Action, ActionKind, Bound, Cost, GroupLine, NodeLine, NodeState, Ownership, OwnerState, Plan
from reconciler.plan.reason import Reason
from reconciler.providers.contract import RemovalProgress, RemovalState
from tests.builders import machine_deployment

TARGET = machine_deployment("a")
BOUND = Bound(resource_version="1", replicas=2, owner_digest="", policy_digest="")


def plan(replicas: int, nodes: int) -> Plan:
    """One group of so many replicas, of which so many are nodes."""
    line = GroupLine(
        name="a", target=str(TARGET), tier="", current=replicas, desired=replicas, min=0, max=9,
        owner=Ownership(state=OwnerState.OURS),
    )  # fmt: skip
    there = tuple(
        NodeLine(node=f"n{at}", group="a", state=NodeState.IN_USE, utilization_permille=0, removable=False) for at in range(nodes)
    )
    return Plan(now="", mode="Enforce", summary="", groups=(line,), nodes=there)


def resize(before: int, after: int, state: ResultState, code: str = "", message: str = "") -> ActionResult:
    action = Action(
        kind=ActionKind.RESIZE,
        group="a",
        target=str(TARGET),
        from_=before,
        to=after,
        bound=BOUND,
        reason=Reason("Why", "why", {}),
    )
    return ActionResult(action=action, state=state, code=code, message=message)


def removal(node: str) -> ActionResult:
    action = Action(
        kind=ActionKind.REMOVE_NODE, group="a", target=str(TARGET), from_=3, to=2, nodes=(node,), bound=BOUND,
        reason=Reason("Empty", "empty", {}),
    )  # fmt: skip
    return ActionResult(action=action, state=ResultState.DONE)


def of_kind(kind: ActionKind, result: ActionResult) -> ActionResult:
    return msgspec.structs.replace(result, action=msgspec.structs.replace(result.action, kind=kind))


def test_growth_is_under_way_until_its_nodes_are_there():
    """Three more: two of them have joined, then all."""
    history = History()
    history.turned(LoopReport(at_seconds=100, plan=plan(2, 2), results=(resize(2, 5, ResultState.DONE),)))
    assert [(entry.fate, entry.words) for entry in history.entries()] == [(Fate.UNDER_WAY, "3 of them still to join")]
    history.turned(LoopReport(at_seconds=160, plan=plan(5, 4)))
    assert [(entry.fate, entry.words) for entry in history.entries()] == [(Fate.UNDER_WAY, "1 of them still to join")]
    history.turned(LoopReport(at_seconds=200, plan=plan(5, 5)))
    (entry,) = history.entries()
    assert (entry.fate, entry.words, entry.at_seconds, entry.fate_seconds) == (Fate.DONE, "all of them have joined", 100, 200)


def test_growth_that_was_taken_back():
    """The target asks for fewer by now; a view that does not show the write yet says nothing."""
    history = History()
    history.turned(LoopReport(at_seconds=100, plan=plan(2, 2), results=(resize(2, 5, ResultState.DONE),)))
    history.turned(LoopReport(at_seconds=110, plan=plan(2, 2)))
    assert history.entries()[0].fate is Fate.UNDER_WAY
    history.turned(LoopReport(at_seconds=900, plan=plan(3, 2)))
    (entry,) = history.entries()
    assert (entry.fate, entry.words) == (Fate.FAILED, "3 desired replicas now, and 2 nodes")


def test_the_same_refusal_is_counted():
    """In mode Observe every turn decides the same; once something else comes between, it is another decision."""
    history = History()
    skipped = resize(2, 5, ResultState.SKIPPED, "Observe", "mode is Observe: nothing is written")
    for at in (100, 110, 120):
        history.turned(LoopReport(at_seconds=at, plan=plan(2, 2), results=(skipped,)))
    (entry,) = history.entries()
    assert (entry.times, entry.at_seconds, entry.last_seconds) == (3, 100, 120)
    history.turned(LoopReport(at_seconds=130, plan=plan(2, 2)))
    history.turned(LoopReport(at_seconds=140, plan=plan(2, 2), results=(skipped,)))
    assert [entry.times for entry in history.entries()] == [3, 1]


def test_removals_end_one_by_one():
    """One node goes, the other stays and says why."""
    history = History()
    history.turned(LoopReport(at_seconds=100, plan=plan(3, 3), results=(removal("n1"), removal("n2"))))
    waits = RemovalProgress(target=TARGET, node="n1", state=RemovalState.DRAINING, message="a budget of pods is used up")
    stays = RemovalProgress(target=TARGET, node="n2", state=RemovalState.FAILED, code="Blocked", message="a pod came")
    history.turned(LoopReport(at_seconds=110, plan=plan(3, 3), removals=(waits, stays)))
    assert [(entry.nodes, entry.fate, entry.words) for entry in history.entries()] == [
        (("n1",), Fate.UNDER_WAY, "a budget of pods is used up"),
        (("n2",), Fate.FAILED, "stays: a pod came"),
    ]
    gone = RemovalProgress(target=TARGET, node="n1", state=RemovalState.FINISHED, replicas=2)
    history.turned(LoopReport(at_seconds=120, plan=plan(2, 2), removals=(gone,)))
    assert (history.entries()[0].fate, history.entries()[0].fate_seconds) == (Fate.DONE, 120)


@pytest.mark.parametrize(
    ("result", "fate", "words"),
    [
        (removal("n1"), Fate.UNDER_WAY, "being drained"),
        (msgspec.structs.replace(removal("n1"), message="cordoned"), Fate.UNDER_WAY, "cordoned"),
        (msgspec.structs.replace(removal("n1"), state=ResultState.REFUSED, message="stale"), Fate.REFUSED, "stale"),
        (resize(2, 5, ResultState.DONE), Fate.UNDER_WAY, "3 of them still to join"),
        (resize(2, 5, ResultState.DONE, message="asked"), Fate.UNDER_WAY, "asked"),
        (resize(5, 2, ResultState.DONE, message="written"), Fate.DONE, "written"),
        (resize(2, 2, ResultState.DONE, message="written"), Fate.DONE, "written"),
        (of_kind(ActionKind.ADOPT, resize(2, 3, ResultState.DONE, message="taken over")), Fate.DONE, "taken over"),
        (of_kind(ActionKind.REPLACE, resize(2, 3, ResultState.DONE)), Fate.UNDER_WAY, "1 of them still to join"),
        (resize(2, 5, ResultState.FAILED, message="cut"), Fate.FAILED, "cut"),
    ],
)
def test_what_a_decision_says_when_it_is_made(result: ActionResult, fate: Fate, words: str):
    """A removal is under way until its node is gone, growth until its nodes are there; a smaller size is done when written."""
    history = History()
    history.turned(LoopReport(at_seconds=100, plan=plan(2, 2), results=(result,)))
    (entry,) = history.entries()
    assert (entry.fate, entry.words) == (fate, words)


def test_a_removal_that_an_earlier_leader_began():
    """It ends here, and is told here."""
    history = History()
    gone = RemovalProgress(target=TARGET, node="n1", state=RemovalState.FINISHED, replicas=2)
    history.turned(LoopReport(at_seconds=120, plan=plan(2, 2), removals=(gone,)))
    (entry,) = history.entries()
    assert (entry.nodes, entry.from_, entry.to, entry.reason) == (("n1",), 3, 2, "begun by an earlier leader")


def test_history_is_bounded():
    """However much is decided."""
    assert MOST == 500
    history = History()
    for at in range(MOST + 100):
        history.turned(LoopReport(at_seconds=at, plan=plan(2, 2), results=(resize(2, at, ResultState.REFUSED, "Stale"),)))
    assert len(history.entries()) == MOST
    assert history.entries()[-1].to == MOST + 99


def test_an_action_that_is_done_again_is_another_one():
    """Growth that was asked for twice: each waits for its own nodes."""
    history = History()
    for at in (100, 110):
        history.turned(LoopReport(at_seconds=at, plan=plan(2, 2), results=(resize(2, 5, ResultState.DONE),)))
    assert [(entry.at_seconds, entry.times, entry.fate) for entry in history.entries()] == [
        (100, 1, Fate.UNDER_WAY),
        (110, 1, Fate.UNDER_WAY),
    ]


@pytest.mark.parametrize(
    ("at", "replicas", "fate"),
    [(160, 4, Fate.UNDER_WAY), (161, 4, Fate.FAILED), (900, 5, Fate.UNDER_WAY), (900, 6, Fate.UNDER_WAY)],
)
def test_growth_fails_where_a_minute_later_fewer_are_asked_for(at: int, replicas: int, fate: Fate):
    """However long machines take that are still asked for."""
    history = History()
    history.turned(LoopReport(at_seconds=100, plan=plan(2, 2), results=(resize(2, 5, ResultState.DONE),)))
    history.turned(LoopReport(at_seconds=at, plan=plan(replicas, 2)))
    (entry,) = history.entries()
    assert (entry.fate, entry.fate_seconds) == (fate, 100 if fate is Fate.UNDER_WAY else at)


def test_growth_of_a_group_that_is_gone_is_over():
    """Its nodes may still be in the view."""
    history = History()
    history.turned(LoopReport(at_seconds=100, plan=plan(2, 2), results=(resize(2, 5, ResultState.DONE),)))
    history.turned(LoopReport(at_seconds=110, plan=msgspec.structs.replace(plan(2, 2), groups=())))
    (entry,) = history.entries()
    assert (entry.fate, entry.words) == (Fate.DONE, "the group is not decided any more")


def test_nodes_of_other_groups_are_no_growth():
    history = History()
    history.turned(LoopReport(at_seconds=100, plan=plan(2, 2), results=(resize(2, 3, ResultState.DONE),)))
    elsewhere = tuple(msgspec.structs.replace(node, group="b") for node in plan(2, 2).nodes)
    seen = plan(3, 2)
    history.turned(LoopReport(at_seconds=110, plan=msgspec.structs.replace(seen, nodes=(*seen.nodes, *elsewhere))))
    assert history.entries()[0].words == "1 of them still to join"


def test_a_removal_says_how_far_it_is_and_since_when():
    """A step without a word is one of a drain; the time is that of the last change of its fate."""
    history = History()
    history.turned(LoopReport(at_seconds=100, plan=plan(3, 3), results=(removal("n1"),)))
    waits = RemovalProgress(target=TARGET, node="n1", state=RemovalState.DRAINING, message="a budget")
    for at, progress in ((110, waits), (120, msgspec.structs.replace(waits, message=""))):
        history.turned(LoopReport(at_seconds=at, removals=(progress,)))
    (entry,) = history.entries()
    assert (entry.words, entry.fate_seconds, entry.last_seconds) == ("being drained", 100, 120)


def test_a_removal_of_a_node_ends_no_other_action_on_it():
    """A replacement names the node too, and waits for the new one; what is drained by nobody's decision here is not told before
    its end."""
    history = History()
    grows = of_kind(ActionKind.REPLACE, resize(2, 3, ResultState.DONE))
    grows = msgspec.structs.replace(grows, action=msgspec.structs.replace(grows.action, nodes=("n1",)))
    history.turned(LoopReport(at_seconds=100, plan=plan(2, 2), results=(grows,)))
    waits = RemovalProgress(target=TARGET, node="n1", state=RemovalState.DRAINING, message="a budget")
    history.turned(LoopReport(at_seconds=110, removals=(waits,)))
    assert [(entry.kind, entry.words) for entry in history.entries()] == [(ActionKind.REPLACE, "1 of them still to join")]
    stays = RemovalProgress(target=TARGET, node="n1", state=RemovalState.FAILED, code="Blocked", message="a pod", replicas=2)
    history.turned(LoopReport(at_seconds=120, removals=(stays,)))
    _, ended = history.entries()
    assert (ended.kind, ended.fate, ended.words, ended.code) == (ActionKind.REMOVE_NODE, Fate.FAILED, "stays: a pod", "Blocked")
    assert (ended.from_, ended.to, ended.nodes, ended.at_seconds, ended.fate_seconds) == (2, 2, ("n1",), 120, 120)


def test_six_hours_are_kept_and_no_more():
    """A turn a second for seven hours: one sample in two minutes, the highest of each figure."""
    assert MOST_SAMPLES == 180
    recent = Recent()
    for at in range(0, 7 * 3600, 7):
        recent.decided(priced(plan(at % 100, 0), f"{at % 50}.5"), at)
    kept = recent.entries()
    assert len(kept) == 180
    assert kept[-1].at_seconds == 7 * 3600 - 120
    assert [later.at_seconds - earlier.at_seconds for earlier, later in itertools.pairwise(kept)] == [120] * 179
    at_last = range(7 * 3600 - 120 + (-(7 * 3600 - 120)) % 7, 7 * 3600, 7)
    assert kept[-1].nodes == max(at % 100 for at in at_last)
    assert kept[-1].cost_micros == max(at % 50 for at in at_last) * 1_000_000 + 500_000


def test_a_sample_without_prices():
    """Nothing has a price, or nothing has one any more."""
    recent = Recent()
    recent.decided(plan(2, 2), 0)
    assert recent.entries()[0].cost_micros is None
    recent.decided(priced(plan(2, 2), "1.25"), 1)
    recent.decided(plan(2, 2), 2)
    assert recent.entries()[0].cost_micros == 1_250_000


def test_sizes_of_groups_are_kept_once():
    """The highest of a step; the same sizes in a later step are the same object."""
    recent = Recent()
    for at, size in ((0, 2), (1, 5), (2, 3), (120, 5), (240, 4)):
        recent.decided(plan(size, size), at)
    first, second, third = recent.entries()
    assert [sample.sizes for sample in (first, second, third)] == [{str(TARGET): 5}, {str(TARGET): 5}, {str(TARGET): 4}]
    assert second.sizes is first.sizes


def test_since_when_a_group_is_held():
    """As long as it is held without a break, while this process leads."""
    figures = Figures()
    held = plan(2, 2)
    held = msgspec.structs.replace(held, groups=(msgspec.structs.replace(held.groups[0], held=True),))
    for at, seen, since in ((10, held, {str(TARGET): 10}), (20, held, {str(TARGET): 10}), (30, plan(2, 2), {})):
        figures.turned(LoopReport(at_seconds=at, plan=seen), 0, 0)
        assert figures.seen().held_since == since
    figures.turned(LoopReport(at_seconds=40, plan=held), 0, 0)
    figures.turned(LoopReport(at_seconds=50, unavailable="no view"), 0, 0)
    assert figures.seen().held_since == {str(TARGET): 40}
    figures.leads(leader=False)
    assert figures.seen().held_since == {}


def test_until_when_a_write_is_not_tried_again():
    """What is remembered after the turn says it."""
    history = History()
    backoff = BackoffState(failures=1, failed_seconds=100, until_seconds=400)
    refused = resize(2, 5, ResultState.REFUSED, "Refused")
    history.turned(LoopReport(at_seconds=100, plan=plan(2, 2), results=(refused,), settled=Memory(backoffs={"a": backoff})))
    assert [entry.retry_seconds for entry in history.entries()] == [400]
    history.turned(LoopReport(at_seconds=400, plan=plan(2, 2), results=(refused,), settled=Memory(backoffs={"a": backoff})))
    assert [entry.retry_seconds for entry in history.entries()] == [0]


def priced(found: Plan, amount: str) -> Plan:
    return msgspec.structs.replace(found, cost=Cost(current_per_hour=amount))
