"""The pods of a ProvisioningRequest that do not exist yet, as a queue."""

from collections.abc import Mapping, Sequence

from reconciler.cluster.world import PodsOfSet, World
from reconciler.decisions.demand.gangs import WITH_PLACE
from reconciler.decisions.demand.pending import serving_order
from reconciler.decisions.demand.queue import Demand, Queue, Served


class Placeholders(Queue):
    """As a queue, which also knows what gets no room."""

    names_others = False

    def __init__(self, world: World, sets: Sequence[PodsOfSet]) -> None:
        numbers = _numbers(sets)
        super().__init__(tuple(Demand(shape=shape, pods=numbers[shape]) for shape in serving_order(world, numbers)))
        self._lost: list[tuple[int, int, Served]] = []

    def take(self, shape: int, count: int, served: Served) -> None:
        """The next `count` pods of a shape are served."""
        if served.outcome not in WITH_PLACE:
            self._lost.append((self._pods[shape][self._taken[shape]], count, served))
        super().take(shape, count, served)

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
