"""Problems in numbers alone: mixes against everything that can be tried, bounds, repeatability."""

import subprocess
import sys

import msgspec
import pytest

from reconciler.decisions.growth.cost.master import solver
from reconciler.decisions.growth.cost.mixes import _cheapest as cheapest_of
from reconciler.decisions.growth.cost.mixes import greedy_mix, least_cost
from reconciler.decisions.growth.cost.problem import Cap, Filling, Item, Mix, Offer, Problem
from tests.decisions.growth.cost.brute_force import cheapest
from tests.decisions.growth.cost.instances import few_pods, instance, one_choice

ONE_PLACE = (True, True)


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_few_pods_get_the_cheapest_mix_of_all(first: int) -> None:
    """Twelve pods at most: nothing that can be tried is cheaper."""
    for seed in range(first, first + 10):
        problem = few_pods(seed)
        answer = least_cost(problem, one_choice(problem), solver)
        assert problem.proper(answer.mix), seed
        assert problem.cost(answer.mix) == answer.cost_micros == cheapest(problem), seed
        assert not answer.proved or answer.bound_micros <= answer.cost_micros, seed


@pytest.mark.parametrize("seed", range(6))
def test_never_dearer_than_what_is_given(seed: int) -> None:
    """Every pod is placed within what nodes offer."""
    problem = instance(seed, pods=60)
    given = one_choice(problem)
    answer = least_cost(problem, given, solver)
    assert problem.proper(answer.mix)
    assert answer.cost_micros <= problem.cost(given)


def two_offers(*, small: int = 10, large: int = 10, caps: tuple[Cap, ...] = ()) -> Problem:
    """Ten pods of one core. A node of four for 4, or of ten for 9: the large one alone (9) beats small ones (12)."""
    return Problem(
        items=(Item(count=10, need=(1000,), offers=ONE_PLACE),),
        offers=(Offer(price_micros=4, free=(4000,), most=small), Offer(price_micros=9, free=(10_000,), most=large)),
        caps=caps,
    )


SMALL_ONES: Mix = ((Filling(0, (2,)), 1), (Filling(0, (4,)), 2))


def test_the_first_of_mixes_is_there_where_no_other_is_proper() -> None:
    """As it was given: nothing is cut off it, and nothing made cheaper."""
    assert cheapest_of(two_offers(), [SMALL_ONES, ()]) == SMALL_ONES


@pytest.mark.parametrize(
    ("problem", "cost"),
    [
        (two_offers(), 9),
        (two_offers(large=0), 12),
        (two_offers(caps=(Cap(bound=14_000, weights=(4000, 10_000)),)), 9),
        (two_offers(caps=(Cap(bound=9_999, weights=(0, 10_000)),)), 12),
    ],
)
def test_bounds_on_nodes_are_kept(problem: Problem, cost: int) -> None:
    """The large node is the cheapest, but neither its group's maximum nor a limit may be passed for it."""
    answer = least_cost(problem, SMALL_ONES, solver)
    assert problem.proper(answer.mix)
    assert answer.cost_micros == cost


def test_of_mixes_that_cost_as_much_the_one_of_fewest_nodes() -> None:
    """Nineteen pods, sizes 4, 8, 16 with one price a core: 20 cores are the least, five nodes of 4, or one of 16 and one of 4."""
    offers = tuple(Offer(price_micros=cores * 48_000, free=(cores * 1000,), most=99) for cores in (4, 8, 16))
    problem = Problem((Item(count=19, need=(1000,), offers=(True,) * 3),), offers)
    answer = least_cost(problem, ((Filling(0, (3,)), 1), (Filling(0, (4,)), 4)), solver)
    assert answer.cost_micros == 20 * 48_000
    assert sorted((filling.offer, times) for filling, times in answer.mix) == [(0, 1), (2, 1)]


def test_a_mix_of_both_beats_either_alone() -> None:
    """Fourteen pods: 10 on a large node and 4 on a small one cost 13; large ones alone 18, small ones alone 16."""
    problem = msgspec.structs.replace(two_offers(), items=(Item(count=14, need=(1000,), offers=ONE_PLACE),))
    answer = least_cost(problem, ((Filling(0, (2,)), 1), (Filling(0, (4,)), 3)), solver)
    assert answer.mix == ((Filling(0, (4,)), 1), (Filling(1, (10,)), 1))
    assert answer.cost_micros == 13


def test_a_closed_offer_takes_no_pod() -> None:
    """The large group does not let the pods in, however cheap it is."""
    problem = msgspec.structs.replace(two_offers(), items=(Item(count=10, need=(1000,), offers=(True, False)),))
    assert least_cost(problem, SMALL_ONES, solver).cost_micros == 12


def test_without_a_solver_the_greedy_mix_is_the_answer() -> None:
    """It says so, and it is as proper."""
    problem = instance(2, pods=60)
    given = one_choice(problem)
    answer = least_cost(problem, given, lambda: None)
    assert answer.solver_missing
    assert problem.proper(answer.mix)
    assert answer.mix == greedy_mix(problem, given)


def test_the_solver_is_not_asked_where_the_bound_is_met() -> None:
    """Four cores of pods on one node of four cores for the price a core: nothing can be cheaper."""
    problem = msgspec.structs.replace(two_offers(large=0), items=(Item(count=4, need=(1000,), offers=ONE_PLACE),))

    def never() -> None:
        raise AssertionError

    assert least_cost(problem, ((Filling(0, (4,)), 1),), never).cost_micros == 4


def test_equal_bytes_in_processes_with_other_hash_seeds() -> None:
    """The same mix, to the last byte."""
    program = (
        "import msgspec; from tests.decisions.growth.cost.instances import instance, one_choice;"
        "from reconciler.decisions.growth.cost.master import solver;"
        "from reconciler.decisions.growth.cost.mixes import least_cost;"
        "p = instance(2, pods=60); print(msgspec.json.encode(least_cost(p, one_choice(p), solver)).decode())"
    )
    texts = {
        subprocess.run([sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, check=True, capture_output=True).stdout
        for seed in ("1", "2")
    }
    assert len(texts) == 1
