"""How equal new nodes would fill with pods of several shapes, where a pod minds who else is on its node alone."""

from array import array
from collections.abc import Iterator, Sequence

import msgspec

from reconciler.scheduling.kernels import passes
from reconciler.scheduling.nodes import NodeTable
from reconciler.scheduling.shapes import ShapeTable

# Which pods would be on which of several new nodes, as columns.


class Filled(msgspec.Struct, frozen=True, gc=False):
    """Columns of equal length in the order of placement: shape, number of the new node, pods. `opened` counts the nodes; `served`
    are the sums, (shape, pods) above zero in the order in which shapes come first."""

    opened: int
    shapes: "array[int]"
    nodes: "array[int]"
    counts: "array[int]"
    served: tuple[tuple[int, int], ...]

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        return zip(self.shapes, self.nodes, self.counts, strict=True)

    def __len__(self) -> int:
        return len(self.shapes)


NOTHING_FILLED = Filled(0, array("i"), array("i"), array("i"), ())


class HostSpread(msgspec.Struct, frozen=True, gc=False):
    """A spread constraint over hosts, for new nodes. No host has more than `max_skew` pods above the host with the fewest. Of the
    existing hosts, the fewest is `lowest` (`NO_HOST`: there are none). It is 0 until `missing` more hosts exist."""

    max_skew: int
    lowest: int
    missing: int


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
