"""Whole plans against a proved optimum, on small random clusters with few nodes of each group."""

import statistics

import pytest

from reconciler.plan.plan import PodOutcome
from reconciler.policy.documents import Expander
from tests.decisions.deciding import plan_of
from tests.decisions.growth.cost.scarce_clusters import KINDS, scarce
from tests.decisions.growth.cost.scarce_optimum import best_growth


@pytest.mark.parametrize("kind", KINDS)
def test_least_cost_is_near_the_optimum(kind: str) -> None:
    """No pod waits that the optimum serves. Mean at most 1.01, worst 1.1."""
    ratios = []
    for seed in range(8):
        cluster = scarce(kind, seed)
        best = best_growth(cluster)
        plan = plan_of(*cluster.world(Expander.LEAST_COST))
        assert best.proved
        assert sum(line.outcome is PodOutcome.UNPLACEABLE for line in plan.pods) == best.waiting
        prices = {group.name: group.price_micros for group in cluster.groups}
        cost = sum(prices[line.name] * line.desired for line in plan.groups)
        # The judge's tolerance.
        assert cost >= best.cost_micros * 0.999
        ratios.append(cost / best.cost_micros)
    assert statistics.mean(ratios) <= 1.01
    assert max(ratios) <= 1.1
