"""What every platform is for a world."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec

from tests.virtual.cluster import Machine
from tests.virtual.process import Agenda, Parts, Process, Wire

Errors = Mapping[str, Callable[[], Exception]]
"""What a call meets, by word: lost (done, and no answer), refused, denied, expired."""


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """What is drawn of a cloud once: how fast it is, and how large its groups may be there."""

    joins_seconds: float = 40
    ends_seconds: float = 20
    acts_seconds: float = 2
    lag_seconds: float = 0
    most: tuple[int, ...] = (8, 8, 8)
    fails_hard: bool = False
    """Machines without stock fail for good, where the platform has such machines."""


class Cloud(Protocol):
    """One platform with groups of ours, by name, and machines of others."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    """Processors of the machines that a group may be told to make; the first is what it begins with."""
    calls_a_minute: int
    """So many at most."""
    others: Counter[str]
    """By group: machines that end because somebody else said so."""

    def target(self, name: str) -> str:
        """`target` of its NodeGroup, and what else its spec needs."""

    def parts(self, process: Process) -> Parts:
        """What a process works with."""

    def settle(self) -> None:
        """Everything that is due now."""

    def machines(self) -> list[Machine]:
        """Whose kubelets run, those of others among them (their group is empty)."""

    def ending(self) -> list[str]:
        """Nodes of machines that began to end since this was asked last."""

    def size(self, name: str) -> int: ...
    def most(self, name: str) -> int: ...
    def zones(self, name: str) -> tuple[str, ...]: ...
    def cpu(self, name: str) -> int: ...
    def declared(self, name: str) -> int:
        """The processors that it says its machines have."""

    def has_stock(self, name: str, zone: str) -> bool: ...

    def stock(self, name: str, zone: str, left: int | None) -> None:
        """So many machines are left (None: endless)."""

    def template(self, name: str, cpu: int) -> None:
        """From now on its machines have so many processors."""

    def shift(self, name: str, zone: str | None) -> None:
        """A zonal shift moves its new machines out of that zone (None: all shifts end), where the platform has such shifts."""

    def by_hand(self, name: str, size: int) -> None:
        """A person sets its size."""

    def breaks(self, number: int) -> None:
        """A machine's kubelet is heard of no more."""

    def heals(self) -> None:
        """Whatever is broken works again."""


class Surroundings(msgspec.Struct, frozen=True):
    """What a cloud is made with."""

    agenda: Agenda
    wire: Wire
    server: Any
    shape: Shape


def machine_name(group: str, number: int) -> str:
    return f"{group}-{number:04d}"
