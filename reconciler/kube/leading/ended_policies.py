"""Policies that ran from our namespace and no longer run, such as a renamed one."""

from collections.abc import Callable, Mapping

import msgspec

from reconciler.kube.connection.api import Api, ApiError, UnreachableError
from reconciler.kube.drain_mark import checked_owner
from reconciler.kube.leading.loop_name import ENDED, FLEET_LABEL, LoopName
from reconciler.values.decoding import decode

SILENCE_SECONDS = 600.0
"""Longer than a failing container waits between two starts (five minutes at most), and longer than any lease lasts."""
_LOOK_SECONDS = 10.0


class _EndedPoliciesMeta(msgspec.Struct, rename="camel"):
    resource_version: str
    labels: Mapping[str, str] | None = None


class _EndedPoliciesSpec(msgspec.Struct, rename="camel"):
    holder_identity: str | None = None


class _Lease(msgspec.Struct):
    metadata: _EndedPoliciesMeta
    spec: _EndedPoliciesSpec = msgspec.field(default_factory=_EndedPoliciesSpec)

    @property
    def ended(self) -> bool:
        """Whether its last holder wrote, as it released it, that the policy counts there no more."""
        return (self.metadata.labels or {}).get(FLEET_LABEL) == ENDED and not self.spec.holder_identity


class _Seen(msgspec.Struct, frozen=True):
    """A Lease at its last change, and the times of that change and of the last look. `ended`: it says so itself."""

    version: str
    since: float
    looked: float
    ended: bool = False


class EndedPolicies:
    """Judged by the Lease `reconciler-<policy>` in `namespace`. It proves that this installation ran the policy. If nobody writes
    the Lease for `silence_seconds` while we look, nobody runs the policy. Clocks of two machines are not compared. A Lease that
    says itself that the policy has ended is proof at once: only our account writes there.

    A policy without such a Lease is another installation's: its marks are not ours to touch. Used by one thread.
    """

    def __init__(
        self,
        api: Api,
        namespace: str,
        monotonic: Callable[[], float],
        *,
        silence_seconds: float = SILENCE_SECONDS,
        loop: Callable[[str], LoopName] = LoopName,
    ) -> None:
        """`loop` gives the loop that ran a policy for these targets."""
        self._api = api
        self._loop = loop
        self._namespace = namespace
        self._monotonic = monotonic
        self._silence_seconds = silence_seconds
        self._seen: dict[str, _Seen] = {}

    def ended(self, policy: str) -> bool:
        """Whether it ran from here and has ended; False if that is unknown."""
        now = self._monotonic()
        seen = self._seen.get(policy)
        if seen is None or now - seen.looked >= min(_LOOK_SECONDS, self._silence_seconds):
            seen = self._look(policy, seen, now)
        return seen.ended or (bool(seen.version) and now - seen.since >= self._silence_seconds)

    def _look(self, policy: str, seen: _Seen | None, now: float) -> _Seen:
        try:
            lease = self._loop(checked_owner(policy)).lease
            path = f"/apis/coordination.k8s.io/v1/namespaces/{self._namespace}/leases/{lease}"
            found = decode(self._api.get(path), _Lease)
            version, ended = found.metadata.resource_version, found.ended
        except (ApiError, UnreachableError, msgspec.DecodeError, ValueError):
            version, ended = "", False
        since = seen.since if seen is not None and seen.version == version else now
        self._seen[policy] = _Seen(version, since, now, ended)
        return self._seen[policy]
