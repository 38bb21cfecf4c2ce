"""Bounds at the very number that is allowed, and one beyond."""

import pytest

from reconciler.decisions.memory import Memory
from reconciler.plan.plan import ActionKind
from reconciler.policy.documents import Budget, DrainRules, Limit
from reconciler.policy.pace import Pace
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import blocker_codes, group, of_kind, plan_of

OPEN = (Budget(nodes=100),)
LONG_AGO = Memory(unneeded_since={f"general-{number}": NOW - 3600 for number in range(1, 11)})


def _removed(plan: object) -> int:
    return len(of_kind(plan, ActionKind.REMOVE_NODE))


@pytest.mark.parametrize(("percent", "removed"), [(0, 0), (1, 1), (40, 2), (41, 3), (100, 5)])
def test_pace_counts_the_removals_of_one_plan(percent: int, removed: int) -> None:
    """Of five nodes: 40 % are two, a little more is rounded up to three; the others say so."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=5)
    plan = plan_of(cluster.world(), policy(node_group("general"), budgets=OPEN, pace=Pace(max_removed_percent=percent)), LONG_AGO)
    assert _removed(plan) == removed
    kept = [name for number in range(1, 6) if blocker_codes(plan, name := f"general-{number}")]
    assert len(kept) == 5 - removed
    assert all(blocker_codes(plan, name) == ["Pace"] for name in kept)


@pytest.mark.parametrize(("least", "removed"), [(8, 3), (9, 2), (12, 2), (13, 1), (20, 0)])
def test_a_limit_with_a_minimum_is_the_floor_of_several_removals(least: int, removed: int) -> None:
    """Five nodes of four cores: each removal counts for the next one, and one that leaves exactly the minimum may go."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=5)
    limits = (Limit(name="floor", min=(("cpu", least * 1000),)),)
    plan = plan_of(cluster.world(), policy(node_group("general"), budgets=OPEN, limits=limits), LONG_AGO)
    assert _removed(plan) == removed


@pytest.mark.parametrize(("most", "added"), [(7, 0), (8, 1), (11, 1), (12, 2), (16, 3), (100, 3)])
def test_a_limit_that_is_just_met_allows_the_node(most: int, added: int) -> None:
    """One node of four cores is there and three more are needed: a limit of exactly eight cores takes the second."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    cluster.pods("full", 1, cpu="3", on="general-1")
    cluster.pods("web", 3, cpu="3")
    limits = (Limit(name="cores", max=(("cpu", most * 1000),)),)
    plan = plan_of(cluster.world(), policy(node_group("general"), limits=limits))
    assert group(plan, "general").desired == 1 + added


@pytest.mark.parametrize(("replicas", "blocked"), [(2, True), (3, False), (4, False)])
def test_min_replicas_at_its_bound(replicas: int, blocked: bool) -> None:
    """A controller with exactly so many replicas may lose one for a moment; one with fewer may not."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("web", 1, cpu="100m", on="general-1", replicas=replicas)
    cluster.pods("stays", 1, cpu="3", on="general-2")
    rules = policy(node_group("general"), budgets=OPEN, drain=DrainRules(min_replicas=3))
    plan = plan_of(cluster.world(), rules, Memory(unneeded_since={"general-1": NOW - 3600}))
    assert blocker_codes(plan, "general-1") == (["MinReplicas"] if blocked else [])
