"""MachinePools and MachineSets as targets on the real Cluster API: they grow by replicas and lose exactly the machine that is
chosen."""

import pytest

from reconciler.cluster.target import TargetRef
from reconciler.platforms.clusterapi.kinds import MACHINE_POOL, MACHINE_SET
from reconciler.platforms.clusterapi.writing.provider import ClusterApiTargets
from reconciler.platforms.clusterapi.writing.target_readings import read_target
from reconciler.providers.contract import RemovalState, WriteCode
from tests.providers.conftest import NewBench
from tests.providers.live_bench import VERSION, LiveBench

OURS = ("nodegroup-reconciler", "Apply", "")


@pytest.mark.parametrize("kind", [MACHINE_POOL, MACHINE_SET])
def test_a_target_grows_and_loses_the_machine_that_is_chosen(new_bench: NewBench, kind: str) -> None:
    """Two become three by one apply of replicas; then the node in the middle of the three goes, and no other."""
    bench = new_bench(2, kind=kind)
    bench.until_nodes(2)
    assert bench.port.resize(bench.target, 3, bench.bound()).done
    first, chosen, last = bench.until_nodes(3)
    assert (bench.owners(), bench.facts().selectable) == ([OURS], True)
    bench.port.observe()
    assert bench.port.remove_node(bench.target, chosen, 2, bench.bound()).done
    (ended,) = bench.removed()
    assert (ended.node, ended.state, ended.replicas) == (chosen, RemovalState.FINISHED, 2)
    assert bench.until_nodes(2) == [first, last]
    assert (bench.replicas(), bench.marks(), bench.taints()) == (2, {}, [])


def _pool_nodes(bench: LiveBench, count: int) -> list[str]:
    """The nodes that the pool names, sorted, once there are so many and its status says so."""

    def there(item: dict) -> bool:
        status = item.get("status", {})
        return len(status.get("nodeRefs", ())) == status.get("replicas", 0) == count

    found = bench.cluster.until(bench.object, there, f"{count} nodes of {bench.name}")
    return sorted(reference["name"] for reference in found["status"].get("nodeRefs", ()))


def test_a_pool_without_machines_refuses_removals(new_bench: NewBench) -> None:
    """It grows as any other; which of its instances would go nobody can say, so that no drain begins."""
    bench = new_bench(1, kind=MACHINE_POOL, machines=False)
    _pool_nodes(bench, 1)
    assert bench.port.resize(bench.target, 2, bench.bound()).done
    node, _ = _pool_nodes(bench, 2)
    assert not bench.facts().selectable
    bench.port.observe()
    result = bench.port.remove_node(bench.target, node, 1, bench.bound())
    assert (result.code, bench.replicas()) == (WriteCode.REFUSED, 2)
    assert f"{bench.target} has no Machine for node {node}" in result.message


def test_a_pool_without_machines_shrinks_where_that_is_allowed(new_bench: NewBench) -> None:
    """The chosen node is emptied and replicas fall by one, once; the platform takes the instance that it likes."""
    bench = new_bench(2, kind=MACHINE_POOL, machines=False)
    _, last = _pool_nodes(bench, 2)
    port = bench.port_over(bench.api, platform_chooses=True)
    port.observe()
    assert port.remove_node(bench.target, last, 1, bench.bound()).done
    (ended,) = bench.removed(port=port)
    assert (ended.node, ended.state, ended.replicas, bench.replicas()) == (last, RemovalState.FINISHED, 1, 1)
    _pool_nodes(bench, 1)


def test_a_machine_set_of_a_deployment_is_not_written(new_bench: NewBench) -> None:
    """Its owner sets its replicas: refused with the owner's name, and nothing changes."""
    bench = new_bench(1)
    bench.until_nodes(1)
    sets = bench.cluster.api.items(bench.cluster.path("machinesets"))
    (owned,) = [item for item in sets if item["metadata"]["labels"].get("group") == bench.name]
    target = TargetRef(kind=MACHINE_SET, namespace=bench.cluster.namespace, name=owned["metadata"]["name"])
    facts = read_target(bench.api, VERSION, target).facts
    bound = LiveBench.bound_of(facts)
    result = ClusterApiTargets(bench.api).resize(target, 2, bound)
    assert (result.done, result.code) == (False, WriteCode.CONFLICT)
    assert f"MachineDeployment {bench.cluster.namespace}/{bench.name} controls it and sets its replicas" in result.message
    assert bench.cluster.api.read(owned)["spec"]["replicas"] == 1
