"""What a plan does to nodes and pods, counted."""

import msgspec
import pytest

from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.plan.impact import Impact, losing_data
from reconciler.plan.plan import GroupLine, NodeLine, NodeState, Ownership, OwnerState
from reconciler.policy.documents import Budget, PolicySet, ScaleDown
from reconciler.rendering.documents.preview.node_differences import node_differences
from reconciler.rendering.documents.preview.pod_differences import pod_differences
from reconciler.rendering.words.fold import Fold
from reconciler.simulation.settled import come_to_rest
from tests.builders import NOW, ClusterBuilder, node_group, policy


def impact(cluster: ClusterBuilder, rules: PolicySet) -> Impact:
    """Of the decision at NOW."""
    world = cluster.world()
    plan, _ = decide(world, rules, Memory(), NOW)
    return come_to_rest(world, rules, Memory(), NOW, plan).impact


def test_removal_now_and_at_rest():
    """Three nodes a quarter full and one node a plan: at first sight one goes with its two pods, then the next with four;
    DaemonSet pods do not count."""
    cluster = ClusterBuilder()
    names = cluster.group("general", nodes=3, cpu="4")
    cluster.daemonset("agent")
    cluster.pods("web", 6, cpu="500m", on=[name for name in names for _ in range(2)])
    down = ScaleDown(utilization_threshold_percent=90, unneeded_time_seconds=0)
    found = impact(cluster, policy(node_group("general", min=1, scale_down=down), budgets=(Budget(nodes=1),)))
    assert len(found.evicted_now) == 2
    assert len(found.nodes_gone) == 2
    assert len(found.evicted_settled) >= 4
    assert set(found.evicted_settled) <= {f"shop/web-{number}" for number in range(1, 7)}
    assert (found.waiting, dict(found.nodes_joined)) == ((), {})


def test_growth_and_what_stays_pending():
    """Room for two of three pods: two nodes join, one pod waits."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0, cpu="4")
    cluster.pods("web", 3, cpu="3")
    found = impact(cluster, policy(node_group("general", max=2)))
    assert dict(found.nodes_joined) == {"general": 2}
    assert found.waiting == ("shop/web-3",)
    assert (found.evicted_now, found.evicted_settled, found.nodes_gone) == ((), (), ())


def line(name: str) -> GroupLine:
    return GroupLine(
        name=name, target=name, tier="", current=1, desired=1, min=0, max=5, owner=Ownership(state=OwnerState.OURS)
    )  # fmt: skip


def told(before: Impact, after: Impact) -> list[str]:
    nodes = [
        NodeLine(node=f"n{number}", group="general", state=NodeState.IN_USE, utilization_permille=None, removable=False)
        for number in range(9)
    ]
    pods, pod_lines = pod_differences(before, after, (), Fold())
    joined = before.nodes_joined, after.nodes_joined
    moved, node_lines = node_differences(before, after, joined, (), nodes, [line("general"), line("spot")], (), Fold())
    lines = [f"{one.mark} {one.meaning}: {one.sentence}" for one in (*pod_lines, *node_lines)]
    return [f"{pods} pods, {moved} nodes", *lines]


def test_words():
    """Both directions of everything; a pod that moves twice counts twice. The number of pods is that of a, b, c, d and both x;
    that of nodes n1, n3, n4, one new of general, two of spot that do not come. Red is for pods that lose, and for evictions."""
    before = Impact(
        evicted_now=("shop/a",), evicted_settled=("shop/a", "shop/b"), nodes_gone=("n1", "n2"),
        nodes_joined={"spot": 2}, waiting=("batch/x-0", "batch/x-1"),
    )  # fmt: skip
    after = Impact(
        evicted_now=(), evicted_settled=("shop/b", "shop/b", "shop/c"), nodes_gone=("n2", "n3", "n4"),
        nodes_joined={"general": 1}, waiting=("shop/d",),
    )  # fmt: skip
    assert told(before, after) == [
        "6 pods, 6 nodes",
        "- danger: shop/d: has no node in steady state",
        "- neutral: evictions now: 1 -> 0, no longer: shop/a",
        "+ danger: evictions until the steady state: 2 -> 3, evicted: shop/b, shop/c, no longer: shop/a",
        "+ neutral: batch/x-*: 2 pods have a node in steady state",
        "- neutral: general: 2 nodes leave that stay under main: n3, n4",
        "+ neutral: general: 1 node stays that leaves under main: n1",
        "+ neutral: general: new nodes 0 -> 1",
        "- neutral: spot: new nodes 2 -> 0",
    ]
    assert told(before, before) == ["0 pods, 0 nodes"]


@pytest.mark.parametrize(
    ("traits", "lost"),
    [
        ({"local_volumes": ("scratch",)}, True),
        ({"local_volumes": ("scratch", "cache"), "safe_local_volumes": ("cache",)}, True),
        ({"local_volumes": ("scratch",), "safe_local_volumes": ("scratch",)}, False),
        ({"local_volumes": ("scratch",), "safe_to_evict": "true"}, False),
        ({}, False),
    ],
)
def test_data_on_a_node_is_lost_unless_the_pod_calls_it_safe(traits: dict[str, object], lost: bool):
    """Of those that are asked about alone."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    cluster.pods("web", 2, on=["general-1", "general-1"])
    world = cluster.world()
    world = msgspec.structs.replace(world, pod_traits=tuple(msgspec.structs.replace(one, **traits) for one in world.pod_traits))
    named = world.pods.keys([0])
    assert losing_data(world, named) == (tuple(named) if lost else ())
    assert losing_data(world, ()) == ()
