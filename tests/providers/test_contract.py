"""What every port must do, on the simulated cluster and on a real API server with each platform's own controllers."""

from collections.abc import Iterator
from typing import Protocol

import msgspec
import pytest

from reconciler.cluster.target import TargetRef
from reconciler.plan.plan import Bound
from reconciler.providers.contract import ClusterPort, NodeRemoval, RemovalProgress, RemovalState, WriteCode, WriteResult
from reconciler.providers.ownership_guard import judged_now
from reconciler.providers.simulated import SimulatedPort
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.embedded.field_owner import Via
from tests.aws.bench import AwsBench
from tests.aws.service.server import Service as AutoScaling
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy
from tests.crusoe.bench import CrusoeBench
from tests.crusoe.service.server import Service as CrusoeService
from tests.openshift.live_bench import MachineSetBench
from tests.providers.conftest import NewBench
from tests.providers.example_platform.live import URL
from tests.providers.orchard_bench import OrchardBench, Service
from tests.testbed.machine_api import MachineApi


class Bench(Protocol):
    """One group behind a port, and what others do to it."""

    port: ClusterPort
    target: TargetRef

    def bound(self) -> Bound: ...
    def replicas(self) -> int: ...
    def nodes(self) -> list[str]: ...
    def until_nodes(self, count: int) -> list[str]: ...
    def applied_by(self, manager: str, replicas: int) -> None: ...
    def edited_by(self, manager: str, replicas: int) -> None: ...
    def removed(self, count: int = 1) -> list[RemovalProgress]: ...


def begun(bench: Bench, node: str, replicas: int) -> WriteResult:
    """One removal begins, in a plan that leaves so many replicas."""
    (result,) = bench.port.remove_nodes([NodeRemoval(target=bench.target, node=node, replicas=replicas, bound=bench.bound())])
    return result


class SimulatedBench:
    """The same on the simulated cluster."""

    def __init__(self, replicas: int) -> None:
        builder = ClusterBuilder()
        builder.group("general", nodes=replicas)
        self.target = machine_deployment("general")
        self.cluster = SimulatedCluster(builder.world(), policy(node_group("general")), NOW)
        self.cluster.advance_to(NOW)
        self.port = SimulatedPort(self.cluster)
        self._now = NOW

    def bound(self) -> Bound:
        facts = self.cluster.objects.targets[self.target]
        return Bound(
            resource_version=facts.resource_version,
            replicas=facts.replicas or 0,
            owner_digest=judged_now(facts).digest,
            policy_digest="",
        )

    def replicas(self) -> int:
        return self.cluster.objects.targets[self.target].replicas or 0

    def nodes(self) -> list[str]:
        return sorted(node.name for node in self.cluster.world().nodes)

    def until_nodes(self, count: int) -> list[str]:
        self._pass(3600)
        assert len(self.nodes()) == count
        return self.nodes()

    def applied_by(self, manager: str, replicas: int) -> None:
        self.cluster.write_replicas(self.target, replicas, manager, Via.APPLY)

    def edited_by(self, manager: str, replicas: int) -> None:
        self.cluster.write_replicas(self.target, replicas, manager, Via.PATCH)

    def removed(self, count: int = 1) -> list[RemovalProgress]:
        self._pass(3600)
        ended = [one for one in self.port.continue_removals() if one.state is not RemovalState.DRAINING]
        assert len(ended) == count
        return ended

    def _pass(self, seconds: int) -> None:
        self._now += seconds
        self.cluster.advance_to(self._now)


CREDENTIALS = {"AWS_ACCESS_KEY_ID": "AKIATEST", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_EC2_METADATA_DISABLED": "true"}


def absent(target: TargetRef) -> TargetRef:
    return msgspec.structs.replace(target, name="nowhere")


class AnyBench(Protocol):
    def __call__(self, replicas: int) -> Bench: ...


RECORDED = ("simulated", "clusterapi", "openshift", "made-up")
"""Those whose targets record who owns their size, with a generation; `UNRECORDED` are clouds whose targets record neither."""
UNRECORDED = ("aws", "crusoe")


@pytest.fixture(params=[*RECORDED, *UNRECORDED])
def any_bench(request: pytest.FixtureRequest) -> Iterator[AnyBench]:
    yield from _benches(request)


@pytest.fixture(params=RECORDED)
def owned_bench(request: pytest.FixtureRequest) -> Iterator[AnyBench]:
    yield from _benches(request)


def _benches(request: pytest.FixtureRequest) -> Iterator[AnyBench]:
    if request.param == "simulated":
        yield SimulatedBench
        return
    if request.param == "openshift":
        machine_api: MachineApi = request.getfixturevalue("machine_api")
        made: list[MachineSetBench] = []

        def make(replicas: int) -> Bench:
            made.append(MachineSetBench(machine_api, replicas))
            return made[-1]

        yield make
        for bench in made:
            bench.gone()
        return
    if request.param == "made-up":
        service = Service()
        request.getfixturevalue("monkeypatch").setenv(URL, service.url)
        yield lambda replicas: OrchardBench(service, replicas)
        service.close()
        return
    if request.param == "aws":
        for name, value in CREDENTIALS.items():
            request.getfixturevalue("monkeypatch").setenv(name, value)
        running = AutoScaling()
        yield lambda replicas: AwsBench(running, replicas)
        running.stop()
        return
    if request.param == "crusoe":
        server = CrusoeService()
        yield lambda replicas: CrusoeBench(server, replicas)
        server.stop()
        return
    new_bench: NewBench = request.getfixturevalue("new_bench")
    yield new_bench


def test_resize_sets_replicas(any_bench: AnyBench) -> None:
    """Up, and the machines follow."""
    bench = any_bench(1)
    result = bench.port.resize(bench.target, 3, bench.bound())
    assert (result.done, result.code, bench.replicas()) == (True, "", 3)
    assert len(bench.until_nodes(3)) == 3


def test_the_generation_of_a_write_is_told(owned_bench: AnyBench) -> None:
    """What a later change is told from."""
    bench = owned_bench(1)
    assert bench.port.resize(bench.target, 2, bench.bound()).generation > 0


def test_repeating_a_write_that_was_done_changes_nothing(any_bench: AnyBench) -> None:
    """Bound to what was before it, it is stale; bound to what is there, it is done again."""
    bench = any_bench(1)
    before = bench.bound()
    bench.port.resize(bench.target, 2, before)
    assert bench.port.resize(bench.target, 2, before).code == WriteCode.STALE
    assert bench.port.resize(bench.target, 2, bench.bound()).done
    assert bench.replicas() == 2


def test_replicas_that_moved_make_a_write_stale(any_bench: AnyBench) -> None:
    """Somebody's value stays."""
    bench = any_bench(1)
    bound = bench.bound()
    bench.edited_by("kubectl-edit", 2)
    result = bench.port.resize(bench.target, 4, bound)
    assert (result.done, result.code, bench.replicas()) == (False, WriteCode.STALE, 2)


def test_another_owner_is_a_conflict_that_names_it(owned_bench: AnyBench) -> None:
    """Nothing is forced."""
    bench = owned_bench(1)
    bench.applied_by("argocd-controller", 1)
    result = bench.port.resize(bench.target, 2, bench.bound())
    assert (result.code, bench.replicas()) == (WriteCode.CONFLICT, 1)
    assert 'conflict with "argocd-controller"' in result.message


def test_what_is_not_there_is_not_made(any_bench: AnyBench) -> None:
    """No write makes a target."""
    bench = any_bench(0)
    for write in (bench.port.resize, bench.port.adopt):
        assert write(absent(bench.target), 1, bench.bound()).code == WriteCode.NOT_FOUND
    assert bench.port.release(absent(bench.target), bench.bound()).code == WriteCode.NOT_FOUND


def test_adoption_keeps_the_value_and_opens_the_field(owned_bench: AnyBench) -> None:
    """After it a resize meets nobody."""
    bench = owned_bench(1)
    bench.edited_by("kubectl-edit", 2)
    assert bench.port.adopt(bench.target, 2, bench.bound()).done
    assert bench.replicas() == 2
    assert bench.port.resize(bench.target, 3, bench.bound()).done


def test_release_keeps_the_value(any_bench: AnyBench) -> None:
    """Replicas stay."""
    bench = any_bench(1)
    bench.port.resize(bench.target, 2, bench.bound())
    assert bench.port.release(bench.target, bench.bound()).done
    assert bench.replicas() == 2


def test_exactly_the_named_node_goes(any_bench: AnyBench) -> None:
    """Replicas fall by one when its removal has finished, not before; the others stay."""
    bench = any_bench(3)
    first, chosen, last = bench.until_nodes(3)
    bench.port.observe()
    assert begun(bench, chosen, 2).done
    assert bench.replicas() == 3
    (ended,) = bench.removed()
    assert (ended.node, ended.state, ended.replicas) == (chosen, RemovalState.FINISHED, 2)
    assert bench.until_nodes(2) == [first, last]
    assert bench.replicas() == 2
    bench.port.observe()
    assert bench.port.continue_removals() == ()


def test_a_removal_that_is_called_off_leaves_all_as_it_was(any_bench: AnyBench) -> None:
    """The node stays, replicas too, and a removal of it may begin anew."""
    bench = any_bench(2)
    nodes = bench.until_nodes(2)
    bench.port.observe()
    assert begun(bench, nodes[0], 1).done
    ended: list[RemovalProgress] = []
    while not ended:
        bench.port.observe()
        bench.port.call_off(bench.target, nodes[0], "MinSize: raised")
        ended = [one for one in bench.port.continue_removals() if one.state is not RemovalState.DRAINING]
    assert [(one.node, one.state, one.code, one.message) for one in ended] == [
        (nodes[0], RemovalState.FAILED, "CalledOff", "MinSize: raised")
    ]
    assert (bench.until_nodes(2), bench.replicas()) == (nodes, 2)
    world = bench.port.observe()
    shapes = [world.node_shapes[node.shape] for node in world.nodes if node.name in nodes]
    assert not any(shape.unschedulable or shape.taints for shape in shapes)
    assert begun(bench, nodes[0], 1).done


def test_several_removals_of_one_target_lower_it_once_each(any_bench: AnyBench) -> None:
    """Two named nodes go, whichever is done first."""
    bench = any_bench(4)
    nodes = bench.until_nodes(4)
    bench.port.observe()
    assert begun(bench, nodes[0], 3).done
    assert begun(bench, nodes[2], 2).done
    ended = bench.removed(2)
    assert {one.node for one in ended} == {nodes[0], nodes[2]}
    assert min(one.replicas for one in ended) == 2
    assert bench.until_nodes(2) == [nodes[1], nodes[3]]


def test_a_node_that_is_not_there_is_not_removed(any_bench: AnyBench) -> None:
    """Not found, and replicas stay."""
    bench = any_bench(1)
    bench.until_nodes(1)
    bench.port.observe()
    assert begun(bench, "nowhere", 0).code == WriteCode.NOT_FOUND
    assert bench.replicas() == 1


def test_an_owner_that_comes_during_the_drain_ends_the_removal(owned_bench: AnyBench) -> None:
    """The node is open again, nothing is lowered, and the owner is named."""
    bench = owned_bench(2)
    nodes = bench.until_nodes(2)
    bench.port.observe()
    assert begun(bench, nodes[0], 1).done
    bench.applied_by("argocd-controller", 2)
    (ended,) = bench.removed()
    assert (ended.state, ended.code, bench.replicas()) == (RemovalState.FAILED, WriteCode.CONFLICT, 2)
    assert "argocd-controller" in ended.message
    assert bench.nodes() == nodes
