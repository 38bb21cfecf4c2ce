"""The pods of a plan in the order in which they are served, and what becomes of them.

Pods of one shape that are served together are one lot. A lot knows its pods by index. Nobody looks at them one by one, so the
time of a step grows with lots, not with pods.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby

import msgspec

from reconciler.plan.plan import PodOutcome
from reconciler.plan.reason import Reason


class Demand(msgspec.Struct, frozen=True, kw_only=True):
    """Pods of one shape that ask for a place, by index in World order."""

    shape: int
    pods: Sequence[int]


class Served(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What this plan means for one pod: its outcome, the node or group, the reasons."""

    outcome: PodOutcome
    node: str | None = None
    group: str | None = None
    reasons: tuple[Reason, ...] = ()


class Lot(msgspec.Struct, frozen=True):
    """Pods of one shape, by index in World order, that share what the plan means for them."""

    shape: int
    pods: Sequence[int]
    served: Served


def in_world_order(lots: Iterable[Lot]) -> list[tuple[Served, Sequence[int]]]:
    """The pods of all lots in World order, in runs that share their outcome."""
    runs = [
        run
        for overlapping in _overlapping(sorted(lots, key=lambda lot: lot.pods[0]))
        for run in ([(overlapping[0].served, overlapping[0].pods)] if len(overlapping) == 1 else _one_by_one(overlapping))
    ]
    return [(served, _joined([pods for _, pods in alike])) for served, alike in groupby(runs, key=lambda run: run[0])]


def _joined(parts: Sequence[Sequence[int]]) -> Sequence[int]:
    """Pods that follow each other, as one part."""
    first, last, count = parts[0][0], parts[-1][-1], sum(map(len, parts))
    return range(first, last + 1) if count == last - first + 1 else list(chain.from_iterable(parts))


def _overlapping(lots: Sequence[Lot]) -> Iterator[list[Lot]]:
    """Lots between the pods of which there are pods of the others, together."""
    together: list[Lot] = []
    last = -1
    for lot in lots:
        if together and lot.pods[0] > last:
            yield together
            together = []
        together.append(lot)
        last = max(last, lot.pods[-1])
    if together:
        yield together


def _one_by_one(lots: Iterable[Lot]) -> Iterator[tuple[Served, Sequence[int]]]:
    served = {pod: lot.served for lot in lots for pod in lot.pods}
    pods, first = sorted(served), 0
    for entry, alike in groupby(map(served.__getitem__, pods)):
        end = first + sum(1 for _ in alike)
        yield entry, pods[first:end]
        first = end


class _OnNodes(msgspec.Struct, frozen=True, gc=False):
    """Pods that have room on nodes, as `placements` says: (node, pods). `serve` is the outcome on a node."""

    placements: Sequence[tuple[int, int]]
    serve: Callable[[int], Served]

    def told(self) -> list[tuple[Served, int]]:
        """The outcome on each node."""
        return [(self.serve(node), count) for node, count in self.placements]


_Entry = Served | _OnNodes


class Queue:
    """Pods still waiting for a place, by demand, and what became of the others. `names_others`: groups that grow for them
    name the groups that offered nothing. `apart` are pods that ask for no place, or have one already."""

    names_others = True

    def __init__(self, demands: tuple[Demand, ...], apart: Iterable[Lot] = ()) -> None:
        self.demands = demands
        self.later: frozenset[int] = frozenset()
        """Shapes whose turn has not come."""
        self._apart = tuple(apart)
        self._pods = {demand.shape: demand.pods for demand in demands}
        self._taken = dict.fromkeys(self._pods, 0)
        self._served: dict[int, list[tuple[_Entry, int]]] = {shape: [] for shape in self._pods}

    def take(self, shape: int, count: int, served: Served) -> None:
        """The next `count` pods of a shape are served."""
        self._taken[shape] += count
        self._served[shape].append((served, count))

    def take_on(self, shape: int, placements: Sequence[tuple[int, int]], serve: Callable[[int], Served]) -> None:
        """The next pods of a shape have room on nodes, as `placements` says: (node, pods). `serve`: the outcome on a node, which
        is asked for only if these places count in the end."""
        if placements:
            count = sum(many for _, many in placements)
            self._taken[shape] += count
            self._served[shape].append((_OnNodes(placements, serve), count))

    @property
    def taken(self) -> dict[int, int]:
        """Pods by shape that are served so far."""
        return dict(self._taken)

    def serve_again(
        self,
        before: Mapping[int, int],
        staying: Callable[[int, Served, int], int],
        moved: Mapping[int, Iterable[tuple[Served, int]]],
    ) -> None:
        """Serve some of the pods again that were served since `taken` was `before`. Of pods that were served together, the first
        `staying` keep what they have. The others of their shape get what `moved` says, in order."""
        for shape, served in self._served.items():
            passed, again, left = 0, list[tuple[_Entry, int]](), deque(moved.get(shape, ()))
            for entry, count in served:
                stay = staying(shape, entry, count) if passed >= before[shape] and isinstance(entry, Served) else count
                passed += count
                again.append((entry, stay))
                moving = count - stay
                while moving and left:
                    other, there = left.popleft()
                    again.append((other, min(moving, there)))
                    if there > moving:
                        left.appendleft((other, there - moving))
                    moving -= min(moving, there)
                again.append((entry, moving))
            self._served[shape] = [(entry, count) for entry, count in again if count]

    def waiting(self) -> list[tuple[int, int]]:
        """(shape, pods left) in serving order, without empty ones."""
        left = [(shape, len(pods) - self._taken[shape]) for shape, pods in self._pods.items() if shape not in self.later]
        return [(shape, count) for shape, count in left if count > 0]

    def lots(self) -> list[Lot]:
        """What became of all pods that do not wait any more."""
        lots = [lot for lot in self._apart if lot.pods]
        for shape, served in self._served.items():
            first, pods = 0, self._pods[shape]
            told = list[tuple[Served, int]]()
            for entry, count in served:
                told += [(entry, count)] if isinstance(entry, Served) else entry.told()
            self._served[shape] = [*told]
            for outcome, count in told:
                lots.append(Lot(shape, pods[first : first + count], outcome))
                first += count
        return [lot for lot in lots if lot.pods]
