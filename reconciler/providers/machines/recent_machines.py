"""Reads Machines by name, or all of a target in one request if many are needed at the same time."""

import threading
import time
from collections.abc import Callable

import msgspec

from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.kube.connection.api import ApiError, UnreachableError
from reconciler.providers.machines.dialect import MachineReading, Reading
from reconciler.providers.machines.shared_readings import RECENT_SECONDS, SharedReadings
from reconciler.providers.machines.targets import MachineTargets

_SHARE = 10
"""At least one in this many of a target's Machines must be needed. So a read returns at most this many times the need."""


class RecentMachines:
    """Recent Machines, for what is judged again before anything is written."""

    def __init__(self, targets: MachineTargets, clock: Callable[[], float] = time.monotonic) -> None:
        self._targets = targets
        self._clock = clock
        self._lock = threading.Lock()
        self._asked: dict[TargetRef, tuple[float, int]] = {}
        """When the last one was asked for, and how many before it without a pause."""
        self._facts: dict[TargetRef, TargetFacts] = {}
        self._lists = SharedReadings(self._listed, clock)

    def one(self, reading: Reading, machine: str) -> MachineReading | None:
        """A Machine of the target at most half a second before this call; None: it is gone. Raises as the connection does."""
        target = reading.facts.ref
        if self._listing_is_cheaper(target, reading.facts.replicas or 0):
            self._facts[target] = reading.facts
            recent = self._lists.recent(target).get(machine)
            if recent is not None:
                return recent
        return self._targets.dialect.read_machine(self._targets.api, target.namespace, machine)

    def _listing_is_cheaper(self, target: TargetRef, replicas: int) -> bool:
        """Whether so many are needed that one answer for all costs less."""
        now = self._clock()
        with self._lock:
            self._asked = {other: last for other, last in self._asked.items() if now - last[0] <= RECENT_SECONDS}
            before = self._asked.get(target, (now, 0))[1]
            self._asked[target] = now, before + 1
        return before * _SHARE >= max(replicas, _SHARE * _SHARE)

    def _listed(self, target: TargetRef) -> dict[str, MachineReading]:
        """Empty if they cannot be listed. Then each is asked for by its name, which shows why."""
        try:
            return self._targets.dialect.machines_of(self._targets.api, self._facts[target])
        except (ApiError, UnreachableError, msgspec.DecodeError):
            return {}
