"""The choice among fillings: what the linear program must say by the theory of duality, and whole numbers against everything
that can be tried."""

from typing import Any

import msgspec
import pytest

from reconciler.decisions.growth.cost.master import Master, Prices, solver
from reconciler.decisions.growth.cost.mixes import least_cost
from reconciler.decisions.growth.cost.problem import Cap, Filling, Item, Load, Mix, Offer, Problem
from tests.decisions.growth.cost.bounded import bounded, cheapest_bounded, every_filling, some_mix

SMALL, LARGE = Offer(40_000, (4,), 99), Offer(90_000, (10,), 99)
SEEDS = [seed for seed in range(16) if cheapest_bounded(bounded(seed)) is not None]


def _mix(*nodes: tuple[int, Load, int]) -> Mix:
    return tuple((Filling(offer, load), times) for offer, load, times in nodes)


def master_of(problem: Problem, fillings: list[Filling]) -> Master:
    """All rows, and these columns."""
    highs = solver()
    assert highs is not None
    master = Master(highs, problem)
    assert master.add(fillings) == len(fillings)
    return master


def relaxed(master: Master) -> Prices:
    """What the linear program says, which has an answer."""
    prices = master.relaxed()
    assert prices is not None
    return prices


@pytest.mark.parametrize(
    ("pods", "most", "caps", "said"),
    [
        # Ten pods fill one large node: 0.9 cents a pod.
        (10, 99, (), (90_000, [9_000], [40_000, 90_000], [0, 1])),
        # Fourteen and one large node at most: a pod more costs a quarter of a small node, and a large one is worth ten pods.
        (14, 1, (), (130_000, [10_000], [40_000, 100_000], [1, 1])),
        # s + 3 l <= 4 and 4 s + 10 l >= 15: s = 2.5, l = 0.5. A unit of the bound is worth 2 cents, a pod 1.5.
        (15, 99, (Cap(4, (1, 3)),), (145_000, [15_000], [60_000, 150_000], [2.5, 0.5])),
        # The same in other units, beside a bound that is far away.
        (15, 99, (Cap(90, (1, 1)), Cap(40, (10, 30))), (145_000, [15_000], [60_000, 150_000], [2.5, 0.5])),
        # A bound over the large ones alone, as tight as a maximum of one.
        (14, 99, (Cap(2, (0, 2)),), (130_000, [10_000], [40_000, 100_000], [1, 1])),
    ],
)
def test_what_the_linear_program_says_of_two_offers(
    pods: int, most: int, caps: tuple[Cap, ...], said: tuple[int, list[int], list[int], list[float]]
) -> None:
    """Worked out by hand: its cost, what a pod is worth, what a node costs with what its bounds are worth, how many of each."""
    large = msgspec.structs.replace(LARGE, most=most)
    problem = Problem((Item(pods, (1,), (True, True)),), (SMALL, large), caps)
    prices = relaxed(master_of(problem, [Filling(0, (4,)), Filling(1, (10,))]))
    bound, values, costs, amounts = said
    assert prices.bound == pytest.approx(bound)
    assert (prices.values, prices.prices) == (values, costs)
    assert prices.amounts == pytest.approx(amounts)


@pytest.mark.parametrize("seed", SEEDS)
def test_duals_prove_the_linear_program(seed: int) -> None:
    """No filling is worth more than its node costs, those in use are worth exactly that, a node costs more than its price only
    where a bound on it is used up: together they prove the optimum. It is no dearer than the optimum in whole numbers."""
    problem, fillings = bounded(seed), every_filling(bounded(seed))
    prices = relaxed(master_of(problem, fillings))
    nodes = [0.0] * len(problem.offers)
    placed = [0.0] * len(problem.items)
    for filling, amount in zip(fillings, prices.amounts, strict=True):
        worth = sum(map(int.__mul__, prices.values, filling.load))
        assert worth <= prices.prices[filling.offer] + 10
        assert amount < 1e-6 or worth >= prices.prices[filling.offer] - 10
        nodes[filling.offer] += amount
        for index, pods in enumerate(filling.load):
            placed[index] += pods * amount
    for item, many, value in zip(problem.items, placed, prices.values, strict=True):
        assert many >= item.count - 1e-6
        assert value == 0 or many <= item.count + 1e-6
    used = [sum(map(float.__mul__, map(float, cap.weights), nodes)) for cap in problem.caps]
    assert all(many <= cap.bound + 1e-6 for many, cap in zip(used, problem.caps, strict=True))
    for index, offer in enumerate(problem.offers):
        assert nodes[index] <= offer.most + 1e-6
        tight = nodes[index] >= offer.most - 1e-6 or any(
            cap.weights[index] and many >= cap.bound - 1e-6 for many, cap in zip(used, problem.caps, strict=True)
        )
        assert prices.prices[index] >= offer.price_micros
        assert tight or prices.prices[index] == offer.price_micros
    assert prices.bound == pytest.approx(sum(n * offer.price_micros for n, offer in zip(nodes, problem.offers, strict=True)))
    best = cheapest_bounded(problem)
    assert best is not None
    assert prices.bound <= best[0] + 1


@pytest.mark.parametrize("seed", SEEDS)
def test_whole_numbers_are_the_cheapest_and_the_fewest_nodes(seed: int) -> None:
    """Of all fillings, from any mix that places everything: nothing that can be tried is cheaper, none as cheap has fewer
    nodes, and that is proved."""
    problem, fillings = bounded(seed), every_filling(bounded(seed))
    known, best = some_mix(problem), cheapest_bounded(problem)
    assert known is not None
    assert problem.proper(known)
    master = master_of(problem, fillings)
    mix, proved = master.whole(known, relaxed(master), 1_000)
    assert proved
    assert mix is not None
    neat = problem.trimmed(mix)
    assert problem.proper(neat)
    assert (problem.cost(mix), sum(times for _, times in mix)) == best


@pytest.mark.parametrize("seed", SEEDS)
def test_the_cheapest_mix_within_bounds(seed: int) -> None:
    """The whole way, beginning with the nodes that a first try gives: what trying everything gives."""
    problem = bounded(seed)
    given, best = some_mix(problem), cheapest_bounded(problem)
    assert given is not None
    assert best is not None
    answer = least_cost(problem, given, solver)
    assert problem.proper(answer.mix)
    assert problem.cost(answer.mix) == answer.cost_micros == best[0]
    assert answer.bound_micros <= best[0] + 1
    assert best[0] <= problem.cost(given)


def test_of_equal_mixes_the_earliest() -> None:
    """Two nodes of 4 and one of 8 at twice the price: the one. Of two offers that are alike the first."""
    offers = (Offer(40_000, (4,), 99), Offer(80_000, (8,), 99), Offer(80_000, (8,), 99))
    problem = Problem((Item(8, (1,), (True, True, True)),), offers)
    fillings = [Filling(2, (8,)), Filling(1, (8,)), Filling(0, (4,))]
    master = master_of(problem, fillings)
    for known in (_mix((0, (4,), 2)), _mix((2, (8,), 1))):
        assert master.whole(known, relaxed(master), 1_000) == (_mix((1, (8,), 1)), True)


def test_fillings_count_once() -> None:
    """What is there already, or comes twice, is nothing new."""
    problem = Problem((Item(8, (1,), (True,)),), (SMALL,))
    one, other = Filling(0, (4,)), Filling(0, (3,))
    master = master_of(problem, [one])
    assert master.add([one, other, other]) == 1
    assert master.fillings == [one, other]
    assert len(relaxed(master).amounts) == 2


def test_what_cannot_be_placed_has_no_answer() -> None:
    """Eight pods, and one node that takes four."""
    problem = Problem((Item(8, (1,), (True,)),), (msgspec.structs.replace(SMALL, most=1),))
    assert master_of(problem, [Filling(0, (4,))]).relaxed() is None


def test_the_solver_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """Neither to the output nor to the errors, where plans are read by scripts."""
    problem = bounded(SEEDS[0])
    master = master_of(problem, every_filling(problem))
    known = some_mix(problem)
    assert known is not None
    master.whole(known, relaxed(master), 1_000)
    assert capfd.readouterr() == ("", "")


def test_fillings_that_cannot_be_in_a_cheaper_mix_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten pods for 9 cents on a large node. Against 12 cents known, a small node with one pod, which is worth 0.9 of its 4, is
    beyond what is to be gained; one with four, which is worth 3.6, is not, and neither is what is known."""
    problem = Problem((Item(10, (1,), (True, True)),), (SMALL, LARGE))
    master = master_of(problem, [Filling(0, (1,)), Filling(0, (2,)), Filling(0, (4,)), Filling(1, (10,))])
    asked: list[Any] = []
    plain = Master._integers
    monkeypatch.setattr(
        Master, "_integers", lambda self, columns, *rest, **how: asked.append(columns) or plain(self, columns, *rest, **how)
    )
    mix, proved = master.whole(_mix((0, (2,), 1), (0, (4,), 2)), relaxed(master), 1_000)
    assert (mix, proved) == (_mix((1, (10,), 1)), True)
    assert asked[0] == [Filling(0, (2,)), Filling(0, (4,)), Filling(1, (10,))]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_bound_is_near_that_of_all_fillings(seed: int) -> None:
    """Of few pods all fillings can be listed: what is told as the bound is not below their linear program, nor above the best mix
    of them."""
    problem = bounded(seed)
    given = some_mix(problem)
    assert given is not None
    answer = least_cost(problem, given, solver)
    master = master_of(problem, every_filling(problem))
    every = relaxed(master)
    best, proved = master.whole(given, every, 10_000)
    assert best is not None
    assert proved
    if answer.bound_micros:
        assert every.bound * 0.999 - 10 <= answer.bound_micros <= problem.cost(best)
