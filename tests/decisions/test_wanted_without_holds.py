"""What held groups would do is worked out anew only where it can differ: both ways come to the same plan."""

from collections.abc import Iterator

import pytest

from reconciler.decisions.decide import DEFAULT_WORK_BUDGET, decide
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import Plan
from reconciler.policy.documents import Headroom, Hold, NodeGroup, PolicySet
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.properties.random_clusters import random_cluster

HELD = Hold(reason="maintenance")
SEEDS = range(40)


def always_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reconciler.decisions.decide._holds_cost_nothing", lambda grown: False)


def held_clusters() -> Iterator[tuple[object, PolicySet, int]]:
    for seed in SEEDS:
        found = random_cluster(seed, headroom=seed % 3 == 0, expendable=seed % 4 == 0)
        if found.held:
            yield found.world, found.policy, seed


@pytest.mark.parametrize("work_budget", [DEFAULT_WORK_BUDGET, 150])
def test_same_plans_as_when_all_is_grown_again(monkeypatch: pytest.MonkeyPatch, work_budget: int):
    """Random clusters with held groups: plan and memory are equal, with plenty of work to spend and with too little."""
    clusters = list(held_clusters())
    assert len(clusters) > 5
    quick = [decide(world, rules, Memory(), NOW, work_budget) for world, rules, _ in clusters]
    always_anew(monkeypatch)
    assert quick == [decide(world, rules, Memory(), NOW, work_budget) for world, rules, _ in clusters]


def plan_of(group: NodeGroup, *, pending: int = 0) -> Plan:
    cluster = ClusterBuilder()
    names = cluster.group("general", nodes=2, cpu="4", memory="16Gi")
    cluster.pods("web", 2, cpu="1", on=names)
    cluster.pods("more", pending, cpu="4")
    return decide(cluster.world(), policy(group), Memory(), NOW)[0]


def test_settled_held_group_wants_what_it_has():
    """All pods run and nothing is asked for: two nodes, without growing a second time."""
    (line,) = plan_of(node_group("general", hold=HELD)).groups
    assert (line.current, line.desired, line.wanted) == (2, 2, 2)


def test_held_group_wants_nodes_for_pods_that_wait():
    """Two pods of four cores have no place on two nodes with three free cores each."""
    (line,) = plan_of(node_group("general", hold=HELD), pending=2).groups
    assert (line.desired, line.wanted) == (2, 4)


def test_held_group_wants_its_minimum():
    """Below its minimum of five a group would get three nodes."""
    (line,) = plan_of(node_group("general", min=5, hold=HELD)).groups
    assert (line.desired, line.wanted) == (2, 5)


def test_held_group_wants_its_headroom():
    """Both nodes are used, one empty node is to be kept."""
    (line,) = plan_of(node_group("general", hold=HELD, headroom=Headroom(nodes=1))).groups
    assert (line.desired, line.wanted) == (2, 3)
