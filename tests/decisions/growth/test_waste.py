"""LeastWaste by what is bought: what is reserved and what DaemonSets take is lost too, and near ties go to fewer machines."""

from fractions import Fraction

import pytest

from reconciler.cluster.nodes.node import NodeShape
from reconciler.decisions.growth.expanders import Option, choose, expanders_in_force, waste
from reconciler.policy.documents import Expander, NodeGroup
from tests.builders import ClusterBuilder, amounts, node_group, policy
from tests.decisions.deciding import group, plan_of

WASTE, COST = Expander.LEAST_WASTE, Expander.LEAST_COST


def _option(group: str, capacity: tuple[str, str], allocatable: tuple[str, str], nodes: int = 1, pods: str = "3") -> Option:
    """So many nodes for pods of so many cores, with 2 GiB a core."""
    return Option(
        position=0,
        group=group,
        shape=NodeShape(capacity=amounts(*capacity, 110), allocatable=amounts(*allocatable, 110)),
        nodes=nodes,
        pods=1,
        requested=amounts(pods, f"{int(pods) * 2}Gi", 1),
        price_micros=None,
    )


def test_waste_is_measured_on_capacity() -> None:
    """3 of 4 cores and 6 of 16 GiB are used, whatever of it is reserved: at 31,611 micros per core and 4,237 per GiB."""
    assert waste(_option("reserving", ("4", "16Gi"), ("3", "12Gi"))) == 1 - Fraction(120_255, 194_236)


def test_what_is_reserved_on_a_machine_is_lost() -> None:
    """Both leave 3 cores and 12 GiB to pods; one is made of 4 cores, the other of 6."""
    options = [_option("a-reserving", ("6", "24Gi"), ("3", "12Gi")), _option("b-plain", ("4", "12Gi"), ("3", "12Gi"))]
    assert choose(options, (WASTE,), 0).option.group == "b-plain"


def test_what_daemonsets_take_on_each_machine_is_lost() -> None:
    """Machines of 2 cores keep 1 for pods, those of 8 keep 7: for 7 pods of a core 14 cores against 8."""
    cluster = ClusterBuilder()
    cluster.group("a-small", nodes=0, cpu="2", memory="4Gi")
    cluster.group("b-large", nodes=0, cpu="8", memory="16Gi")
    cluster.daemonset("agent", cpu="1")
    cluster.pods("web", 7, cpu="1", memory="1Gi")
    plan = plan_of(cluster.world(), policy(node_group("a-small"), node_group("b-large"), near_tie_percent=0))
    assert (group(plan, "a-small").desired, group(plan, "b-large").desired) == (0, 1)


@pytest.mark.parametrize(("percent", "chosen"), [(10, "large"), (5, "small"), (0, "small")])
def test_near_ties_go_to_fewer_machines(percent: int, chosen: str) -> None:
    """48 machines of 4 cores or 26 of 8 for 190 cores and 380 GiB, of 4 GiB a core each: 18.3% or 24.6% of their worth is wasted,
    6.3% more."""
    options = [
        _option("large", ("8", "32Gi"), ("8", "32Gi"), nodes=26, pods="190"),
        _option("small", ("4", "16Gi"), ("4", "16Gi"), nodes=48, pods="190"),
    ]
    choice = choose(options, (WASTE,), percent)
    assert choice.option.group == chosen
    assert ("fewest machines" in choice.expander) == (percent == 10)


def test_options_for_few_pods_are_no_near_ties_of_those_for_many() -> None:
    """Machines are counted for what they serve: one for 2 cores is not fewer than three for 24."""
    options = [
        _option("few", ("2", "4Gi"), ("2", "4Gi"), nodes=1, pods="2"),
        _option("many", ("8", "16Gi"), ("8", "16Gi"), nodes=3, pods="24"),
    ]
    assert choose(options, (WASTE,), 10).option.group == "many"


def test_with_prices_the_default_is_least_cost() -> None:
    """Where one group of the tier has none, and where the policy says otherwise, it is not."""
    assert expanders_in_force((), [300, 400]) == (COST,)
    assert expanders_in_force((), [300, None]) == (WASTE,)
    assert expanders_in_force((), []) == (WASTE,)
    assert expanders_in_force((Expander.MOST_PODS,), [300, 400]) == (Expander.MOST_PODS,)


def _bought(*groups: NodeGroup) -> str:
    cluster = ClusterBuilder()
    cluster.group("large", nodes=0, cpu="8", memory="16Gi")
    cluster.group("small", nodes=0, cpu="4", memory="8Gi")
    cluster.pods("web", 8, cpu="1", memory="1Gi")
    plan = plan_of(cluster.world(), policy(*groups))
    (grown,) = [line for line in plan.groups if line.desired > line.current]
    (reason,) = [reason for reason in grown.reasons if reason.code == "PendingPods"]
    return reason.message


def test_the_cheapest_is_bought_where_prices_are() -> None:
    """Two small machines cost less than the large one."""
    told = _bought(node_group("large", price_per_hour="0.90"), node_group("small", price_per_hour="0.30"))
    assert told.startswith(
        "8 pending pods on 2 new nodes, chosen by LeastCost: small for 0.60/h (8 pods) rather than large for 0.90/h (8 pods)"
    )


def test_the_purchase_says_why_not_the_others() -> None:
    """By the scores of those that offered something, and by what stands in the way of the others."""
    told = _bought(node_group("large"), node_group("small"))
    assert told == (
        "8 pending pods on 1 new node, chosen by LeastWaste, of those within 10% the fewest machines: "
        "large with 10.6% wasted on 1 node rather than small with 10.6% wasted on 2 nodes"
    )
    told = _bought(node_group("large"), node_group("small", max=0))
    assert told == "8 pending pods on 1 new node. No other group can grow for them now: small (at its maximum)"
