"""What other policies of this product say of targets: the claims in their stored memories, and whether their Leases are in force.

We read only the namespace of our own state, which belongs to our account. Someone who can write only in other namespaces cannot
hold our groups. A policy of another installation is known by its mark on a target, and by values that it wrote under our field
manager.

SOURCE: the clocks of two machines may differ. A Lease that changes while we watch is in force for a minute from then. When we
first see it, its own time counts. A minute is longer than an upgrade leaves a policy without a leader.
"""

from collections.abc import Callable, Mapping

import msgspec

from reconciler.cluster.world import PolicyClaim
from reconciler.control.live.live_memory_store import PART
from reconciler.control.live.plan_record import plan_in
from reconciler.decisions.memory import Claim
from reconciler.decisions.ownership.other_policies import LEASE_PREFIX, STATE_PREFIX
from reconciler.kube.connection.api import Api, ApiError, UnreachableError
from reconciler.kube.connection.side_by_side import side_by_side
from reconciler.kube.leading.loop_name import CLUSTER_LABEL, STATE_LABEL, LoopName
from reconciler.kube.leading.rival import LATELY_SECONDS, LOOK_SECONDS, WRITE_SECONDS
from reconciler.kube.leading.state import StateObject, StateUnavailableError
from reconciler.policy.documents import Mode
from reconciler.values.decoding import decode
from reconciler.values.instant import InstantError, parse_instant

_FORBIDDEN, _NOT_FOUND = 403, 404
_EARLIER = 1 << 53
"""The claim of a release that stores none: it reads none of ours either, and writes whatever we do."""


class _Meta(msgspec.Struct, rename="camel"):
    name: str = ""
    resource_version: str = ""
    labels: Mapping[str, str] | None = None


class _Object(msgspec.Struct):
    metadata: _Meta


class _ConfigMaps(msgspec.Struct):
    items: list[_Object] = []


class _LeaseSpec(msgspec.Struct, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    renew_time: str | None = None


class _Lease(msgspec.Struct):
    metadata: _Meta
    spec: _LeaseSpec = msgspec.field(default_factory=_LeaseSpec)


class _Memory(msgspec.Struct, rename="camel"):
    """What is read of another policy's memory; `claims` None: an earlier release wrote it."""

    known_groups: Mapping[str, str] = {}
    claims: Mapping[str, Claim] | None = None
    promised: Mapping[str, Mapping[str, int]] = {}


class _Stored(msgspec.Struct, frozen=True):
    """The targets of one policy and what it promised, as they were in its state of that version."""

    version: str = ""
    targets: Mapping[str, Claim] = {}
    promised: Mapping[str, Mapping[str, int]] = {}


class _Renewed(msgspec.Struct, frozen=True):
    """A Lease when it last changed, and until when that keeps it in force."""

    version: str = ""
    holder: str = ""
    until: float = 0.0


class OtherPolicies:
    """Used by one thread. `monotonic` is the clock for ages. `wall_seconds` is the clock that a Lease is compared with when it is
    first seen. `saves` counts how often our own state has been written. What was read before that is too old for a write."""

    def __init__(
        self,
        api: Api,
        namespace: str,
        policy: str | LoopName,
        *,
        monotonic: Callable[[], float],
        wall_seconds: Callable[[], float],
        saves: Callable[[], int] = lambda: 0,
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        """A look of `known` counts for `look_seconds`, and for ten while another policy has claims."""
        self._look_seconds = look_seconds
        self._api = api
        self._namespace = namespace
        own = policy if isinstance(policy, LoopName) else LoopName(policy)
        self._policy = own.text
        # Other clusters of a fleet have other targets, and all their states together are large.
        cluster = own.labels.get(CLUSTER_LABEL, "")
        self._selectors: tuple[str, ...] = (STATE_LABEL,)
        if cluster:
            self._selectors = (f"{STATE_LABEL},!{CLUSTER_LABEL}", f"{STATE_LABEL},{CLUSTER_LABEL}={cluster}")
        self._monotonic = monotonic
        self._wall_seconds = wall_seconds
        self._saves = saves
        self._looked: tuple[float, int] | None = None
        self._stored: dict[str, _Stored] = {}
        self._renewed: dict[str, _Renewed] = {}
        self._states: dict[str, StateObject] = {}
        self._claims: tuple[PolicyClaim, ...] = ()

    def known(self) -> tuple[PolicyClaim, ...]:
        """What was found by the last look; what cannot be asked at present is as it was."""
        counts_seconds = LOOK_SECONDS if self._claims else self._look_seconds
        if self._looked is None or self._monotonic() - self._looked[0] >= counts_seconds:
            try:
                self._look()
            except (ApiError, UnreachableError):
                self._looked = self._monotonic(), -1
        return self._claims

    def before_write(self) -> tuple[PolicyClaim, ...]:
        """Read since our own claims were stored, and within this second. Raises `ApiError` and `UnreachableError`."""
        looked = self._looked
        if looked is None or looked[1] != self._saves() or self._monotonic() - looked[0] >= WRITE_SECONDS:
            self._look()
        return self._claims

    def _look(self) -> None:
        began = self._monotonic(), self._saves()
        try:
            path = f"/api/v1/namespaces/{self._namespace}/configmaps"
            listed = side_by_side(lambda selector: self._api.get(path, {"labelSelector": selector}), self._selectors)
        except ApiError as error:
            if error.status not in (_FORBIDDEN, _NOT_FOUND):
                raise
            # Without this right nothing can be stored here either.
            self._looked, self._claims = began, ()
            return
        there = {
            policy: item.metadata.resource_version
            for page in listed
            for item in decode(page, _ConfigMaps).items
            if (policy := (item.metadata.labels or {}).get(STATE_LABEL, "")) not in ("", self._policy)
            and item.metadata.name == f"{STATE_PREFIX}{policy}"
        }
        policies = list(there)
        self._renewed = dict(zip(policies, side_by_side(self._lease, policies), strict=True))
        self._stored = {policy: self._targets(policy, version) for policy, version in there.items()}
        now = self._monotonic()
        self._claims = tuple(
            sorted(
                PolicyClaim(
                    target=target, policy=policy, namespace=self._namespace, holder=lease.holder, number=claim.number,
                    written=claim.written, live=lease.until > now,
                    promised=tuple(sorted(stored.promised.get(target, {}).items())),
                )
                for policy, stored in self._stored.items()
                for target, claim in stored.targets.items()
                for lease in (self._renewed[policy],)
            )
        )  # fmt: skip
        self._looked = began

    def _targets(self, policy: str, version: str) -> _Stored:
        known = self._stored.get(policy, _Stored())
        if known.version == version:
            return known
        state = self._states.setdefault(policy, StateObject(self._api, self._namespace, policy))
        try:
            content = state.load(PART)
            memory = decode(content, _Memory) if content is not None else _Memory(claims={})
            claims = memory.claims if memory.claims is not None else _of_earlier_release(state, memory.known_groups)
        except (StateUnavailableError, msgspec.DecodeError):
            # Its own loop mends it; until then it has what it was last seen to have.
            return known
        return _Stored(version, {**dict.fromkeys(memory.known_groups, Claim(number=0)), **claims}, memory.promised)

    def _lease(self, policy: str) -> _Renewed:
        """As it is now; as it was where the server does not say."""
        known = self._renewed.get(policy, _Renewed())
        path = f"/apis/coordination.k8s.io/v1/namespaces/{self._namespace}/leases/{LEASE_PREFIX}{policy}"
        try:
            lease = decode(self._api.get(path), _Lease)
        except ApiError as error:
            return _Renewed() if error.status == _NOT_FOUND else known
        except (UnreachableError, msgspec.DecodeError):
            return known
        version, holder = lease.metadata.resource_version, lease.spec.holder_identity or ""
        if version == known.version:
            return known
        lasts = max(float(lease.spec.lease_duration_seconds or 0), LATELY_SECONDS)
        if not known.version:
            age = self._wall_seconds() - _seconds(lease.spec.renew_time or "")
            return _Renewed(version, holder, self._monotonic() + min(max(lasts - age, 0.0), lasts))
        return _Renewed(version, holder or known.holder, self._monotonic() + lasts)


def _of_earlier_release(state: StateObject, groups: Mapping[str, str]) -> dict[str, Claim]:
    """All that it lists, unless its last plan says that it only observes."""
    record = plan_in(state)
    observes = record is not None and record.mode == Mode.OBSERVE
    return {} if observes else dict.fromkeys(groups, Claim(number=_EARLIER, written=True))


def _seconds(text: str) -> float:
    try:
        return float(parse_instant(text))
    except InstantError:
        return 0.0
