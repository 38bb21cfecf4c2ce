"""LeastCost for ten thousand pods that ask for cards, against bounds that no mix goes below."""

import statistics

from reconciler.decisions.growth.cost.master import solver
from reconciler.decisions.growth.cost.mixes import least_cost
from tests.decisions.growth.cost.gpu_demand import gpu_demand
from tests.decisions.growth.cost.instances import one_choice

# By seed, in micros an hour: the linear program over all fillings, its knapsacks solved by HiGHS with their bounds (J. Farley:
# A note on bounding a class of linear programming problems, 1990).
BOUNDS = {1: 8_943_305_877, 2: 9_013_867_252}


def test_mixes_for_cards_are_near_the_bound() -> None:
    """At most 1.02 times the bound, which itself is below the optimum."""
    ratios = []
    for seed, bound in BOUNDS.items():
        problem = gpu_demand(seed)
        given = one_choice(problem)
        answer = least_cost(problem, given, solver)
        assert problem.proper(answer.mix)
        assert bound <= answer.cost_micros <= problem.cost(given)
        ratios.append(answer.cost_micros / bound)
    assert max(ratios) <= 1.02, ratios
    assert statistics.mean(ratios) <= 1.015, ratios
