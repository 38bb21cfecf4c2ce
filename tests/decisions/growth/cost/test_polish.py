"""A mix made cheaper step by step, on problems worked out by hand: what each step does, and what keeps it from doing it."""

import random
import secrets

import msgspec
import pytest

from reconciler.decisions.growth.cost import polish as steps
from reconciler.decisions.growth.cost.polish import polish
from reconciler.decisions.growth.cost.problem import Cap, Filling, Item, Load, Mix, Offer, Problem, nodes_of
from tests.decisions.growth.cost.instances import instance, one_choice

# Pods of 1 on nodes of 1, 2, 4 and 8, each a little cheaper than two of the size before.
SIZES = tuple(Offer(price, (free,), 99) for price, free in ((4, 1), (7, 2), (13, 4), (25, 8)))
EIGHT = Problem((Item(8, (1,), (True,) * 4),), SIZES)


def _mix(*nodes: tuple[int, Load, int]) -> Mix:
    return tuple((Filling(offer, load), times) for offer, load, times in nodes)


def test_nodes_are_merged_again_and_again() -> None:
    """Eight nodes become four, two and one."""
    assert polish(EIGHT, _mix((0, (1,), 8))) == _mix((3, (8,), 1))


def test_what_merging_leaves_is_merged_with_the_next() -> None:
    """Seven pods: 4 + 2 + 1 on the largest node that is cheaper than those."""
    seven = msgspec.structs.replace(EIGHT, items=(Item(7, (1,), (True,) * 4),))
    assert polish(seven, _mix((0, (1,), 7))) == _mix((2, (4,), 1), (1, (2,), 1), (0, (1,), 1))[::-1]


def test_the_cheapest_nodes_that_there_are() -> None:
    """Four pods of 3, one to a node of 5 for 10: two go to the two nodes of 3 for 7, one to the node of 4 for 8."""
    offers = (Offer(10, (5,), 9), Offer(7, (3,), 2), Offer(8, (4,), 1), Offer(1, (2,), 9))
    problem = Problem((Item(4, (3,), (True,) * 4),), offers)
    assert polish(problem, _mix((0, (1,), 4))) == _mix((0, (1,), 1), (1, (1,), 2), (2, (1,), 1))


def test_no_cheaper_node_where_prices_are_equal() -> None:
    """A node moves for less alone."""
    problem = Problem((Item(1, (1,), (True, True)),), (Offer(5, (4,), 9), Offer(5, (2,), 9)))
    assert polish(problem, _mix((0, (1,), 1))) == _mix((0, (1,), 1))
    assert polish(problem, _mix((1, (1,), 1))) == _mix((1, (1,), 1))


@pytest.mark.parametrize(("price", "merged"), [(9, True), (10, True), (11, False)])
def test_two_nodes_become_one_that_costs_no_more(price: int, merged: bool) -> None:
    """Two of 5: one of twice the size costs less, as much or more."""
    problem = Problem((Item(2, (1,), (True, True)),), (Offer(5, (1,), 9), Offer(price, (2,), 9)))
    assert polish(problem, _mix((0, (1,), 2))) == (_mix((1, (2,), 1)) if merged else _mix((0, (1,), 2)))


def test_nodes_that_cost_as_much_are_merged_again_and_again() -> None:
    """Seven pods on nodes of 1, 2 and 4 with one price for the room of one pod: 4 + 2 + 1."""
    offers = tuple(Offer(5 * size, (size,), 99) for size in (1, 2, 4))
    problem = Problem((Item(7, (1,), (True,) * 3),), offers)
    assert polish(problem, _mix((0, (1,), 7))) == _mix((0, (1,), 1), (1, (2,), 1), (2, (4,), 1))


def test_merging_takes_the_next_offer_where_one_is_used_up() -> None:
    """Two nodes of 5: the one of 6 is there no more, that of 8 is; with neither they stay."""
    item = Item(2, (1,), (True,) * 3)
    for most, merged in (((1, 1), (1, (2,), 1)), ((0, 1), (2, (2,), 1)), ((0, 0), None)):
        problem = Problem((item,), (Offer(5, (1,), 9), Offer(6, (2,), most[0]), Offer(8, (2,), most[1])))
        assert polish(problem, _mix((0, (1,), 2))) == (_mix(merged) if merged else _mix((0, (1,), 2)))


# Of p one pod of (3, 0), of q two of (1, 1), r fills most of the only node that takes all of them.
YES, NO = True, False
THREE = Problem(
    (Item(1, (3, 0), (YES, NO, YES)), Item(2, (1, 1), (NO, YES, YES)), Item(1, (7, 8), (NO, NO, YES))),
    (Offer(10, (10, 10), 1), Offer(10, (10, 10), 1), Offer(10, (10, 10), 1)),
)
APART = _mix((0, (1, 0, 0), 1), (1, (0, 2, 0), 1), (2, (0, 0, 1), 1))


def test_the_emptiest_node_is_spread_first() -> None:
    """p takes three tenths of its node and q two; there is room beside r for one of them."""
    assert polish(THREE, APART) == _mix((0, (1, 0, 0), 1), (2, (0, 2, 1), 1))


@pytest.mark.parametrize(
    ("r", "left"),
    [
        ((7, 9), _mix((1, (0, 2, 0), 1), (2, (1, 0, 1), 1))),
        ((8, 8), _mix((0, (1, 0, 0), 1), (2, (0, 2, 1), 1))),
        ((8, 9), APART),
        ((5, 8), _mix((2, (1, 2, 1), 1))),
    ],
)
def test_a_node_is_spread_whole_or_not(r: tuple[int, int], left: Mix) -> None:
    """Beside a larger r q has no place but p has; beside another p has none, nor both; beside a small one both have."""
    problem = msgspec.structs.replace(THREE, items=(*THREE.items[:2], Item(1, r, (NO, NO, YES))))
    assert polish(problem, APART) == left


def test_pods_of_one_node_go_to_several() -> None:
    """Three pods to three nodes with room for one each. One node for all of them is there, and is dearer than two."""
    problem = Problem((Item(12, (1,), (YES, YES)),), (Offer(10, (4,), 4), Offer(100, (99,), 4)))
    assert polish(problem, _mix((0, (3,), 4))) == _mix((0, (4,), 3))
    eleven = msgspec.structs.replace(problem, items=(Item(11, (1,), (YES, YES)),))
    assert polish(eleven, _mix((0, (2,), 1), (0, (3,), 3))) == _mix((0, (3,), 1), (0, (4,), 2))
    thirteen = msgspec.structs.replace(problem, items=(Item(13, (1,), (YES, YES)),))
    assert polish(thirteen, _mix((0, (3,), 3), (0, (4,), 1))) == _mix((0, (3,), 3), (0, (4,), 1))


@pytest.mark.parametrize(("more", "merged"), [(0, True), (1, False)])
def test_of_very_many_nodes_only_cheaper_ones_are_looked_for(more: int, merged: bool) -> None:
    """The rest would take long and gain little."""
    nodes = steps._MOST_NODES + more
    problem = Problem((Item(nodes, (1,), (YES, YES)),), (Offer(5, (1,), nodes), Offer(6, (2,), nodes)))
    mix = _mix((0, (1,), nodes))
    assert (problem.cost(polish(problem, mix)) < problem.cost(mix)) is merged


@pytest.mark.parametrize(("more", "merged"), [(0, True), (1, False)])
def test_of_very_many_loads_only_cheaper_nodes_are_looked_for(more: int, merged: bool) -> None:
    """Each of them with all others is a question."""
    kinds = steps._MOST_LOADS + more
    items = tuple(Item(1, (1,), (YES, YES)) for _ in range(kinds))
    problem = Problem(items, (Offer(5, (1,), kinds), Offer(6, (2,), kinds)))
    mix = tuple(sorted((Filling(0, tuple(int(own == kind) for own in range(kinds))), 1) for kind in range(kinds)))
    assert (problem.cost(polish(problem, mix)) < problem.cost(mix)) is merged


def test_a_mix_that_cannot_be_made_cheaper_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two full nodes for which nothing larger is cheaper; of eight that become one in three steps a fourth look finds nothing."""
    looks: list[bool] = []
    plain = steps._Polish.merge

    def noted(work: steps._Polish, *, as_dear: bool = False) -> bool:
        merged = plain(work, as_dear=as_dear)
        if not as_dear:
            looks.append(merged)
        return merged

    monkeypatch.setattr(steps._Polish, "merge", noted)
    full = Problem((Item(2, (1,), (True, True)),), (Offer(5, (1,), 9), Offer(11, (2,), 9)))
    assert polish(full, _mix((0, (1,), 2))) == _mix((0, (1,), 2))
    assert looks == [False]
    looks.clear()
    polish(EIGHT, _mix((0, (1,), 8)))
    assert looks[-1:] == [False]
    assert False not in looks[:-1]


class _OneByOne(steps._Polish):
    """Tries each pair of nodes and each node, whether there is room or not."""

    def merge(self, *, as_dear: bool = False) -> bool:
        changed = False
        present = sorted(filling for filling, times in self.nodes.items() if times)
        for position, one in enumerate(present):
            for other in present[position:]:
                enough = self.nodes[one] > (1 if one == other else 0) and self.nodes[other] > 0
                changed |= enough and self._pair(one, other, as_dear=as_dear)
        return changed

    def _pair(self, one: Filling, other: Filling, *, as_dear: bool) -> bool:
        offers, load = self._problem.offers, tuple(map(sum, zip(one.load, other.load, strict=True)))
        both = offers[one.offer].price_micros + offers[other.offer].price_micros
        for offer in sorted(range(len(offers)), key=lambda offer: (offers[offer].price_micros, offer)):
            price = offers[offer].price_micros
            if (price < both or (as_dear and price == both)) and self._problem.holds(offer, load) and self._room.of(offer) > 0:
                self._swap(((one, 1), (other, 1)), ((Filling(offer, load), 1),))
                return True
        return False

    def dissolve(self) -> bool:
        present = [filling for filling, times in self.nodes.items() if times]
        every = [(filling, self._left(filling)) for filling in sorted(self.nodes)]
        for filling in sorted(present, key=lambda one: (self._share(one), one))[:8]:
            self.nodes[filling] -= 1
            moves = self._spread(filling.load, every)
            self.nodes[filling] += 1
            if moves is not None:
                self._swap(((filling, 1), *((old, 1) for old, _ in moves)), tuple((new, 1) for _, new in moves))
                return True
        return False

    def _left(self, filling: Filling) -> tuple[int, ...]:
        left = list(self._problem.offers[filling.offer].free)
        for item, pods in zip(self._problem.items, filling.load, strict=True):
            left = [have - need * pods for have, need in zip(left, item.need, strict=True)]
        return tuple(left)


def test_what_is_not_tried_would_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Problems of new seeds, many of which leave no room for a node more."""
    for seed in (secrets.randbelow(1 << 31) for _ in range(60)):
        rng = random.Random(seed)
        problem = instance(seed, pods=rng.choice((10, 60, 200)), shapes=rng.randint(1, 5))
        mix = one_choice(problem)
        counts = [sum(times for filling, times in mix if filling.offer == offer) for offer in range(len(problem.offers))]
        offers = tuple(
            msgspec.structs.replace(offer, most=count + rng.choice((0, 0, 1, 5)))
            for offer, count in zip(problem.offers, counts, strict=True)
        )
        caps = (Cap(nodes_of(mix) + rng.choice((0, 2)), (1,) * len(offers)),) if rng.random() < 0.5 else ()
        problem = msgspec.structs.replace(problem, offers=offers, caps=caps)
        polished = polish(problem, mix)
        with monkeypatch.context() as patch:
            patch.setattr(steps, "_Polish", _OneByOne)
            assert polish(problem, mix) == polished, f"seed {seed}"
