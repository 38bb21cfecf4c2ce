"""What a plan does to nodes and pods, counted."""

from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.plan.comparison import Impact
from reconciler.plan.plan import GroupLine, NodeLine, NodeState, Ownership, OwnerState
from reconciler.policy.documents import Budget, PolicySet, ScaleDown
from reconciler.rendering.differences import impact_sections
from reconciler.rendering.fold import Fold
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
    sections = impact_sections(before, after, nodes, [line("general"), line("spot")], Fold())
    return [f"{difference.mark} {difference.sentence}" for section in sections for difference in section.differences]


def test_words():
    """Both directions of everything; a pod that moves twice counts twice."""
    before = Impact(
        evicted_now=("shop/a",), evicted_settled=("shop/a", "shop/b"), nodes_gone=("n1", "n2"),
        nodes_joined={"spot": 2}, waiting=("batch/x-0", "batch/x-1"),
    )  # fmt: skip
    after = Impact(
        evicted_now=(), evicted_settled=("shop/b", "shop/b", "shop/c"), nodes_gone=("n2", "n3", "n4"),
        nodes_joined={"general": 1}, waiting=("shop/d",),
    )  # fmt: skip
    assert told(before, after) == [
        "+ now: 1 -> 0 evictions; no longer: shop/a",
        "- until it rests: 2 -> 3 evictions; moved: shop/b, shop/c; no longer: shop/a",
        "- general: 2 nodes leave that stayed before: n3, n4",
        "+ general: 1 node stays that left before: n1",
        "+ general: new nodes 0 -> 1",
        "- spot: new nodes 2 -> 0",
        "- shop/d: no place at rest any more",
        "+ batch/x-*: 2 pods with a place at rest",
    ]
    assert told(before, before) == []
