"""The Leases of a fleet: who holds the loop of which cluster, and which instances live.

SOURCE: as in client-go's leader election, a Lease counts from the moment when it was seen to change, on our own clock. Clocks of
two machines are not compared.
"""

from collections.abc import Callable, Iterable, Mapping

import msgspec

from reconciler.kube.connection.api import Api
from reconciler.kube.leading.lease import LeaderLease
from reconciler.kube.leading.loop_name import CLUSTER_LABEL, FLEET_LABEL, INSTANCE, LOOP, POLICY_LABEL, TEMPLATE_LABEL, LoopName
from reconciler.values.decoding import decode
from reconciler.values.instant import InstantError, parse_instant


class _Meta(msgspec.Struct, rename="camel"):
    name: str
    resource_version: str = ""
    labels: Mapping[str, str] | None = None
    annotations: Mapping[str, str] | None = None


class _Spec(msgspec.Struct, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None


class FleetLease(msgspec.Struct):
    """A Lease of a loop or of an instance, as the server has it."""

    metadata: _Meta
    spec: _Spec = msgspec.field(default_factory=_Spec)

    @property
    def holder(self) -> str:
        """Who claimed it last; empty: it was released."""
        return self.spec.holder_identity or ""

    def label(self, key: str) -> str:
        """The value of a label; empty without it."""
        return (self.metadata.labels or {}).get(key, "")

    @property
    def annotations(self) -> Mapping[str, str]:
        """What its holder wrote on it."""
        return self.metadata.annotations or {}


class _Leases(msgspec.Struct):
    items: list[FleetLease] = []


def read_fleet_leases(api: Api, namespace: str) -> list[FleetLease]:
    """All Leases of a fleet, with one request. Raises `ApiError`, `UnreachableError` and `DecodeError`."""
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
    return decode(api.get(path, {"labelSelector": FLEET_LABEL}), _Leases).items


class _Known(msgspec.Struct, frozen=True):
    """A Lease at its last change, and when that was seen."""

    version: str
    holder: str
    renew_time: str
    changed: float


class SeenInstance(msgspec.Struct, frozen=True, kw_only=True):
    """A process of the fleet that renews its Lease. `started` is Unix seconds by its own clock, 0 if unknown."""

    identity: str
    template: str
    started: int
    seen_seconds: float


class SeenLeases(msgspec.Struct, frozen=True, kw_only=True):
    """One look. `holders` is by the name of a loop: who holds its Lease in force (empty: it is free). `annotations` are those of
    the Lease of each loop that has one. `free_seconds` says for how long a free one has been seen free. `ever` has the label of
    the cluster and the policy of each loop that there ever was."""

    instances: tuple[SeenInstance, ...] = ()
    holders: Mapping[str, str] = {}
    annotations: Mapping[str, Mapping[str, str]] = {}
    free_seconds: Mapping[str, float] = {}
    ever: frozenset[tuple[str, str]] = frozenset()


class FleetLeases:
    """Reads all of them with one request. Used by one thread."""

    def __init__(self, api: Api, namespace: str, monotonic: Callable[[], float], *, lasts_seconds: float) -> None:
        self._api = api
        self._namespace = namespace
        self._monotonic = monotonic
        self._lasts_seconds = lasts_seconds
        self._known: dict[str, _Known] = {}
        self._free: dict[str, float] = {}
        self._came: dict[str, float] = {}

    def look(self, loops: Iterable[LoopName]) -> SeenLeases:
        """As they are now, for these loops. Raises `ApiError`, `UnreachableError` and `DecodeError`."""
        found = read_fleet_leases(self._api, self._namespace)
        now = self._monotonic()
        by_name = {one.metadata.name: one for one in found}
        self._known = {name: self._seen(lease, now) for name, lease in by_name.items()}
        asked = tuple(loops)
        holders = {loop.text: self._holder(by_name.get(loop.lease), now) for loop in asked}
        self._free = {loop: self._free.get(loop, now) for loop, holder in holders.items() if not holder}
        instances = [
            (lease, holder) for lease in found if lease.label(FLEET_LABEL) == INSTANCE and (holder := self._holder(lease, now))
        ]
        self._came = {holder: self._came.get(holder, now) for _, holder in instances}
        return SeenLeases(
            instances=tuple(
                SeenInstance(
                    identity=holder, template=lease.label(TEMPLATE_LABEL),
                    started=_seconds(lease.spec.acquire_time or ""), seen_seconds=now - self._came[holder],
                )
                for lease, holder in instances
            ),
            holders=holders,
            annotations={loop.text: by_name[loop.lease].annotations for loop in asked if loop.lease in by_name},
            free_seconds={loop: now - since for loop, since in self._free.items()},
            ever=frozenset(
                (labels.get(CLUSTER_LABEL, ""), labels.get(POLICY_LABEL, ""))
                for lease in found
                if (labels := lease.metadata.labels or {}).get(FLEET_LABEL) == LOOP
            ),
        )  # fmt: skip

    def tell(self, name: str, lease: LeaderLease) -> None:
        """Let a claim know for how long the Lease has not been renewed: it need not watch that itself."""
        known = self._known.get(name)
        if known is not None:
            lease.seen(known.holder, known.renew_time, known.changed)

    def _seen(self, lease: FleetLease, now: float) -> _Known:
        version, spec = lease.metadata.resource_version, lease.spec
        known = self._known.get(lease.metadata.name)
        if known is not None and known.version == version:
            return known
        return _Known(version, spec.holder_identity or "", spec.renew_time or "", now)

    def _holder(self, lease: FleetLease | None, now: float) -> str:
        """Who holds it in force; empty: nobody."""
        if lease is None:
            return ""
        known = self._known[lease.metadata.name]
        lasts = lease.spec.lease_duration_seconds or self._lasts_seconds
        return known.holder if now - known.changed < lasts else ""


def _seconds(text: str) -> int:
    try:
        return int(parse_instant(text))
    except InstantError:
        return 0
