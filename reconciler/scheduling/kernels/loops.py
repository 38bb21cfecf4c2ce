# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The hot loops over nodes and pods, in one source: compiled if there was a compiler, else interpreted.

Types are only in annotations, which the interpreter never evaluates; `loops.pyi` has the same signatures for callers. Every loop
works on columns that its caller owns and checked: indices are in range, lengths agree.

Room is one row per node (`free[node * width + resource]`). The first amounts of its row reject a full node with one cache line; a
column per resource would cost one line each. A new node is one append.

Bound pods are cells (`node`, `shape`, `count`, `below`) stacked in order of time. `head[node]` is the newest cell of a node, and
`below` the one before it, -1 at the end. The stack is also the undo log: popping it removes the pods.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import cython


def running_pods(
    pod_node: cython.int[::1],
    pod_phase: cython.uchar[::1],
    succeeded: cython.int,
    failed: cython.int,
    picked: cython.int[::1],
) -> int:
    """Write the indices of pods that are on a node and have not finished to `picked`; returns how many there are."""
    index: cython.Py_ssize_t
    size: cython.Py_ssize_t = 0
    for index in range(len(pod_node)):
        if pod_node[index] >= 0 and pod_phase[index] != succeeded and pod_phase[index] != failed:
            picked[size] = index
            size += 1
    return size


def by_node(pod_node: cython.int[::1], starts: cython.int[::1], order: cython.int[::1]) -> int:
    """Write the indices of pods that are on a node to `order`, by node, and for each node in their own order. Those of node n are
    `order[starts[n]:starts[n + 1]]`. `starts` must have two more places than there are nodes, all 0. Returns the number of these
    pods."""
    index: cython.Py_ssize_t
    node: cython.Py_ssize_t
    size: cython.Py_ssize_t = 0
    for index in range(len(pod_node)):
        node = pod_node[index]
        if node >= 0:
            starts[node + 2] += 1
            size += 1
    for index in range(2, len(starts)):
        starts[index] += starts[index - 1]
    # While the pods are written, place n + 1 runs from the start of node n to its end.
    for index in range(len(pod_node)):
        node = pod_node[index]
        if node >= 0:
            order[starts[node + 1]] = index
            starts[node + 1] += 1
    return size


def waiting_pods(
    pod_node: cython.int[::1],
    pod_deletion: cython.longlong[::1],
    pod_phase: cython.uchar[::1],
    pod_flags: cython.uchar[::1],
    pod_shape: cython.int[::1],
    succeeded: cython.int,
    failed: cython.int,
    gated: cython.int,
    starts: cython.int[::1],
    order: cython.int[::1],
) -> int:
    """Write to `order` the indices of pods without a node that are neither finished, terminating nor gated. They are by shape,
    and for each shape in their own order. Those of shape s are `order[starts[s]:starts[s + 1]]`. `starts` must have two more
    places than there are shapes, all 0. Returns the number of these pods."""
    index: cython.Py_ssize_t
    shape: cython.Py_ssize_t
    size: cython.Py_ssize_t = 0
    for index in range(len(pod_node)):
        if pod_node[index] >= 0 or pod_deletion[index] != 0 or pod_flags[index] & gated:
            continue
        if pod_phase[index] != succeeded and pod_phase[index] != failed:
            starts[pod_shape[index] + 2] += 1
            size += 1
    for index in range(2, len(starts)):
        starts[index] += starts[index - 1]
    # As in `by_node`: place s + 1 runs from the start of shape s to its end.
    for index in range(len(pod_node)):
        if pod_node[index] >= 0 or pod_deletion[index] != 0 or pod_flags[index] & gated:
            continue
        if pod_phase[index] != succeeded and pod_phase[index] != failed:
            shape = pod_shape[index]
            order[starts[shape + 1]] = index
            starts[shape + 1] += 1
    return size


def ending_pods(
    pod_deletion: cython.longlong[::1],
    pod_phase: cython.uchar[::1],
    succeeded: cython.int,
    failed: cython.int,
    picked: cython.int[::1],
) -> int:
    """Write the indices of pods that have finished or are terminating to `picked`; returns how many there are."""
    index: cython.Py_ssize_t
    size: cython.Py_ssize_t = 0
    for index in range(len(pod_deletion)):
        if pod_deletion[index] != 0 or pod_phase[index] == succeeded or pod_phase[index] == failed:
            picked[size] = index
            size += 1
    return size


def kinds_of(
    pods: cython.int[::1],
    pod_count: cython.Py_ssize_t,
    pod_shape: cython.int[::1],
    pod_traits: cython.int[::1],
    traits: cython.longlong,
    kinds: cython.longlong[::1],
) -> None:
    """Write one number per pod to `kinds`, equal for equal shape and traits: shape * `traits` + traits, of the first
    `pod_count` of `pods`."""
    index: cython.Py_ssize_t
    shape: cython.longlong
    for index in range(pod_count):
        shape = pod_shape[pods[index]]
        kinds[index] = shape * traits + pod_traits[pods[index]]


def bind_each(
    pods: cython.int[::1],
    pod_count: cython.Py_ssize_t,
    pod_node: cython.int[::1],
    pod_shape: cython.int[::1],
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
    """Bind the first `pod_count` of `pods`, each where its column says; pods on no node are passed over. Returns the new size."""
    index: cython.Py_ssize_t
    pod: cython.Py_ssize_t
    node: cython.Py_ssize_t
    shape: cython.Py_ssize_t
    column: cython.Py_ssize_t
    for index in range(pod_count):
        pod = pods[index]
        node = pod_node[pod]
        if node < 0:
            continue
        shape = pod_shape[pod]
        for column in range(width):
            free[node * width + column] -= requests[shape * width + column]
        cell_node[size] = node
        cell_shape[size] = shape
        cell_count[size] = 1
        cell_below[size] = head[node]
        head[node] = size
        size += 1
    return size


def first_fit(
    columns: cython.int[::1],
    amounts: cython.longlong[::1],
    free: cython.longlong[::1],
    width: cython.Py_ssize_t,
    node_shape: cython.int[::1],
    allowed: cython.uchar[::1],
    blocked: cython.uchar[::1],
    order: cython.int[::1],
    stop: cython.Py_ssize_t,
    most_each: cython.longlong,
    count: cython.longlong,
    shape: cython.int,
    head: cython.int[::1],
    cell_node: cython.int[::1],
    cell_shape: cython.int[::1],
    cell_count: cython.int[::1],
    cell_below: cython.int[::1],
    size: cython.Py_ssize_t,
) -> int:
    """Bind up to `count` equal pods, each to the first node with room; returns the new size of the stack.

    Nodes come from `order`, or are 0 to `stop` if it is empty. `allowed` is by node shape, `blocked` by node. No node takes more
    than `most_each`. A node takes the smallest of room // amount over the requested columns. Equal pods placed one by one would
    fill it up to the same number before the next node.
    """
    turn: cython.Py_ssize_t
    node: cython.Py_ssize_t
    row: cython.Py_ssize_t
    index: cython.Py_ssize_t
    ordered: cython.bint = len(order) > 0
    requested: cython.Py_ssize_t = len(columns)
    pods: cython.longlong
    room: cython.longlong
    for turn in range(stop):
        if count <= 0:
            break
        node = order[turn] if ordered else turn
        if blocked[node] or not allowed[node_shape[node]]:
            continue
        pods = most_each if most_each < count else count
        row = node * width
        for index in range(requested):
            room = free[row + columns[index]]
            if room < amounts[index]:
                pods = 0
                break
            room //= amounts[index]
            pods = min(pods, room)
        if pods <= 0:
            continue
        for index in range(requested):
            free[row + columns[index]] -= amounts[index] * pods
        cell_node[size] = node
        cell_shape[size] = shape
        cell_count[size] = pods
        cell_below[size] = head[node]
        head[node] = size
        size += 1
        count -= pods
    return size


def pop_cells(
    size: cython.Py_ssize_t,
    target: cython.Py_ssize_t,
    requests: cython.longlong[::1],
    free: cython.longlong[::1],
    width: cython.Py_ssize_t,
    head: cython.int[::1],
    cell_node: cython.int[::1],
    cell_shape: cython.int[::1],
    cell_count: cython.int[::1],
    cell_below: cython.int[::1],
) -> None:
    """Take the newest cells off the stack until `target` are left."""
    node: cython.Py_ssize_t
    shape: cython.Py_ssize_t
    column: cython.Py_ssize_t
    pods: cython.longlong
    while size > target:
        size -= 1
        node = cell_node[size]
        shape = cell_shape[size]
        pods = cell_count[size]
        head[node] = cell_below[size]
        for column in range(width):
            free[node * width + column] += requests[shape * width + column] * pods


def cells_of(wanted: cython.uchar[::1], cell_shape: cython.int[::1], size: cython.Py_ssize_t, cells: cython.int[::1]) -> int:
    """Write the indices of cells whose shape is wanted to `cells`; returns how many there are."""
    cell: cython.Py_ssize_t
    matches: cython.Py_ssize_t = 0
    for cell in range(size):
        if wanted[cell_shape[cell]]:
            cells[matches] = cell
            matches += 1
    return matches


def with_room(
    columns: cython.int[::1],
    amounts: cython.longlong[::1],
    free: cython.longlong[::1],
    width: cython.Py_ssize_t,
    node_shape: cython.int[::1],
    allowed: cython.uchar[::1],
    blocked: cython.uchar[::1],
    order: cython.int[::1],
    stop: cython.Py_ssize_t,
    most_each: cython.longlong,
    nodes: cython.int[::1],
    rooms: cython.int[::1],
) -> int:
    """As `first_fit`, but only look: write nodes with room, and how many pods each takes; returns how many nodes."""
    turn: cython.Py_ssize_t
    node: cython.Py_ssize_t
    row: cython.Py_ssize_t
    index: cython.Py_ssize_t
    size: cython.Py_ssize_t = 0
    ordered: cython.bint = len(order) > 0
    requested: cython.Py_ssize_t = len(columns)
    pods: cython.longlong
    room: cython.longlong
    for turn in range(stop):
        node = order[turn] if ordered else turn
        if blocked[node] or not allowed[node_shape[node]]:
            continue
        pods = most_each
        row = node * width
        for index in range(requested):
            room = free[row + columns[index]]
            if room < amounts[index]:
                pods = 0
                break
            room //= amounts[index]
            pods = min(pods, room)
        if pods > 0:
            nodes[size] = node
            rooms[size] = pods
            size += 1
    return size


def take(
    column: cython.uchar[::1],
    width: cython.Py_ssize_t,
    order: cython.int[::1],
    entries: cython.uchar[::1],
) -> None:
    """Write the entries of a column, `width` bytes each, to `entries` in the given order."""
    place: cython.Py_ssize_t
    row: cython.Py_ssize_t
    byte: cython.Py_ssize_t
    for place in range(len(order)):
        row = order[place]
        for byte in range(width):
            entries[place * width + byte] = column[row * width + byte]


def short_of(
    columns: cython.int[::1],
    amounts: cython.longlong[::1],
    free: cython.longlong[::1],
    width: cython.Py_ssize_t,
    short: cython.uchar[::1],
) -> None:
    """Write 1 for every node where one of the amounts is not free."""
    node: cython.Py_ssize_t
    index: cython.Py_ssize_t
    requested: cython.Py_ssize_t = len(columns)
    for node in range(len(short)):
        for index in range(requested):
            if free[node * width + columns[index]] < amounts[index]:
                short[node] = 1
                break
