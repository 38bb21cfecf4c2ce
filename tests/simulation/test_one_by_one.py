"""Nodes that share a disruption budget leave one after the other, which costs no time."""

from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.policy.documents import ScaleDown
from reconciler.simulation.one_by_one import one_by_one
from reconciler.simulation.settled import settled
from tests.builders import NOW, ClusterBuilder, node_group, policy


def _spread(per_node: int) -> ClusterBuilder:
    """Twenty nodes with `per_node` small pods each, a budget that lets one be missing, and room on the first node by name."""
    cluster = ClusterBuilder()
    names = cluster.group("general", nodes=20, cpu="4")
    cluster.group("a-home", nodes=1, cpu="32")
    cluster.pods("web", 20 * per_node, cpu="100m", on=[name for name in names for _ in range(per_node)])
    count = 20 * per_node
    cluster.budget("web", max_unavailable="1", allowed=1, healthy=count, desired=count - 1, expected=count)
    cluster.pods("home", 1, cpu="24", on="a-home-1")
    return cluster


def _settle(cluster: ClusterBuilder) -> tuple[int | None, int | None]:
    world, rules = (
        cluster.world(),
        policy(node_group("general", max=30, scale_down=ScaleDown(unneeded_time_seconds=60)), node_group("a-home")),
    )
    plan, memory = decide(world, rules, Memory(), NOW)
    plan = settled(world, rules, memory, NOW, plan)
    return plan.groups[1].settled, plan.settled_loops


def test_one_pod_a_node_goes_in_few_loops():
    """Twenty nodes, one eviction at a time: all leave, in fewer loops than nodes."""
    rest, loops = _settle(_spread(1))
    assert rest == 0
    assert loops is not None
    assert loops < 10


def test_two_pods_of_a_node_go_one_after_the_other():
    """As the eviction API lets them: each when the one before it has been replaced."""
    assert _settle(_spread(2))[0] == 0


def test_budget_that_allows_nothing_stays():
    """Only what allows something is lifted."""
    cluster = _spread(1)
    cluster.pods("db", 1, on="general-1")
    cluster.budget("db", max_unavailable="0", healthy=1, desired=1, expected=1)
    world = cluster.world()
    seen = one_by_one(world)
    assert {budget.name: budget.disruptions_allowed > 1 for budget in seen.budgets} == {"db": False, "web": True}
