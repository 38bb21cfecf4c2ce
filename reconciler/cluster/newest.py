"""The newest instant that an object mentions as past: what `now` is when nobody wrote down when a capture was made."""

from collections.abc import Iterator

import msgspec
from msgspec import Raw

from reconciler.cluster.instant import unix_seconds
from reconciler.cluster.raw_part import DECODING_ERRORS
from reconciler.cluster.unreadable import UnreadableError


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


_decoder = msgspec.json.Decoder(_Stamped)


def newest_seconds(item: Raw) -> int:
    """Unix time, 0 when there is none.

    Read are creation, field managers, conditions, starts and completions. Left out is what may lie ahead: deletion
    times (they include the grace period), expiry dates and whatever stands in annotations.
    """
    try:
        stamped = _decoder.decode(item)
        return max((unix_seconds(text) for text in _texts(stamped) if text), default=0)
    except (*DECODING_ERRORS, UnreadableError):
        # A kind whose fields mean something else; whether the object itself is sound is judged where it is read.
        return 0


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
