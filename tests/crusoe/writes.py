"""The provider on a running server, and what a decision would have judged there."""

from collections.abc import Callable, Mapping
from typing import Any

from reconciler.cluster.target import TargetRef
from reconciler.decisions.ownership.owner import Terms, judge
from reconciler.plan.plan import Bound
from reconciler.platforms.crusoe.kinds import NODE_POOL
from reconciler.platforms.crusoe.writing.account import Account
from reconciler.platforms.crusoe.writing.calls import Crusoe
from reconciler.platforms.crusoe.writing.client import HttpCrusoe
from reconciler.platforms.crusoe.writing.fresh import read
from reconciler.platforms.crusoe.writing.notes import InMemoryKeeper, Keeper, Notes
from reconciler.platforms.crusoe.writing.provider import CrusoeProvider
from reconciler.providers.contract import LeavingMachine, TargetRemoval
from tests.crusoe.documents import LOCATION
from tests.crusoe.service.server import ACCESS_KEY, Service
from tests.crusoe.service.state import Pool


class KilledError(BaseException):
    """The process ends here."""


class Killing:
    """A `Crusoe` and a `Keeper` whose process ends before or after the call of that number, counted over both."""

    def __init__(self, crusoe: Crusoe, keeper: Keeper, at: int, *, after: bool) -> None:
        self._crusoe, self._keeper = crusoe, keeper
        self._at, self._after = at, after
        self.calls = 0

    def call(self, method: str, path: str, query: Mapping[str, str] | None = None, body: Any = None) -> Any:
        return self._counted(lambda: self._crusoe.call(method, path, query, body))

    def load(self, part: str) -> bytes | None:
        return self._keeper.load(part)

    def save(self, part: str, content: bytes) -> bool:
        return bool(self._counted(lambda: self._keeper.save(part, content)))

    def _counted(self, act: Callable[[], Any]) -> Any:
        self.calls += 1
        if self.calls == self._at and not self._after:
            raise KilledError
        found = act()
        if self.calls == self._at:
            raise KilledError
        return found


class Writer:
    """One process that writes. `bound` is what a decision would bind its action to, judged now."""

    def __init__(
        self,
        service: Service,
        keeper: Keeper | None = None,
        guard: Callable[[], None] = lambda: None,
        lowering: str = "Keeps",
        killed: tuple[int, bool] | None = None,
        key: str = ACCESS_KEY,
    ) -> None:
        self.service = service
        self.keeper = keeper or InMemoryKeeper()
        client = HttpCrusoe(lambda: service.credentials(lowering, key))
        self.client = client
        self.killing = None if killed is None else Killing(client, self.keeper, killed[0], after=killed[1])
        self.account = Account(self.killing or client, client.credentials, lambda: service.account.now)
        self.provider = CrusoeProvider(self.account, self.killing or self.keeper, guard)

    def bound(self, pool: Pool) -> Bound:
        account = Account(self.client, self.client.credentials)
        reading = read(account, ref(pool), Notes(self.keeper).read())
        assert reading is not None
        judged = judge(reading.facts, Terms(now_seconds=1_900_000_000, first_seen_seconds=0, human_hold_seconds=0))
        return Bound(resource_version="", replicas=reading.item.count, owner_digest=judged.digest, policy_digest="sha256:p")

    def remove(self, pool: Pool, *machines: str, floor: int = 0) -> tuple[TargetRemoval, ...]:
        leaving = tuple(LeavingMachine(machine=machine, node=f"node-{machine}") for machine in machines)
        return self.provider.step(ref(pool), leaving, floor)


def ref(pool: Pool) -> TargetRef:
    return TargetRef(kind=NODE_POOL, region=LOCATION, name=pool.name)


def ids(service: Service, pool: Pool) -> list[str]:
    """The machines that run, or will."""
    return [one.id for one in service.account.counted(pool)]
