"""From parts of nodes to whole ones, without a search of the solver."""

import pytest

from reconciler.decisions.growth.cost.columns import generate
from reconciler.decisions.growth.cost.dives import PREFERENCES, Dives
from reconciler.decisions.growth.cost.master import Master, solver
from reconciler.decisions.growth.cost.mixes import least_cost
from reconciler.decisions.growth.cost.polish import polish
from reconciler.decisions.growth.cost.problem import Cap, Filling, Item, Mix, Offer, Problem
from tests.decisions.growth.cost.bounded import bounded, some_mix
from tests.decisions.growth.cost.instances import instance, one_choice


def _dives(problem: Problem, given: Mix, below: int) -> list[Mix | None]:
    highs = solver()
    assert highs is not None
    master = Master(highs, problem)
    master.add(filling for filling, _ in given)
    prices = generate(problem, master)
    assert prices is not None
    search = Dives(problem, master)
    found = [search.dive(prices, below, preference) for preference in PREFERENCES]
    return [None if mix is None else polish(problem, problem.trimmed(mix)) for mix in found]


def test_whole_nodes_by_hand() -> None:
    """23 pods of 1 on nodes of 10 for 9 or of 4 for 4: two large nodes are sure, and one small one takes the last three for 4."""
    problem = Problem((Item(23, (1,), (True, True)),), (Offer(9, (10,), 99), Offer(4, (4,), 99)))
    for mix in _dives(problem, ((Filling(0, (10,)), 2), (Filling(0, (3,)), 1)), 27):
        assert mix == ((Filling(0, (10,)), 2), (Filling(1, (3,)), 1))


def test_a_dive_ends_where_it_cannot_be_cheaper() -> None:
    """The same, with a mix for 21 known: two large nodes, and 2.7 for three pods at the price of a large node."""
    problem = Problem((Item(23, (1,), (True, True)),), (Offer(9, (10,), 99), Offer(4, (4,), 99)))
    assert _dives(problem, ((Filling(0, (10,)), 2), (Filling(0, (3,)), 1)), 21) == [None] * len(PREFERENCES)


def test_bounds_hold_for_all_nodes_together() -> None:
    """With two large nodes and one small one at most, 23 pods have one mix. A limit of four in all does not change it."""
    problem = Problem((Item(23, (1,), (True, True)),), (Offer(9, (10,), 2), Offer(4, (4,), 1)), (Cap(bound=5, weights=(2, 1)),))
    for mix in _dives(problem, ((Filling(0, (10,)), 2), (Filling(1, (3,)), 1)), 99):
        assert mix == ((Filling(0, (10,)), 2), (Filling(1, (3,)), 1))


@pytest.mark.parametrize("seed", range(12))
def test_dives_place_all_pods_within_bounds(seed: int) -> None:
    problem = bounded(seed)
    given = some_mix(problem)
    if given is None:
        return
    for mix in _dives(problem, given, problem.cost(given) * 2):
        assert mix is None or problem.proper(mix)


@pytest.mark.parametrize("seed", [3, 7])
def test_many_pods_need_no_search_in_whole_numbers(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """That search took most of the time of a plan, and gained 0.2 %."""
    asked: list[object] = []
    monkeypatch.setattr(Master, "whole", lambda *arguments: asked.append(arguments))
    problem = instance(seed)
    given = one_choice(problem)
    assert least_cost(problem, given, solver).cost_micros < problem.cost(given)
    assert asked == []


@pytest.mark.parametrize(
    ("prices", "bound", "least"), [((10, 15), 21.2, 25), ((10, 15), 25.0, 25), ((0, 0), 3.5, 4), ((4, 9), 3.0, 3)]
)
def test_the_least_cost_above_a_bound(prices: tuple[int, int], bound: float, least: int) -> None:
    """A multiple of what divides all prices."""
    offers = tuple(Offer(price, (4,), 9) for price in prices)
    assert Problem((Item(1, (1,), (True, True)),), offers).reachable(bound) == least
