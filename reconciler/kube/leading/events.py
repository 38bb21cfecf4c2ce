"""Events for the objects that they are about, so that `kubectl describe` shows what we did and why.

Repeats are one Event whose series counts up. SOURCE of limits and fields: events.k8s.io/v1. The six minutes between two writes of
a series are those of client-go's recorder.
"""

import hashlib
from collections.abc import Callable
from enum import StrEnum

import msgspec

from reconciler.kube.connection.api import Api, ApiError, ContentType, UnreachableError
from reconciler.values.instant import micro_instant_text

CONTROLLER = "reconciler.dev/nodegroup-reconciler"
SERIES_SECONDS = 360
FORGOTTEN_SECONDS = 3600
LONGEST_NOTE_BYTES = 1024
_LONGEST_WORD, _LONGEST_NAME = 128, 253
_MOST_KEPT = 5000
_NOT_FOUND = 404


class Severity(StrEnum):
    """`type` of an Event."""

    NORMAL = "Normal"
    WARNING = "Warning"


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """The object that an Event is about; without namespace if it is cluster-scoped."""

    api_version: str
    kind: str
    name: str
    namespace: str = ""
    uid: str = ""


class Happening(msgspec.Struct, frozen=True, kw_only=True):
    """The content of an Event: `reason` is the stable code, `action` what was done or tried (one word), `note` a sentence."""

    subject: Subject
    reason: str
    action: str
    note: str
    severity: Severity = Severity.NORMAL


class _Series:
    __slots__ = ("count", "last_seconds", "name", "written_count", "written_seconds")

    def __init__(self, name: str, now_seconds: float) -> None:
        self.name = name
        self.count = self.written_count = 1
        self.last_seconds = self.written_seconds = now_seconds


class EventRecorder:
    """Writes Events at once, best effort: a failure is counted in `failures` and never raised. What a guard raises comes out.
    `instance` names this process. Used by one thread."""

    def __init__(self, api: Api, instance: str, now_seconds: Callable[[], float]) -> None:
        self._api = api
        self._instance = instance[:_LONGEST_WORD]
        self._now_seconds = now_seconds
        self._known: dict[Happening, _Series] = {}
        self.failures = 0
        self.last_failure = ""

    def tell(self, happening: Happening) -> None:
        """Write the Event, or count it if it was reported within the last hour. A series is written with its second member, then
        at most every six minutes."""
        now = self._now_seconds()
        series = self._known.get(happening)
        if series is not None and now - series.last_seconds > FORGOTTEN_SECONDS:
            del self._known[happening]
            series = None
        try:
            if series is None:
                self._known[happening] = _Series(self._write_first(happening, now), now)
                self._forget(now)
                return
            series.count += 1
            series.last_seconds = now
            if series.written_count == 1 or now - series.written_seconds >= SERIES_SECONDS:
                self._write_series(happening, series)
        except (ApiError, UnreachableError) as error:
            self.failures += 1
            self.last_failure = str(error)
            if isinstance(error, ApiError) and error.status == _NOT_FOUND:
                # The server forgets Events after an hour; the next one starts a new series.
                self._known.pop(happening, None)

    def flush(self) -> None:
        """Write every count that was not written yet, before the process ends."""
        for happening, series in self._known.items():
            if series.count != series.written_count:
                try:
                    self._write_series(happening, series)
                except (ApiError, UnreachableError) as error:
                    self.failures += 1
                    self.last_failure = str(error)

    def _write_first(self, happening: Happening, now: float) -> str:
        subject = happening.subject
        namespace = subject.namespace or "default"
        digest = hashlib.sha256(msgspec.json.encode((happening, self._instance, now))).hexdigest()[:16]
        name = f"{subject.name[: _LONGEST_NAME - 17]}.{digest}"
        body = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "eventTime": micro_instant_text(now),
            "reportingController": CONTROLLER,
            "reportingInstance": self._instance,
            "action": happening.action[:_LONGEST_WORD],
            "reason": happening.reason[:_LONGEST_WORD],
            "regarding": _reference(subject),
            "note": _cut(happening.note),
            "type": happening.severity.value,
        }
        self._api.write("POST", f"/apis/events.k8s.io/v1/namespaces/{namespace}/events", body)
        return name

    def _write_series(self, happening: Happening, series: _Series) -> None:
        namespace = happening.subject.namespace or "default"
        path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events/{series.name}"
        body = {"series": {"count": series.count, "lastObservedTime": micro_instant_text(series.last_seconds)}}
        self._api.write("PATCH", path, body, content_type=ContentType.MERGE_PATCH)
        series.written_count, series.written_seconds = series.count, series.last_seconds

    def _forget(self, now: float) -> None:
        if len(self._known) <= _MOST_KEPT:
            return
        recent = sorted(self._known.items(), key=lambda pair: -pair[1].last_seconds)[: _MOST_KEPT // 2]
        self._known = {happening: series for happening, series in recent if now - series.last_seconds <= FORGOTTEN_SECONDS}


def _reference(subject: Subject) -> dict[str, str]:
    fields = {
        "apiVersion": subject.api_version,
        "kind": subject.kind,
        "name": subject.name,
        "namespace": subject.namespace,
        "uid": subject.uid,
    }
    return {name: value for name, value in fields.items() if value}


def _cut(note: str) -> str:
    """Cut the note; the API counts bytes."""
    encoded = note.encode()
    if len(encoded) <= LONGEST_NOTE_BYTES:
        return note
    return encoded[: LONGEST_NOTE_BYTES - len("…".encode())].decode(errors="ignore") + "…"
