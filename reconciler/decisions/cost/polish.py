"""Making a mix cheaper step by step: a cheaper node for the same load, two loads on one node, a node less."""

from collections import Counter

from reconciler.decisions.cost.problem import Filling, Load, Mix, Problem, Room

_MOST_NODES, _MOST_LOADS, _EMPTIEST = 400, 60, 12


def polish(problem: Problem, mix: Mix) -> Mix:
    """A mix that costs at most as much. Large mixes only get cheaper nodes for their loads."""
    nodes: Counter[Filling] = Counter(dict(mix))
    room = Room(problem)
    for filling, times in mix:
        room.take(filling.offer, times)
    _downgrade(problem, nodes, room)
    if sum(nodes.values()) <= _MOST_NODES and len(mix) <= _MOST_LOADS:
        while _dissolve(problem, nodes, room) or _merge(problem, nodes, room):
            _downgrade(problem, nodes, room)
    return tuple(sorted((filling, times) for filling, times in nodes.items() if times))


def _downgrade(problem: Problem, nodes: Counter[Filling], room: Room) -> None:
    by_price = sorted(range(len(problem.offers)), key=lambda offer: (problem.offers[offer].price_micros, offer))
    for filling in sorted(nodes):
        for offer in by_price:
            if problem.offers[offer].price_micros >= problem.offers[filling.offer].price_micros or not nodes[filling]:
                break
            if problem.holds(offer, filling.load):
                times = min(nodes[filling], max(0, room.of(offer)))
                _move(nodes, room, filling, Filling(offer, filling.load), times)


def _move(nodes: Counter[Filling], room: Room, old: Filling, new: Filling, times: int) -> None:
    if times > 0:
        nodes[old] -= times
        nodes[new] += times
        room.take(old.offer, -times)
        room.take(new.offer, times)


def _merge(problem: Problem, nodes: Counter[Filling], room: Room) -> bool:
    """Put two loads on one node that costs less than both."""
    present = sorted(filling for filling, times in nodes.items() if times)
    for position, one in enumerate(present):
        for other in present[position:]:
            if one == other and nodes[one] < 2:
                continue
            load = tuple(map(int.__add__, one.load, other.load))
            both = problem.offers[one.offer].price_micros + problem.offers[other.offer].price_micros
            for offer, terms in enumerate(problem.offers):
                if terms.price_micros < both and problem.holds(offer, load):
                    room.take(one.offer, -1)
                    room.take(other.offer, -1)
                    if room.of(offer) <= 0:
                        room.take(one.offer, 1)
                        room.take(other.offer, 1)
                        continue
                    nodes[one] -= 1
                    nodes[other] -= 1
                    nodes[Filling(offer, load)] += 1
                    room.take(offer, 1)
                    return True
    return False


def _dissolve(problem: Problem, nodes: Counter[Filling], room: Room) -> bool:
    """Spread the load of one node over the free room of the others."""
    every = sorted(nodes.elements())
    emptiest = sorted((filling for filling, times in nodes.items() if times), key=lambda one: (_used(problem, one), one))
    for filling in emptiest[:_EMPTIEST]:
        index = every.index(filling)
        spread = _spread(problem, filling.load, every[:index] + every[index + 1 :])
        if spread is not None:
            nodes.clear()
            nodes.update(spread)
            room.take(filling.offer, -1)
            return True
    return False


def _used(problem: Problem, filling: Filling) -> float:
    """The largest share of a resource that the load takes."""
    free = problem.offers[filling.offer].free
    sums = [
        sum(item.need[kind] * pods for item, pods in zip(problem.items, filling.load, strict=True)) for kind in range(len(free))
    ]
    return max(taken / have if have else 0.0 for taken, have in zip(sums, free, strict=True))


def _spread(problem: Problem, load: Load, rest: list[Filling]) -> list[Filling] | None:
    left = list(load)
    found = []
    for filling in rest:
        if any(left):
            free = list(problem.offers[filling.offer].free)
            for item, pods in zip(problem.items, filling.load, strict=True):
                if pods:
                    free = [have - need * pods for have, need in zip(free, item.need, strict=True)]
            more = [0] * len(left)
            for index, item in enumerate(problem.items):
                if left[index] and item.offers[filling.offer]:
                    many = min(left[index], *(have // need for have, need in zip(free, item.need, strict=True) if need))
                    more[index] = many
                    left[index] -= many
                    free = [have - need * many for have, need in zip(free, item.need, strict=True)]
            filling = Filling(filling.offer, tuple(map(int.__add__, filling.load, more)))  # noqa: PLW2901
        found.append(filling)
    return None if any(left) else found
