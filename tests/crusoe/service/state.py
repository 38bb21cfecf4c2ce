"""What the server holds: pools with their machines, reservations, stock, operations; and the switches of its behaviour."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests.crusoe.documents import CLUSTER, LOCATION, PROJECT, TYPE

ORGANIZATION = "o0000000-0000-4000-8000-000000000001"
STOPPED = ("SHUTOFF", "STOPPED", "SHUTDOWN")


@dataclass
class Machine:
    """`changes_at` is when its state moves on by itself."""

    id: str
    pool: str
    state: str
    changes_at: float
    created_at: float
    reservation: str = ""

    @property
    def counts(self) -> bool:
        """Whether it runs, or will."""
        return self.state in ("RUNNING", "DEFINING")


@dataclass
class Pool:
    """One pool. `extra` are fields of its description that nothing here acts on."""

    id: str
    name: str
    count: int
    type: str = TYPE
    reservation: str = ""
    state: str = "RUNNING"
    labels: dict[str, str] = field(default_factory=dict)
    short_since: float | None = None
    issue_since: float | None = None
    issue: str = ""
    updated_at: float = 0
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass
class Operation:
    """What became of one write, for `user` alone."""

    id: str
    user: str
    pool: str
    started_at: float
    ends_at: float
    before: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    failed: bool = False


@dataclass
class Account:
    """Everything of one project.

    Switches: `trims` (lowering a count deletes machines, of the platform's choice), `trims_after` (seconds later),
    `replaces_after` and `creates_after` (seconds), `reservations` (size by id), `used_by_others` (by id), `stock` (by type;
    without an entry, endless), `operation_seconds` and `operation_life`, `partial` (an error beside a success), `health` (whether
    pools tell issues). `before` and `after` are called with method and path around everything that the server acts on.
    """

    now: float = 1_800_000_000
    pools: dict[str, Pool] = field(default_factory=dict)
    machines: dict[str, Machine] = field(default_factory=dict)
    operations: dict[str, Operation] = field(default_factory=dict)
    remediations: list[dict[str, Any]] = field(default_factory=list)
    add_ons: list[str] = field(default_factory=list)
    trims: bool = False
    trims_after: float = 0
    replaces_after: float = 0
    creates_after: float = 30
    deletes_after: float = 20
    reservations: dict[str, int] = field(default_factory=dict)
    used_by_others: dict[str, int] = field(default_factory=dict)
    stock: dict[str, int] = field(default_factory=dict)
    operation_seconds: float = 0
    operation_life: float = 3600
    partial: str = ""
    health: bool = True
    page: int = 50
    calls: list[tuple[str, str]] = field(default_factory=list)
    faults: list[tuple[str, str, Any]] = field(default_factory=list)
    """Method, end of the path, and what is answered: (status, body, heads), or `lost` (done, and no answer comes)."""
    rights: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By access key: what paths must hold one of. A key without entry may do everything."""
    before: list[Callable[[str, str], None]] = field(default_factory=list)
    after: list[Callable[[str, str], None]] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    """Machines that somebody asked to delete."""
    trimmed: list[str] = field(default_factory=list)
    """Machines that the platform has chosen to delete."""
    joined: list[Callable[[Machine], None]] = field(default_factory=list)
    gone: list[Callable[[Machine], None]] = field(default_factory=list)
    _numbers: int = 0

    def number(self) -> int:
        """One more, every time."""
        self._numbers += 1
        return self._numbers

    def add(self, name: str = "h100", count: int = 0, *, running: int | None = None, **rest: Any) -> Pool:
        """A pool, with that many machines that have long been there (as many as its count when left out)."""
        pool = Pool(id=f"f0000000-0000-4000-8000-{self.number():012x}", name=name, count=count, **rest)
        self.pools[pool.id] = pool
        for _ in range(count if running is None else running):
            self.made(pool).state = "RUNNING"
        return pool

    def made(self, pool: Pool) -> Machine:
        """A new machine, with a new name."""
        name = f"aaaaaaaa-0000-4000-8000-{self.number():012x}"
        machine = Machine(name, pool.id, "DEFINING", self.now + self.creates_after, self.now, pool.reservation)
        self.machines[name] = machine
        return machine

    def of(self, pool: Pool) -> list[Machine]:
        """The machines of a pool, oldest first."""
        return [one for one in self.machines.values() if one.pool == pool.id]

    def counted(self, pool: Pool) -> list[Machine]:
        """Those that its count speaks of."""
        return [one for one in self.of(pool) if one.counts]

    def used(self, reservation: str) -> int:
        """How many machines run in a reservation."""
        mine = sum(1 for one in self.machines.values() if one.counts and one.reservation == reservation)
        return mine + self.used_by_others.get(reservation, 0)

    def has_room(self, pool: Pool) -> bool:
        """Whether one more machine of the pool could be had."""
        if pool.reservation:
            return self.used(pool.reservation) < self.reservations.get(pool.reservation, 0)
        return self.stock.get(pool.type, 1) > 0


def stamp(seconds: float) -> str:
    """RFC 3339."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


__all__ = [
    "CLUSTER",
    "LOCATION",
    "ORGANIZATION",
    "PROJECT",
    "STOPPED",
    "TYPE",
    "Account",
    "Machine",
    "Operation",
    "Pool",
    "stamp",
]
