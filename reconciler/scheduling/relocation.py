"""Trials of moving all pods of one node elsewhere, many nodes over the same places: first fit with what is known of full ones."""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from operator import sub
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from reconciler.scheduling.state import SchedulingState

_NOWHERE = array("i")


def lift(state: "SchedulingState", node: int, moving: Mapping[int, int]) -> None:
    """The node is leaving, and these pods (how many by shape) are off it."""
    state.leave(node)
    counts = array("i", [-count for count in moving.values()])
    state.bind_list(array("i", (node,)) * len(counts), array("i", moving), counts)


def requested(state: "SchedulingState", node: int, moving: Mapping[int, int]) -> "array[int]":
    """What these pods of a node request together, by column of resources."""
    mark, before = state.mark(), state.free(node)
    lift(state, node, moving)
    amounts = array("q", map(sub, state.free(node), before))
    state.undo(mark)
    return amounts


def is_too_much(amounts: Iterable[int], free: Iterable[int]) -> bool:
    """Whether a node with so much free lacks some of it: then pods that request that together do not fit, whatever else holds."""
    return any(amount > 0 and amount > left for amount, left in zip(amounts, free, strict=False))  # later columns: of new nodes


class Moved(msgspec.Struct, frozen=True, gc=False):
    """What was placed, as columns of equal length in the order of binding; `short` is the first shape that lacks a place, or
    None. `reached` is what `Places.keep` remembers."""

    nodes: "array[int]"
    shapes: "array[int]"
    counts: "array[int]"
    short: int | None = None
    reached: "tuple[tuple[array[int], array[int]], ...]" = ()


class Places:
    """Nodes that take pods, in the order in which they are tried.

    Between two trials, room on them only shrinks. A trial keeps everything that it took or gives all of it back, and a closed
    node stays closed. So later trials skip the nodes at the front that have no room for a shape.
    """

    def __init__(self, state: "SchedulingState", order: Iterable[int] = ()) -> None:
        self._state = state
        self.order = array("i", order)
        self._cursor = array("i", bytes(4 * state.shape_count))
        self._at: dict[int, int] = {}
        self.looked = 0

    def fit(self, shapes: Sequence[int], counts: Sequence[int], before: "array[int]" = _NOWHERE) -> Moved:
        """Bind the pods of these shapes, one shape after the other, over `before` and then over all places. It stops at the first
        shape without a place. Bound pods stay until the caller undoes it."""
        state, size = self._state, self._state.stack_size
        wanted, pods = array("i", shapes), array("i", counts)
        short: int | None = None
        known: list[tuple[array[int], array[int]]] = []
        first, end = 0, len(wanted)
        while first < end and short is None:
            last = state.node_local_until(wanted, first)
            if last > first:
                reached = array("i", bytes(4 * end))
                stopped, looked = state.fit_each(wanted, pods, first, last, before, self.order, self._cursor, reached)
                self.looked += looked
                known.append((wanted[first:last], reached[first:last]))
                short = wanted[stopped] if stopped < last else None
                first = last
            else:
                short = self._one_by_one(wanted[first], pods[first], before)
                first += 1
        return Moved(*state.bound_since(size), short, tuple(known))

    def reaches(self, taken: Iterable[int], nodes: Iterable[int]) -> bool:
        """Whether one of the nodes is not behind all these places, so that pods might go there while it takes some."""
        if not self._at:
            self._at = {node: place for place, node in enumerate(self.order)}
        end = len(self.order)
        return min((self._at.get(node, end) for node in nodes), default=end) <= max(
            (self._at[node] for node in taken), default=-1
        )

    def keep(self, moved: Moved) -> None:
        """What was fitted stays: remember which places it filled."""
        for shapes, reached in moved.reached:
            for shape, place in zip(shapes, reached, strict=True):
                self._cursor[shape] = max(place, self._cursor[shape])

    def skip_full(self, shape: int) -> None:
        """Remember which places at the front have no room for a pod of the shape, when a trial that was undone found none."""
        mark = self._state.mark()
        moved = self.fit((shape,), (1,))
        self._state.undo(mark)
        self.keep(moved)

    def _one_by_one(self, shape: int, count: int, before: "array[int]") -> int | None:
        left = count
        for order in (before, self.order):
            if left:
                self.looked += len(order)
                left -= sum(pods for _, pods in self._state.place(shape, left, order))
        return shape if left else None


def crowded_out(state: "SchedulingState", places: Places, moved: Moved, counts: Mapping[int, int], lifted: int) -> int | None:
    """Tests whether smaller pods could take the places of larger ones: kube-scheduler binds evicted pods in the order of their
    re-creation, wherever they fit. Returns a shape that then has no place. Afterwards, the state is back at the mark `lifted`."""
    state.undo(lifted)
    order = list(dict.fromkeys(moved.shapes))[::-1]
    again = places.fit(order, [counts[shape] for shape in order], array("i", dict.fromkeys(moved.nodes)))
    state.undo(lifted)
    return again.short
