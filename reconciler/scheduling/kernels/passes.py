# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Whole passes over many pod shapes at once, in the same language and on the same columns as `loops`. Compiled if there was a
compiler, else interpreted."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import cython


def fit_each(
    shapes: cython.int[::1],
    counts: cython.int[::1],
    first: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    requests: cython.longlong[::1],
    free: cython.longlong[::1],
    width: cython.Py_ssize_t,
    node_shape: cython.int[::1],
    allowed: cython.uchar[::1],
    allowed_row: cython.int[::1],
    kinds: cython.Py_ssize_t,
    closed: cython.uchar[::1],
    before: cython.int[::1],
    order: cython.int[::1],
    cursor: cython.int[::1],
    reached: cython.int[::1],
    looked: cython.longlong[::1],
    head: cython.int[::1],
    cell_node: cython.int[::1],
    cell_shape: cython.int[::1],
    cell_count: cython.int[::1],
    cell_below: cython.int[::1],
    size: cython.Py_ssize_t,
) -> int:
    """Bind the pods of several shapes, one shape after the other: entries `first` to `end` of `shapes` and `counts`. Each is
    first fit over the nodes of `before`, then those of `order`. Returns the new size of the stack.

    `allowed[allowed_row[shape] * kinds + node_shape]` is 1 if the shape may run there. Nodes of `order` before `cursor[shape]`
    have no room. `reached[entry]` becomes the new place up to which no node has room. The call stops after the first shape
    without a place for each of its pods. Then `looked[1]` is the number of its entry (`end` if there is none) and `looked[2]` is
    how many of its pods have no place. `looked[0]` grows by the number of nodes examined.
    """
    entry: cython.Py_ssize_t
    turn: cython.Py_ssize_t
    node: cython.Py_ssize_t
    shape: cython.Py_ssize_t
    row: cython.Py_ssize_t
    base: cython.Py_ssize_t
    column: cython.Py_ssize_t
    start: cython.Py_ssize_t
    ahead: cython.Py_ssize_t = len(before)
    stop: cython.Py_ssize_t = len(order)
    may: cython.Py_ssize_t
    count: cython.longlong
    pods: cython.longlong
    amount: cython.longlong
    room: cython.longlong
    full: cython.bint
    steps: cython.longlong = 0
    looked[1] = end
    looked[2] = 0
    for entry in range(first, end):
        shape = shapes[entry]
        count = counts[entry]
        base = shape * width
        may = allowed_row[shape] * kinds
        start = cursor[shape]
        full = True
        turn = -ahead
        while count > 0 and turn < stop:
            if turn < 0:
                node = before[turn + ahead]
            else:
                if turn < start:
                    turn = start
                    if turn >= stop:
                        break
                node = order[turn]
            steps += 1
            pods = 0
            if not closed[node] and allowed[may + node_shape[node]]:
                row = node * width
                pods = count
                for column in range(width):
                    amount = requests[base + column]
                    if amount > 0:
                        room = free[row + column]
                        if room < amount:
                            pods = 0
                            break
                        if room < amount * pods:
                            pods = room // amount
            if pods > 0:
                for column in range(width):
                    free[row + column] -= requests[base + column] * pods
                cell_node[size] = node
                cell_shape[size] = shape
                cell_count[size] = pods
                cell_below[size] = head[node]
                head[node] = size
                size += 1
                count -= pods
            if turn >= 0:
                # A node that took some and not all has no room left; the one that took the last may have.
                if count > 0:
                    if full:
                        start = turn + 1
                else:
                    full = False
            turn += 1
        reached[entry] = start
        if count > 0:
            looked[1] = entry
            looked[2] = count
            break
    looked[0] += steps
    return size


def bind_list(
    nodes: cython.int[::1],
    shapes: cython.int[::1],
    counts: cython.int[::1],
    first: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    requests: cython.longlong[::1],
    free: cython.longlong[::1],
    width: cython.Py_ssize_t,
    head: cython.int[::1],
    cell_node: cython.int[::1],
    cell_shape: cython.int[::1],
    cell_count: cython.int[::1],
    cell_below: cython.int[::1],
    size: cython.Py_ssize_t,
) -> int:
    """Bind entries `first` to `end` of `nodes`, `shapes` and `counts` without asking (counts may be negative); returns the new
    size of the stack."""
    entry: cython.Py_ssize_t
    node: cython.Py_ssize_t
    shape: cython.Py_ssize_t
    column: cython.Py_ssize_t
    pods: cython.longlong
    for entry in range(first, end):
        node = nodes[entry]
        shape = shapes[entry]
        pods = counts[entry]
        for column in range(width):
            free[node * width + column] -= requests[shape * width + column] * pods
        cell_node[size] = node
        cell_shape[size] = shape
        cell_count[size] = pods
        cell_below[size] = head[node]
        head[node] = size
        size += 1
    return size


def fill_new(
    shapes: cython.int[::1],
    counts: cython.int[::1],
    requests: cython.longlong[::1],
    width: cython.Py_ssize_t,
    empty: cython.longlong[::1],
    alone: cython.uchar[::1],
    rival_starts: cython.int[::1],
    rivals: cython.int[::1],
    skews: cython.int[::1],
    lowest: cython.longlong[::1],
    missing: cython.longlong[::1],
    most: cython.Py_ssize_t,
    free: cython.longlong[::1],
    shut: cython.uchar[::1],
    held: cython.longlong[::1],
    starts: cython.int[::1],
    entries: cython.int[::1],
    nodes: cython.int[::1],
    pods_of: cython.int[::1],
    examined: cython.longlong[::1],
) -> int:
    """Fill at most `most` equal new nodes, each with `empty` free, with the pods of several shapes, one shape after the other.
    The pods of a shape first fill the open nodes, first fit. Then nodes are opened for them, as long as a new node takes a pod.
    Returns how many nodes were opened.

    If an entry is `alone`, no node takes two of its pods. The earlier entries that share no node with an entry are
    `rivals[rival_starts[entry]:rival_starts[entry + 1]]`. If `skews[entry]` is above 0, no node has more than that many pods of
    the entry above the host with the fewest. `lowest[entry]` is the fewest on the hosts that already exist. While fewer than
    `missing[entry]` new nodes are open, the fewest is 0. When the last node with the fewest gets a pod, the first nodes can take
    more. Placements are written as columns `entries`, `nodes` (by number) and `pods_of`. Those of one entry are at
    `starts[entry]` to `starts[entry + 1]`. As work space, `free` has `most` rows, `shut` as many zeros and `held` as many
    numbers. `examined[0]` is the number of nodes examined.
    """
    entry: cython.Py_ssize_t
    other: cython.Py_ssize_t
    index: cython.Py_ssize_t
    node: cython.Py_ssize_t
    row: cython.Py_ssize_t
    base: cython.Py_ssize_t
    column: cython.Py_ssize_t
    opened: cython.Py_ssize_t = 0
    size: cython.Py_ssize_t = 0
    at_least: cython.Py_ssize_t
    fresh: cython.bint
    count: cython.longlong
    pods: cython.longlong
    each: cython.longlong
    spare: cython.longlong
    least: cython.longlong
    skew: cython.longlong
    amount: cython.longlong
    room: cython.longlong
    steps: cython.longlong = 0
    for entry in range(len(shapes)):
        starts[entry] = size
        count = counts[entry]
        base = shapes[entry] * width
        each = 1 if alone[entry] else count
        for index in range(rival_starts[entry], rival_starts[entry + 1]):
            other = rivals[index]
            for row in range(starts[other], starts[other + 1]):
                shut[nodes[row]] = 1
        # Under a skew: the fewest pods of the entry on a new node, and how many nodes have so few.
        skew = skews[entry]
        least = 0
        at_least = opened
        if skew > 0:
            for node in range(opened):
                held[node] = 0
        node = 0
        while count > 0:
            fresh = node == opened
            if fresh:
                if opened == most:
                    break
                for column in range(width):
                    free[node * width + column] = empty[column]
            steps += 1
            row = node * width
            pods = 0
            if fresh or not shut[node]:
                pods = each if each < count else count
                if skew > 0:
                    spare = lowest[entry]
                    if opened > 0 and least < spare:
                        spare = least
                    if fresh:
                        if opened + 1 < missing[entry]:
                            spare = 0
                        spare += skew
                    else:
                        if opened < missing[entry]:
                            spare = 0
                        spare += skew - held[node]
                        if held[node] == least and at_least == 1 and opened >= missing[entry] and least < lowest[entry]:
                            spare = 1
                        if alone[entry] and held[node] > 0:
                            spare = 0
                    pods = min(pods, spare)
                for column in range(width):
                    amount = requests[base + column]
                    if amount > 0:
                        room = free[row + column]
                        if room < amount:
                            pods = 0
                            break
                        if room < amount * pods:
                            pods = room // amount
            if fresh:
                if pods <= 0:
                    break
                opened += 1
            if pods > 0:
                for column in range(width):
                    free[row + column] -= requests[base + column] * pods
                count -= pods
                if skew > 0 and not fresh and held[node] > 0:
                    # A node has its second turn once all have had their first: its entry is the one of its number.
                    pods_of[starts[entry] + node] += pods
                else:
                    entries[size] = entry
                    nodes[size] = node
                    pods_of[size] = pods
                    size += 1
                if skew > 0 and fresh:
                    held[node] = pods
                    if opened == 1 or pods < least:
                        least = pods
                        at_least = 0
                    if pods == least:
                        at_least += 1
                elif skew > 0:
                    if held[node] == least:
                        at_least -= 1
                    held[node] += pods
                    if at_least == 0:
                        if least < lowest[entry] and opened >= missing[entry]:
                            # All may have more now: from the first one on.
                            node = -1
                        least = held[0]
                        for other in range(opened):
                            least = min(least, held[other])
                        for other in range(opened):
                            if held[other] == least:
                                at_least += 1
            node += 1
        starts[entry + 1] = size
        for index in range(rival_starts[entry], rival_starts[entry + 1]):
            other = rivals[index]
            for row in range(starts[other], starts[other + 1]):
                shut[nodes[row]] = 0
    examined[0] = steps
    return opened
