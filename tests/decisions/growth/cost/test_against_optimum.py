"""LeastCost against optima that another model proved: 200 pods and more, six or eight shapes and groups."""

import statistics

import pytest

from reconciler.decisions.growth.cost.master import solver
from reconciler.decisions.growth.cost.mixes import greedy_mix, least_cost
from tests.decisions.growth.cost.brute_force import cheapest
from tests.decisions.growth.cost.instances import few_pods, one_choice
from tests.decisions.growth.cost.judge import judge
from tests.decisions.growth.cost.optima import PROVED_PERMILLE, Optimum, optima


def test_the_record_is_large_enough_and_proved() -> None:
    """At least thirty instances of eight shapes and groups, some smaller ones, each proved to 0.1 %."""
    found = optima()
    assert len({optimum.seed for optimum in found if optimum.kinds == 8}) >= 30
    assert len(found) >= 60
    for optimum in found:
        problem = optimum.problem()
        assert optimum.best_micros - optimum.bound_micros <= optimum.best_micros * PROVED_PERMILLE / 1000
        assert sum(item.count for item in problem.items) >= 200
        assert min(len(problem.items), len(problem.offers)) >= optimum.kinds


def test_the_greedy_start_is_near_the_optimum() -> None:
    """Without the solver: the median over all instances is at most 1.05 times the proved bound."""
    ratios = []
    for optimum in optima():
        problem = optimum.problem()
        start = greedy_mix(problem, one_choice(problem))
        assert problem.cost(start) >= optimum.bound_micros
        ratios.append(problem.cost(start) / optimum.bound_micros)
    assert statistics.median(ratios) <= 1.05


@pytest.mark.parametrize("tenth", range(10))
def test_mixes_are_at_the_optimum(tenth: int) -> None:
    """Mean at most 1.007 times the proved bound, worst at most 1.02, none below it: of all because of every tenth of them."""
    ratios = []
    for optimum in optima()[tenth::10]:
        problem = optimum.problem()
        answer = least_cost(problem, one_choice(problem), solver)
        assert problem.proper(answer.mix)
        assert answer.cost_micros >= optimum.bound_micros
        assert answer.bound_micros <= optimum.best_micros
        ratios.append(answer.cost_micros / optimum.bound_micros)
    assert len(ratios) >= 5
    assert statistics.mean(ratios) <= 1.007
    assert max(ratios) <= 1.02


@pytest.mark.parametrize("optimum", [optimum for optimum in optima() if optimum.seed in (0, 9)], ids=lambda one: str(one.seed))
def test_the_judge_proves_again_what_is_on_record(optimum: Optimum) -> None:
    """Two quick instances: bound and best agree with the record within the gap."""
    verdict = judge(optimum.problem())
    assert verdict.gap * 1000 <= PROVED_PERMILLE
    assert verdict.bound_micros <= optimum.best_micros + 1
    assert optimum.bound_micros <= verdict.best_micros + 1


@pytest.mark.parametrize("seed", range(5))
def test_the_judge_is_right_on_few_pods(seed: int) -> None:
    """Its bound and its best are what trying everything gives."""
    problem = few_pods(seed)
    verdict = judge(problem)
    assert verdict.bound_micros <= cheapest(problem) + 1
    assert verdict.best_micros == pytest.approx(cheapest(problem), rel=PROVED_PERMILLE / 1000)
