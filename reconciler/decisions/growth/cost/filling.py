"""Filling one node: item by item in an order that is given, or whatever matches best what is still free."""

from collections.abc import Sequence

from reconciler.decisions.growth.cost.problem import Load, Problem


def fill(problem: Problem, offer: int, order: Sequence[int], left: Sequence[int]) -> Load:
    """First fit in the given order of items, as many of each as there are left."""
    free = list(problem.offers[offer].free)
    load = [0] * len(left)
    for index in order:
        item = problem.items[index]
        many = left[index]
        if not many or not item.offers[offer]:
            continue
        for have, need in zip(free, item.need, strict=True):
            if need and have < need * many:
                many = have // need
                if not many:
                    break
        if many:
            load[index] = many
            free = [have - need * many for have, need in zip(free, item.need, strict=True)]
    return tuple(load)


def match(problem: Problem, offer: int, left: Sequence[int]) -> Load:
    """One pod after the other, always the one whose needs lie most in the direction of what is free.

    Source: the dot-product rule for packing in several dimensions (Panigrahy, Talwar, Uyeda, Wieder: Heuristics for
    vector bin packing, 2011); amounts are compared as shares of the node.
    """
    offered = problem.offers[offer].free
    free = list(offered)
    load = [0] * len(left)
    open_items = [index for index, many in enumerate(left) if many and problem.items[index].offers[offer]]
    while open_items:
        best, best_score = -1, 0.0
        weights = [have / (total * total) if total else 0.0 for have, total in zip(free, offered, strict=True)]
        still = []
        for index in open_items:
            need = problem.items[index].need
            if load[index] >= left[index] or any(want > have for want, have in zip(need, free, strict=True)):
                continue
            still.append(index)
            score = sum(want * weight for want, weight in zip(need, weights, strict=True))
            if score > best_score:
                best, best_score = index, score
        if best < 0:
            break
        load[best] += 1
        free = [have - want for have, want in zip(free, problem.items[best].need, strict=True)]
        open_items = still
    return tuple(load)
