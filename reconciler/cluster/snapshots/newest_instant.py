"""The newest past instant in the objects. It is `now` if a capture does not say when it was made."""

from collections.abc import Iterator

import msgspec
from msgspec import Raw

from reconciler.cluster.values.instant import unix_seconds
from reconciler.cluster.values.object_parts import DECODING_ERRORS
from reconciler.cluster.values.unreadable import UnreadableError
from reconciler.values.decoding import decoder


class _ManagedTime(msgspec.Struct, gc=False):
    time: str | None = None


class _StampedMeta(msgspec.Struct, rename="camel"):
    creation_timestamp: str | None = None
    managed_fields: list[_ManagedTime] | None = None


class _StampedCondition(msgspec.Struct, rename="camel", gc=False):
    last_transition_time: str | None = None
    last_heartbeat_time: str | None = None
    last_probe_time: str | None = None
    last_update_time: str | None = None


class _StampedStatus(msgspec.Struct, rename="camel"):
    conditions: list[_StampedCondition] | None = None
    start_time: str | None = None
    completion_time: str | None = None
    last_updated: str | None = None


class _Stamped(msgspec.Struct):
    metadata: _StampedMeta | None = None
    status: _StampedStatus | None = None


_decoder = decoder(_Stamped)
_PLAIN_LENGTH = len("1970-01-01T00:00:00Z")


class Newest:
    """The newest instant of all objects seen: `seconds`, Unix time, 0 when there is none.

    Read are creation, field managers, conditions, starts and completions. Left out is what may lie ahead: deletion
    times (they include the grace period), expiry dates and whatever stands in annotations.
    """

    def __init__(self) -> None:
        self.seconds = 0
        self._text = ""

    def see(self, item: Raw) -> None:
        """Take one object into account."""
        try:
            stamped = _decoder.decode(item)
        except DECODING_ERRORS:
            # A kind whose fields mean something else; whether the object itself is sound is judged where it is read.
            return
        for text in _texts(stamped):
            if text:
                self._take(text)

    def _take(self, text: str) -> None:
        plain = len(text) == _PLAIN_LENGTH and text.endswith("Z")
        # Texts of this form sort as their instants do, and nearly all are older than the newest one so far.
        if plain and text <= self._text:
            return
        try:
            self.seconds = max(self.seconds, unix_seconds(text))
        except UnreadableError:
            return
        if plain:
            self._text = text


def _texts(stamped: _Stamped) -> Iterator[str | None]:
    if stamped.metadata is not None:
        yield stamped.metadata.creation_timestamp
        for entry in stamped.metadata.managed_fields or ():
            yield entry.time
    if stamped.status is not None:
        yield stamped.status.start_time
        yield stamped.status.completion_time
        yield stamped.status.last_updated
        for item in stamped.status.conditions or ():
            yield from (item.last_transition_time, item.last_heartbeat_time, item.last_probe_time, item.last_update_time)
