"""Audit logs of the Kubernetes API server: when pods were created, deleted, evicted and finished.

SOURCE: `audit.k8s.io/v1` Event, one in each line, as the log backend writes them. The level of pods must be RequestResponse: a
name that the server generated is only in the response. A pod counts from its creation until it is deleted or evicted, or until
its status says that it has finished. Pods that were there before the log began are not in it.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from reconciler.importers.demand.lifetimes import MOST_PODS, DemandImportError, Imported, Lifetime, Line, trace_of
from reconciler.importers.demand.pod_sources import PodManifest, sources_of
from reconciler.values.decoding import decode
from reconciler.values.instant import InstantError, parse_instant
from reconciler.values.plural import count_text

_AT_ONCE = 20_000
"""Pods that are judged together."""
_FINISHED = frozenset({"Succeeded", "Failed"})
_STAGE = "ResponseComplete"
_HINT = "log pods at the level RequestResponse"


class Reference(msgspec.Struct, frozen=True, rename="camel"):
    """What a request was about."""

    resource: str = ""
    namespace: str = ""
    name: str = ""
    api_group: str = ""
    subresource: str = ""


class Answer(msgspec.Struct, frozen=True):
    """Whether it was granted."""

    code: int = 0


class Status(msgspec.Struct, frozen=True):
    """Of a pod."""

    phase: str = ""


class PodObject(msgspec.Struct, frozen=True):
    """A pod, as far as it is read."""

    metadata: dict[str, Any] = {}
    spec: dict[str, Any] = {}
    status: Status = Status()


class AuditEvent(msgspec.Struct, frozen=True, rename="camel"):
    """One line. Objects are decoded only where they are about pods."""

    kind: str
    api_version: str = msgspec.field(default="", name="apiVersion")
    stage: str = ""
    verb: str = ""
    object_ref: Reference = Reference()
    response_status: Answer = Answer()
    request_object: msgspec.Raw = msgspec.Raw(b"null")
    response_object: msgspec.Raw = msgspec.Raw(b"null")
    stage_timestamp: str = ""


class _Seen(msgspec.Struct):
    """One pod: the line and instant of its creation, its object, and its end."""

    line: int
    start_seconds: int
    namespace: str
    name: str
    pod: PodObject
    end_seconds: int | None = None


def read_audit_log(name: str, lines: Iterable[Line]) -> Imported:
    """The demand of an audit log, oldest line first. Raises `DemandImportError`."""
    log = _Log()
    for number, line in lines:
        if line.strip():
            log.take(number, line)
    if not log.pods:
        raise DemandImportError(1, "no pod was created in this log", _HINT)
    trace = trace_of(name, _lifetimes(log.pods), log.last_seconds + 1)
    unknown = count_text(
        log.unknown, "end of a pod that was created before the log began", "ends of pods that were created before the log began"
    )
    return Imported(trace=trace, left_out=(unknown,) if log.unknown else ())


class _Log:
    def __init__(self) -> None:
        self.pods: list[_Seen] = []
        self.last_seconds = 0
        self.unknown = 0
        self._there: dict[tuple[str, str], _Seen] = {}

    def take(self, number: int, line: bytes) -> None:
        try:
            event = decode(line, AuditEvent)
        except msgspec.MsgspecError as error:
            raise DemandImportError(number, f"not an audit event: {error}", _HINT) from None
        if event.kind != "Event" or not event.api_version.startswith("audit.k8s.io/"):
            raise DemandImportError(number, "not an event of audit.k8s.io", "give the lines of the log backend")
        about = event.object_ref
        if event.stage != _STAGE or about.resource != "pods" or about.api_group or not 200 <= event.response_status.code < 300:
            return
        at = self._instant(number, event.stage_timestamp)
        match event.verb, about.subresource:
            case "create", "":
                self._created(number, at, event)
            case ("delete", "") | ("create", "eviction"):
                self._ended(about, at)
            case (("patch" | "update"), "status"):
                if self._object(number, event).status.phase in _FINISHED:
                    self._ended(about, at)
            case _:
                pass

    def _instant(self, number: int, text: str) -> int:
        try:
            at = parse_instant(text)
        except InstantError as error:
            raise DemandImportError(number, f"stageTimestamp: {error.reason}", "") from None
        self.last_seconds = max(self.last_seconds, at)
        return at

    def _created(self, number: int, at: int, event: AuditEvent) -> None:
        pod = self._object(number, event)
        name, namespace = pod.metadata.get("name"), event.object_ref.namespace
        if not isinstance(name, str) or not namespace or not pod.spec:
            raise DemandImportError(number, "a pod was created, and its object is not in the log", _HINT)
        if len(self.pods) == MOST_PODS:
            raise DemandImportError(number, f"more than {MOST_PODS} pods", "import a part of the log")
        seen = _Seen(number, at, namespace, name, pod)
        self.pods.append(seen)
        self._there[namespace, name] = seen

    def _object(self, number: int, event: AuditEvent) -> PodObject:
        """What the server answered; without it, what it was asked for."""
        for raw in (event.response_object, event.request_object):
            if bytes(raw) != b"null":
                try:
                    return decode(bytes(raw), PodObject)
                except msgspec.MsgspecError as error:
                    raise DemandImportError(number, f"not a pod: {error}", _HINT) from None
        return PodObject()

    def _ended(self, about: Reference, at: int) -> None:
        seen = self._there.pop((about.namespace, about.name), None)
        if seen is None:
            self.unknown += 1
        else:
            seen.end_seconds = at


def _lifetimes(pods: list[_Seen]) -> Iterator[Lifetime]:
    for begin in range(0, len(pods), _AT_ONCE):
        part = pods[begin : begin + _AT_ONCE]
        sources = sources_of([PodManifest(one.line, one.namespace, one.name, one.pod.metadata, one.pod.spec) for one in part])
        for index, seen in enumerate(part):
            if index in sources:
                yield Lifetime(sources[index], seen.start_seconds, seen.end_seconds)
