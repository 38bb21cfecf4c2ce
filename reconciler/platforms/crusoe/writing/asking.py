"""What is known of one cluster's pools, and when each part of it is asked again.

The API's rate limits are not published, so we send few requests. Pools, their machines and the replacements of those are read
often. Stock and reservations are read every minute, and what hardly changes every half hour. If the user may not read something,
that is reported, and the rest continues.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from reconciler.cluster.snapshots.document import Document
from reconciler.platforms.crusoe.facts.states import CHANGING, bare, counts
from reconciler.platforms.crusoe.kinds import (
    BEHAVIOUR,
    CAPACITY,
    CLUSTER,
    INSTANCE,
    MACHINE_TYPE,
    NODE_POOL,
    OPERATION,
    READ_LAG_SECONDS,
    REMEDIATION,
    RESERVATION,
)
from reconciler.platforms.crusoe.writing.account import Account
from reconciler.platforms.crusoe.writing.calls import CrusoeError, Object
from reconciler.platforms.crusoe.writing.notes import Notes

STOCK_SECONDS, SETTLED_SECONDS = 60.0, 1800.0
_LASTING = frozenset({CLUSTER, MACHINE_TYPE})
"""Kinds that do not change under us: their last read counts while another read fails."""
_TURN_SECONDS = 120.0
"""An iteration has ended by then, and reports when it has written."""


class Known:
    """The last complete answers. `ask` updates them.

    `ask` raises `CrusoeError` if it cannot read pools, their machines or what replaces those; it also raises `UnnotedError`. The
    last answers then stay."""

    def __init__(self, account: Account, notes: Notes, wall_seconds: Callable[[], float] = time.time) -> None:
        """`wall_seconds` is the clock by which the loop records its writes."""
        self._wall_seconds = wall_seconds
        self._read_seconds = 0
        self._unsettled_until = 0.0
        self._written = False
        self._account = account
        self._notes = notes
        self._items: dict[str, list[Object]] = {}
        self._asked: dict[str, float] = {}
        self._behaviour: Object | None = None
        self._noted_at = 0.0
        self.heard: float | None = None
        """When all pools were last listed."""
        self._problems: dict[str, str] = {}

    @property
    def problems(self) -> tuple[str, ...]:
        """What the last attempt could not read, although it could read the pools."""
        return tuple(self._problems.values())

    def wrote(self) -> None:
        """Record a write: stock and `passed_over` are now old. Reads are news until they show the effect of the write."""
        self._written = True
        self._behaviour = None
        for kind in (CAPACITY, RESERVATION):
            self._asked.pop(kind, None)

    def ask(self, now: float) -> bool:
        """Ask everything that is due. Returns whether something has changed."""
        before = dict(self._items)
        if self._written:
            self._written, self._unsettled_until = False, now + READ_LAG_SECONDS + _TURN_SECONDS
        began = int(self._wall_seconds())
        pools = self._account.pools()
        items = {
            NODE_POOL: pools,
            INSTANCE: [machine for pool in pools for machine in self._account.machines(pool["id"])],
            REMEDIATION: self._account.remediations(),
        }
        items[BEHAVIOUR] = [self._behaviour_now(now)]
        self._items = {**self._items, **items}
        self.heard, self._read_seconds = now, began
        types = sorted({str(pool.get("type") or "") for pool in pools} - {""})
        self._beside(CAPACITY, now, STOCK_SECONDS, lambda: self._account.capacities(types) if types else [])
        self._beside(RESERVATION, now, STOCK_SECONDS, self._account.reservations)
        self._beside(CLUSTER, now, SETTLED_SECONDS, lambda: [self._account.cluster()])
        self._beside(MACHINE_TYPE, now, SETTLED_SECONDS, self._account.machine_types)
        # Only a pool with missing machines has an operation with news.
        self._beside(OPERATION, now, 0.0 if self.moving() else SETTLED_SECONDS, self._account.operations)
        return now < self._unsettled_until or before != self._items

    def _behaviour_now(self, now: float) -> Object:
        """What is noted. It is read again now and then: another process may have led since."""
        if self._behaviour is None or now - self._noted_at >= STOCK_SECONDS:
            noted = self._notes.read()
            cancelled = sorted(machine for machine, intent in noted.intents.items() if intent.cancelled)
            self._behaviour = {
                "lowering": self._account.lowering,
                "passed_over": noted.passed_over,
                "leaving": {machine: intent.count for machine, intent in noted.intents.items() if not intent.cancelled},
                **({"cancelled": cancelled} if cancelled else {}),
            }
            self._noted_at = now
        return self._behaviour

    def items(self) -> dict[str, list[Object]]:
        """Everything that is known, by kind."""
        return dict(self._items)

    def documents(self) -> tuple[Document, ...]:
        """The same, one list per kind."""
        return tuple(
            Document(
                file="crusoe", api_version="", kind=kind, items=[Raw(msgspec.json.encode(item)) for item in items], is_list=True
            )
            for kind, items in sorted({**self._items, NODE_POOL: self._timed()}.items())
        )

    def _timed(self) -> list[Object]:
        """The pools, each with the time at which its read began."""
        return [{**pool, "read_seconds": self._read_seconds} for pool in self._items.get(NODE_POOL, ())]

    def moving(self) -> bool:
        """Whether some pool differs from its target, so that an early read pays off."""
        states = {one["id"]: str(one.get("state", "")) for one in self._items.get(INSTANCE, ())}
        return any(_moves(pool, states) for pool in self._items.get(NODE_POOL, ()))

    def _beside(self, kind: str, now: float, seconds: float, ask: Callable[[], Sequence[Object] | None]) -> None:
        if kind in self._asked and now - self._asked[kind] < seconds:
            return
        try:
            items = ask()
        except CrusoeError as error:
            # Unknown stock bounds nothing: the platform itself then refuses.
            self._problems[kind] = f"{kind}: {error}"
            if kind not in _LASTING:
                self._items.pop(kind, None)
            # Without the cluster, the location of its pools is unknown. One lost answer must not count for half an hour.
            self._asked[kind] = now - max(0.0, seconds - STOCK_SECONDS)
        else:
            self._problems.pop(kind, None)
            if items is not None:
                self._items[kind] = list(items)
            self._asked[kind] = now


def _moves(pool: dict[str, Any], states: dict[str, str]) -> bool:
    there = [name for name in pool.get("instance_ids") or () if counts(states.get(name, ""))]
    resting = all(bare(states.get(name, "")) == "RUNNING" for name in there)
    return pool.get("count") != len(there) or not resting or bare(str(pool.get("state", ""))) in CHANGING
