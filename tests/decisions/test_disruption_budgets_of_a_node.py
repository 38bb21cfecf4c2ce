"""Disruption budgets over the pods of one node: all pods of a budget count together, whatever they look like."""

import msgspec
import pytest

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


@pytest.mark.parametrize(("allowed", "leaves"), [(1, False), (2, True)])
def test_pods_of_two_sizes_charge_one_budget_together(allowed: int, leaves: bool) -> None:
    """Two evictions are needed: one that is allowed is not enough for the node."""
    plan = _plan(allowed)
    assert [action.nodes for action in plan.actions] == [("general-1",)] * leaves
    told = [(blocker.code, blocker.message) for blocker in node(plan, "general-1").blockers]
    assert told == ([] if leaves else [("NotEnoughPdb", "PodDisruptionBudget shop/web allows 1 eviction, 2 are needed")])


def test_a_budget_whose_status_lags_behind_allows_nothing() -> None:
    """Its controller has not seen the budget as it is written now: the number in the status is about another one."""
    plan = _plan(5, observed=False)
    assert not plan.actions
    assert [blocker.code for blocker in node(plan, "general-1").blockers] == ["NotEnoughPdb"]
