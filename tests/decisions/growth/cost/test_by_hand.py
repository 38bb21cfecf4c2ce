"""The pieces of LeastCost over mixes on problems small enough to be worked out by hand, or by trying everything."""

from array import array
from itertools import product
from random import Random

import msgspec
import pytest

from reconciler.decisions.growth.cost.fillings import match
from reconciler.decisions.growth.cost.greedy import greedy, orders, ways_to_fill, worths
from reconciler.decisions.growth.cost.master import Master, Prices, solver
from reconciler.decisions.growth.cost.mixes import Answer, at_least, greedy_mix, least_cost, merged, remainder
from reconciler.decisions.growth.cost.near_fillings import Pricing
from reconciler.decisions.growth.cost.polish import polish, work
from reconciler.decisions.growth.cost.problem import Cap, Filling, Item, Load, Mix, Offer, Problem, Room
from reconciler.decisions.growth.cost.problem_parts import parts
from tests.decisions.growth.cost.instances import instance, one_choice

A, B = Item(3, (2, 1), (True, True)), Item(2, (1, 4), (True, False))
LARGE, SMALL = Offer(10, (4, 8), 5), Offer(7, (4, 2), 1)
PAIRS = Problem((Item(2, (3,), (True, True)),) * 2, (Offer(10, (5,), 9), Offer(13, (6,), 9)))
"""Two pods of 3 to a node for 13, or one to a node for 10: four cost 26, and each resource alone bounds that by 24."""
TWO = Problem((A, B), (LARGE, SMALL), (Cap(3, (1, 2)),))
# Pods of 2 on nodes of 4 for 10, or of 2 for 7.
ONE = Problem((Item(3, (2,), (True, True)),), (Offer(10, (4,), 5), Offer(7, (2,), 5)))


def _mix(*nodes: tuple[int, Load, int]) -> Mix:
    return tuple((Filling(offer, load), times) for offer, load, times in nodes)


def test_size_cost_and_work() -> None:
    """Items times offers; two nodes of 10 and one of 7; a hundred steps for each item and offer."""
    assert (TWO.size, TWO.cost(_mix((0, (1, 1), 2), (1, (2, 0), 1))), work(TWO)) == (4, 27, 400)


@pytest.mark.parametrize(
    ("offer", "load", "holds"),
    [
        (0, (1, 1), True), (0, (2, 0), True), (0, (2, 1), False), (0, (0, 2), True), (0, (1, 2), False), (0, (0, 0), True),
        (1, (2, 0), True), (1, (3, 0), False), (1, (0, 1), False), (1, (0, 0), True),
    ],
)  # fmt: skip
def test_what_a_node_takes(offer: int, load: Load, holds: bool) -> None:
    """4 and 8 are free on one, 4 and 2 on the other, which lets the second item not in."""
    assert TWO.holds(offer, load) is holds


@pytest.mark.parametrize(
    ("mix", "bound", "most", "proper"),
    [
        (_mix((0, (1, 1), 2), (1, (1, 0), 1)), 4, 1, True),
        (_mix((0, (1, 1), 2), (1, (1, 0), 1)), 3, 1, False),
        (_mix((0, (1, 1), 2), (1, (1, 0), 1)), 4, 0, False),
        (_mix((0, (1, 1), 2)), 4, 1, False),
        (_mix((0, (1, 1), 2), (0, (1, 0), 1)), 3, 1, True),
        (_mix((0, (3, 0), 1), (0, (0, 1), 2)), 4, 1, False),
        (_mix((0, (1, 1), 2), (1, (2, 0), 1)), 4, 1, False),
    ],
)
def test_which_mixes_place_everything(mix: Mix, bound: int, most: int, proper: bool) -> None:
    """Exactly all pods, within what nodes offer, how many there may be of each, and a bound over both."""
    offers = (LARGE, msgspec.structs.replace(SMALL, most=most))
    assert Problem((A, B), offers, (Cap(bound, (1, 2)),)).proper(mix) is proper


@pytest.mark.parametrize("times", [2, 3])
def test_what_is_too_much_is_cut_off(times: int) -> None:
    """Four or six pods where three are asked for: the second node has one, the third none and is no node."""
    assert TWO.trimmed(_mix((0, (2, 0), times), (0, (0, 2), 1))) == _mix((0, (0, 2), 1), (0, (1, 0), 1), (0, (2, 0), 1))
    assert TWO.trimmed(_mix((0, (1, 0), 5))) == _mix((0, (1, 0), 3))


def test_room_of_each_offer() -> None:
    """Five and one, and three of both together where the second counts twice."""
    room = Room(TWO)
    assert (room.of(0), room.of(1)) == (3, 1)
    room.take(0, 2)
    assert (room.of(0), room.of(1)) == (1, 0)
    room.take(0, -1)
    assert (room.of(0), room.of(1)) == (2, 1)
    room.take(1, 1)
    assert (room.of(0), room.of(1)) == (0, 0)
    free = Room(msgspec.structs.replace(TWO, caps=(Cap(0, (0, 1)),)))
    assert (free.of(0), free.of(1)) == (5, 0)


def test_a_problem_is_taken_apart() -> None:
    """The first item goes to the first node alone; the others share the third; nothing goes to the fourth."""
    yes, no = True, False
    offered = ((yes, no, no, no), (no, yes, yes, no), (no, no, yes, no))
    items = tuple(Item(number + 1, (1,), offers) for number, offers in enumerate(offered))
    whole = Problem(items, tuple(Offer(price, (9,), 9) for price in (1, 2, 3, 4)))
    first, second = parts(whole)
    assert (first.items, first.offers, second.items, second.offers) == ((0,), (0,), (1, 2), (1, 2))
    assert first.problem == Problem((Item(1, (1,), (yes,)),), whole.offers[:1])
    assert second.problem == Problem((Item(2, (1,), (yes, yes)), Item(3, (1,), (no, yes))), whole.offers[1:3])
    mix = _mix((0, (1, 0, 0), 2), (2, (0, 1, 1), 1))
    assert (first.of(mix), second.of(mix)) == (_mix((0, (1,), 2)), _mix((1, (1, 1), 1)))
    assert tuple(second.whole(second.of(mix), 3)) == mix[1:]
    (bounded,) = parts(msgspec.structs.replace(whole, caps=(Cap(1, (1, 1, 1, 1)),)))
    assert (bounded.items, bounded.offers) == ((0, 1, 2), (0, 1, 2, 3))


def test_what_ties_two_parts_together_makes_them_one() -> None:
    """A third item that goes to the nodes of both."""
    items = tuple(Item(1, (1,), offers) for offers in ((True, False), (False, True), (True, True)))
    assert len(parts(Problem(items, (LARGE, SMALL)))) == 1
    assert len(parts(Problem(items[:2], (LARGE, SMALL)))) == 2
    assert len(parts(Problem((items[2], items[0], items[1]), (LARGE, SMALL)))) == 1


def _everything(problem: Problem, offer: int, values: list[int], above: int) -> set[Load]:
    """All fillings that are worth more, and to which no pod can be added: by trying all."""
    most = [item.count if item.offers[offer] else 0 for item in problem.items]

    def takes(load: Load) -> bool:
        return all(pods <= many for pods, many in zip(load, most, strict=True)) and problem.holds(offer, load)

    def more(load: Load) -> list[Load]:
        return [tuple(pods + (place == index) for place, pods in enumerate(load)) for index in range(len(load))]

    found = (load for load in product(*(range(many + 1) for many in most)) if takes(load))
    return {
        load for load in found if sum(map(int.__mul__, values, load)) > above and not any(takes(larger) for larger in more(load))
    }


@pytest.mark.parametrize("seed", range(12))
def test_fillings_that_are_worth_most_are_all_found(seed: int) -> None:
    """Those that trying everything finds, for a node of three resources."""
    rng = Random(seed)
    items = tuple(
        Item(rng.randint(1, 4), (rng.randint(0, 4), rng.randint(0, 4), 1), (rng.random() < 0.8, True)) for _ in range(4)
    )
    problem = Problem(items, tuple(Offer(1, (rng.randint(3, 9), rng.randint(3, 9), 6), 9) for _ in range(2)))
    values = [rng.randint(0, 9) for _ in items]
    for offer in (0, 1):
        for above in (0, 5, 12):
            found, listed = Pricing(problem).near(offer, values, above, 1_000_000)
            assert listed
            assert len(found) == len(set(found))
            assert set(found) == _everything(problem, offer, values, above)


def test_a_search_ends_with_its_steps() -> None:
    """What it has found by then is right, and it is not all."""
    problem = Problem((Item(4, (1,), (True,)), Item(4, (1,), (True,))), (Offer(1, (4,), 1),))
    every, _ = Pricing(problem).near(0, [2, 1], 0, 1_000)
    some, listed = Pricing(problem).near(0, [2, 1], 0, 4)
    assert not listed
    assert set(every) == {(4, 0), (3, 1), (2, 2), (1, 3), (0, 4)}
    assert set(some) < set(every)
    assert Pricing(problem).near(0, [2, 1], 0, 1) == ([], False)


@pytest.mark.parametrize(
    ("free", "needs", "left", "load"),
    [
        ((4, 4), ((3, 1), (1, 3), (2, 2)), (1, 1, 2), (1, 1, 0)),
        ((8, 2), ((4, 1), (1, 1)), (9, 9), (2, 0)),
        ((8, 2), ((4, 1), (1, 1)), (1, 9), (1, 1)),
        ((8, 2), ((9, 1), (1, 1)), (1, 1), (0, 1)),
        ((8, 0), ((4, 0), (1, 1)), (2, 2), (2, 0)),
        ((2, 8), ((1, 1), (1, 4)), (9, 9), (0, 2)),
        ((4, 4), ((4, 4),), (0,), (0,)),
        ((1000, 10), ((100, 8), (500, 3)), (1, 1), (1, 0)),
    ],
)
def test_the_pod_that_matches_best_comes_next(
    free: tuple[int, ...], needs: tuple[tuple[int, ...], ...], left: tuple[int, ...], load: Load
) -> None:
    """The one whose needs lie most in the direction of what is free, as shares of the node; the first of equal ones."""
    problem = Problem(tuple(Item(9, need, (True,)) for need in needs), (Offer(1, free, 9),))
    assert match(problem, 0, left) == load
    shut = Problem(tuple(Item(9, need, (False,)) for need in needs), (Offer(1, free, 9),))
    assert match(shut, 0, left) == (0,) * len(needs)


@pytest.mark.parametrize(
    ("prices", "mix", "bound"),
    [
        # 6 of the first: 60/4 or 42/4 rounded up; 3 of the second: 30/8 or 21/2. In whole nodes: two for 7 with two pods each.
        ((10, 7), _mix((0, (2,), 1), (1, (1,), 1)), 14),
        ((10, 7), _mix((0, (3,), 1)), 11),
        # One node for 30 is all there is: two of the cheapest cost 14.
        ((30, 7), _mix((0, (3,), 1)), 14),
        ((30, 7), _mix((0, (3,), 2)), 14),
        ((12, 7), _mix((0, (3,), 1)), 12),
        ((0, 0), _mix((0, (2,), 1), (1, (1,), 1)), 0),
    ],
)
def test_what_no_mix_can_cost_less_than(prices: tuple[int, int], mix: Mix, bound: int) -> None:
    """By each resource alone at its best price; an offer that nobody may use, or that has none of a resource, is no help."""
    item = Item(3, (2, 1), (True, True, False, True))
    offers = (Offer(prices[0], (4, 8), 9), Offer(prices[1], (4, 2), 9), Offer(1, (9, 9), 9), Offer(99, (0, 9), 9))
    assert at_least(Problem((item,), offers), mix) == bound


def test_nodes_that_take_some_items_alone_bound_the_cost_too() -> None:
    """One item goes to the nodes for 10 with room for 4, the other to those for 7 with room for 2: 2.5 a unit is the best price,
    of five units."""
    items = (Item(2, (2,), (True, False)), Item(1, (1,), (False, True)))
    problem = Problem(items, (Offer(10, (4,), 9), Offer(7, (2,), 9)))
    assert at_least(problem, _mix((0, (2, 0), 1), (1, (0, 1), 1))) == 13


def test_what_pods_are_worth() -> None:
    """A of 2 and 1, three of them; B of 1 and 4, two: 8 and 11 are asked for, 8 and 10 offered; the second is 1.1 times as
    scarce."""
    scale = 1 << 40
    found = [[worth / scale for worth in row] for row in worths(TWO)]
    assert found[0] == pytest.approx([2 / 8 + 1 / 11, 1 / 8 + 4 / 11])
    assert found[1] == pytest.approx([2 / 8 + 1 / 10, 1 / 8 + 4 / 10])
    assert found[2] == pytest.approx([2 / 8 + 1.1 / 10, 1 / 8 + 4.4 / 10])
    nothing = Problem((Item(1, (0, 1), (True,)),), (Offer(1, (0, 4), 1),))
    assert [row[0] for row in worths(nothing)] == [scale + 1, scale // 4 + 1, scale // 4 // 4 + 1]


def test_orders_from_large_to_small() -> None:
    """Of the largest nodes, 4 and 8, A takes a half and an eighth, B a quarter and a half: equal by the larger share alone."""
    assert orders(TWO) == ((0, 1), (1, 0))
    third = Item(1, (4, 8), (True, True))
    assert orders(msgspec.structs.replace(TWO, items=(A, B, third)))[0] == (2, 0, 1)


def test_what_is_left_beside_some_nodes() -> None:
    """Two nodes of the first offer with one of each item."""
    left = remainder(TWO, _mix((0, (1, 1), 2)))
    assert [item.count for item in left.items] == [1, 0]
    assert [offer.most for offer in left.offers] == [3, 1]
    assert [cap.bound for cap in left.caps] == [1]
    few = msgspec.structs.replace(TWO, offers=(msgspec.structs.replace(LARGE, most=1), SMALL))
    over = remainder(few, _mix((0, (1, 0), 2)))
    assert [offer.most for offer in over.offers] == [0, 1]


def test_two_mixes_together() -> None:
    """Equal nodes are counted together."""
    assert merged(_mix((0, (1,), 2), (1, (1,), 1)), _mix((0, (1,), 1), (0, (2,), 1))) == _mix(
        (0, (1,), 3), (0, (2,), 1), (1, (1,), 1)
    )


@pytest.mark.parametrize(
    ("most", "mix"),
    [
        ((5, 5), _mix((0, (2,), 1), (1, (1,), 1))),
        ((0, 5), _mix((1, (1,), 3))),
        ((5, 0), _mix((0, (1,), 1), (0, (2,), 1))),
        ((0, 2), None),
        ((1, 0), None),
        ((1, 1), _mix((0, (2,), 1), (1, (1,), 1))),
    ],
)
def test_the_cheapest_for_what_it_holds_comes_first(most: tuple[int, int], mix: Mix | None) -> None:
    """Two pods for 10, then the last one for 7 where there is such a node; None where the bounds leave one out."""
    offers = tuple(msgspec.structs.replace(offer, most=many) for offer, many in zip(ONE.offers, most, strict=True))
    problem = msgspec.structs.replace(ONE, offers=offers)
    assert greedy(problem, [1], ways_to_fill(problem)) == mix
    assert greedy(problem, array("q", [7]), ways_to_fill(problem).first(1)) == mix


def test_nodes_for_nothing_are_taken_first() -> None:
    """Free ones, as many as there are."""
    free = msgspec.structs.replace(ONE, offers=(ONE.offers[0], Offer(0, (2,), 2)))
    assert greedy(free, [1], ways_to_fill(free)) == _mix((0, (1,), 1), (1, (1,), 2))


@pytest.mark.parametrize(
    ("problem", "mix", "polished"),
    [
        # One pod on a node of 10 goes to one of 7.
        (ONE, _mix((0, (1,), 1)), _mix((1, (1,), 1))),
        # Two nodes of 7 become one of 10.
        (ONE, _mix((1, (1,), 2)), _mix((0, (2,), 1))),
        (ONE, _mix((1, (1,), 3)), _mix((0, (2,), 1), (1, (1,), 1))),
        # Six pods on three nodes that take three each: one node is spread over the others.
        (Problem((Item(6, (2,), (True,)),), (Offer(10, (6,), 9),)), _mix((0, (2,), 3)), _mix((0, (3,), 2))),
        # Nothing to gain.
        (ONE, _mix((0, (2,), 1), (1, (1,), 1)), _mix((0, (2,), 1), (1, (1,), 1))),
    ],
)
def test_a_mix_is_made_cheaper(problem: Problem, mix: Mix, polished: Mix) -> None:
    """A cheaper node for the same load, two loads on one node, a node less."""
    assert polish(problem, mix) == polished


def test_a_bound_keeps_a_mix_from_becoming_cheaper() -> None:
    """No node of 7, or none of 10, may be added."""
    none_small = msgspec.structs.replace(ONE, offers=(ONE.offers[0], msgspec.structs.replace(ONE.offers[1], most=0)))
    assert polish(none_small, _mix((0, (1,), 1))) == _mix((0, (1,), 1))
    none_large = msgspec.structs.replace(ONE, offers=(msgspec.structs.replace(ONE.offers[0], most=0), ONE.offers[1]))
    assert polish(none_large, _mix((1, (1,), 2))) == _mix((1, (1,), 2))
    shut = Problem((Item(3, (2,), (False, True)),), ONE.offers)
    assert polish(shut, _mix((1, (1,), 2))) == _mix((1, (1,), 2))


def _never() -> None:
    raise AssertionError("asked for the solver")


def test_what_is_surely_cheapest_needs_no_solver() -> None:
    """Two pods on one node of 10: no resource can be had for less."""
    pair = msgspec.structs.replace(ONE, items=(Item(2, (2,), (True, True)),))
    assert least_cost(pair, _mix((1, (1,), 2)), _never) == Answer(_mix((0, (2,), 1)), 10, 10)


def test_without_a_solver_the_greedy_mix_stands() -> None:
    """Four pods of 3, two to a node for 13: 24 could not be ruled out."""
    answer = least_cost(PAIRS, _mix((0, (1, 0), 2), (0, (0, 1), 2)), lambda: None)
    assert (answer.cost_micros, answer.solver_missing, PAIRS.proper(answer.mix)) == (26, True, True)


def test_pods_of_one_kind_need_no_solver() -> None:
    """Three pods, two to a node for 10 or one to a node for 7: 10 + 7 is less than 2 x 10 and 3 x 7. With one node for 7 left
    and two pods to it, 7 + 10 is all there is."""

    def solver_of() -> None:
        raise AssertionError("nobody should ask for it")

    assert least_cost(ONE, _mix((1, (1,), 3)), solver_of) == Answer(_mix((0, (2,), 1), (1, (1,), 1)), 17, 17)
    scarce = Problem((Item(3, (2,), (True, True)),), (Offer(10, (4,), 5), Offer(7, (4,), 1)))
    assert least_cost(scarce, _mix((0, (2,), 1), (1, (1,), 1)), solver_of).cost_micros == 17


def test_a_mix_that_places_not_everything_is_given_back() -> None:
    """As it was."""
    given = _mix((1, (1,), 2))
    assert least_cost(ONE, given, _never) == Answer(given, 14)


@pytest.mark.parametrize("answers", [0, 1])
def test_a_linear_program_without_an_end_leaves_the_greedy_mix(answers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the beginning, or after the first answer: the greedy mix, and the bound is that of each resource alone."""
    plain, asked = Master.relaxed, []

    def relaxed(self: Master) -> Prices | None:
        asked.append(self)
        return plain(self) if len(asked) <= answers else None

    monkeypatch.setattr(Master, "relaxed", relaxed)
    problem = instance(2, pods=60)
    given = one_choice(problem)
    start = greedy_mix(problem, given)
    answer = least_cost(problem, given, solver)
    assert answer == Answer(start, problem.cost(start), problem.reachable(at_least(problem, start)))
    assert len(asked) > answers


def test_parts_add_up() -> None:
    """A pair that is sure for 10, and four pods of which nobody knows without a solver."""
    yes, no = True, False
    others = (Item(2, (3,), (no, no, yes, yes)),) * 2
    whole = Problem((Item(2, (2,), (yes, yes, no, no)), *others), (*ONE.offers, *PAIRS.offers))
    answer = least_cost(whole, _mix((1, (1, 0, 0), 2), (2, (0, 1, 0), 2), (2, (0, 0, 1), 2)), lambda: None)
    assert (answer.cost_micros, answer.bound_micros, answer.solver_missing) == (10 + 26, 10 + 24, True)


def test_of_offers_that_cost_the_same_the_greedy_takes_the_one_for_more_pods() -> None:
    """Eight pods of 1 on nodes of 2 for 10, or of 8 for 40: one node, whichever stands first."""
    offers = Offer(10, (2,), 9), Offer(40, (8,), 9)
    for order in (offers, offers[::-1]):
        problem = Problem((Item(8, (1,), (True, True)),), order)
        assert greedy(problem, worths(problem)[0], ways_to_fill(problem)) == _mix((order.index(offers[1]), (8,), 1))
