"""What a turn asks of its port, action by action: in which order, how often, what is stored before it, and what it makes of each
answer. The port says what a test wrote down; what is chosen is the test's, too."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from reconciler.cluster.target import TargetRef
from reconciler.cluster.world import World
from reconciler.control.turn.loop import ControlLoop
from reconciler.control.turn.memory_store import InMemoryStore, StoreUnavailableError
from reconciler.control.turn.turn_report import LoopReport, ResultState
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import Action, ActionKind, Bound, Plan
from reconciler.plan.reason import Reason
from reconciler.policy.documents import Hold, Mode, PolicySet
from reconciler.providers.contract import (
    NodeRemoval,
    RemovalProgress,
    RemovalState,
    ViewUnavailableError,
    WriteCode,
    WriteResult,
)
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy

GENERAL, OTHER = machine_deployment("general"), machine_deployment("other")
STALE = WriteResult(code=WriteCode.STALE, message="the object has been modified")
REFUSED = WriteResult(code=WriteCode.REFUSED, message="below the minimum of the platform")


def _world() -> World:
    cluster = ClusterBuilder()
    cluster.group("general", nodes=3)
    cluster.group("other", nodes=1)
    return cluster.world()


class Store(InMemoryStore):
    """Refuses the saves of these numbers, from 1."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0
        self.broken: set[int] = set()

    def save(self, memory: Memory) -> None:
        self.asked += 1
        if self.asked in self.broken:
            raise StoreUnavailableError("the ConfigMap cannot be written")
        super().save(memory)


class Bench:
    """Policy and port at once. `answers` by what is asked (a target, or a node that is to leave) are taken one after the other,
    the last one for ever; without one it is done. Views of these numbers, from 1, are `lost`."""

    def __init__(self, rules: PolicySet | None = None) -> None:
        self.rules = rules or policy(node_group("general"), node_group("other"))
        self.world = _world()
        self.views = 0
        self.lost: set[int] = set()
        self.calls: list[tuple[Any, ...]] = []
        self.answers: dict[str, list[WriteResult | Exception]] = {}
        self.removals: tuple[RemovalProgress, ...] = ()
        self.store = Store()
        self.chosen: tuple[Action, ...] = ()
        self.intended: list[dict[str, tuple[str, ...]]] = []

    def current(self) -> PolicySet:
        return self.rules

    def now_seconds(self) -> int:
        return NOW

    def observe(self) -> World:
        self.views += 1
        if self.views in self.lost:
            raise ViewUnavailableError("pods: no answer")
        return self.world

    def continue_removals(self) -> tuple[RemovalProgress, ...]:
        return self.removals

    def resize(self, *asked: Any) -> WriteResult:
        return self._written("resize", *asked)

    def adopt(self, *asked: Any) -> WriteResult:
        return self._written("adopt", *asked)

    def release(self, *asked: Any) -> WriteResult:
        return self._written("release", *asked)

    def cancel(self, *asked: Any) -> WriteResult:
        return self._written("cancel", *asked)

    def remove_nodes(self, removals: Sequence[NodeRemoval]) -> tuple[WriteResult, ...]:
        if removals:
            self.calls.append(("remove", *(one.node for one in removals)))
            self.intended.append(self.store.load().intended)
        return tuple(self._answer(one.node) for one in removals)

    def _written(self, verb: str, target: TargetRef, *asked: Any) -> WriteResult:
        self.calls.append((verb, target.name, *(item for item in asked if not isinstance(item, Bound))))
        return self._answer(target.name)

    def _answer(self, name: str) -> WriteResult:
        answers = self.answers.get(name, [WriteResult(generation=4)])
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def turn(self, *actions: Action) -> LoopReport:
        self.chosen = actions
        return ControlLoop(self, self, self.store, choose=self._choose).turn()

    def _choose(self, plan: Plan, world: World) -> tuple[Action, ...]:
        assert world is self.world
        return self.chosen


def _action(
    kind: ActionKind = ActionKind.RESIZE, group: str = "general", *, to: int = 5, nodes: tuple[str, ...] = (), **more: Any
) -> Action:
    replicas = {"general": 3, "other": 1}[group]
    return Action(
        kind=kind, group=group, target=str(machine_deployment(group)), from_=replicas, to=to, nodes=nodes,
        bound=Bound(resource_version="1", replicas=replicas, owner_digest="", policy_digest=""),
        reason=Reason(code="Why", message="why"), **more,
    )  # fmt: skip


def _removal(number: int, to: int = 2) -> Action:
    return _action(ActionKind.REMOVE_NODE, to=to, nodes=(f"general-{number}",))


def _ends(report: LoopReport) -> list[tuple[ResultState, str]]:
    return [(result.state, result.code) for result in report.results]


DONE = (ResultState.DONE, "")


@pytest.mark.parametrize(
    ("action", "call"),
    [
        (_action(), ("resize", "general", 5)),
        (_action(ActionKind.ADOPT, to=3), ("adopt", "general", 3)),
        (_action(ActionKind.RELEASE, to=3), ("release", "general")),
        (_action(ActionKind.CANCEL, to=1, machines=("m1", "m2")), ("cancel", "general", ("m1", "m2"), 1)),
        (_action(ActionKind.REPLACE, to=4, nodes=("general-1",)), ("resize", "general", 4)),
        (_removal(1), ("remove", "general-1")),
    ],
)
def test_each_kind_of_action_is_a_write_of_its_own(action: Action, call: tuple[Any, ...]) -> None:
    """Of a replacement only the growth is written now."""
    bench = Bench()
    report = bench.turn(action)
    assert (bench.calls, _ends(report)) == ([call], [DONE])
    assert (report.results[0].action, report.results[0].generation, report.changed) == (action, 4, True)


def test_actions_are_done_in_the_order_of_the_plan() -> None:
    """Removals that follow one another begin together; what stands between two of them is done between them."""
    bench = Bench()
    actions = (_removal(1, 2), _removal(2, 1), _action(group="other", to=2), _removal(3, 0))
    report = bench.turn(*actions)
    assert bench.calls == [("remove", "general-1", "general-2"), ("resize", "other", 2), ("remove", "general-3")]
    assert [result.action for result in report.results] == list(actions)


def test_that_removals_begin_is_stored_before_they_do() -> None:
    """Those of this turn that began before them as well: a process that ends in between must know of all."""
    bench = Bench()
    bench.turn(_removal(1, 2), _action(group="other", to=2), _removal(2, 1))
    assert bench.intended == [{str(GENERAL): ("general-1",)}, {str(GENERAL): ("general-1", "general-2")}]
    assert bench.store.load().intended == {}


def test_removals_that_cannot_be_stored_do_not_begin() -> None:
    """The memory of the decision could be saved, that of the removals not: other actions are done."""
    bench = Bench()
    bench.store.broken = {2}
    report = bench.turn(_removal(1), _action(group="other", to=2))
    assert _ends(report) == [(ResultState.SKIPPED, "Stale"), DONE]
    assert report.results[0].message == "that it begins cannot be stored: the ConfigMap cannot be written"
    assert bench.calls == [("resize", "other", 2)]


def test_a_target_is_written_once_in_a_turn() -> None:
    """What follows on it is judged by the next one; a write that was refused has changed nothing."""
    bench = Bench()
    report = bench.turn(_action(), _action(ActionKind.CANCEL, to=1), _removal(1), _action(group="other", to=2))
    assert _ends(report) == [DONE, (ResultState.SKIPPED, "Deferred"), (ResultState.SKIPPED, "Deferred"), DONE]
    assert report.results[1].message == f"this iteration has just written {GENERAL}. The next one decides on it"
    bench = Bench()
    bench.removals = (RemovalProgress(target=GENERAL, node="general-3", state=RemovalState.FINISHED, replicas=2, generation=9),)
    ends = _ends(bench.turn(_action(), _removal(1), _action(group="other", to=2)))
    assert ends == [(ResultState.SKIPPED, "Deferred"), DONE, DONE]
    bench = Bench()
    bench.answers = {"general": [REFUSED]}
    assert _ends(bench.turn(_action(), _removal(1))) == [(ResultState.REFUSED, "Refused"), DONE]


@pytest.mark.parametrize(
    ("answers", "asked", "end"),
    [
        ([STALE, WriteResult()], 2, DONE),
        ([STALE, STALE, WriteResult()], 3, DONE),
        ([STALE, STALE, STALE, WriteResult()], 3, (ResultState.REFUSED, "Stale")),
        ([REFUSED, WriteResult()], 1, (ResultState.REFUSED, "Refused")),
        ([WriteResult(code=WriteCode.CONFLICT), WriteResult()], 1, (ResultState.REFUSED, "Conflict")),
        ([RuntimeError("socket closed"), WriteResult()], 1, (ResultState.FAILED, "Failed")),
    ],
)
def test_a_write_is_tried_three_times_while_only_its_version_moves(
    answers: list[WriteResult | Exception], asked: int, end: tuple[ResultState, str]
) -> None:
    """Each time on a view of its own; anything else is the end."""
    bench = Bench()
    bench.answers = {"general": answers}
    report = bench.turn(_action())
    assert (len(bench.calls), _ends(report)) == (asked, [end])
    assert bench.views == 1 + asked


@pytest.mark.parametrize(
    ("answers", "asked", "end"),
    [
        ([STALE, WriteResult()], 2, DONE),
        ([STALE, STALE, STALE, WriteResult()], 3, (ResultState.REFUSED, "Stale")),
        ([REFUSED, WriteResult()], 1, (ResultState.REFUSED, "Refused")),
    ],
)
def test_of_several_removals_those_are_tried_again_that_met_a_moved_version(
    answers: list[WriteResult | Exception], asked: int, end: tuple[ResultState, str]
) -> None:
    """The others have begun."""
    bench = Bench()
    bench.answers = {"general-1": answers}
    report = bench.turn(_removal(1, 2), _removal(2, 1))
    assert bench.calls == [("remove", "general-1", "general-2"), *[("remove", "general-1")] * (asked - 1)]
    assert _ends(report) == [end, DONE]


@pytest.mark.parametrize("action", [_action(), _removal(1)])
def test_a_view_that_is_lost_before_the_write(action: Action) -> None:
    """Nothing is written on a view that nobody trusts any more."""
    bench = Bench()
    bench.lost = {2}
    report = bench.turn(action)
    assert (_ends(report), bench.calls) == ([(ResultState.SKIPPED, "Stale")], [])
    assert report.results[0].message == "the view was lost: pods: no answer"


@pytest.mark.parametrize("action", [_action(), _removal(1)])
def test_what_is_not_as_it_was_judged_is_not_written(action: Action) -> None:
    bench = Bench()
    report = bench.turn(msgspec.structs.replace(action, bound=msgspec.structs.replace(action.bound, replicas=4)))
    assert (_ends(report), bench.calls) == ([(ResultState.SKIPPED, "Stale")], [])
    assert report.results[0].message == f"{GENERAL} has 3 replicas now, and 4 when the plan was made"


def test_what_observes_and_what_is_held_is_not_written() -> None:
    """The first of these that holds is said; the other group is written."""
    bench = Bench(policy(node_group("general", mode=Mode.OBSERVE), node_group("other")))
    report = bench.turn(_action(), _removal(1), _action(group="other", to=2))
    assert _ends(report) == [(ResultState.SKIPPED, "Observe")] * 2 + [DONE]
    held = Bench(policy(node_group("general", hold=Hold(reason="by me")), node_group("other")))
    report = held.turn(_action(), _removal(1), _action(group="other", to=2))
    assert _ends(report) == [(ResultState.SKIPPED, "Held")] * 2 + [DONE]
    assert report.results[0].message == "general is held"
    whole = Bench(policy(node_group("general"), node_group("other"), mode=Mode.OBSERVE))
    assert _ends(whole.turn(_action(), _action(group="other", to=2))) == [(ResultState.SKIPPED, "Observe")] * 2
    assert bench.calls == held.calls == [("resize", "other", 2)]
    assert whole.calls == []


def test_what_was_written_is_told_though_it_cannot_be_stored() -> None:
    """The writes are on the targets, where the next turn reads them."""
    bench = Bench()
    bench.store.broken = {2}
    report = bench.turn(_action())
    assert (_ends(report), report.unavailable) == ([DONE], "the ConfigMap cannot be written")
    assert report.plan is not None
    assert report.decided is not None


@pytest.mark.parametrize(("state", "looks"), [(RemovalState.DRAINING, 1), (RemovalState.FINISHED, 2), (RemovalState.FAILED, 2)])
def test_a_removal_that_ended_is_decided_on_with_a_view_after_it(state: RemovalState, looks: int) -> None:
    """A finished one has lowered replicas, a failed one has opened its node."""
    bench = Bench()
    going = RemovalProgress(target=GENERAL, node="general-1", state=RemovalState.DRAINING)
    bench.removals = (msgspec.structs.replace(going, node="general-2"), msgspec.structs.replace(going, state=state))
    report = bench.turn()
    assert (bench.views, report.removals) == (looks, bench.removals)


def test_what_became_of_removals_is_remembered() -> None:
    """The node that stays is leaving no more, and a platform that failed is backed off from, by the group's name; of the one that
    went the write of replicas is known, and when nodes left last."""
    bench = Bench()
    bench.store.save(Memory(known_groups={str(GENERAL): "general"}, leaving={"general-1": NOW - 60, "general-2": NOW - 60}))
    failed = RemovalProgress(target=GENERAL, node="general-1", state=RemovalState.FAILED, code="Failed", message="broken")
    finished = RemovalProgress(target=GENERAL, node="general-2", state=RemovalState.FINISHED, replicas=2, generation=9)
    draining = RemovalProgress(target=GENERAL, node="general-3", state=RemovalState.DRAINING, code="Failed")
    bench.removals = (failed, finished, draining)
    bench.turn()
    memory = bench.store.load()
    assert (memory.last_removed_seconds, memory.last_failed_seconds) == (NOW, NOW)
    assert memory.backoffs.keys() == {"general"}
    assert memory.backoffs["general"].reason == "broken"
    write = memory.last_writes[str(GENERAL)]
    assert (write.replicas, write.generation, write.written_seconds) == (2, 9, NOW)


def test_a_removal_whose_target_nobody_knows_is_remembered_for_its_node() -> None:
    """The view has no machine of a target on it any more."""
    bench = Bench()
    bench.store.save(Memory(leaving={"general-1": NOW - 60}))
    bench.removals = (RemovalProgress(target=None, node="general-1", state=RemovalState.FAILED, code="NotFound"),)
    bench.turn()
    assert "general-1" not in bench.store.load().leaving


def test_what_was_written_is_remembered() -> None:
    """Replicas and generation, and when nodes were added last; what was refused is no write, and backs
    the group off as what broke does."""
    bench = Bench()
    bench.answers = {"other": [REFUSED]}
    bench.turn(_action(), _action(group="other", to=2))
    memory = bench.store.load()
    write = memory.last_writes[str(GENERAL)]
    assert (write.replicas, write.generation, memory.last_added_seconds) == (5, 4, NOW)
    assert (str(OTHER) in memory.last_writes, memory.backoffs.keys(), memory.last_failed_seconds) == (False, {"other"}, 0)
    bench = Bench()
    bench.answers = {"general": [RuntimeError("socket closed")]}
    bench.turn(_action())
    assert bench.store.load().backoffs["general"].reason == "RuntimeError: socket closed"


@pytest.mark.parametrize("mode", [Mode.OBSERVE, Mode.ENFORCE])
def test_one_that_observes_goes_on_with_no_removal(mode: Mode) -> None:
    """None is under way, so that there is nothing to open again: marks are not even looked for."""
    bench = Bench(policy(node_group("general"), node_group("other"), mode=mode))
    bench.removals = (RemovalProgress(target=GENERAL, node="general-1", state=RemovalState.DRAINING),)
    assert bench.turn().removals == (bench.removals if mode is Mode.ENFORCE else ())
