"""The Lease by which one of several instances leads: only the leader writes.

SOURCE: the protocol is that of client-go's leader election: optimistic writes of a coordination.k8s.io Lease. A follower counts
from the moment when it saw the lease change, so clocks are never compared. We add three things. Every age is counted on a
monotonic clock, from before the renewing request was sent. Each write calls `guard` just before it is sent. Every period of
leadership has a number (its term), so that a decision from one term is not executed in another.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec

from reconciler.kube.connection.api import Api, ApiError, UnreachableError
from reconciler.kube.watching.watch_pace import Pace
from reconciler.values.decoding import decode
from reconciler.values.instant import micro_instant_text

_FORBIDDEN, _NOT_FOUND, _CONFLICT = 403, 404, 409


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """Others may take over `duration_seconds` after the last renewal. We stop writing `renew_deadline_seconds` after it. Steps
    are `retry_seconds` apart, plus up to a fifth at random. Each renews that finds the last renewal `renew_seconds` old."""

    duration_seconds: int = 15
    renew_deadline_seconds: float = 10
    retry_seconds: float = 2
    renew_seconds: float = 0

    @property
    def call_timeout_seconds(self) -> float:
        """The limit of a single call: a hanging call must leave time for another one before the deadline."""
        return self.renew_deadline_seconds / 2

    def __post_init__(self) -> None:
        if not self.duration_seconds > self.renew_deadline_seconds > self.renew_seconds + 1.2 * self.retry_seconds > 0:
            raise ValueError("a lease needs duration > renew deadline > its renewal + 1.2 retry intervals > 0")


class NotLeaderError(Exception):
    """A write was about to be sent by an instance that no longer leads, or may not. Nothing was sent."""


class _Claim(msgspec.Struct, frozen=True):
    """A period of leading: its number, the Lease's transitions for it, and when its last renewal was sent."""

    term: int
    transitions: int
    renewed: float


class _LeaseSpec(msgspec.Struct, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    renew_time: str | None = None
    acquire_time: str | None = None
    lease_transitions: int | None = None


class _LeaseMeta(msgspec.Struct, rename="camel"):
    uid: str = ""
    resource_version: str = ""
    annotations: Mapping[str, str] | None = None


class _Lease(msgspec.Struct):
    metadata: _LeaseMeta
    spec: _LeaseSpec = msgspec.field(default_factory=_LeaseSpec)


class LeaderLease:
    """One instance's claim. `api` must end each call within `timing.call_timeout_seconds` and must not be guarded by this
    lease. `metadata` has labels and owners of the object. `wall_seconds` is only written for people to read. `step` and `run`
    belong to one thread, all else to any.
    """

    def __init__(
        self,
        api: Api,
        *,
        namespace: str,
        name: str,
        identity: str,
        pace: Pace,
        wall_seconds: Callable[[], float],
        timing: Timing = Timing(),  # noqa: B008 - immutable
        metadata: Mapping[str, object] | None = None,
    ) -> None:
        self._api = api
        self._collection = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._namespace, self._name, self.identity = namespace, name, identity
        self._pace = pace
        self._wall_seconds = wall_seconds
        self._timing = timing
        self._metadata = dict(metadata or {})
        self._annotations: Mapping[str, str] = {}
        self._found: Mapping[str, str] = {}
        self._version = ""
        """Of the object as this instance wrote it; empty: it must be read before it is written."""
        self._acquired: str | None = None
        self._uid = ""
        self._claim: _Claim | None = None
        self._terms = 0
        self._bound = threading.local()
        self._seen: tuple[str, str] = ("", "")
        self._lasts = 0
        self._seen_at = 0.0
        self.transitions = 0
        self.holder = ""
        self.message = ""
        self.refused = False
        """The server's answer stays the same until somebody creates the namespace or grants the right."""

    def seen(self, holder: str, renew_time: str, at: float) -> None:
        """Somebody has watched the Lease for us: `at` was when it changed to this, by our pace. What another holder or renewal
        says later counts from when we see it."""
        self._seen, self._seen_at = (holder, renew_time), at

    def relabel(self, labels: Mapping[str, str]) -> None:
        """The object has these labels from the next write on, at the latest when it is released."""
        self._metadata = {**self._metadata, "labels": labels}

    def annotate(self, annotations: Mapping[str, str]) -> None:
        """The object has these annotations from the next renewal on, besides those that it has."""
        self._annotations = {**self._annotations, **annotations}

    @property
    def annotations(self) -> Mapping[str, str]:
        """Those of the object as it was last read: an earlier holder may have left them."""
        return self._found

    def leads(self) -> bool:
        """Whether a write that is sent now would come from the leader."""
        return self.term() > 0

    def term(self) -> int:
        """The number of the current period of leading, from 1; 0 while we do not lead. It stays the same as long as each renewal
        begins while we lead and finds the previous one unchanged. Another number means that others may have led."""
        claim = self._claim
        return claim.term if claim is not None and self._age_seconds(claim) <= self._timing.renew_deadline_seconds else 0

    @contextmanager
    def within(self, term: int) -> Iterator[None]:
        """Inside, `guard` lets this thread write only in that term."""
        self._bound.term = term
        try:
            yield
        finally:
            self._bound.term = None

    @property
    def standing(self) -> tuple[str, str, int]:
        """The last seen holder, its own time of renewal, and how many seconds that holds."""
        return *self._seen, self._lasts

    def guard(self) -> None:
        """Raises `NotLeaderError` unless we lead now: for `Api.write`, right before sending."""
        claim = self._claim
        if claim is None:
            raise NotLeaderError(f"{self.identity} does not lead, and {self.holder or 'nobody'} does")
        age = self._age_seconds(claim)
        if age > self._timing.renew_deadline_seconds:
            raise NotLeaderError(
                f"the lease was renewed {age:.1f} s ago, and {self._timing.renew_deadline_seconds} s are allowed: "
                "another instance may lead by now"
            )
        bound = getattr(self._bound, "term", None)
        if bound is not None and bound != claim.term:
            raise NotLeaderError("this was decided before the lease was lost. The instance leads again, and decides again")

    def run(self) -> None:
        """Claim and renew until the pace stops, then release the lease."""
        while True:
            self.step()
            wait = self._timing.retry_seconds * (1 + 0.2 * self._pace.random())
            if self._pace.pause(wait):
                break
        self.release()

    def step(self) -> bool:
        """One attempt to claim or renew; returns whether we lead after it. Never raises for the server's behaviour."""
        before = self._pace.monotonic()
        leading = self._claim if self.leads() else None
        if leading is not None and before - leading.renewed < self._timing.renew_seconds:
            return True
        try:
            claimed, renewal = self._claimed(leading)
        except Exception as error:
            # The renewed lease stays valid until its deadline: `leads` counts. Credentials may fail in other ways, and the thread
            # that renews must survive all of them.
            known = isinstance(error, (ApiError, UnreachableError, msgspec.DecodeError))
            self.message = str(error) if known else f"{type(error).__name__}: {error}"
            self.refused = isinstance(error, ApiError) and error.status in (_FORBIDDEN, _NOT_FOUND)
            return self.leads()
        self.message, self.refused = "", False
        if claimed and not renewal:
            self._terms += 1
        self._claim = _Claim(self._terms, self.transitions, before) if claimed else None
        return claimed

    def release(self) -> None:
        """Release at once, so that the next leader need not wait. Best effort: the lease expires by itself."""
        if self._claim is None:
            return
        self._claim = None
        try:
            lease = self._read()
            if lease is not None and lease.spec.holder_identity == self.identity:
                self._write("PUT", lease.metadata.resource_version, "", 1, lease.spec.acquire_time)
        except Exception as error:
            self.message = f"{type(error).__name__}: {error}"

    def _claimed(self, leading: _Claim | None) -> tuple[bool, bool]:
        """Whether we lead, and whether that continues `leading` without anybody else in between."""
        lasts = self._timing.duration_seconds
        # Refused if anybody has written since: then it is read.
        if leading is not None and self._version and self._write("PUT", self._version, self.identity, lasts, self._acquired):
            return True, True
        lease = self._read()
        if lease is None:
            return self._write("POST", "", self.identity, self._timing.duration_seconds, None), False
        spec = lease.spec
        self.holder, self.transitions = spec.holder_identity or "", spec.lease_transitions or 0
        seen = (self.holder, spec.renew_time or "")
        if seen != self._seen:
            self._seen, self._seen_at = seen, self._pace.monotonic()
        version = lease.metadata.resource_version
        if self.holder == self.identity:
            # Another leader in between would have counted one transition more.
            renewal = leading is not None and leading.transitions == self.transitions
            return self._write("PUT", version, self.identity, self._timing.duration_seconds, spec.acquire_time), renewal
        self._lasts = lasts = spec.lease_duration_seconds or self._timing.duration_seconds
        if self.holder and self._pace.monotonic() - self._seen_at < lasts:
            return False, False
        self.transitions += 1
        return self._write("PUT", version, self.identity, self._timing.duration_seconds, None), False

    def _age_seconds(self, claim: _Claim) -> float:
        return self._pace.monotonic() - claim.renewed

    def _read(self) -> _Lease | None:
        try:
            lease = decode(self._api.get(f"{self._collection}/{self._name}"), _Lease)
        except ApiError as error:
            if error.status == _NOT_FOUND:
                return None
            raise
        self._take(lease)
        return lease

    def _take(self, lease: _Lease) -> None:
        self._found, self._acquired, self._uid = lease.metadata.annotations or {}, lease.spec.acquire_time, lease.metadata.uid

    def _write(self, method: str, version: str, holder: str, duration: int, acquired: str | None) -> bool:
        """Write with the version that was read; false if somebody was faster."""
        now = micro_instant_text(self._wall_seconds())
        spec: dict[str, Any] = {
            "holderIdentity": holder,
            "leaseDurationSeconds": duration,
            "acquireTime": acquired or now,
            "renewTime": now,
            "leaseTransitions": self.transitions,
        }
        metadata = {**self._metadata, "name": self._name, "namespace": self._namespace}
        if version:
            metadata["resourceVersion"] = version
        if method == "PUT" and self._uid:
            # Or a PUT creates a Lease that was deleted meanwhile.
            metadata["uid"] = self._uid
        if annotations := {**self._found, **self._annotations}:
            metadata["annotations"] = annotations
        body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
        path = self._collection if method == "POST" else f"{self._collection}/{self._name}"
        self._version = ""
        try:
            answer = self._api.write(method, path, body)
        except ApiError as error:
            # Gone between read and write: somebody was faster. If it cannot be created, its namespace is missing.
            if error.status == _CONFLICT or (error.status == _NOT_FOUND and method == "PUT"):
                return False
            raise
        self.holder = holder
        try:
            written = decode(answer, _Lease)
        except msgspec.DecodeError:
            return True
        self._take(written)
        self._version = written.metadata.resource_version
        return True
