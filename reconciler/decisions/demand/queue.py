"""The pods that wait for a place, and what a plan means for each."""

from collections.abc import Iterator
from itertools import groupby

import msgspec

from reconciler.decisions.demand.pending import Demand
from reconciler.plan.plan import PodOutcome
from reconciler.plan.reason import Reason


class Served(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What this plan means for one pod: its outcome, the node or group, the reasons."""

    outcome: PodOutcome
    node: str | None = None
    group: str | None = None
    reasons: tuple[Reason, ...] = ()


class Queue:
    """Pods still waiting for a place, by demand, and what became of the others."""

    def __init__(self, demands: tuple[Demand, ...]) -> None:
        self.demands = demands
        self.served: dict[int, Served] = {}
        self._pods = {demand.shape: demand.pods for demand in demands}
        self._taken = dict.fromkeys(self._pods, 0)

    def take(self, shape: int, count: int, served: Served) -> None:
        """The next `count` pods of a shape are served."""
        taken = self._taken[shape]
        self.served.update(dict.fromkeys(self._pods[shape][taken : taken + count], served))
        self._taken[shape] = taken + count

    @property
    def taken(self) -> dict[int, int]:
        """Pods by shape that are served so far."""
        return dict(self._taken)

    def taken_since(self, before: dict[int, int]) -> Iterator[tuple[int, Served, list[int]]]:
        """(shape, what became of them, pods) for pods served since `taken` was `before`, those of a shape in serving order."""
        for shape, taken in self._taken.items():
            pods = self._pods[shape][before[shape] : taken]
            place = 0
            for served, alike in groupby(map(self.served.__getitem__, pods)):
                many = sum(1 for _ in alike)
                yield shape, served, list(pods[place : place + many])
                place += many

    def waiting(self) -> list[tuple[int, int]]:
        """(shape, pods left) in serving order, without empty ones."""
        left = [(shape, len(pods) - self._taken[shape]) for shape, pods in self._pods.items()]
        return [(shape, count) for shape, count in left if count > 0]
