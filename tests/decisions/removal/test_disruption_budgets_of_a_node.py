"""Disruption budgets over the pods of one node: all pods of a budget count together, whatever they look like."""

import msgspec
import pytest

from reconciler.cluster.pods.pod_table import pod_flags
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import Plan
from reconciler.policy.documents import Budget
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import node, plan_of


def _plan(allowed: int, *, observed: bool = True) -> Plan:
    """Two pods of one budget and of different sizes on the first of two nodes."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("web", 1, cpu="100m", on="general-1", labels={"app": "web"})
    cluster.pods("web-large", 1, cpu="200m", on="general-1", labels={"app": "web"})
    cluster.pods("base", 1, cpu="3", on="general-2", traits={"safe_to_evict": "false"})
    cluster.budget("web", allowed=allowed)
    world = cluster.world()
    world = msgspec.structs.replace(
        world, budgets=tuple(msgspec.structs.replace(budget, observed=observed) for budget in world.budgets)
    )
    rules = policy(node_group("general"), budgets=(Budget(nodes=100),))
    return plan_of(world, rules, Memory(unneeded_since={"general-1": NOW - 3600}))


@pytest.mark.parametrize(("allowed", "leaves"), [(0, False), (1, True), (2, True)])
def test_pods_of_two_sizes_charge_one_budget_together(allowed: int, leaves: bool) -> None:
    """Two evictions are needed: when one is allowed, the pods go one after the other."""
    plan = _plan(allowed)
    assert [action.nodes for action in plan.actions] == [("general-1",)] * leaves
    told = [(blocker.code, blocker.message) for blocker in node(plan, "general-1").blockers]
    assert told == ([] if leaves else [("NotEnoughPdb", "PodDisruptionBudget shop/web allows 0 evictions, the drain needs 2")])


def test_a_budget_whose_status_lags_behind_allows_nothing() -> None:
    """Its controller has not seen the budget as it is written now: the number in the status is about another one."""
    plan = _plan(5, observed=False)
    assert not plan.actions
    assert [blocker.code for blocker in node(plan, "general-1").blockers] == ["NotEnoughPdb"]


@pytest.mark.parametrize(("allowed", "leaving"), [(1, 1), (2, 1), (3, 1), (4, 2)])
def test_a_budget_that_one_node_spends_lets_no_other_go_in_turns(allowed: int, leaving: int) -> None:
    """Two nodes with two pods of one budget each: with three that may go, the second node would wait for the first."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=3)
    for number in (1, 2):
        cluster.pods(f"web-{number}", 2, cpu="100m", on=f"general-{number}", labels={"app": "web"})
    cluster.pods("base", 1, cpu="3", on="general-3", traits={"safe_to_evict": "false"})
    cluster.budget("web", allowed=allowed)
    rules = policy(node_group("general"), budgets=(Budget(nodes=100),))
    memory = Memory(unneeded_since={f"general-{number}": NOW - 3600 for number in (1, 2, 3)})
    assert len(plan_of(cluster.world(), rules, memory).actions) == leaving


LETS_GO = [
    ("AlwaysAllow", 0, 1, True),
    ("AlwaysAllow", 0, 0, True),
    ("IfHealthyBudget", 1, 1, True),
    ("IfHealthyBudget", 0, 1, False),
    ("IfHealthyBudget", 0, 0, False),
]


@pytest.mark.parametrize(("policy_of_budget", "healthy", "desired", "leaves"), LETS_GO)
@pytest.mark.parametrize("ready", [True, False])
def test_unready_pods_go_by_the_policy_of_their_budget(
    policy_of_budget: str, healthy: int, desired: int, leaves: bool, ready: bool
) -> None:
    """The budget allows no eviction. As the eviction API has it, it is not asked about pods that are not ready."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("web", 1, cpu="100m", on="general-1", labels={"app": "web"})
    cluster.pods("base", 1, cpu="3", on="general-2", traits={"safe_to_evict": "false"})
    cluster.budget("web", allowed=0)
    world = cluster.world()
    (budget,) = world.budgets
    budget = msgspec.structs.replace(
        budget, unhealthy_pod_eviction=policy_of_budget, current_healthy=healthy, desired_healthy=desired
    )
    if not ready:
        world.pods.flags[world.pods.name.index("web-1")] = pod_flags(ready=False, gated=False)
    world = msgspec.structs.replace(world, budgets=(budget,))
    rules = policy(node_group("general"), budgets=(Budget(nodes=100),))
    plan = plan_of(world, rules, Memory(unneeded_since={"general-1": NOW - 3600}))
    assert [action.nodes for action in plan.actions] == [("general-1",)] * (leaves and not ready)
