"""The least hourly cost over mixes: start without a solver, columns while they pay, whole numbers within counted work."""

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import ModuleType
from typing import NamedTuple

import msgspec

from reconciler.decisions.growth.cost.dives import PREFERENCES, Dives
from reconciler.decisions.growth.cost.fillings import FirstFits, NodeFilling, Pricing, generate, match
from reconciler.decisions.growth.cost.master import Master, Prices
from reconciler.decisions.growth.cost.problem import (
    Filling,
    Item,
    Load,
    Mix,
    Problem,
    Room,
    nodes_of,
    parts,
    remainder,
    stand_ins,
)

# A first mix without any solver: the filling that costs least for what its pods are worth, again and again.

_SCALE = 1 << 40
SMALL = 100
"""Size of a problem up to which ways are tried that take much longer than they are worth in larger ones."""

Filler = Callable[[int, "array[int]", "array[int]"], Load]
"""What one node of an offer takes, of items that are worth so much each, with so many pods of each left."""


class Ways(msgspec.Struct, frozen=True):
    """How a node may be filled: in each of these orders of all items, then by each filler."""

    orders: tuple[tuple[int, ...], ...]
    fillers: tuple[Filler, ...]

    def first(self, count: int) -> "Ways":
        """So many of them."""
        return Ways(self.orders[:count], self.fillers[: max(0, count - len(self.orders))])


def greedy(problem: Problem, worth: Sequence[int], ways: Ways) -> Mix | None:
    """The lowest price for the worth (by item) over all offers and ways to fill a node, repeated while there are pods for it.
    None if the bounds do not allow all pods."""
    left = array("q", [item.count for item in problem.items])
    values = array("q", worth)
    room = Room(problem)
    mix: list[tuple[Filling, int]] = []
    known: dict[tuple[int, int], tuple[Load, int]] = {}
    orders = len(ways.orders)
    in_order = FirstFits(problem, ways.orders)
    # By offer the best of its fillings, its price over what they are worth being the least: a row of `in_order` or a load.
    best_of: list[tuple[int | Load, int]] = [(-1, 0)] * len(problem.offers)
    while any(left):
        usable = bytearray(room.of(offer) > 0 for offer in range(len(problem.offers)))
        changed = {row // orders for row in in_order.renew(left, usable, values)}
        best: int | Load = -1
        best_offer, best_price, best_worth = -1, 1, 0
        for offer, terms in enumerate(problem.offers):
            if not usable[offer]:
                continue
            price = terms.price_micros
            for way, filler in enumerate(ways.fillers):
                load, gain = known.get((offer, way), ((), 0))
                # A filling hangs on how many pods are left only where they are too few for it.
                if not load or not all(map(int.__le__, load, left)):
                    load = filler(offer, values, left)
                    known[offer, way] = load, sum(map(int.__mul__, worth, load))
                    changed.add(offer)
            if offer in changed:
                rows = [(row, in_order.gains[row]) for row in range(offer * orders, (offer + 1) * orders)]
                best_of[offer] = _first_best(price, [*rows, *(known[offer, way] for way in range(len(ways.fillers)))])
            filling, gain = best_of[offer]
            # Of offers that cost the same for it the one that takes the most: fewer nodes.
            if gain and (best_offer < 0 or (price * best_worth, best_worth) < (best_price * gain, gain)):
                best, best_offer, best_price, best_worth = filling, offer, price, gain
        if best_offer < 0:
            return None
        chosen = Filling(best_offer, in_order.load(best) if isinstance(best, int) else best)
        # Of hundreds of items a node has a few.
        on_it = [index for index, pods in enumerate(chosen.load) if pods]
        times = min(room.of(chosen.offer), *(left[index] // chosen.load[index] for index in on_it))
        room.take(chosen.offer, times)
        for index in on_it:
            left[index] -= chosen.load[index] * times
        mix.append((chosen, times))
    return problem.trimmed(mix)


def _first_best(price: int, choices: Sequence[tuple[int | Load, int]]) -> tuple[int | Load, int]:
    """Of fillings and what they are worth the first that is worth most for the price; of those for nothing the first."""
    if price:
        return max(choices, key=lambda one: one[1])
    return next((one for one in choices if one[1]), choices[0])


def worths(problem: Problem) -> list[list[int]]:
    """The worth of one pod of each item: its share of the total requests, of a node's offer, and of the scarcer resource."""
    kinds = range(len(problem.offers[0].free))
    asked = [sum(item.need[kind] * item.count for item in problem.items) or 1 for kind in kinds]
    offered = [sum(offer.free[kind] for offer in problem.offers) or 1 for kind in kinds]
    scarce = [asked[kind] * _SCALE // offered[kind] for kind in kinds]
    return [
        [sum(need * _SCALE // total for need, total in zip(item.need, asked, strict=True)) + 1 for item in problem.items],
        [sum(need * _SCALE // total for need, total in zip(item.need, offered, strict=True)) + 1 for item in problem.items],
        [
            sum(need * weight // total for need, total, weight in zip(item.need, offered, scarce, strict=True)) + 1
            for item in problem.items
        ],
    ]


def orders(problem: Problem) -> tuple[tuple[int, ...], ...]:
    """Orders of items from large to small: by the largest share of any resource, and by each resource alone."""
    kinds = range(len(problem.offers[0].free))
    largest = [max(offer.free[kind] for offer in problem.offers) or 1 for kind in kinds]
    shares = [[need * _SCALE // most for need, most in zip(item.need, largest, strict=True)] for item in problem.items]
    keys = [[max(row) for row in shares], [sum(row) for row in shares], *([row[kind] for row in shares] for kind in kinds)]
    item_orders = [sorted(range(len(shares)), key=key.__getitem__, reverse=True) for key in keys]
    return tuple(dict.fromkeys(map(tuple, item_orders)))


def ways_to_fill(problem: Problem) -> Ways:
    """All ways to fill a node that the start tries."""
    fillers: list[Filler] = [NodeFilling(problem).by_worth]
    if problem.size <= SMALL:
        fillers.append(lambda offer, _, left: match(problem, offer, left))
    return Ways(orders(problem), tuple(fillers))


# Making a mix cheaper step by step: a cheaper node for the same load, two loads on one node, a node less. At last two loads on
# one node that costs as much as both.

# Beyond this many nodes (different loads) only cheaper nodes are looked for; the rest would take long and gain little.
_MOST_NODES, _MOST_LOADS = 300, 80
_PASSES, _EMPTIEST = 12, 8


def polish(problem: Problem, mix: Mix) -> Mix:
    """A mix that costs at most as much, and has no more nodes."""
    work = _Polish(problem, mix)
    work.downgrade()
    if nodes_of(mix) <= _MOST_NODES and len(mix) <= _MOST_LOADS:
        for _ in range(_PASSES):
            if not work.merge() and not work.dissolve():
                break
            work.downgrade()
        for _ in range(_PASSES):
            if not work.merge(as_dear=True) and not work.gather():
                break
    return tuple(sorted((filling, times) for filling, times in work.nodes.items() if times))


class _Taken(NamedTuple):
    """What a load takes by resource, and the offers whose labels and taints let all its pods in, a bit each."""

    used: tuple[int, ...]
    offers: int

    def with_more(self, other: "_Taken") -> "_Taken":
        """Both loads on one node."""
        return _Taken(tuple(map(int.__add__, self.used, other.used)), self.offers & other.offers)


class _Sizes:
    """Which offers have room for what is taken, a bit each, the cheapest offer first."""

    def __init__(self, problem: Problem) -> None:
        offers = problem.offers
        self.by_price = sorted(range(len(offers)), key=lambda offer: (offers[offer].price_micros, offer))
        self._steps: list[tuple[list[int], list[int]]] = []
        for kind in range(len(offers[0].free)):
            sizes = sorted({offer.free[kind] for offer in offers})
            bits = [self.bits(offers[offer].free[kind] >= size for offer in range(len(offers))) for size in sizes]
            self._steps.append((sizes, [*bits, 0]))

    def bits(self, are: Iterable[bool]) -> int:
        """A bit for each offer that is told to be, in order of price."""
        flags = list(are)
        return sum(1 << rank for rank, offer in enumerate(self.by_price) if flags[offer])

    def taking(self, taken: _Taken, among: int = -1) -> Iterator[int]:
        """The offers that take it, the cheapest first, of those `among` which are asked for."""
        bits = taken.offers & among
        if not bits:
            return
        for amount, (sizes, of) in zip(taken.used, self._steps, strict=True):
            bits &= of[bisect_left(sizes, amount)]
        while bits:
            lowest = bits & -bits
            yield self.by_price[lowest.bit_length() - 1]
            bits ^= lowest


class _Polish:
    def __init__(self, problem: Problem, mix: Mix) -> None:
        self.nodes: Counter[Filling] = Counter(dict(mix))
        self._problem = problem
        self._prices = [offer.price_micros for offer in problem.offers]
        self._sizes = _Sizes(problem)
        self._needs = [item.need for item in problem.items]
        self._nothing = (0,) * len(problem.offers[0].free)
        self._every = (1 << len(problem.offers)) - 1
        self._lets_in = [self._sizes.bits(item.offers) for item in problem.items]
        self._known: dict[Load, _Taken] = {}
        self._room = Room(problem)
        for filling, times in mix:
            self._room.take(filling.offer, times)

    def taken(self, load: Load) -> "_Taken":
        """What a load takes, and which offers let it in."""
        taken = self._known.get(load)
        if taken is None:
            used, offers = self._nothing, self._every
            for index, pods in enumerate(load):
                if pods:
                    used = tuple([have + need * pods for have, need in zip(used, self._needs[index], strict=True)])
                    offers &= self._lets_in[index]
            taken = self._known[load] = _Taken(used, offers)
        return taken

    def downgrade(self) -> None:
        """The cheapest node that takes the load."""
        for filling in sorted(self.nodes):
            left = self.nodes[filling]
            for offer in self._sizes.taking(self.taken(filling.load)):
                if self._prices[offer] >= self._prices[filling.offer] or not left:
                    break
                times = min(left, max(0, self._room.of(offer)))
                if times:
                    self._swap(((filling, times),), ((Filling(offer, filling.load), times),))
                    left -= times

    def _swap(self, old: tuple[tuple[Filling, int], ...], new: tuple[tuple[Filling, int], ...]) -> None:
        for filling, times in old:
            self.nodes[filling] -= times
            self._room.take(filling.offer, -times)
        for filling, times in new:
            self.nodes[filling] += times
            self._room.take(filling.offer, times)

    def merge(self, *, as_dear: bool = False) -> bool:
        """Pairs of loads onto one node that costs less than both (`as_dear`: or as much), each load looked at once."""
        changed = False
        present = sorted(filling for filling, times in self.nodes.items() if times)
        taken = [self.taken(filling.load) for filling in present]
        counts = [self.nodes[filling] for filling in present]
        open_offers = self._open()
        for position, one in enumerate(present):
            if not open_offers:
                # Only a merge makes room, and none is left.
                break
            for place in range(position, len(present)):
                needed = 2 if place == position else 1
                if counts[position] < needed or counts[place] < needed:
                    continue
                both = taken[position].with_more(taken[place])
                if self._merge(one, present[place], both, open_offers, as_dear=as_dear):
                    changed = True
                    counts = [self.nodes[filling] for filling in present]
                    open_offers = self._open()
        return changed

    def _open(self) -> int:
        """The offers of which the bounds allow more nodes, a bit each."""
        return self._sizes.bits(self._room.of(offer) > 0 for offer in range(len(self._prices)))

    def _merge(self, one: Filling, other: Filling, taken: "_Taken", open_offers: int, *, as_dear: bool) -> bool:
        both = self._prices[one.offer] + self._prices[other.offer]
        for offer in self._sizes.taking(taken, open_offers):
            if self._prices[offer] > both or (self._prices[offer] == both and not as_dear):
                return False
            load = tuple(map(int.__add__, one.load, other.load))
            self._known[load] = taken
            self._swap(((one, 1), (other, 1)), ((Filling(offer, load), 1),))
            return True
        return False

    def gather(self) -> bool:
        """Several loads onto one node that costs at most as much as theirs together, the dearest that fit first."""
        present = sorted(self.nodes.elements(), key=lambda one: (-self._prices[one.offer], one))
        for rank, offer in reversed(list(enumerate(self._sizes.by_price))):
            if self._room.of(offer) <= 0:
                continue
            chosen, left = [], self._problem.offers[offer].free
            for filling in present:
                used, offers = self.taken(filling.load)
                if filling.offer != offer and offers >> rank & 1 and all(map(int.__le__, used, left)):
                    chosen.append(filling)
                    left = tuple(map(int.__sub__, left, used))
            if len(chosen) > 1 and sum(self._prices[filling.offer] for filling in chosen) >= self._prices[offer]:
                load = tuple(map(sum, zip(*(filling.load for filling in chosen), strict=True)))
                self._swap(tuple(Counter(chosen).items()), ((Filling(offer, load), 1),))
                return True
        return False

    def dissolve(self) -> bool:
        """Spread the load of one of the emptiest nodes over the free room of the others."""
        present = [filling for filling, times in self.nodes.items() if times]
        roomy = [(filling, spare) for filling in sorted(present) if (spare := self._spare(filling)) is not None]
        if not roomy:
            return False
        for filling in sorted(present, key=lambda one: (self._share(one), one))[:_EMPTIEST]:
            self.nodes[filling] -= 1
            moves = self._spread(filling.load, roomy)
            self.nodes[filling] += 1
            if moves is not None:
                self._swap(((filling, 1), *((old, 1) for old, _ in moves)), tuple((new, 1) for _, new in moves))
                return True
        return False

    def _share(self, filling: Filling) -> float:
        """The largest share of a resource that the load takes."""
        free = self._problem.offers[filling.offer].free
        return max(taken / have if have else 0.0 for taken, have in zip(self.taken(filling.load).used, free, strict=True))

    def _spare(self, filling: Filling) -> tuple[int, ...] | None:
        """What is free next to a load; None where that is too little for any pod."""
        spare = tuple(map(int.__sub__, self._problem.offers[filling.offer].free, self.taken(filling.load).used))
        for item in self._problem.items:
            if item.offers[filling.offer] and all(map(int.__ge__, spare, item.need)):
                return spare
        return None

    def _spread(self, load: Load, roomy: Sequence[tuple[Filling, tuple[int, ...]]]) -> list[tuple[Filling, Filling]] | None:
        items = self._problem.items
        left = list(load)
        moves = []
        for filling, spare in roomy:
            for _ in range(self.nodes[filling]):
                free, more = list(spare), [0] * len(left)
                for index, item in enumerate(items):
                    if left[index] and item.offers[filling.offer]:
                        pods = min(left[index], *(have // need for have, need in zip(free, item.need, strict=True) if need))
                        more[index] = pods
                        free = [have - need * pods for have, need in zip(free, item.need, strict=True)]
                if not any(more):
                    break
                left = [have - pods for have, pods in zip(left, more, strict=True)]
                moves.append((filling, Filling(filling.offer, tuple(map(int.__add__, filling.load, more)))))
                if not any(left):
                    return moves
        return None


_LARGE = 200  # size above which only quick steps are taken
_FEW_WAYS = 2  # ways to fill a node that large problems try
_ENOUGH_PERMILLE = 4  # so far above the linear program's bound the search ends
_FEW_PODS = 40  # of which the cheapest mix of all is searched for
_BRANCH_NODES = 5
_NEAR_STEPS, _NEAR_FILLINGS = 2_000, 60


class Answer(msgspec.Struct, frozen=True):
    """The cheapest mix found and its cost in micros. `bound_micros`: no mix can cost less, as far as that is known (0: it is
    not)."""

    mix: Mix
    cost_micros: int
    bound_micros: int = 0
    solver_missing: bool = False


def work(problem: Problem) -> int:
    """Steps that the plan's budget is charged, about one a question whether a pod shape fits a node."""
    return 100 * len(problem.items) * len(problem.offers)


def least_cost(problem: Problem, given: Mix, solver: Callable[[], ModuleType | None]) -> Answer:
    """At most as dear as `given`, which places everything, and of no more nodes where as dear. `solver` is called where a mix may
    still be cheaper."""
    if not problem.proper(given):
        return Answer(given, problem.cost(given))
    instead = stand_ins(problem)
    apart = parts(problem, frozenset(instead))
    moved = Counter[Filling]()
    for filling, times in given:
        moved[Filling(instead[filling.offer], filling.load)] += times
    mix = tuple(sorted(moved.items()))
    answers = [_least_cost(part.problem, part.of(mix), solver) for part in apart]
    width = len(problem.items)
    pairs = [pair for part, answer in zip(apart, answers, strict=True) for pair in part.whole(answer.mix, width)]
    return Answer(
        tuple(sorted(pairs)),
        sum(answer.cost_micros for answer in answers),
        sum(answer.bound_micros for answer in answers),
        any(answer.solver_missing for answer in answers),
    )


def _least_cost(problem: Problem, given: Mix, solver: Callable[[], ModuleType | None]) -> Answer:
    """Method: column generation for the cutting-stock form of the problem (Gilmore, Gomory 1961), with one knapsack per offer.
    Then dives round its linear program. For few pods, a solve in whole numbers chooses among the columns.
    """
    start = greedy_mix(problem, given) if _few(problem) else _cheapest(problem, [given, given])
    if problem.cost(start) <= problem.reachable(at_least(problem, start)):
        return Answer(start, problem.cost(start), problem.cost(start))
    highs = solver()
    if highs is not None:
        master = Master(highs, problem)
        for mix in (given, start):
            master.add(filling for filling, _ in mix)
        prices = generate(problem, master)
        if prices is not None:
            best = _whole(problem, master, prices, start)
            return Answer(best, problem.cost(best), round(prices.bound))
    best = greedy_mix(problem, start)
    return Answer(best, problem.cost(best), solver_missing=highs is None)


def at_least(problem: Problem, mix: Mix) -> int:
    """A lower bound on any mix, without a solver: each resource alone at its best price, and of few pods each item alone. If
    `mix` is one node, the bound is at least two nodes of the cheapest offer, because a cheaper single node would have been
    found."""
    usable = [offer for index, offer in enumerate(problem.offers) if any(item.offers[index] for item in problem.items)]
    bound = 0
    for kind in range(len(problem.offers[0].free)):
        asked = sum(item.need[kind] * item.count for item in problem.items)
        if asked:
            bound = max(
                bound, min(-(-asked * offer.price_micros // offer.free[kind]) for offer in usable if offer.free[kind] > 0)
            )
    if nodes_of(mix) == 1:
        bound = max(bound, min(problem.cost(mix), 2 * min(offer.price_micros for offer in usable)))
    most = problem.cost(mix)
    return max(bound, *(_alone(problem, item, most) for item in problem.items)) if _few(problem) else bound


def _alone(problem: Problem, item: Item, most: int) -> int:
    """The least cost of whole nodes for the pods of one item, `most` at most, if each offer gives no more nodes than it may."""
    costs = [0, *(most for _ in range(item.count))]
    for offer, lets_in in zip(problem.offers, item.offers, strict=True):
        fits = min((have // need for have, need in zip(offer.free, item.need, strict=True) if need), default=item.count)
        left, step = (min(offer.most, -(-item.count // fits)) if lets_in and fits > 0 else 0), 1
        while left > 0:
            # 1, 2, 4, ... nodes at once: some of these steps make up any number of nodes.
            nodes = min(step, left)
            for pods in range(item.count, 0, -1):
                costs[pods] = min(costs[pods], costs[max(0, pods - nodes * fits)] + nodes * offer.price_micros)
            left, step = left - nodes, 2 * step
    return costs[item.count]


def greedy_mix(problem: Problem, given: Mix) -> Mix:
    """The cheapest of `given` and all greedy mixes, polished."""
    large = _large(problem)
    ways = ways_to_fill(problem).first(_FEW_WAYS) if large else ways_to_fill(problem)
    mixes = [given]
    for worth in worths(problem)[: 1 if large else None]:
        mix = greedy(problem, worth, ways)
        if mix is not None:
            mixes.append(mix)
    return _cheapest(problem, [given, *dict.fromkeys(mixes)])


def _few(problem: Problem) -> bool:
    return sum(item.count for item in problem.items) <= _FEW_PODS and problem.size <= SMALL


def _large(problem: Problem) -> bool:
    return problem.size > _LARGE


def _whole(problem: Problem, master: Master, prices: Prices, start: Mix) -> Mix:
    """A mix in whole numbers: rounded down with a greedy rest, then by dives, and of few pods the solver's own. The search ends
    near the bound of the linear program, or at the least cost that is possible above it."""
    enough = problem.reachable(prices.bound)
    if not _few(problem):
        enough = max(enough, round(prices.bound * (1000 + _ENOUGH_PERMILLE)) // 1000)
    best = start
    rounded = _rounded(problem, master.fillings, prices)
    if rounded is not None:
        best = _cheapest(problem, [best, rounded])
    dives = Dives(problem, master)
    for preference in PREFERENCES:
        if problem.cost(best) <= enough:
            return best
        mix = dives.dive(prices, problem.cost(best), preference)
        if mix is not None:
            best = _cheapest(problem, [best, mix])
    return _searched(problem, master, prices, best) if _few(problem) and problem.cost(best) > enough else best


def _searched(problem: Problem, master: Master, prices: Prices, best: Mix) -> Mix:
    """The solver's choice among the fillings, then among those that are nearly worth their node as well.

    A mix cheaper than the best holds no filling whose reduced cost is above what is still to be gained. Where all others can be
    listed, what the solver then chooses is the optimum.
    """
    master.add(filling for filling, _ in best)
    chosen, _ = master.whole(best, prices, _BRANCH_NODES)
    if chosen is not None:
        best = _cheapest(problem, [best, chosen])
    if master.add(_near(problem, prices, problem.cost(best) - round(prices.bound))):
        chosen, _ = master.whole(best, prices, _BRANCH_NODES)
        if chosen is not None:
            best = _cheapest(problem, [best, chosen])
    return best


def _cheapest(problem: Problem, mixes: Sequence[Mix]) -> Mix:
    """The cheapest of mixes once what they have too much is cut off and they are polished. The first one is proper, and stays as
    it is."""
    neat = [mixes[0], *(polish(problem, problem.trimmed(mix)) for mix in mixes[1:])]
    return min((mix for mix in neat if problem.proper(mix)), key=lambda mix: (problem.rank(mix), mix))


def _near(problem: Problem, prices: Prices, slack: int) -> list[Filling]:
    """Fillings within `slack` of paying, the nearest of them where there are too many."""
    pricing = Pricing(problem)
    candidates = [
        (price - sum(map(int.__mul__, prices.values, load)), Filling(offer, load))
        for offer, price in enumerate(prices.prices)
        for load in pricing.near(offer, prices.values, price - slack - 1, _NEAR_STEPS)
    ]
    return [filling for _, filling in sorted(candidates)[:_NEAR_FILLINGS]]


def _rounded(problem: Problem, fillings: Sequence[Filling], prices: Prices) -> Mix | None:
    """What the linear program says rounded down; for the pods that are left greedily, worth what the program says."""
    sure = [(filling, int(amount + 1e-6)) for filling, amount in zip(fillings, prices.amounts, strict=True)]
    kept = problem.trimmed(pair for pair in sure if pair[1])
    rest = remainder(problem, kept)
    if not any(item.count for item in rest.items):
        return kept
    large = _large(problem)
    ways = ways_to_fill(rest).first(_FEW_WAYS) if large else ways_to_fill(rest)
    values = [[value + 1 for value in prices.values], *(() if large else worths(problem)[:1])]
    mixes = [mix for mix in (greedy(rest, worth, ways) for worth in values) if mix is not None]
    if not mixes:
        return None
    best = min((polish(rest, mix) for mix in mixes), key=lambda mix: (rest.rank(mix), mix))
    return merged(kept, best)


def merged(one: Mix, other: Mix) -> Mix:
    """Both together."""
    sums = dict(one)
    for filling, times in other:
        sums[filling] = sums.get(filling, 0) + times
    return tuple(sorted(sums.items()))
