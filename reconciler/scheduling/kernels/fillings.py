# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Which pods to put on one new node, many ways a call, in the same language as `loops`: compiled where there was a compiler,
interpreted elsewhere.

Pods are counted by item. What one of them needs is a row, `needs[item * width + resource]`, and so is what a node offers,
`free[offer * width + resource]`; `may[offer * items + item]` is 1 where the node lets the item in. Needs that may go on a node
are at most what it offers, so that no room that is divided is below zero: C and Python divide alike.
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
) -> int:
    """First fit of the items on one node of each offer that is `usable`, in each of `ways` orders: rows of `orders`, with all
    items. Row `offer * ways + way` of `loads` becomes the pods by item, as many of each as `counts` has.

    A row that is `known` stands as long as there are enough pods for it. Returns how many rows are new; `renewed` has which.
    """
    items: cython.Py_ssize_t = len(counts)
    offer: cython.Py_ssize_t
    way: cython.Py_ssize_t
    row: cython.Py_ssize_t
    place: cython.Py_ssize_t
    item: cython.Py_ssize_t
    kind: cython.Py_ssize_t
    size: cython.Py_ssize_t = 0
    many: cython.longlong
    need: cython.longlong
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
            for place in range(items):
                item = orders[way * items + place]
                many = counts[item]
                if many <= 0 or not may[offer * items + item]:
                    continue
                for kind in range(width):
                    need = needs[item * width + kind]
                    if need > 0 and left[kind] < need * many:
                        many = left[kind] // need
                        if many <= 0:
                            break
                if many > 0:
                    loads[row * items + item] = many
                    for kind in range(width):
                        left[kind] -= needs[item * width + kind] * many
    return size


def fill_by_value(
    values: cython.longlong[::1],
    counts: cython.longlong[::1],
    needs: cython.longlong[::1],
    width: cython.Py_ssize_t,
    free: cython.longlong[::1],
    may: cython.uchar[::1],
    offer: cython.Py_ssize_t,
    turns: cython.Py_ssize_t,
    weights: cython.double[::1],
    keys: cython.double[::1],
    order: cython.int[::1],
    left: cython.longlong[::1],
    loads: cython.longlong[::1],
    worths: cython.longlong[::1],
) -> int:
    """Fill one node `turns` times in order of value for what a pod takes, where a resource weighs more the scarcer it was in
    the turns before; row `turn` of `loads` becomes the pods by item, worth `worths[turn]`. Returns how many items may go there.

    `weights` say what a share of each resource weighs at first. `order` has a place for every item: its first places become
    the items that may, in the order of the last turn, by the value for weight that `keys` has.
    """
    items: cython.Py_ssize_t = len(counts)
    turn: cython.Py_ssize_t
    place: cython.Py_ssize_t
    before: cython.Py_ssize_t
    item: cython.Py_ssize_t
    kind: cython.Py_ssize_t
    size: cython.Py_ssize_t = 0
    row: cython.Py_ssize_t
    many: cython.longlong
    need: cython.longlong
    worth: cython.longlong
    taken: cython.double
    total: cython.double
    for item in range(items):
        if may[offer * items + item] and counts[item] > 0:
            order[size] = item
            size += 1
    for turn in range(turns):
        for place in range(size):
            item = order[place]
            taken = 1e-9
            for kind in range(width):
                need = needs[item * width + kind]
                if need > 0:
                    taken += weights[kind] * need / free[offer * width + kind]
            keys[item] = values[item] / taken
        for place in range(1, size):
            item = order[place]
            before = place
            while before > 0 and (
                keys[order[before - 1]] < keys[item] or (keys[order[before - 1]] == keys[item] and order[before - 1] > item)
            ):
                order[before] = order[before - 1]
                before -= 1
            order[before] = item
        row = turn * items
        worth = 0
        for kind in range(width):
            left[kind] = free[offer * width + kind]
        for item in range(items):
            loads[row + item] = 0
        for place in range(size):
            item = order[place]
            many = counts[item]
            for kind in range(width):
                need = needs[item * width + kind]
                if need > 0 and left[kind] < need * many:
                    many = left[kind] // need
                    if many <= 0:
                        break
            if many > 0:
                loads[row + item] = many
                worth += values[item] * many
                for kind in range(width):
                    left[kind] -= needs[item * width + kind] * many
        worths[turn] = worth
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
