"""Objects of a real API server as targets: writing their replicas and their marks."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Generic, Protocol, TypeVar

import msgspec

from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.decisions.ownership.owner import EMPTIED_MARK, OUR_MANAGER, OUR_MARKS, POLICY_MARK, policy_mark
from reconciler.kube.connection.api import Api, ApiError, ContentType, UnreachableError
from reconciler.kube.leading.lease import NotLeaderError
from reconciler.plan.plan import Bound
from reconciler.providers.answer import failed, unread
from reconciler.providers.contract import WriteCode, WriteResult
from reconciler.providers.ownership_guard import claim, disclaim, held_by_others, moved, not_ours, objection, objection_to_adopt
from reconciler.values.decoding import decoder

# What differs between platforms whose machines are objects: their paths, how they are read, and the delete mark.


class _Status(msgspec.Struct, rename="camel"):
    observed_generation: int = 0


class _Followed(msgspec.Struct):
    status: _Status | None = None


_followed = decoder(_Followed)


class Reading(msgspec.Struct, frozen=True):
    """The facts of a target, and its body from the server. `failed` are the machines that the target would remove as early as a
    marked one. `marked` are the machines that have a mark. Both are read only with `rollout`, and only on platforms that treat
    failed and marked machines alike. `on_nodes` are those of `failed` whose node still exists, so pods may run on it."""

    facts: TargetFacts
    body: bytes
    failed: frozenset[str] = frozenset()
    marked: frozenset[str] = frozenset()
    on_nodes: frozenset[str] = frozenset()

    @property
    def followed(self) -> bool:
        """Whether the target's own controller has acted on this generation of its spec."""
        status = _followed.decode(self.body).status
        return status is not None and status.observed_generation >= self.facts.generation


class MachineReading(msgspec.Struct, frozen=True, kw_only=True):
    """One Machine: whether it is being deleted, its delete mark (None: no mark), and its node."""

    name: str
    resource_version: str
    deleting: bool
    mark: str | None
    node: str


class MachineDialect(Protocol):
    """One platform. Reads raise as the connection does, and `msgspec.DecodeError` for a malformed body."""

    @property
    def api_version(self) -> str:
        """`group/version` of targets and machines."""

    @property
    def delete_marks(self) -> tuple[str, ...]:
        """The annotations that make a Machine the first to go when its target shrinks. Only their keys count."""

    def manifest_kind(self, target: TargetRef) -> str:
        """The kind as in a manifest."""

    def path(self, kind: str, namespace: str, name: str = "") -> str:
        """The path of a target of this kind, or of a `Machine`; without a name, of the collection."""

    def read_target(self, api: Api, ref: TargetRef, *, rollout: bool = False) -> Reading:
        """The target with everything that its ownership is judged by; with `rollout`, also what tells whether it may shrink."""

    def read_machine(self, api: Api, namespace: str, name: str) -> MachineReading | None:
        """The Machine, or None if it is gone."""

    def machines_of(self, api: Api, facts: TargetFacts) -> dict[str, MachineReading]:
        """The target's Machines by name in one answer, including those being deleted. `read_machine` finds a missing one."""

    def living_machines(self, api: Api, facts: TargetFacts) -> frozenset[str]:
        """The names of the target's Machines that are not being deleted."""


# Shared readings of a target for concurrent callers: a hundred nodes of one target begin to leave together.

RECENT_SECONDS = 0.5
"""SOURCE: measured, a hundred nodes of one target. Sequential readings, each of three requests, took two of the three seconds in
which all of them began to leave."""


Read = TypeVar("Read")


class _Round(Generic[Read]):
    """Callers who asked before its reading began."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.reading: Read | None = None


class SharedReadings(Generic[Read]):
    """At most one reading of a target is under way. Later callers wait for the next one. So nobody gets data from before the
    call: each judges by what a read of its own would have returned."""

    def __init__(self, read: Callable[[TargetRef], Read], clock: Callable[[], float] = time.monotonic) -> None:
        self._read = read
        self._clock = clock
        self._lock = threading.Lock()
        self._last: dict[TargetRef, tuple[float, Read]] = {}
        self._next: dict[TargetRef, _Round[Read]] = {}
        self._busy: dict[TargetRef, threading.Lock] = {}

    def of(self, target: TargetRef) -> Read:
        """The target after this call. Raises what the reading does; callers whose shared reading failed read themselves."""
        with self._lock:
            mine = self._next.setdefault(target, _Round[Read]())
            busy = self._busy.setdefault(target, threading.Lock())
        with mine.lock:
            if mine.reading is None:
                with busy:
                    with self._lock:
                        if self._next.get(target) is mine:
                            del self._next[target]
                    began = self._clock()
                    mine.reading = self._read(target)
                    kept = {other: last for other, last in self._last.copy().items() if began - last[0] <= RECENT_SECONDS}
                    self._last = {**kept, target: (began, mine.reading)}
            return mine.reading

    def recent(self, target: TargetRef) -> Read:
        """The target at most half a second before this call, or as `of` returns it. A refusal based on it is judged again by
        `of`. A permission is judged again before anything is written."""
        last = self._last.get(target)
        return last[1] if last is not None and self._clock() - last[0] <= RECENT_SECONDS else self.of(target)


_TRIES = 3
_FORBIDDEN = (403, 422)
_OURS = {"fieldManager": OUR_MANAGER}
_APPLY = {"fieldManager": OUR_MANAGER, "force": "false"}


class _Meta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    generation: int = 0


class _Object(msgspec.Struct):
    metadata: _Meta


_object = decoder(_Object)


class MachineTargets:
    """The writes on one management cluster. Before each, the target and its Cluster are read again and judged. Replicas change by
    a server-side apply of `spec.replicas` alone, plus the mark on a target that is emptied. The apply is never forced. It has the
    judged resourceVersion."""

    def __init__(self, api: Api, dialect: MachineDialect) -> None:
        self.api = api
        self.dialect = dialect

    def resize(self, target: TargetRef, replicas: int, bound: Bound, annotations: Mapping[str, str] | None = None) -> WriteResult:
        """Set replicas. `annotations` (policy, revision, reason) state whose write it is and why, but not on a topology's target.
        The policy is written first, so that no other one writes at the same time; the rest follows."""
        return self._sized(target, replicas, bound, objection, annotations or {})

    def adopt(self, target: TargetRef, replicas: int, bound: Bound, annotations: Mapping[str, str] | None = None) -> WriteResult:
        """Take the field over with its value: remove other managers' claims on it, then record us by our apply."""
        return self._sized(target, replicas, bound, objection_to_adopt, annotations or {})

    def _sized(
        self,
        target: TargetRef,
        replicas: int,
        bound: Bound,
        objects: Callable[[TargetFacts, Bound], WriteResult | None],
        annotations: Mapping[str, str],
    ) -> WriteResult:
        claimed = False

        def write(reading: Reading) -> WriteResult:
            nonlocal claimed
            facts = reading.facts
            # Our own claim has changed the evidence that `bound` names. The rest is judged without it.
            refused = moved(facts, bound) or not_ours(facts) if claimed else objects(facts, bound)
            if refused is not None:
                return refused
            mark = _policy_mark(facts, annotations)
            if claimed and mark and policy_mark(facts):
                message = f"policy {policy_mark(facts)} marked {target} meanwhile"
                return WriteResult(code=WriteCode.STALE, message=message)
            if held_by_others(facts):
                reading = self._claim(reading, mark)
                claimed = True
            elif mark:
                reading = self._marked(reading, mark)
                claimed = True
            result = self._apply(reading, replicas)
            if not facts.owner.topology_owned:
                self._annotate(facts, annotations)
            return result

        return self.judged(target, write)

    def release(self, target: TargetRef, bound: Bound) -> WriteResult:
        """Remove our annotations and our claim on the field. The value stays: the spec is not part of the write."""

        def write(reading: Reading) -> WriteResult:
            stale = moved(reading.facts, bound)
            if stale is not None:
                return stale
            patch = disclaim(reading.body, (*OUR_MARKS, EMPTIED_MARK))
            if patch is None:
                # Nothing is written, so what comes next need not wait for a view that shows it.
                facts = reading.facts
                return WriteResult(generation=facts.generation, resource_version=facts.resource_version)
            written = self._patch(target, patch, ContentType.MERGE_PATCH, _OURS)
            return WriteResult(generation=written.generation, resource_version=written.resource_version)

        return self.judged(target, write)

    def apply(self, reading: Reading, replicas: int, emptied: str = "") -> WriteResult:
        """Write replicas of a target that was just judged to be ours. If all of its machines go, `emptied` marks it in the same
        write. Raises as the connection does."""
        return self._apply(self._claim(reading, {}) if held_by_others(reading.facts) else reading, replicas, emptied)

    def _claim(self, reading: Reading, mark: Mapping[str, str]) -> Reading:
        patch = claim(reading.body)["metadata"]
        if mark:
            patch["annotations"] = {**patch.get("annotations", {}), **mark}
        return self._moved_on(reading, patch)

    def _marked(self, reading: Reading, mark: Mapping[str, str]) -> Reading:
        try:
            return self._moved_on(reading, {"resourceVersion": reading.facts.resource_version, "annotations": mark})
        except ApiError as error:
            if error.status not in _FORBIDDEN:
                raise
            # A policy that forbids our annotations has not forbidden the write that they would explain.
            return reading

    def _moved_on(self, reading: Reading, metadata: object) -> Reading:
        """The same reading, with the resourceVersion after a write of metadata alone."""
        written = self._patch(reading.facts.ref, {"metadata": metadata}, ContentType.MERGE_PATCH, _OURS)
        facts = msgspec.structs.replace(reading.facts, resource_version=written.resource_version)
        return Reading(facts, reading.body)

    def _apply(self, reading: Reading, replicas: int, emptied: str = "") -> WriteResult:
        """Apply replicas. The uid keeps the apply from creating a target that somebody has deleted; the resourceVersion does not
        (measured on kube-apiserver 1.36). An apply removes everything that our earlier one set and this one leaves out. So it
        repeats a current mark, as long as machines may be removed by it."""
        facts = reading.facts
        mark = emptied or ("" if facts.owner.topology_owned else dict(facts.annotations).get(EMPTIED_MARK, ""))
        metadata: dict[str, object] = {
            "name": facts.ref.name,
            "namespace": facts.ref.namespace,
            "uid": facts.uid,
            "resourceVersion": facts.resource_version,
        }
        if mark:
            metadata["annotations"] = {EMPTIED_MARK: mark}
        body = {
            "apiVersion": self.dialect.api_version,
            "kind": self.dialect.manifest_kind(facts.ref),
            "metadata": metadata,
            "spec": {"replicas": replicas},
        }
        written = self._patch(facts.ref, body, ContentType.APPLY, _APPLY)
        return WriteResult(generation=written.generation, resource_version=written.resource_version)

    def read(self, target: TargetRef, *, rollout: bool = False) -> Reading:
        """The target now. Raises as `read_target` does."""
        return self.dialect.read_target(self.api, target, rollout=rollout)

    def _annotate(self, facts: TargetFacts, annotations: Mapping[str, str]) -> None:
        """Annotations explain a write that is done. It stands even if they cannot be written."""
        written = dict(facts.annotations) | _policy_mark(facts, annotations)
        changed = {key: text for key, text in annotations.items() if key in OUR_MARKS and written.get(key) != text}
        if changed:
            try:
                self._patch(facts.ref, {"metadata": {"annotations": changed}}, ContentType.MERGE_PATCH, _OURS)
            except (ApiError, UnreachableError, NotLeaderError):
                return

    def _patch(self, target: TargetRef, body: object, content_type: ContentType, query: Mapping[str, str]) -> _Meta:
        path = self.dialect.path(target.kind, target.namespace, target.name)
        return _object.decode(self.api.write("PATCH", path, body, content_type=content_type, query=query)).metadata

    def judged(self, target: TargetRef, write: Callable[[Reading], WriteResult]) -> WriteResult:
        """Read, judge and write. Start again if the target moved in between, at most three times (rule 1)."""
        result = WriteResult(code=WriteCode.STALE, message=f"{target} changed during each of three attempts")
        for _ in range(_TRIES):
            try:
                reading = self.read(target)
            except (ApiError, UnreachableError) as error:
                return unread(error, str(target))
            except msgspec.ValidationError as error:
                return WriteResult(code=WriteCode.REFUSED, message=f"{target} cannot be understood: {error}")
            try:
                return write(reading)
            except (ApiError, UnreachableError) as error:
                result = failed(error, str(target))
                if result.code != WriteCode.STALE:
                    break
        return result


def _policy_mark(facts: TargetFacts, annotations: Mapping[str, str]) -> dict[str, str]:
    """The mark that names the policy that writes, if it is not there yet."""
    mark = annotations.get(POLICY_MARK, "")
    return {POLICY_MARK: mark} if mark and not facts.owner.topology_owned and policy_mark(facts) != mark else {}


# If many Machines are needed within a moment, the first ones are read by name, then all of the target in one answer.

_SHARE = 10
"""At least one in this many of a target's Machines must be needed. So a read returns at most this many times the need."""


class RecentMachines:
    """Recent Machines, for what is judged again before anything is written."""

    def __init__(self, targets: MachineTargets, clock: Callable[[], float] = time.monotonic) -> None:
        self._targets = targets
        self._clock = clock
        self._lock = threading.Lock()
        self._asked: dict[TargetRef, tuple[float, int]] = {}
        """When the last one was asked for, and how many before it without a pause."""
        self._facts: dict[TargetRef, TargetFacts] = {}
        self._lists = SharedReadings(self._listed, clock)

    def one(self, reading: Reading, machine: str) -> MachineReading | None:
        """A Machine of the target at most half a second before this call; None: it is gone. Raises as the connection does."""
        target = reading.facts.ref
        if self._listing_is_cheaper(target, reading.facts.replicas or 0):
            self._facts[target] = reading.facts
            recent = self._lists.recent(target).get(machine)
            if recent is not None:
                return recent
        return self._targets.dialect.read_machine(self._targets.api, target.namespace, machine)

    def _listing_is_cheaper(self, target: TargetRef, replicas: int) -> bool:
        """Whether so many are needed that one answer for all costs less."""
        now = self._clock()
        with self._lock:
            self._asked = {other: last for other, last in self._asked.items() if now - last[0] <= RECENT_SECONDS}
            before = self._asked.get(target, (now, 0))[1]
            self._asked[target] = now, before + 1
        return before * _SHARE >= max(replicas, _SHARE * _SHARE)

    def _listed(self, target: TargetRef) -> dict[str, MachineReading]:
        """Empty if they cannot be listed. Then each is asked for by its name, which shows why."""
        try:
            return self._targets.dialect.machines_of(self._targets.api, self._facts[target])
        except (ApiError, UnreachableError, msgspec.DecodeError):
            return {}
