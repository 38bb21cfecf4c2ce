"""How many more pods each domain takes during a placement."""

from typing import Protocol

from reconciler.scheduling.topology.counter import DomainCounter


class DomainLimit(Protocol):
    """A rule whose answer changes with the pods that are being placed."""

    @property
    def counter(self) -> DomainCounter:
        """Pods by domain."""

    @property
    def floor(self) -> int:
        """While this stays the same, a domain that takes no pod will not take one later."""

    def slack(self, domain: int) -> int:
        """How many more pods may go to a domain while no other domain changes."""

    def moves_floor(self, domain: int) -> bool:
        """Would one more pod in the domain move the floor?"""


class OnlyOne:
    """Anti-affinity of pods to their own kind: one pod per domain."""

    __slots__ = ("counter",)

    floor = 0

    def __init__(self, counter: DomainCounter) -> None:
        self.counter = counter

    def slack(self, domain: int) -> int:
        """See `DomainLimit`."""
        return 0 if self.counter.counts[domain] > 0 else 1

    def moves_floor(self, domain: int) -> bool:
        """See `DomainLimit`."""
        return False
