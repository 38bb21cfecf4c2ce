"""A saved plan whose Lease is lost in the middle: the API server and the cluster are made up, all between them is real."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest

from reconciler.cluster.target import FieldOwner
from reconciler.control.live.live_process import LiveProcess
from reconciler.control.saved_plans.apply_document import apply_document
from reconciler.control.saved_plans.live_apply import FixedSource, LiveApply
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.kube.connection.api import Api, ApiError
from reconciler.kube.leading.lease import LeaderLease, NotLeaderError
from reconciler.policy.documents import PolicySet, ScaleDown
from reconciler.providers.contract import NodeRemoval, RemovalProgress, WriteCode, WriteResult
from reconciler.providers.simulated import SimulatedPort
from reconciler.rendering.apply import ApplyDocument
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
        )  # fmt: skip

    def regained(self) -> None:
        """The Lease runs out, and is had again."""
        self.pace.now += 11
        assert not self.lease.leads()
        assert self.lease.step()

    def gone(self) -> None:
        """The Lease runs out."""
        self.pace.now += 11

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
