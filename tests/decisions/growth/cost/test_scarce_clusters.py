"""Whole plans against a proved optimum, on small random clusters with few nodes of each group."""

import statistics

import pytest

from reconciler.plan.plan import PodOutcome
from reconciler.policy.documents import Expander
from tests.decisions.deciding import plan_of
from tests.decisions.growth.cost.scarce_clusters import KINDS, scarce
from tests.decisions.growth.cost.scarce_optimum import best_growth

_HARD = {"zones": (19, 73), "daemons": (94,), "gpus": (68,), "sizes": ()}
"""Clusters in which pods waited that the optimum serves, or the odd pod of a spread had a node of its own."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("expander", "mean", "worst"), [(Expander.LEAST_COST, 1.01, 1.1), (Expander.LEAST_WASTE, 1.04, 1.3)])
def test_costs_are_near_the_optimum(kind: str, expander: Expander, mean: float, worst: float) -> None:
    """No pod waits that the optimum serves. LeastWaste does not see the prices."""
    ratios = []
    for seed in (*range(6), *_HARD[kind]):
        cluster = scarce(kind, seed)
        best = best_growth(cluster)
        plan = plan_of(*cluster.world(expander, priced=expander is Expander.LEAST_COST))
        assert best.proved
        assert sum(line.outcome is PodOutcome.UNPLACEABLE for line in plan.pods) == best.waiting
        prices = {group.name: group.price_micros for group in cluster.groups}
        cost = sum(prices[line.name] * line.desired for line in plan.groups)
        # The judge's tolerance.
        assert cost >= best.cost_micros * 0.999
        ratios.append(cost / best.cost_micros)
    assert statistics.mean(ratios) <= mean
    assert max(ratios) <= worst
