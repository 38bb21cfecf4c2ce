"""The accounts and regions that this process asks, each once: AWS counts all their calls together."""

import threading
import time
from collections.abc import Callable, Iterable
from functools import cache

from reconciler.platforms.aws.writing.call_rate import Bucket, Metered
from reconciler.platforms.aws.writing.calls import Aws
from reconciler.platforms.aws.writing.client import BotoAws
from reconciler.platforms.aws.writing.sharing import SharedReads


class Accounts:
    """Clients by region and role. `made` makes a client for both. `monotonic` is the clock by which shared answers age."""

    def __init__(self, made: Callable[[str, str], Aws] = BotoAws, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._made = made
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], Metered] = {}
        self._buckets: dict[tuple[str, str], Bucket] = {}
        self._shared: dict[tuple[str, str], SharedReads] = {}
        self._named: dict[tuple[str, str, str], str] = {}
        self._written: list[tuple[str, Callable[[str, str, bool], None]]] = []

    def of(self, region: str, role: str = "") -> Metered:
        """The client of that region with that role. All roles of one account share its rate of calls."""
        with self._lock:
            if (region, role) not in self._known:
                bucket = self._buckets.setdefault((region, _account(role)), Bucket())
                self._known[region, role] = Metered(self._made(region, role), bucket)
            return self._known[region, role]

    def shared(self, region: str, role: str = "") -> SharedReads:
        """That client for the reads of all loops of the process."""
        aws = self.of(region, role)
        with self._lock:
            return self._shared.setdefault((region, role), SharedReads(aws, self._monotonic))

    def put(self, region: str, role: str, metered: Metered) -> None:
        """Use this client for that region and role from now on."""
        with self._lock:
            self._known[region, role] = metered

    def all(self) -> dict[tuple[str, str], Metered]:
        """All clients that were used so far."""
        with self._lock:
            return dict(self._known)

    def named(self, region: str, role: str, names: Iterable[str], loop: str = "") -> None:
        """Record that the policy of a loop has named these groups with that role."""
        with self._lock:
            self._named.update(((loop, region, name), role) for name in names)

    def last_role(self, region: str, name: str, loop: str = "") -> str:
        """The role with which the policy of a loop last named the group; empty for the process's own identity, or if none did.
        Loops of other clusters may have a group of that name in another account."""
        with self._lock:
            return self._named.get((loop, region, name), "")

    def on_write(self, listener: Callable[[str, str, bool], None], loop: str = "") -> None:
        """Call `listener` for every group that a loop has written or tried to write, with its region and name. The third argument
        is true if the read before the write found somebody else who sizes it."""
        with self._lock:
            self._written.append((loop, listener))

    def end(self, listener: Callable[[str, str, bool], None], loop: str = "") -> None:
        """Call it no more."""
        with self._lock:
            self._written = [one for one in self._written if one != (loop, listener)]

    def wrote(self, region: str, name: str, *, others: bool = False, loop: str = "") -> None:
        """Record a write to a group: earlier reads of it are now old."""
        with self._lock:
            shared = [reads for place, reads in self._shared.items() if place[0] == region]
            listeners = [listener for of, listener in self._written if of == loop]
        for reads in shared:
            reads.wrote(name, others=others)
        for listener in listeners:
            listener(region, name, others)


def _account(role: str) -> str:
    """The account of a role, as its ARN names it; empty for the process's own identity."""
    return role.split(":")[4] if role.count(":") >= 5 else ""


@cache
def accounts() -> Accounts:
    """The accounts of this process."""
    return Accounts()
