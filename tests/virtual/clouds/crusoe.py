"""Node pools of Crusoe for a world."""

import json
from collections import Counter, deque
from collections.abc import Mapping
from typing import Any

from reconciler.platforms.crusoe.kinds import NODE_POOL
from reconciler.platforms.crusoe.writing.account import Account
from reconciler.platforms.crusoe.writing.calls import CrusoeError
from reconciler.platforms.crusoe.writing.credentials import Credentials
from reconciler.platforms.crusoe.writing.polling import CrusoePoll
from reconciler.platforms.crusoe.writing.provider import CrusoeProvider
from tests.crusoe.documents import CLUSTER, LOCATION, PROJECT
from tests.crusoe.service import behaviour
from tests.crusoe.service.routes import POOLS, Refused, answered, pools
from tests.crusoe.service.state import Account as Project
from tests.crusoe.service.state import Pool
from tests.virtual.clouds.cloud import Errors, Surroundings
from tests.virtual.cluster import Machine
from tests.virtual.process import Parts, Process

_TYPE, _CPU = "c1a.8x", 8
_ERRORS: Errors = {
    "lost": lambda: CrusoeError("Unreachable", "Read timed out", sent=True),
    "refused": lambda: CrusoeError("internal_error", "try later", status=500, sent=True),
    "denied": lambda: CrusoeError("unauthorized", "not authorized", status=403),
    "expired": lambda: CrusoeError("bad_credential", "no such key", status=401),
}
_CREDENTIALS = {
    "CRUSOE_ACCESS_KEY": "k",
    "CRUSOE_SECRET_KEY": "YWJj",
    "CRUSOE_PROJECT_ID": PROJECT,
    "CRUSOE_CLUSTER_ID": CLUSTER,
    "CRUSOE_LOWERING": "Keeps",
}


class CrusoeCloud:
    """Two pools of ours and one of others, in one location."""

    names: tuple[str, ...] = ("spot", "general")
    sizes: tuple[int, ...] = (8,)
    calls_a_minute = 240

    def __init__(self, around: Surroundings) -> None:
        shape = around.shape
        self.around, self.others = around, Counter[str]()
        self.project = Project()
        self.project.now = around.agenda.now
        self.project.creates_after, self.project.deletes_after = shape.joins_seconds, shape.ends_seconds
        self.project.replaces_after = shape.acts_seconds
        self.pools = {name: self.project.add(name, type=_TYPE) for name in self.names}
        self._strangers = self.project.add("strangers", 2, type=_TYPE)
        self._broken: set[str] = set()
        self._leaving: set[str] = set()
        self._lag_seconds = shape.lag_seconds
        self._history: deque[tuple[float, Any]] = deque(maxlen=200)

    def target(self, name: str) -> str:
        return (
            f"target: {{crusoe: {{nodePool: {name}, location: {LOCATION}}}}}\n"
            f"  template: {{labels: {{topology.kubernetes.io/zone: {LOCATION}}}}}"
        )

    def parts(self, process: Process) -> Parts:
        account = Account(self, lambda: Credentials(_CREDENTIALS))
        return Parts(
            {NODE_POOL: CrusoeProvider(account, process.state)}, (CrusoePoll(account, process.state, process.current),),
            wake=account.on_write,
        )  # fmt: skip

    def call(self, method: str, path: str, query: Mapping[str, str] | None = None, body: Any = None) -> Any:
        """As `Crusoe.call`."""
        what = f"cloud {method} {path} {json.dumps(body, sort_keys=True)}"
        return self.around.wire.call(
            what, lambda: self._done(method, path, dict(query or {}), body or {}), writes=method != "GET", errors=_ERRORS
        )

    def _done(self, method: str, path: str, query: dict[str, str], body: dict[str, Any]) -> Any:
        self.settle()
        try:
            found = answered(self.project, "k", method, path, query, body)
        except Refused as refused:
            raise CrusoeError(refused.code, str(refused), status=refused.status, sent=refused.status >= 500) from None
        if self._lag_seconds and (method, path) == ("GET", POOLS):
            instant = self.project.now - self.around.wire.chance(self._lag_seconds)
            found = next((listed for at, listed in reversed(self._history) if at <= instant), found)
        behaviour.settle(self.project)
        return json.loads(json.dumps(found))

    def settle(self) -> None:
        if (passed := self.around.agenda.now - self.project.now) > 0:
            behaviour.advance(self.project, passed)
            if self._lag_seconds:
                self._history.append((self.project.now, pools(self.project)))

    def machines(self) -> list[Machine]:
        by_id = {pool.id: pool for pool in self.project.pools.values()}
        return [
            Machine(
                node=f"n-{one.id[-6:]}", group=by_id[one.pool].name if one.pool != self._strangers.id else "",
                provider_id=f"crusoe://{one.id}", zone=LOCATION, cpu=_CPU,
                ready=one.id not in self._broken,
            )
            for one in self.project.machines.values()
            if one.state in ("RUNNING", "DELETING")
        ]  # fmt: skip

    def ending(self) -> list[str]:
        ends = {one.id for one in self.project.machines.values() if one.state == "DELETING"}
        new, self._leaving = ends - self._leaving, ends
        return sorted(f"n-{name[-6:]}" for name in new)

    def size(self, name: str) -> int:
        return self.pools[name].count

    def most(self, name: str) -> int:
        return 254

    def zones(self, name: str) -> tuple[str, ...]:
        return (LOCATION,)

    def cpu(self, name: str) -> int:
        return _CPU

    def declared(self, name: str) -> int:
        return self.cpu(name)

    def has_stock(self, name: str, zone: str) -> bool:
        return self.project.stock.get(self.pools[name].type, 1) > 0

    def stock(self, name: str, zone: str, left: int | None) -> None:
        if left is None:
            self.project.stock.pop(self.pools[name].type, None)
        else:
            self.project.stock[self.pools[name].type] = left

    def template(self, name: str, cpu: int) -> None:
        """SOURCE: a pool's type cannot be changed: nothing happens."""

    def shift(self, name: str, zone: str | None) -> None:
        """There are none."""

    def by_hand(self, name: str, size: int) -> None:
        pool = self.pools[name]
        self.others[name] += max(0, pool.count - size)
        pool.count, pool.updated_at = max(size, 0), self.project.now
        behaviour.settle(self.project)

    def breaks(self, number: int) -> None:
        mine = [one for pool in self.pools.values() for one in self._running(pool) if one not in self._broken]
        if mine:
            self._broken.add(mine[number % len(mine)])

    def heals(self) -> None:
        self._broken.clear()
        self.project.stock.clear()
        self._lag_seconds = 0

    def _running(self, pool: Pool) -> list[str]:
        return [one.id for one in self.project.of(pool) if one.state == "RUNNING"]
