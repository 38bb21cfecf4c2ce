"""The accounts and regions that this process asks, each once: AWS counts all their calls together."""

import threading
from collections.abc import Callable, Iterable
from functools import cache

from reconciler.platforms.aws.writing.calls import Aws, Bucket, Metered
from reconciler.platforms.aws.writing.client import BotoAws


class Accounts:
    """Clients by region and role. `made` makes a client for both."""

    def __init__(self, made: Callable[[str, str], Aws] = BotoAws) -> None:
        self._made = made
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], Metered] = {}
        self._buckets: dict[tuple[str, str], Bucket] = {}
        self._named: dict[tuple[str, str], str] = {}
        self._written: list[Callable[[str, str, bool], None]] = []

    def of(self, region: str, role: str = "") -> Metered:
        """The client of that region with that role. All roles of one account share its rate of calls."""
        with self._lock:
            if (region, role) not in self._known:
                bucket = self._buckets.setdefault((region, _account(role)), Bucket())
                self._known[region, role] = Metered(self._made(region, role), bucket)
            return self._known[region, role]

    def put(self, region: str, role: str, metered: Metered) -> None:
        """Use this client for that region and role from now on."""
        with self._lock:
            self._known[region, role] = metered

    def all(self) -> dict[tuple[str, str], Metered]:
        """All clients that were used so far."""
        with self._lock:
            return dict(self._known)

    def named(self, region: str, role: str, names: Iterable[str]) -> None:
        """Record that a policy has named these groups with that role."""
        with self._lock:
            self._named.update(((region, name), role) for name in names)

    def last_role(self, region: str, name: str) -> str:
        """The role with which a policy last named the group; empty for the process's own identity, or if none did."""
        with self._lock:
            return self._named.get((region, name), "")

    def on_write(self, listener: Callable[[str, str, bool], None]) -> None:
        """Call `listener` for every group that this process has written or tried to write, with its region and name. The third
        argument is true if the read before the write found somebody else who sizes it."""
        self._written.append(listener)

    def wrote(self, region: str, name: str, *, others: bool = False) -> None:
        """Record a write to a group: earlier reads of it are now old."""
        for listener in self._written:
            listener(region, name, others)


def _account(role: str) -> str:
    """The account of a role, as its ARN names it; empty for the process's own identity."""
    return role.split(":")[4] if role.count(":") >= 5 else ""


@cache
def accounts() -> Accounts:
    """The accounts of this process."""
    return Accounts()
