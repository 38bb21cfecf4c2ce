"""A saved plan whose Lease is lost in the middle: the API server and the cluster are made up, all between them is real."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from reconciler.cluster.target import FieldOwner
from reconciler.cluster.world import World
from reconciler.control.live.live_process import LiveProcess
from reconciler.control.live.wake import WakeReason
from reconciler.control.saved_plans.apply import Applied
from reconciler.control.saved_plans.apply_document import apply_document
from reconciler.control.saved_plans.live_apply import AwaitedWrite, FixedSource, LiveApply, SettlingPort
from reconciler.control.turn.turn_report import ActionResult, ResultState
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.kube.connection.api import Api, ApiError, UnreachableError
from reconciler.kube.leading.lease import LeaderLease, NotLeaderError
from reconciler.plan.plan import Action, ActionKind, Bound
from reconciler.plan.reason import Reason
from reconciler.plan.saved_intersection import Refusal
from reconciler.policy.documents import PolicySet, ScaleDown
from reconciler.providers.contract import (
    NodeRemoval,
    RemovalProgress,
    RemovalState,
    ViewUnavailableError,
    WriteCode,
    WriteResult,
)
from reconciler.providers.simulated import SimulatedPort
from reconciler.rendering.documents.apply import ApplyDocument
from reconciler.simulation.embedded.cluster import SimulatedCluster
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy
from tests.kube.scripted import ManualPace

LOST = "the Lease of policy test was lost meanwhile, and another instance may have led: nothing more of this plan is done"
SOMEBODY_ONCE = (FieldOwner(manager="kubectl-edit", operation="Update", time_seconds=NOW - 90_000),)


class OneLease:
    """An API server that stores one object."""

    def __init__(self) -> None:
        self._stored: dict[str, Any] | None = None

    def get(self, _: str) -> bytes:
        if self._stored is None:
            raise ApiError(404, "NotFound", "not there")
        return json.dumps(self._stored).encode()

    def write(self, _: str, __: str, body: Mapping[str, Any]) -> bytes:
        version = int(self._stored["metadata"]["resourceVersion"]) + 1 if self._stored else 1
        self._stored = {**body, "metadata": {**body["metadata"], "resourceVersion": str(version)}}
        return b"{}"


class GuardedPort(SimulatedPort):
    """Asks the Lease before each write, as a live one does; `after` is called once, after the first write."""

    def __init__(self, cluster: SimulatedCluster, guard: Callable[[], None], after: Callable[[], None]) -> None:
        super().__init__(cluster)
        self._guard = guard
        self._after = [after]

    def resize(self, *words: Any) -> WriteResult:
        return self._guarded(lambda: SimulatedPort.resize(self, *words))

    def adopt(self, *words: Any) -> WriteResult:
        return self._guarded(lambda: SimulatedPort.adopt(self, *words))

    def remove_nodes(self, removals: Sequence[NodeRemoval]) -> tuple[WriteResult, ...]:
        return tuple(self._guarded(partial(self._begin, one)) for one in removals)

    def _begin(self, removal: NodeRemoval) -> WriteResult:
        return super().remove_nodes((removal,))[0]

    def continue_removals(self) -> tuple[RemovalProgress, ...]:
        try:
            self._guard()
        except NotLeaderError:
            return ()
        return super().continue_removals()

    def _guarded(self, write: Callable[[], WriteResult]) -> WriteResult:
        try:
            self._guard()
        except NotLeaderError as error:
            return WriteResult(code=WriteCode.UNAVAILABLE, message=str(error))
        result = write()
        while self._after:
            self._after.pop()()
        return result


class GuardedState:
    """Parts of a state object; the Lease is asked before one is replaced by another."""

    def __init__(self, guard: Callable[[], None]) -> None:
        self._guard = guard
        self._parts: dict[str, bytes] = {}

    def load(self, part: str) -> bytes | None:
        return self._parts.get(part)

    def save(self, part: str, content: bytes) -> bool:
        if self._parts.get(part) == content:
            return False
        self._guard()
        self._parts[part] = content
        return True


class Stage:
    """A cluster, the plan of its policy, and the instance that leads; `lost` says what becomes of its Lease after the first
    write."""

    def __init__(self, cluster: ClusterBuilder, rules: PolicySet, lost: Callable[["Stage"], None]) -> None:
        self.pace = ManualPace()
        self.lease = LeaderLease(
            cast(Api, OneLease()), namespace="prod", name="test", identity="apply-1", pace=self.pace, wall_seconds=lambda: 0.0
        )
        assert self.lease.step()
        self.cluster = SimulatedCluster(cluster.world(), rules, NOW)
        self.cluster.advance_to(NOW)
        self.plan = decide(self.cluster.world(), rules, Memory(), NOW)[0]
        self.told: list[str] = []
        self._process = SimpleNamespace(
            port=GuardedPort(self.cluster, self.lease.guard, lambda: lost(self)), state=GuardedState(self.lease.guard),
            source=FixedSource(rules), lease=self.lease, term=self.lease.term, settings=SimpleNamespace(name="test"),
            wake=SimpleNamespace(wait=self._wait),
        )  # fmt: skip
        self.waits = 0
        self.woken = WakeReason.PERIOD
        self.abandoned: tuple[RemovalProgress, ...] | Exception = ()
        self._process.port.abandon_removals = self._abandon

    def regained(self) -> None:
        """The Lease runs out, and is had again."""
        self.pace.now += 11
        assert not self.lease.leads()
        assert self.lease.step()

    def gone(self) -> None:
        """The Lease runs out."""
        self.pace.now += 11

    def _wait(self) -> WakeReason:
        """A minute goes by."""
        self.waits += 1
        self.cluster.advance_to(self.cluster.now_seconds + 60)
        return self.woken

    def _abandon(self) -> tuple[RemovalProgress, ...]:
        if isinstance(self.abandoned, Exception):
            raise self.abandoned
        return self.abandoned

    def apply(self) -> ApplyDocument:
        process = cast(LiveProcess, self._process)
        applied, happened = LiveApply(process, self.plan, None, self.pace, self.told.append).run()
        return apply_document(self.plan, applied, NOW, happened)

    def replicas(self, *names: str) -> list[int | None]:
        return [self.cluster.objects.targets[machine_deployment(name)].replicas for name in names]


def ends(document: ApplyDocument) -> list[tuple[str, str, str, list[str]]]:
    return [(line.kind, line.group, line.state, [why.code for why in line.reasons]) for line in document.actions]


def two_groups() -> ClusterBuilder:
    cluster = ClusterBuilder()
    cluster.group("first", nodes=1)
    cluster.group("second", nodes=1)
    return cluster


TWO = policy(node_group("first", min=2), node_group("second", min=3))


def test_all_is_done_by_one_that_leads_all_the_time() -> None:
    """Both groups grow to their minimum."""
    stage = Stage(two_groups(), TWO, lambda _: None)
    document = stage.apply()
    assert ends(document) == [("Resize", "first", "Done", []), ("Resize", "second", "Done", [])]
    assert (document.complete, document.unavailable, stage.replicas("first", "second")) == (True, "", [2, 3])


@pytest.mark.parametrize("lost", [Stage.regained, Stage.gone])
def test_after_the_lease_was_lost_the_rest_is_refused_by_name(lost: Callable[[Stage], None]) -> None:
    """Between two actions, whether or not the Lease is had again by the second: the first stays done, the second is not."""
    stage = Stage(two_groups(), TWO, lost)
    document = stage.apply()
    assert ends(document) == [("Resize", "first", "Done", []), ("Resize", "second", "Refused", ["LostLease"])]
    assert (document.complete, stage.replicas("first", "second")) == (False, [2, 1])
    assert document.unavailable.startswith(LOST)


def test_a_lease_that_is_lost_after_all_was_done_takes_nothing_back() -> None:
    """The plan had one action: it is done. That the memory of it could not be stored any more is told."""
    cluster = ClusterBuilder()
    cluster.group("first", nodes=1)
    stage = Stage(cluster, policy(node_group("first", min=2)), Stage.regained)
    document = stage.apply()
    assert ends(document) == [("Resize", "first", "Done", [])]
    assert document.unavailable.startswith(LOST)
    assert stage.replicas("first") == [2]


def test_what_waited_for_an_adoption_is_refused_too() -> None:
    """The resize was put off to the round after the adoption, in which the Lease is another one's to use."""
    cluster = ClusterBuilder()
    cluster.group("first", nodes=1, owners=SOMEBODY_ONCE)
    stage = Stage(cluster, policy(node_group("first", min=2)), Stage.regained)
    document = stage.apply()
    assert ends(document) == [("Adopt", "first", "Done", []), ("Resize", "first", "Refused", ["LostLease"])]
    assert stage.replicas("first") == [1]


def test_a_drain_is_not_waited_for_after_the_lease_was_lost() -> None:
    """It had begun: the next leader goes on with it, and the action says that the node has not left."""
    cluster = ClusterBuilder()
    cluster.group("first", nodes=1)
    rules = policy(node_group("first", scale_down=ScaleDown(unneeded_time_seconds=0)))
    stage = Stage(cluster, rules, Stage.regained)
    document = stage.apply()
    assert ends(document) == [("RemoveNode", "first", "Failed", ["LostLease"])]
    assert document.actions[0].reasons[0].message.startswith(f"first-1 had not left: {LOST}")
    assert stage.told[-1].startswith(LOST)
    assert "first-1" in stage.cluster.objects.nodes


def _one_goes() -> Stage:
    cluster = ClusterBuilder()
    cluster.group("first", nodes=1)
    return Stage(cluster, policy(node_group("first", scale_down=ScaleDown(unneeded_time_seconds=0))), lambda _: None)


def test_a_drain_is_waited_for_until_its_node_has_left() -> None:
    """Turn after turn, and no longer; what happened is told as it happens, and at the end."""
    stage = _one_goes()
    document = stage.apply()
    assert ends(document) == [("RemoveNode", "first", "Done", [])]
    gone = f"node first-1: drained, its machine is being deleted. {machine_deployment('first')} has 0 replicas"
    assert document.happened == (gone,)
    assert stage.told == ["node first-1: it is empty", gone]
    assert stage.waits == 1


def test_a_drain_that_takes_a_while_is_looked_at_again() -> None:
    """Its pod leaves within a minute."""
    cluster = ClusterBuilder()
    cluster.group("first", nodes=2, cpu="4")
    cluster.pods("web", 1, cpu="500m", on="first-1")
    cluster.pods("rest", 1, cpu="3", on="first-2")
    stage = Stage(cluster, policy(node_group("first", scale_down=ScaleDown(unneeded_time_seconds=0))), lambda _: None)
    document = stage.apply()
    assert (ends(document), document.complete) == ([("RemoveNode", "first", "Done", [])], True)
    assert stage.waits == 1
    assert stage.told[0].startswith("node first-1: 1 pod has not left yet")


class Held(GuardedPort):
    """Removals that never end."""

    def continue_removals(self) -> tuple[RemovalProgress, ...]:
        return ()


@pytest.mark.parametrize(
    ("abandoned", "happened"),
    [
        ((), []),
        (
            (RemovalProgress(target=None, node="first-1", state=RemovalState.FAILED, code="Stopped", message="undone"),),
            ["node first-1 stays: undone [Stopped]"],
        ),
        (UnreachableError("cut"), ["actions under way are left as they are: cut"]),
        (ViewUnavailableError("no view"), ["actions under way are left as they are: no view"]),
        (NotLeaderError("b leads"), ["actions under way are left as they are: b leads"]),
    ],
)
def test_a_command_that_is_ended_leaves_no_drain_behind(
    abandoned: tuple[RemovalProgress, ...] | Exception, happened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it can; the action has failed, since its node has not left, by what became of it."""
    stage = _one_goes()
    monkeypatch.setattr(GuardedPort, "continue_removals", Held.continue_removals)
    stage.woken, stage.abandoned = WakeReason.STOP, abandoned
    document = stage.apply()
    assert (ends(document), stage.waits) == ([("RemoveNode", "first", "Failed", ["Stopped"])], 1)
    assert (list(document.happened), stage.told) == (happened, happened)
    told = happened[0] if isinstance(abandoned, tuple) and abandoned else "first-1 had not left when the command was ended"
    assert document.actions[0].reasons[0].message == told


def _planned(group: str) -> Action:
    return Action(
        kind=ActionKind.RESIZE, group=group, target=str(machine_deployment(group)), from_=1, to=2, reason=Reason("Why", ""),
        bound=Bound(resource_version="1", replicas=1, owner_digest="", policy_digest=""),
    )  # fmt: skip


def test_what_was_judged_stands_after_the_lease_was_lost() -> None:
    """Done, refused by somebody, refused by the plan: as it was. Put off, turned away and never reached: refused by name."""
    stage = _one_goes()
    done, refused, put_off, away, judged, unknown = (_planned(name) for name in ("a", "b", "c", "d", "e", "f"))
    plan = msgspec.structs.replace(stage.plan, actions=(done, refused, put_off, away, judged, unknown))
    results = (
        ActionResult(action=done, state=ResultState.DONE),
        ActionResult(action=refused, state=ResultState.REFUSED, code="Conflict"),
        ActionResult(action=put_off, state=ResultState.SKIPPED, code="Deferred"),
        ActionResult(action=away, state=ResultState.REFUSED, code="Unavailable"),
    )
    against = Refusal(action=judged, reasons=(Reason("OwnerMoved", "theirs"),))
    process = cast(LiveProcess, stage._process)
    apply = LiveApply(process, plan, None, stage.pace, stage.told.append)
    apply._application = cast(Any, SimpleNamespace(run=lambda: stage.regained() or Applied(results=results, refusals=(against,))))
    applied, _ = apply.run()
    assert applied.results == results[:2]
    assert [(one.action.group, one.reasons[0].code) for one in applied.refusals] == [
        ("e", "OwnerMoved"), ("c", "LostLease"), ("d", "LostLease"), ("f", "LostLease"),
    ]  # fmt: skip
    assert applied.unavailable.startswith(LOST)


def test_one_that_never_led_does_nothing_of_it() -> None:
    stage = _one_goes()
    stage._process.term = lambda: 0
    assert LiveApply(cast(LiveProcess, stage._process), stage.plan, None, stage.pace, stage.told.append)._lost(0)


def test_a_policy_that_was_read_once() -> None:
    """It is there, and nothing of it is ever new."""
    rules = policy(node_group("first"))
    source = FixedSource(rules)
    assert (source.current(), source.missing(), source.poll()) == (rules, "", False)


class Versions:
    """A port whose views have these versions of its first target one after the other, the last one for ever; the second target
    never moves."""

    def __init__(self, *versions: str) -> None:
        self.versions = list(versions)
        cluster = two_groups()
        self.world = cluster.world()
        self.answer = WriteResult()
        self.views = 0

    def observe(self) -> World:
        self.views += 1
        version = self.versions.pop(0) if len(self.versions) > 1 else self.versions[0]
        first, *others = self.world.targets
        return msgspec.structs.replace(self.world, targets=(msgspec.structs.replace(first, resource_version=version), *others))

    def resize(self, *_: object) -> WriteResult:
        return self.answer

    adopt = release = cancel = resize


BOUND = Bound(resource_version="1", replicas=1, owner_digest="", policy_digest="")
FIRST = machine_deployment("first")
WRITES: list[Callable[[SettlingPort], WriteResult]] = [
    lambda port: port.resize(FIRST, 2, BOUND),
    lambda port: port.adopt(FIRST, 1, BOUND),
    lambda port: port.release(FIRST, BOUND),
    lambda port: port.cancel(FIRST, (), 1, BOUND),
]


@pytest.mark.parametrize("write", WRITES)
def test_a_view_shows_our_write_before_anything_is_decided_on_it(write: Callable[[SettlingPort], WriteResult]) -> None:
    """Two views are older; once it was shown it is waited for no more."""
    behind, pace = Versions("1", "1", "1", "2", "2"), ManualPace()
    port = SettlingPort(cast(Any, behind), pace)
    port.observe()
    assert write(port).done
    assert port.observe().targets[0].resource_version == "2"
    assert (pace.waits, behind.views) == ([0.05, 0.05], 4)
    port.observe()
    assert behind.views == 5


def test_a_view_between_somebody_elses_write_and_ours_is_not_ours() -> None:
    """A controller wrote at 9, or the first of our two writes is at 10 and the second at 11; 12 came after both."""
    behind, pace = Versions("8", "8", "9", "10", "12"), ManualPace()
    behind.answer = WriteResult(resource_version="11")
    port = SettlingPort(cast(Any, behind), pace)
    port.observe()
    port.adopt(FIRST, 1, BOUND)
    assert port.observe().targets[0].resource_version == "12"
    exact = Versions("8", "11")
    exact.answer = behind.answer
    port = SettlingPort(cast(Any, exact), pace)
    port.observe()
    port.adopt(FIRST, 1, BOUND)
    assert port.observe().targets[0].resource_version == "11"


def test_a_write_that_changed_nothing_is_not_waited_for() -> None:
    """The server leaves the version of an object as it is where a write brings nothing new."""
    behind, pace = Versions("8"), ManualPace()
    behind.answer = WriteResult(resource_version="8")
    port = SettlingPort(cast(Any, behind), pace)
    port.observe()
    port.release(FIRST, BOUND)
    assert (port.observe().targets[0].resource_version, pace.waits) == ("8", [])


def test_a_write_that_never_shows_is_waited_for_ten_seconds() -> None:
    """The judgement refuses then; a command that ends does not wait."""
    for pauses, waited in ((100_000, 10), (3, 0.15)):
        pace = ManualPace(pauses=pauses)
        port = SettlingPort(cast(Any, Versions("1")), pace)
        port.observe()
        port.resize(FIRST, 2, BOUND)
        assert port.observe().targets[0].resource_version == "1"
        assert sum(pace.waits) == pytest.approx(waited, abs=0.11)


@pytest.mark.parametrize("case", ["refused", "no view yet"])
def test_what_is_not_waited_for(case: str) -> None:
    """A write that was not done, and one on a view that nobody took."""
    behind, pace = Versions("1"), ManualPace()
    port = SettlingPort(cast(Any, behind), pace)
    if case == "refused":
        port.observe()
        behind.answer = WriteResult(code=WriteCode.REFUSED)
    port.resize(FIRST, 2, BOUND)
    port.observe()
    assert pace.waits == []


@pytest.mark.parametrize(
    ("shown", "written", "behind"),
    [("9", "10", True), ("10", "10", False), ("b7", "10", False), ("a1", "10", True), ("9", "c3", False), ("a1", "", True)],
)
def test_versions_that_are_no_numbers_are_not_compared(shown: str, written: str, *, behind: bool) -> None:
    """Of a write that was decided at version `a1`: any other version will do then."""
    assert AwaitedWrite(before="a1", written=written).is_behind(shown) is behind
