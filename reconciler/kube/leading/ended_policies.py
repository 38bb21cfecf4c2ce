"""Policies that were run from our namespace once and that nobody runs any more, such as one that has been renamed."""

from collections.abc import Callable

import msgspec

from reconciler.kube.connection.api import Api, ApiError, UnreachableError
from reconciler.kube.draining.drain_mark import checked_owner

SILENCE_SECONDS = 600.0
"""Longer than a container that fails waits between two starts (five minutes at most), and than any lease lasts."""
_LOOK_SECONDS = 10.0


class _Meta(msgspec.Struct, rename="camel"):
    resource_version: str


class _Lease(msgspec.Struct):
    metadata: _Meta


class _Seen(msgspec.Struct, frozen=True):
    """A Lease as it was when it last changed, and when that and the last look were."""

    version: str
    since: float
    looked: float


class EndedPolicies:
    """Judged by the Lease `reconciler-<policy>` in `namespace`: it proves that this installation ran the policy, and one that
    nobody writes for `silence_seconds` while we look that nobody runs it. Clocks of two machines are not compared.

    A policy without such a Lease is another installation's, whose marks are not ours to touch. Used by one thread.
    """

    def __init__(
        self, api: Api, namespace: str, monotonic: Callable[[], float], *, silence_seconds: float = SILENCE_SECONDS
    ) -> None:
        self._api = api
        self._namespace = namespace
        self._monotonic = monotonic
        self._silence_seconds = silence_seconds
        self._seen: dict[str, _Seen] = {}

    def ended(self, policy: str) -> bool:
        """Whether it was run from here and has ended; False for what cannot be told."""
        now = self._monotonic()
        seen = self._seen.get(policy)
        if seen is None or now - seen.looked >= min(_LOOK_SECONDS, self._silence_seconds):
            seen = self._look(policy, seen, now)
        return bool(seen.version) and now - seen.since >= self._silence_seconds

    def _look(self, policy: str, seen: _Seen | None, now: float) -> _Seen:
        try:
            path = f"/apis/coordination.k8s.io/v1/namespaces/{self._namespace}/leases/reconciler-{checked_owner(policy)}"
            version = msgspec.json.decode(self._api.get(path), type=_Lease).metadata.resource_version
        except (ApiError, UnreachableError, msgspec.DecodeError, ValueError):
            version = ""
        since = seen.since if seen is not None and seen.version == version else now
        self._seen[policy] = _Seen(version, since, now)
        return self._seen[policy]
