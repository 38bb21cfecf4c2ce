"""Ways in which new nodes may be spread over zones."""

from collections.abc import Sequence
from itertools import islice, permutations
from math import perm

from reconciler.cluster.nodes.node import NodeShape

_MOST_WAYS = 24
"""Of more ways in which nodes may be spread over zones, those are looked at in which each node is in each zone once."""


def other_ways(nodes: int, zones: Sequence[NodeShape]) -> tuple[tuple[NodeShape, ...], ...]:
    """All ways in which nodes may be in zones, no two in one, but for the way that is taken: the first in the first."""
    if perm(len(zones), nodes) <= _MOST_WAYS:
        return tuple(islice(permutations(zones, nodes), 1, None))
    return tuple((*zones[shift:], *zones[:shift])[:nodes] for shift in range(1, len(zones)))
