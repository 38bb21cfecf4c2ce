"""The settled column: where sizes come to rest with unchanged demand."""

import msgspec
import pytest

from reconciler.cluster.pods.pod_table import PodTable
from reconciler.cluster.target import FieldOwner
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import Plan
from reconciler.plan.summary import plan_digest
from reconciler.policy.documents import Budget, Headroom, Mode, PodRules, PolicySet, ScaleDown
from reconciler.policy.pace import Pace
from reconciler.simulation.settled import come_to_rest, settled
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy


def _settle(cluster: ClusterBuilder, rules: PolicySet) -> Plan:
    world = cluster.world()
    plan, memory = decide(world, rules, Memory(), NOW)
    return settled(world, rules, memory, NOW, plan)


def _sizes(plan: Plan) -> dict[str, tuple[int, int, int | None]]:
    return {line.name: (line.current, line.desired, line.settled) for line in plan.groups}


@pytest.mark.parametrize(("percent", "rest"), [(20, 2), (50, 1)])
def test_a_threshold_shows_before_its_timer_has_run_out(percent, rest):
    """Two nodes a quarter full: at 50% one takes the other's pods, at 20% neither is a candidate; now nothing happens."""
    cluster = ClusterBuilder()
    names = cluster.group("general", nodes=2, cpu="4")
    cluster.pods("web", 4, cpu="500m", on=[name for name in names for _ in range(2)])
    rules = policy(
        node_group("general", scale_down=ScaleDown(utilization_threshold_percent=percent, unneeded_time_seconds=600)),
        budgets=(Budget(nodes=1),),
    )
    assert _sizes(_settle(cluster, rules)) == {"general": (2, 2, rest)}


def test_coming_to_rest_counts_its_steps():
    """Where they run out it ends there, whatever is left to be decided, and the plan says so; with enough of them it does not."""
    cluster = ClusterBuilder()
    cluster.pods("web", 6, cpu="100m", on=cluster.group("general", nodes=6, cpu="4"))
    cluster.budget("web", max_unavailable="1", allowed=1, healthy=6, desired=5, expected=6)
    cluster.pods("home", 1, cpu="24", on=cluster.group("home", nodes=1, cpu="32")[0])
    rules = policy(node_group("general", scale_down=ScaleDown(unneeded_time_seconds=600)), node_group("home"))
    world = cluster.world()
    plan, memory = decide(world, rules, Memory(), NOW)
    short, whole = (come_to_rest(world, rules, memory, NOW, plan, budget).plan for budget in (1, 1_000_000))
    assert [problem.code for problem in short.problems] == ["SettlingCutShort"]
    assert whole.problems == ()
    assert (short.settled_loops or 0) < (whole.settled_loops or 0)
    assert whole == settled(world, rules, memory, NOW, plan)


def test_growth_settles_at_what_was_bought():
    """Five pods that fill a node each: five nodes, and nothing after."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0, cpu="4")
    cluster.pods("web", 5, cpu="3")
    assert _sizes(_settle(cluster, policy(node_group("general", max=9)))) == {"general": (0, 5, 5)}


def test_pods_that_are_too_new_get_nodes_after_their_delay():
    """Two pods of 100 s wait ten minutes after their creation: nothing is asked for now, and two nodes come to rest."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0, cpu="4")
    cluster.pods("web", 2, cpu="3", age=100)
    rules = policy(node_group("general", max=9), pods=PodRules(new_pod_delay_seconds=600))
    assert _sizes(_settle(cluster, rules)) == {"general": (0, 0, 2)}


def test_held_group_stays_as_it_is():
    """Another owner declares its replicas, so empty nodes remain."""
    cluster = ClusterBuilder()
    owner = FieldOwner(manager="argocd-controller", operation="Apply", time_seconds=NOW - 9_000)
    cluster.group("held", nodes=3, owners=(owner,))
    cluster.group("free", nodes=3)
    plan = _settle(cluster, policy(node_group("held"), node_group("free")))
    assert _sizes(plan) == {"free": (3, 3, 0), "held": (3, 3, 3)}


def test_mode_observe_shows_what_would_come():
    """The column ignores that nothing would be written."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=3)
    plan = _settle(cluster, policy(node_group("general", min=1), mode=Mode.OBSERVE))
    assert _sizes(plan) == {"general": (3, 3, 1)}


def test_a_budget_of_zero_still_forbids():
    """How many may leave at once is lifted, but not a zero."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=3)
    plan = _settle(cluster, policy(node_group("general"), budgets=(Budget(nodes=0),)))
    assert _sizes(plan) == {"general": (3, 3, 3)}


@pytest.mark.parametrize(("above", "rest"), [(0, 3), (1, 0), (None, 0)])
def test_where_nothing_goes_unasked_nothing_goes(above: int | None, rest: int):
    """A group that loses one node a day without an approval is empty in the end; one that loses none stays."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=3)
    rules = policy(node_group("general", min=0), pace=Pace(require_approval_above=above))
    assert _sizes(_settle(cluster, rules))["general"][2] == rest


def test_many_nodes_settle_in_few_loops():
    """A budget of one node at a time does not cost a loop a node."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=80)
    plan = _settle(cluster, policy(node_group("general", max=100), budgets=(Budget(nodes=1),)))
    assert _sizes(plan)["general"][2] == 0
    assert plan.settled_loops is not None
    assert plan.settled_loops < 10


def test_upcoming_machine_joins_and_counts():
    """The pod waits for the machine that is on its way: nothing is bought, and it is there at rest."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, replicas=2, cpu="4")
    cluster.machine("general-2", machine_deployment("general"), created=NOW - 30)
    cluster.pods("old", 1, cpu="3", on="general-1")
    cluster.pods("new", 1, cpu="3")
    assert _sizes(_settle(cluster, policy(node_group("general")))) == {"general": (2, 2, 2)}


def test_evicted_pods_come_back_and_their_budget_is_met():
    """The budget allows three to be missing: the node with three of them goes, and nothing is pending after."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2, cpu="8")
    cluster.pods("web", 4, cpu="500m", on=["general-1", "general-1", "general-1", "general-2"])
    cluster.pods("fix", 1, cpu="4", on="general-2")
    cluster.budget("web", max_unavailable="3", allowed=3, healthy=4, desired=1, expected=4)
    assert _sizes(_settle(cluster, policy(node_group("general")))) == {"general": (2, 2, 1)}


def test_cost_and_digest_follow():
    """Three nodes of 0.50 come to rest at one: 0.50 an hour; the digest covers it."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=3)
    plan = _settle(cluster, policy(node_group("general", min=1, price_per_hour="0.50")))
    assert (plan.cost.current_per_hour, plan.cost.settled_per_hour) == ("1.50", "0.50")
    assert plan.digest == plan_digest(plan)


def test_both_memories_of_a_decision_give_the_same():
    """The memory that went in and the one that came out lead to the same rest."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=3)
    world, rules = cluster.world(), policy(node_group("general"))
    plan, memory = decide(world, rules, Memory(), NOW)
    assert settled(world, rules, memory, NOW, plan) == settled(world, rules, Memory(), NOW, plan)


@pytest.mark.parametrize("came_out", [True, False])
def test_a_node_bought_for_headroom_is_not_given_back(came_out):
    """A pod of three ends on one node and begins on the empty one: a fourth node keeps one free, and stays, whichever of
    the two memories is given."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=3, cpu="4")
    cluster.pods("web", 3, cpu="3", on=["general-1", "general-2", None])
    world = cluster.world()
    rows = [msgspec.structs.replace(row, deletion_seconds=NOW + 30 if row.name == "web-1" else 0) for row in world.pods]
    world = msgspec.structs.replace(world, pods=PodTable(rows))
    rules = policy(node_group("general", headroom=Headroom(nodes=1), scale_down=ScaleDown(unneeded_time_seconds=0)))
    plan, memory = decide(world, rules, Memory(), NOW)
    assert _sizes(settled(world, rules, memory if came_out else Memory(), NOW, plan)) == {"general": (3, 4, 4)}


def test_the_world_is_left_as_it_was():
    """Looking ahead touches nothing that was given."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=3)
    cluster.pods("web", 3, on=["general-1", None, None])
    world = cluster.world()
    rules = policy(node_group("general"))
    plan, memory = decide(world, rules, Memory(), NOW)
    settled(world, rules, memory, NOW, plan)
    assert world == cluster.world()
