"""Which pods are on which of several new nodes, as columns."""

from array import array
from collections.abc import Iterator

import msgspec


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
