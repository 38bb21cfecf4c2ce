"""How equal new nodes would fill with pods of several shapes, where a pod minds who else is on its node alone."""

from array import array
from collections.abc import Sequence

import msgspec

from reconciler.scheduling.filled_nodes import Filled, HostSpread
from reconciler.scheduling.kernels import passes
from reconciler.scheduling.nodes import NodeTable
from reconciler.scheduling.shapes import ShapeTable

NO_HOST = 1 << 40
NO_SPREAD = HostSpread(0, 0, 0)


class Entries(msgspec.Struct, frozen=True):
    """Pods that wait, one entry per shape in serving order: the shapes and their numbers of pods. Each entry has the earlier ones
    with which it shares no node (`rivals`), whether one pod fills a node (`alone`), and its spread over hosts."""

    shapes: "array[int]"
    counts: "array[int]"
    rivals: Sequence[Sequence[int]]
    alone: bytearray
    spreads: Sequence[HostSpread]


def fill_new(nodes: NodeTable, shapes: ShapeTable, node: int, asked: Entries, most: int) -> tuple[Filled, int]:
    """First fit of the entries, one after the other, on at most `most` nodes like this one. Returns the result of the kernel of
    this name, with the number of nodes examined."""
    width, pods = nodes.columns.width, sum(asked.counts)
    most = min(most, pods)
    rival_starts, rivals = array("i", (0,)), array("i")
    for others in asked.rivals:
        rivals.extend(others)
        rival_starts.append(len(rivals))
    starts, examined = array("i", bytes(4 * (len(asked.shapes) + 1))), array("q", (0,))
    entries, numbers, counts = (array("i", bytes(4 * pods)) for _ in range(3))
    opened = passes.fill_new(
        asked.shapes,
        asked.counts,
        shapes.requests,
        width,
        nodes.free_row(node),
        asked.alone,
        rival_starts,
        rivals,
        array("i", [spread.max_skew for spread in asked.spreads]),
        array("q", [spread.lowest for spread in asked.spreads]),
        array("q", [spread.missing for spread in asked.spreads]),
        most,
        array("q", bytes(8 * width * most)),
        bytearray(most),
        array("q", bytes(8 * most)),
        starts,
        entries,
        numbers,
        counts,
        examined,
    )
    size = starts[-1]
    placed, served = array("i"), []
    for entry, shape in enumerate(asked.shapes):
        first, end = starts[entry], starts[entry + 1]
        if first < end:
            placed.extend(array("i", (shape,)) * (end - first))
            served.append((shape, sum(counts[first:end])))
    return Filled(opened, placed, numbers[:size], counts[:size], tuple(served)), examined[0]
