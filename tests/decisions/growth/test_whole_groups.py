"""Groups that grow to their maximum at once, or not at all."""

import pytest

from reconciler.plan.plan import Plan
from reconciler.policy.documents import Expander, Growth, Headroom, Limit, NodeGroup, ScaleUp, Tier
from reconciler.policy.pace import Pace
from tests.builders import ClusterBuilder, node_group, policy
from tests.decisions.deciding import codes, group, plan_of, pod

WHOLE = ScaleUp(growth=Growth.ZERO_OR_MAX)


def _plan(pods: int, *groups: NodeGroup, cpu: str = "4", **fields: object) -> Plan:
    cluster = ClusterBuilder()
    for one in groups:
        cluster.group(one.name, nodes=0)
    cluster.pods("train", pods, cpu=cpu)
    return plan_of(cluster.world(), policy(*groups, **fields))


def test_one_pod_buys_the_whole_group() -> None:
    """Maximum 8: eight nodes for one pod, and the plan says that one would do."""
    plan = _plan(1, node_group("tpu", max=8, scale_up=WHOLE))
    assert group(plan, "tpu").desired == 8
    reason = group(plan, "tpu").reasons[-1]
    assert reason.message == "8 nodes where 1 would do: it grows to its maximum 8 in one step"


def test_a_group_in_the_usual_steps_buys_what_is_needed() -> None:
    """The same pod, AsNeeded."""
    assert group(_plan(1, node_group("tpu", max=8)), "tpu").desired == 1


@pytest.mark.parametrize(("limit", "desired"), [(8, 8), (7, 0)])
def test_a_limit_that_forbids_a_part_forbids_all(limit: int, desired: int) -> None:
    """Eight nodes or none: a limit of seven leaves the group at 0, and the pod says why."""
    plan = _plan(1, node_group("tpu", max=8, scale_up=WHOLE), limits=(Limit(name="few", max=(("nodes", limit),)),))
    assert group(plan, "tpu").desired == desired
    if not desired:
        assert codes(pod(plan, "shop/train-1")) == ["GroupsExhausted", "OnlyWhole"]


def test_pace_forbids_a_part_as_well() -> None:
    """At most five nodes in one plan."""
    assert group(_plan(1, node_group("tpu", max=8, scale_up=WHOLE), pace=Pace(max_added_nodes=5)), "tpu").desired == 0


def test_more_pods_than_the_group_holds_are_served_as_far_as_it_goes() -> None:
    """Ten pods, one a node, eight nodes: two stay."""
    plan = _plan(10, node_group("tpu", max=8, scale_up=WHOLE))
    assert group(plan, "tpu").desired == 8
    assert sum(line.outcome.value == "Unplaceable" for line in plan.pods) == 2


def test_the_choice_counts_all_nodes_that_would_come() -> None:
    """One pod: the other group adds one node, the whole one eight, so LeastNodes takes the other."""
    groups = (node_group("a-whole", max=8, scale_up=WHOLE), node_group("b-usual"))
    plan = _plan(1, *groups, expanders=(Expander.LEAST_NODES,))
    assert (group(plan, "a-whole").desired, group(plan, "b-usual").desired) == (0, 1)


def test_a_mix_for_less_never_takes_a_part_of_it() -> None:
    """LeastCost rearranges what was bought, but a group that was bought whole stays whole."""
    groups = (
        node_group("whole", max=4, scale_up=WHOLE, tier="t", price_per_hour="1"),
        node_group("cheap", max=4, tier="t", price_per_hour="3"),
    )
    plan = _plan(5, *groups, tiers=(Tier(name="t"),), expanders=(Expander.LEAST_COST,))
    assert (group(plan, "whole").desired, group(plan, "cheap").desired) == (4, 1)


def test_a_minimum_and_headroom_grow_it_whole_too() -> None:
    """A minimum of two, or one node of headroom: eight nodes."""
    assert group(_plan(0, node_group("tpu", min=2, max=8, scale_up=WHOLE)), "tpu").desired == 8
    assert group(_plan(0, node_group("tpu", max=8, scale_up=WHOLE, headroom=Headroom(nodes=1))), "tpu").desired == 8


def test_it_has_no_siblings() -> None:
    """Balancing would hand out its nodes one by one."""
    groups = (
        node_group("a", max=3, scale_up=WHOLE, balance_with="same"),
        node_group("b", max=3, balance_with="same"),
    )
    plan = _plan(2, *groups, expanders=(Expander.LEAST_WASTE,))
    assert (group(plan, "a").desired, group(plan, "b").desired) == (0, 2)
