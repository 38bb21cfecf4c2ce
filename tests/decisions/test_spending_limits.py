"""Limits on money: growth stops before the bound, and the plan says what one more node would have cost."""

import random
import secrets

import msgspec
import pytest

from reconciler.policy.documents import Hold, Limit, NodeGroup
from reconciler.policy.values.label_selector import Selector
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import codes, group, plan_of, pod

EURO = 1_000_000


def _limit(resource: str, euros: float, *, team: str = "") -> Limit:
    groups = Selector(match_labels=(("team", team),)) if team else None
    return Limit(name="budget", groups=groups, max=((resource, round(euros * EURO)),))


def _full(prices: dict[str, str | None], pods: int = 9) -> tuple[ClusterBuilder, list[NodeGroup]]:
    """Groups of one full node of 4 cores each, and pods of 4 cores that wait."""
    cluster = ClusterBuilder()
    for name in prices:
        cluster.group(name, nodes=1)
        cluster.pods(f"full-{name}", 1, cpu="4", on=f"{name}-1")
    cluster.pods("web", pods, cpu="4")
    rules = [node_group(name, max=30, price_per_hour=price, labels=(("team", name),)) for name, price in prices.items()]
    return cluster, rules


@pytest.mark.parametrize(
    ("resource", "bound", "nodes"),
    [
        ("pricePerHour", 2.5, 5),  # 5 x 0.50
        ("pricePerHour", 2.49, 4),
        ("pricePerMonth", 1825, 5),  # 5 x 0.50 x 730 h
        ("pricePerMonth", 1824.99, 4),
        ("pricePerHour", 0.1, 1),  # what is there stays
    ],
)
def test_growth_stops_before_the_limit(resource: str, bound: float, nodes: int) -> None:
    cluster, rules = _full({"a": "0.50"})
    plan = plan_of(cluster.world(), policy(*rules, limits=(_limit(resource, bound),), currency="EUR"))
    assert group(plan, "a").desired == nodes


def test_the_plan_says_what_one_more_node_would_cost() -> None:
    cluster, rules = _full({"a": "0.50"})
    plan = plan_of(cluster.world(), policy(*rules, limits=(_limit("pricePerHour", 1.2),), currency="EUR"))
    told = [reason.message for reason in pod(plan, "shop/web-9").reasons if reason.code == "SpendingLimitReached"]
    assert told == ["limit budget allows €1.20 per hour: €1.00 in use, one more node of a costs €0.50"]


def test_a_limit_of_a_team_stops_its_groups_only() -> None:
    """The cheap group of the team is full at 3 x 0.50; the other one takes the rest."""
    cluster, rules = _full({"a": "0.50", "b": "0.90"})
    plan = plan_of(cluster.world(), policy(*rules, limits=(_limit("pricePerHour", 1.6, team="a"),), currency="EUR"))
    assert (group(plan, "a").desired, group(plan, "b").desired) == (3, 1 + 9 - 2)


def test_a_group_without_a_price_does_not_grow_under_a_limit() -> None:
    """`validate` refuses it where a NodeGroup is written. A discovered group has none."""
    cluster, rules = _full({"a": None})
    plan = plan_of(cluster.world(), policy(*rules, limits=(_limit("pricePerHour", 100),)))
    assert group(plan, "a").desired == 1
    assert "PriceUnknown" in codes(pod(plan, "shop/web-1"))


@pytest.mark.parametrize("resource", ["pricePerHour", "nodes"])
@pytest.mark.parametrize("failed", ["", "quota"])
def test_a_machine_that_is_late_counts_until_it_is_taken_back(resource: str, failed: str) -> None:
    """Two nodes and a machine that is 20 minutes old, in a group that is held: 3 of the 4 that are allowed. It may still join."""
    cluster, rules = _full({"a": "1.00", "b": "1.00"})
    cluster.group("late", nodes=0, replicas=1)
    late = next(one for one in cluster.world().targets if one.ref.name == "late")
    cluster.machine("late-1", late.ref, created=NOW - 1200, failed=failed)
    held = node_group("late", price_per_hour="1.00", hold=Hold(reason="repair"))
    limit = _limit(resource, 4) if resource != "nodes" else Limit(name="budget", max=(("nodes", 4),))
    plan = plan_of(cluster.world(), policy(*rules, held, limits=(limit,)))
    assert sorted((group(plan, "a").desired, group(plan, "b").desired)) == [1, 2]
    freed = plan_of(cluster.world(), policy(*rules, msgspec.structs.replace(held, hold=None), limits=(limit,)))
    assert group(freed, "late").desired == 0
    assert group(freed, "a").desired + group(freed, "b").desired == 3  # the fourth one comes with the next plan


@pytest.mark.parametrize("_", range(30))
def test_random_clusters_never_cost_more_than_the_limit(_: int) -> None:
    """The sum is made here from the sizes; what a pod waits for would cost more than is left."""
    seed = secrets.randbits(32)
    draw = random.Random(seed)
    prices = {f"g{number}": draw.choice(("0.10", "0.25", "0.40", "0.999999")) for number in range(draw.randint(1, 4))}
    cluster, rules = _full(prices, draw.randint(1, 25))
    start = sum(round(float(price) * EURO) for price in prices.values())
    most = draw.randint(start, 8 * start)
    hours = draw.choice((("pricePerHour", 1), ("pricePerMonth", 730)))
    limit = Limit(name="budget", max=((hours[0], most * hours[1]),))
    plan = plan_of(cluster.world(), policy(*rules, limits=(limit,)))
    spent = sum(round(float(prices[line.name]) * EURO) * line.desired for line in plan.groups)
    assert spent <= most, (seed, plan.groups)
    waiting = [line for line in plan.pods if line.group is None]
    cheapest = min(round(float(price) * EURO) for price in prices.values())
    assert not waiting or spent + cheapest > most, (seed, "room is left")
