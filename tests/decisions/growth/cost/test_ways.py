"""Ways to fill one node, and the greedy mix that is made of them, on problems worked out by hand."""

from array import array
from random import Random

import msgspec
import pytest

from reconciler.decisions.growth.cost.fillings import FirstFits, NodeFilling
from reconciler.decisions.growth.cost.greedy import SMALL, Ways, _first_best, greedy, orders, ways_to_fill
from reconciler.decisions.growth.cost.mixes import greedy_mix
from reconciler.decisions.growth.cost.polish import polish
from reconciler.decisions.growth.cost.problem import Cap, Filling, Item, Load, Mix, Offer, Problem
from tests.decisions.growth.cost.bounded import bounded, every_filling, some_mix

BOTH = (True, True)
# Pods of 2 and of 1 on nodes of 4 and of 3.
PAIR = Problem((Item(3, (2,), BOTH), Item(4, (1,), BOTH)), (Offer(10, (4,), 9), Offer(8, (3,), 9)))


def _mix(*nodes: tuple[int, Load, int]) -> Mix:
    return tuple((Filling(offer, load), times) for offer, load, times in nodes)


def test_first_fit_in_each_order() -> None:
    """The large pods first or the small ones; what is on a node stays as long as there are pods for it."""
    fits = FirstFits(PAIR, ((0, 1), (1, 0)))
    worth = array("q", (5, 1))
    assert list(fits.renew(array("q", (3, 4)), bytearray((1, 1)), worth)) == [0, 1, 2, 3]
    assert [fits.load(row) for row in range(4)] == [(2, 0), (0, 4), (1, 1), (0, 3)]
    assert list(fits.gains) == [10, 4, 6, 3]
    assert list(fits.renew(array("q", (1, 4)), bytearray((1, 1)), worth)) == [0]
    assert (fits.load(0), fits.gains[0]) == ((1, 2), 7)
    assert list(fits.renew(array("q", (0, 2)), bytearray((0, 1)), worth)) == [2, 3]
    assert [fits.load(row) for row in range(4)] == [(1, 2), (0, 4), (0, 2), (0, 2)]


def test_pods_go_where_they_are_let_in() -> None:
    """The second offer takes small pods alone; of two resources the scarcer one says how many."""
    items = (Item(3, (2, 1), (True, False)), Item(4, (1, 3), BOTH))
    fits = FirstFits(Problem(items, (Offer(10, (4, 9), 9), Offer(8, (9, 4), 9))), ((0, 1),))
    fits.renew(array("q", (3, 4)), bytearray((1, 1)), array("q", (5, 1)))
    assert [fits.load(row) for row in (0, 1)] == [(2, 0), (0, 1)]


@pytest.mark.parametrize("seed", range(12))
def test_nodes_filled_by_value(seed: int) -> None:
    """Of every offer at most so many, the best first, each one that a node takes and worth more than it has to be; an exact
    search finds what is worth most of all fillings, and takes no more steps than it may."""
    rng, problem = Random(seed), bounded(seed)
    values = array("q", (rng.randint(1, 9) for _ in problem.items))
    every = every_filling(problem)
    worth = {filling: sum(map(int.__mul__, values, filling.load)) for filling in every}
    node = NodeFilling(problem)
    for offer in range(len(problem.offers)):
        most = max((worth[filling] for filling in every if filling.offer == offer), default=0)
        counts = array("q", (item.count for item in problem.items))
        load = node.by_worth(offer, values, counts)
        assert not any(load) or Filling(offer, load) in worth
        (alone,) = node.by_value(offer, values, values, -1, 1)
        assert sum(map(int.__mul__, values, load)) == sum(map(int.__mul__, values, alone))
        best, taken = node.improved(offer, values, counts, 10_000)
        assert (best.worth, sum(map(int.__mul__, values, best.load))) == (most, most)
        # What is not used is not counted: twice the steps take as many.
        assert 0 < taken == node.improved(offer, values, counts, 20_000)[1] <= 10_000
        few, taken = node.improved(offer, values, counts, 3)
        assert few.worth <= most
        assert 0 <= taken <= 2 * 3 + 2 * len(problem.items)
        assert few.worth >= sum(map(int.__mul__, values, load))
    for many in (1, 2):
        for offer in range(len(problem.offers)):
            above = rng.randint(0, 6)
            mine = [worth[Filling(offer, load)] for load in node.by_value(offer, values, values, above, many)]
            assert len(mine) <= many
            assert mine == sorted(set(mine), reverse=True)
            assert all(one > above for one in mine)


def test_one_value_chooses_and_another_judges() -> None:
    """By the first the large pod is worth most, by the second nothing."""
    node = NodeFilling(PAIR)
    values, judge = array("q", (9, 1)), array("q", (0, 1))
    assert [node.by_value(offer, values, values, 0, 1) for offer in (0, 1)] == [[(2, 0)], [(1, 1)]]
    assert [node.by_value(offer, values, judge, 0, 1) for offer in (0, 1)] == [[], [(1, 1)]]
    assert node.by_value(0, values, values, 18, 1) == []
    assert [node.by_value(1, values, values, above, 1) for above in (9, 10)] == [[(1, 1)], []]


def test_a_node_for_the_pods_that_are_left() -> None:
    """One large pod is left: two small ones fill the rest."""
    node = NodeFilling(PAIR)
    assert node.by_worth(0, array("q", (9, 1)), array("q", (1, 4))) == (1, 2)
    assert node.by_worth(1, array("q", (9, 1)), array("q", (0, 2))) == (0, 2)


def test_the_first_ways() -> None:
    """Orders first, then fillers."""
    ways = Ways(((0, 1), (1, 0)), (lambda *_: (1, 1), lambda *_: (2, 2)))
    assert [(len(ways.first(many).orders), len(ways.first(many).fillers)) for many in range(6)] == [
        (0, 0), (1, 0), (2, 0), (2, 1), (2, 2), (2, 2),
    ]  # fmt: skip


@pytest.mark.parametrize(("more", "fillers"), [(0, 2), (1, 1)])
def test_slow_ways_are_for_small_problems(more: int, fillers: int) -> None:
    """One offer, and as many items as a small problem may have."""
    problem = Problem(tuple(Item(1, (1,), (True,)) for _ in range(SMALL + more)), (Offer(1, (9,), 9),))
    assert len(ways_to_fill(problem).fillers) == fillers


def test_each_resource_has_its_order() -> None:
    """Three items that lead in one of three resources each, as shares of the largest node; equal orders once."""
    items = (Item(1, (6, 1, 1), (True,)), Item(1, (2, 4, 1), (True,)), Item(1, (2, 1, 3), (True,)))
    problem = Problem(items, (Offer(1, (10, 10, 10), 9),))
    # By the largest share 6, 4, 3; by the sum 8, 7, 6; by each: the leader first, then as they stand.
    assert orders(problem) == ((0, 1, 2), (1, 0, 2), (2, 0, 1))
    # A second offer halves what a unit of the first resource is: 3, 4, 3 by the largest share.
    two = Problem(tuple(msgspec.structs.replace(item, offers=BOTH) for item in items), (*problem.offers, Offer(1, (20, 5, 5), 9)))
    assert orders(two) == ((1, 0, 2), (0, 1, 2), (2, 0, 1))


@pytest.mark.parametrize(
    ("price", "found", "best"),
    [
        (5, [(0, 3), (1, 4), (2, 4)], (1, 4)),
        (0, [(0, 0), (1, 2), (2, 5)], (1, 2)),
        (0, [(0, 0), (1, 0)], (0, 0)),
    ],
)
def test_the_first_of_the_best(price: int, found: list[tuple[int | Load, int]], best: tuple[int, int]) -> None:
    """For a price what is worth most; for nothing whatever has something on it."""
    assert _first_best(price, found) == best


def test_of_equal_offers_the_first_grows() -> None:
    """The order is canonical and breaks ties."""
    twins = msgspec.structs.replace(PAIR, offers=(PAIR.offers[0], PAIR.offers[0]))
    mix = greedy(twins, [2, 1], ways_to_fill(twins))
    assert mix is not None
    assert {filling.offer for filling, _ in mix} == {0}
    assert sum(times for _, times in mix) == 3


def test_one_offer_alone() -> None:
    """Five pods of 1 on nodes of 4."""
    alone = Problem((Item(5, (1,), (True,)),), (Offer(5, (4,), 9),))
    assert greedy(alone, [1], ways_to_fill(alone)) == _mix((0, (1,), 1), (0, (4,), 1))
    assert greedy_mix(alone, _mix((0, (1,), 5))) == _mix((0, (1,), 1), (0, (4,), 1))


def test_a_bound_over_several_offers_ends_their_growth() -> None:
    """Ten units of pods on nodes of 4 and 3 that count 2 and 1 of five: 4 + 4 + 3; of four the best ones leave no room."""
    for bound, nodes in ((5, {0: 2, 1: 1}), (4, None)):
        mix = greedy(msgspec.structs.replace(PAIR, caps=(Cap(bound, (2, 1)),)), [2, 1], ways_to_fill(PAIR))
        counted = None
        if mix is not None:
            counted = {offer: sum(times for filling, times in mix if filling.offer == offer) for offer in (0, 1)}
        assert counted == nodes, bound


@pytest.mark.parametrize("seed", range(16))
def test_what_is_begun_with_is_never_dearer_and_places_everything(seed: int) -> None:
    """Within all bounds, whatever is polished."""
    problem = bounded(seed)
    given = some_mix(problem)
    if given is None:
        return
    polished = polish(problem, given)
    assert problem.proper(polished)
    assert problem.cost(polished) <= problem.cost(given)
    start = greedy_mix(problem, given)
    assert problem.proper(start)
    assert problem.cost(start) <= problem.cost(polished)
