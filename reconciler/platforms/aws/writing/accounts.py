"""The accounts and regions that this process asks, each once: AWS counts all their calls together."""

import threading
from collections.abc import Callable, Iterable
from functools import cache

from reconciler.platforms.aws.writing.calls import Aws, Metered
from reconciler.platforms.aws.writing.client import BotoAws


class Accounts:
    """By region and role. `made` makes a client for both."""

    def __init__(self, made: Callable[[str, str], Aws] = BotoAws) -> None:
        self._made = made
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], Metered] = {}
        self._named: dict[tuple[str, str], str] = {}
        self._written: list[Callable[[str, str, bool], None]] = []

    def of(self, region: str, role: str = "") -> Metered:
        """The one of that region as that role."""
        with self._lock:
            if (region, role) not in self._known:
                self._known[region, role] = Metered(self._made(region, role))
            return self._known[region, role]

    def put(self, region: str, role: str, metered: Metered) -> None:
        """Ask that region as that role by this one from now on."""
        with self._lock:
            self._known[region, role] = metered

    def all(self) -> dict[tuple[str, str], Metered]:
        """All that were asked for so far."""
        with self._lock:
            return dict(self._known)

    def named(self, region: str, role: str, names: Iterable[str]) -> None:
        """A policy has named these groups as that role."""
        with self._lock:
            self._named.update(((region, name), role) for name in names)

    def last_role(self, region: str, name: str) -> str:
        """As which role a policy has named the group last; empty: as the process itself, or never."""
        with self._lock:
            return self._named.get((region, name), "")

    def on_write(self, told: Callable[[str, str, bool], None]) -> None:
        """`told` hears of every group, by region and name, that this process has written or wanted to; the third argument is
        true where the read before the write met somebody else who sizes it."""
        self._written.append(told)

    def wrote(self, region: str, name: str, *, others: bool = False) -> None:
        """A group was written: what is known of it is old."""
        for told in self._written:
            told(region, name, others)


@cache
def accounts() -> Accounts:
    """Those of this process."""
    return Accounts()
