# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Which pods to put on one new node, many ways per call, in the same language as `loops`. Compiled if there was a compiler, else
interpreted.

Pods are counted by item. The needs of one pod are a row, `needs[item * width + resource]`, and so is the offer of a node,
`free[offer * width + resource]`. `may[offer * items + item]` is 1 if the node accepts the item. Needs that may go on a node are
at most its offer. So no divided amount is negative, and C and Python give the same result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import cython


def fill_each(
    orders: cython.int[::1],
    ways: cython.Py_ssize_t,
    counts: cython.longlong[::1],
    needs: cython.longlong[::1],
    width: cython.Py_ssize_t,
    free: cython.longlong[::1],
    may: cython.uchar[::1],
    usable: cython.uchar[::1],
    left: cython.longlong[::1],
    loads: cython.longlong[::1],
    known: cython.uchar[::1],
    renewed: cython.int[::1],
    worth: cython.longlong[::1],
    gains: cython.longlong[::1],
) -> int:
    """Fill one node of each `usable` offer with the items, first fit, once in each of `ways` orders. `orders` has one row per
    way, each with all items. Row `offer * ways + way` of `loads` becomes the number of pods by item, at most `counts` of each.

    A row that is `known` stands as long as there are enough pods for it. Returns how many rows are new; `renewed` has which,
    and `gains` by row what its pods are worth together, by item `worth`.
    """
    items: cython.Py_ssize_t = len(counts)
    offer: cython.Py_ssize_t
    way: cython.Py_ssize_t
    row: cython.Py_ssize_t
    place: cython.Py_ssize_t
    item: cython.Py_ssize_t
    kind: cython.Py_ssize_t
    size: cython.Py_ssize_t = 0
    pods: cython.longlong
    need: cython.longlong
    gain: cython.longlong
    for offer in range(len(usable)):
        if not usable[offer]:
            continue
        for way in range(ways):
            row = offer * ways + way
            if known[row]:
                for item in range(items):
                    if loads[row * items + item] > counts[item]:
                        known[row] = 0
                        break
                if known[row]:
                    continue
            known[row] = 1
            renewed[size] = row
            size += 1
            for kind in range(width):
                left[kind] = free[offer * width + kind]
            for item in range(items):
                loads[row * items + item] = 0
            gain = 0
            for place in range(items):
                item = orders[way * items + place]
                pods = counts[item]
                if pods <= 0 or not may[offer * items + item]:
                    continue
                for kind in range(width):
                    need = needs[item * width + kind]
                    if need > 0 and left[kind] < need * pods:
                        pods = left[kind] // need
                        if pods <= 0:
                            break
                if pods > 0:
                    loads[row * items + item] = pods
                    gain += worth[item] * pods
                    for kind in range(width):
                        left[kind] -= needs[item * width + kind] * pods
            gains[row] = gain
    return size


def fill_by_value(
    values: cython.longlong[::1],
    counts: cython.longlong[::1],
    needs: cython.longlong[::1],
    width: cython.Py_ssize_t,
    free: cython.longlong[::1],
    may: cython.uchar[::1],
    first: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    turns: cython.Py_ssize_t,
    weights: cython.double[::1],
    keys: cython.double[::1],
    order: cython.int[::1],
    left: cython.longlong[::1],
    loads: cython.longlong[::1],
    worths: cython.longlong[::1],
) -> int:
    """Fill one node of each offer from `first` to `end`, `turns` times, in order of value per use. A resource has more weight if
    it was scarcer in earlier turns. Row `(offer - first) * turns + turn` of `loads` becomes the number of pods by item, and the
    same row of `worths` their worth. Returns how many items may run on the last of these offers.

    `order` has a row for every offer, with all items in any order; it is fastest to pass the result of the last call. The row
    then begins with the items that may run there, in the order of the last turn. For the last offer, `keys` then has the value
    per weight of these items, and `weights` the weight of a share of each resource.
    """
    items: cython.Py_ssize_t = len(counts)
    offer: cython.Py_ssize_t
    turn: cython.Py_ssize_t
    start: cython.Py_ssize_t
    place: cython.Py_ssize_t
    before: cython.Py_ssize_t
    item: cython.Py_ssize_t
    kind: cython.Py_ssize_t
    size: cython.Py_ssize_t = 0
    row: cython.Py_ssize_t
    pods: cython.longlong
    need: cython.longlong
    worth: cython.longlong
    taken: cython.double
    total: cython.double
    for offer in range(first, end):
        start = offer * items
        size = items
        for kind in range(width):
            weights[kind] = 1.0
        for turn in range(turns):
            for place in range(size):
                item = order[start + place]
                if not may[start + item] or counts[item] <= 0:
                    # Behind all others.
                    keys[item] = -1.0
                    continue
                taken = 1e-9
                for kind in range(width):
                    need = needs[item * width + kind]
                    if need > 0:
                        taken += weights[kind] * need / free[offer * width + kind]
                keys[item] = values[item] / taken
            for place in range(1, size):
                item = order[start + place]
                before = start + place
                while before > start and (
                    keys[order[before - 1]] < keys[item] or (keys[order[before - 1]] == keys[item] and order[before - 1] > item)
                ):
                    order[before] = order[before - 1]
                    before -= 1
                order[before] = item
            while size > 0 and keys[order[start + size - 1]] < 0.0:
                size -= 1
            row = ((offer - first) * turns + turn) * items
            worth = 0
            for kind in range(width):
                left[kind] = free[offer * width + kind]
            for item in range(items):
                loads[row + item] = 0
            for place in range(size):
                item = order[start + place]
                pods = counts[item]
                for kind in range(width):
                    need = needs[item * width + kind]
                    if need > 0 and left[kind] < need * pods:
                        pods = left[kind] // need
                        if pods <= 0:
                            break
                if pods > 0:
                    loads[row + item] = pods
                    worth += values[item] * pods
                    for kind in range(width):
                        left[kind] -= needs[item * width + kind] * pods
            worths[(offer - first) * turns + turn] = worth
            if turn + 1 == turns:
                break
            total = 0.0
            for kind in range(width):
                if free[offer * width + kind] > 0:
                    # A fraction first: integers would be divided as C does.
                    taken = left[kind]
                    taken = 1.0 - taken / free[offer * width + kind]
                    weights[kind] = (weights[kind] + 0.01) * taken * taken
                    total += weights[kind]
            for kind in range(width):
                weights[kind] = weights[kind] / total if total > 0.0 else 1.0
    return size


def worths_of(
    values: cython.longlong[::1],
    loads: cython.longlong[::1],
    rows: cython.Py_ssize_t,
    worths: cython.longlong[::1],
) -> None:
    """What the pods of each row of `loads` are worth together."""
    items: cython.Py_ssize_t = len(values)
    row: cython.Py_ssize_t
    item: cython.Py_ssize_t
    worth: cython.longlong
    for row in range(rows):
        worth = 0
        for item in range(items):
            worth += values[item] * loads[row * items + item]
        worths[row] = worth
