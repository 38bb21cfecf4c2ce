"""Static pods come with a node, as those of DaemonSets do: a new node of a group has what its newest ready one shows."""

import pytest

from reconciler.decisions.memory import Memory
from reconciler.simulation.settled import settled
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import group, plan_of

RULES = policy(node_group("general", max=9))


def _cluster(cpu: str, pods: int = 1, *, nodes: int = 1, on: str = "general-1", mirror: bool = True) -> ClusterBuilder:
    """Full nodes of 4 cpu; on one of them 1 cpu is a static pod's. `pods` of `cpu` wait."""
    cluster = ClusterBuilder()
    for number, name in enumerate(cluster.group("general", nodes=nodes)):
        cluster.pods(f"full-{number}", 1, cpu="3", on=name)
    cluster.pods("proxy", 1, cpu="1", on=on, owner="Node" if mirror else "ReplicaSet", traits={"mirror": mirror})
    cluster.pods("web", pods, cpu=cpu)
    return cluster


@pytest.mark.parametrize(("cpu", "mirror", "desired"), [("3", True, 2), ("3100m", True, 1), ("3100m", False, 2)])
def test_a_new_node_has_them(cpu: str, mirror: bool, desired: int) -> None:
    """3 cpu are left of 4; all 4 where the pod is one of any other kind."""
    assert group(plan_of(_cluster(cpu, mirror=mirror).world(), RULES), "general").desired == desired


@pytest.mark.parametrize(("on", "desired"), [("general-2", 2), ("general-1", 3)])
def test_the_newest_ready_node_tells(on: str, desired: int) -> None:
    """Of nodes of one age the last by name."""
    assert group(plan_of(_cluster("3500m", nodes=2, on=on).world(), RULES), "general").desired == desired


def test_simulated_nodes_have_them_too() -> None:
    """Three pods of 1 cpu a node, not four: seven pods need three nodes, and keep them."""
    world = _cluster("1", 7).world()
    plan = settled(world, RULES, Memory(), NOW, plan_of(world, RULES))
    assert (group(plan, "general").desired, group(plan, "general").settled) == (4, 4)
