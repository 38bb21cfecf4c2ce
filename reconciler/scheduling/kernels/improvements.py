# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Improves the load of one new node, in the same language as `loops`: compiled if there was a compiler, else interpreted.

Pods are counted by item. The needs of one pod are a row, `needs[item * width + resource]`, and so is the offer of a node,
`free[offer * width + resource]`. Needs that may go on a node are at most its offer. So no divided amount is negative, and C and
Python give the same result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import cython


def exchange(
    values: cython.longlong[::1],
    counts: cython.longlong[::1],
    needs: cython.longlong[::1],
    width: cython.Py_ssize_t,
    free: cython.longlong[::1],
    offer: cython.Py_ssize_t,
    order: cython.int[::1],
    least: cython.longlong[::1],
    left: cython.longlong[::1],
    base: cython.longlong[::1],
    trial: cython.longlong[::1],
    best: cython.longlong[::1],
    steps: cython.longlong,
) -> int:
    """Improve the load `best` of one node. Each try removes one pod or all pods of an item, or none. Then it adds one or two pods
    of another item and fills the rest in `order`, which has all items that may run there. It continues as long as the load
    improves. Returns what is left of `steps`; one step examines one item.

    `least` has a row for every place of `order`. It becomes the least that items from there on need of each resource.
    """
    items: cython.Py_ssize_t = len(counts)
    size: cython.Py_ssize_t = len(order)
    out: cython.Py_ssize_t
    way: cython.Py_ssize_t
    first: cython.Py_ssize_t
    item: cython.Py_ssize_t
    kind: cython.Py_ssize_t
    place: cython.Py_ssize_t
    before: cython.longlong
    pods: cython.longlong
    need: cython.longlong
    worth: cython.longlong
    most: cython.longlong = 0
    fits: cython.bint
    gained: cython.bint = True
    for item in range(items):
        most += values[item] * best[item]
    for place in range(size - 1, -1, -1):
        for kind in range(width):
            need = needs[order[place] * width + kind]
            if place + 1 < size and least[(place + 1) * width + kind] < need:
                need = least[(place + 1) * width + kind]
            least[place * width + kind] = need
    while gained and steps > 0:
        gained = False
        # An item that goes out, once one pod of it, once all; the last place: none does, and the node starts empty.
        for out in range(items + 1):
            if out < items and best[out] <= 0:
                continue
            for way in range(2):
                if out < items and best[out] <= way:
                    continue
                before = 0
                for kind in range(width):
                    base[kind] = free[offer * width + kind]
                if out < items:
                    for item in range(items):
                        pods = best[item]
                        if item == out:
                            pods = pods - 1 if way == 0 else 0
                        if pods > 0:
                            before += values[item] * pods
                            for kind in range(width):
                                base[kind] -= needs[item * width + kind] * pods
                for first in range(size):
                    item = order[first]
                    if item == out or values[item] <= 0:
                        continue
                    if steps <= 0:
                        return 0
                    steps -= 1
                    pods = best[item] if out < items else 0
                    if pods + 1 + way > counts[item]:
                        continue
                    fits = True
                    for kind in range(width):
                        left[kind] = base[kind] - needs[item * width + kind] * (1 + way)
                        if left[kind] < 0:
                            fits = False
                    if not fits:
                        continue
                    for item in range(items):
                        trial[item] = best[item] if out < items else 0
                    if out < items:
                        trial[out] = trial[out] - 1 if way == 0 else 0
                    trial[order[first]] += 1 + way
                    worth = before + values[order[first]] * (1 + way)
                    for place in range(size):
                        steps -= 1
                        for kind in range(width):
                            if left[kind] < least[place * width + kind]:
                                fits = False
                        if not fits:
                            break
                        item = order[place]
                        pods = counts[item] - trial[item]
                        for kind in range(width):
                            need = needs[item * width + kind]
                            if need > 0 and left[kind] < need * pods:
                                pods = left[kind] // need
                                if pods <= 0:
                                    break
                        if pods > 0:
                            trial[item] += pods
                            worth += values[item] * pods
                            for kind in range(width):
                                left[kind] -= needs[item * width + kind] * pods
                    if worth > most:
                        most = worth
                        gained = True
                        for item in range(items):
                            best[item] = trial[item]
                        # What else goes out is counted from the better load on.
                        break
                if gained:
                    break
            if gained:
                break
    return steps


def search(
    values: cython.longlong[::1],
    counts: cython.longlong[::1],
    needs: cython.longlong[::1],
    width: cython.Py_ssize_t,
    free: cython.longlong[::1],
    offer: cython.Py_ssize_t,
    order: cython.int[::1],
    keys: cython.double[::1],
    weights: cython.double[::1],
    left: cython.longlong[::1],
    trial: cython.longlong[::1],
    best: cython.longlong[::1],
    steps: cython.longlong,
) -> int:
    """Improve the load `best` of one node by depth-first search over the items in `order`, which descends by `keys`: value per
    use under `weights`. A branch ends if the remaining room cannot bring enough at the key of the next item. Returns what is left
    of `steps`, one per item and number of its pods: 0 if the search was cut short."""
    items: cython.Py_ssize_t = len(counts)
    size: cython.Py_ssize_t = len(order)
    depth: cython.Py_ssize_t = 0
    place: cython.Py_ssize_t
    item: cython.Py_ssize_t
    kind: cython.Py_ssize_t
    pods: cython.longlong
    need: cython.longlong
    worth: cython.longlong = 0
    most: cython.longlong = 0
    share: cython.double
    down: cython.bint = True
    for item in range(items):
        most += values[item] * best[item]
        trial[item] = 0
    for kind in range(width):
        left[kind] = free[offer * width + kind]
    while steps > 0:
        if down:
            # The most of the next item, as long as there is hope.
            steps -= 1
            share = 1e-9
            if depth < size:
                for kind in range(width):
                    if left[kind] > 0:
                        share += weights[kind] * left[kind] / free[offer * width + kind]
            if depth == size or worth + keys[order[depth]] * share <= most:
                if worth > most:
                    most = worth
                    for place in range(items):
                        best[place] = trial[place]
                down = False
                depth -= 1
                continue
            item = order[depth]
            pods = counts[item]
            for kind in range(width):
                need = needs[item * width + kind]
                if need > 0 and left[kind] < need * pods:
                    pods = left[kind] // need
            trial[item] = pods
            worth += values[item] * pods
            for kind in range(width):
                left[kind] -= needs[item * width + kind] * pods
            if worth > most:
                most = worth
                for place in range(items):
                    best[place] = trial[place]
            depth += 1
        else:
            if depth < 0:
                return steps
            item = order[depth]
            if trial[item] > 0:
                steps -= 1
                trial[item] -= 1
                worth -= values[item]
                for kind in range(width):
                    left[kind] += needs[item * width + kind]
                depth += 1
                down = True
            else:
                depth -= 1
    return 0
