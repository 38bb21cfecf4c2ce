"""The pods of a ProvisioningRequest that do not exist yet, as a queue.

Most of them find room, and then the request is refused because of the others. So reasons for pods on nodes are made only for a
request that is served.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import islice

from reconciler.cluster.world import PodsOfSet, World
from reconciler.decisions.demand.gangs import WITH_PLACE
from reconciler.decisions.demand.pending import Demand, Queue, Served, serving_order

Placements = Sequence[tuple[int, int]]


class Placeholders(Queue):
    """As a queue, but `served` lacks the pods that were placed with `take_on` until `settle`."""

    names_others = False

    def __init__(self, world: World, sets: Sequence[PodsOfSet]) -> None:
        numbers = _numbers(sets)
        super().__init__(tuple(Demand(shape=shape, pods=numbers[shape]) for shape in serving_order(world, numbers)))
        self._on_nodes: list[tuple[int, int, Placements, Callable[[int], Served]]] = []
        self._lost: list[tuple[int, int, Served]] = []

    def take(self, shape: int, count: int, served: Served) -> None:
        """The next `count` pods of a shape are served."""
        if served.outcome not in WITH_PLACE:
            self._lost.append((self._pods[shape][self._taken[shape]], count, served))
        super().take(shape, count, served)

    def take_on(self, shape: int, placements: Placements, serve: Callable[[int], Served]) -> None:
        """As in a queue. `serve` always says that there is room."""
        if placements:
            self._on_nodes.append((shape, self._taken[shape], placements, serve))
            self._taken[shape] += sum(count for _, count in placements)

    def settle(self) -> None:
        """Tell of each pod what it was placed on."""
        for shape, first, placements, serve in self._on_nodes:
            pods = iter(self._pods[shape][first:])
            for node, count in placements:
                self.served.update(dict.fromkeys(islice(pods, count), serve(node)))
        self._on_nodes.clear()

    @property
    def lost(self) -> list[Served]:
        """What became of pods that get no room, by the number of the first."""
        return [served for _, _, served in sorted(self._lost, key=lambda entry: entry[0])]

    @property
    def placed(self) -> int:
        """How many pods have room by now."""
        return sum(self._taken.values()) - sum(count for _, count, _ in self._lost)


def _numbers(sets: Sequence[PodsOfSet]) -> Mapping[int, Sequence[int]]:
    """The numbers of all pods, by shape; those of one set follow each other."""
    numbers: dict[int, Sequence[int]] = {}
    first = 0
    for one in sets:
        pods = range(first, first + one.count)
        numbers[one.shape] = (*numbers[one.shape], *pods) if one.shape in numbers else pods
        first += one.count
    return numbers
