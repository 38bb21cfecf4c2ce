"""How much a watch can be trusted now."""

from enum import StrEnum

import msgspec


class Phase(StrEnum):
    """Waiting: the first list is not complete. Synced: it is, and changes arrive. Broken: changes do not arrive at present.
    Absent: the server has no such collection. Stopped: nobody watches."""

    WAITING = "Waiting"
    SYNCED = "Synced"
    BROKEN = "Broken"
    ABSENT = "Absent"
    STOPPED = "Stopped"


class StreamState(msgspec.Struct, frozen=True, kw_only=True):
    """One watched collection. `heard_seconds` is how long ago the server last said anything on it, bookmarks included
    (negative: never), `event_seconds` the same for a change. `lists` counts lists and initial states that were read, `renewals`
    watches that were continued by another because they were quiet or had run out. `message` is the last failure while Waiting,
    Broken or Absent, or the object that cannot be read."""

    collection: str
    phase: Phase
    objects: int
    heard_seconds: float
    event_seconds: float
    lists: int
    list_calls: int
    renewals: int = 0
    message: str = ""

    def doubt(self, longest_silence_seconds: float) -> str:
        """Why nothing may be decided on this; empty when it may."""
        if self.phase is Phase.ABSENT:
            return ""
        if self.phase is not Phase.SYNCED:
            return f"{self.collection}: {self.phase.value.lower()}" + (f" ({self.message})" if self.message else "")
        if self.message:
            return f"{self.collection}: {self.message}"
        if self.heard_seconds > longest_silence_seconds:
            return f"{self.collection}: the server has been silent for {self.heard_seconds:.0f} s"
        return ""


def polled_state(collection: str, heard_seconds: float | None, *, objects: int, asks: int, failure: str) -> StreamState:
    """That of a source which is asked again and again: synced once a whole answer has come (`heard_seconds` ago; None: never)."""
    heard = heard_seconds is not None
    return StreamState(
        collection=collection,
        phase=Phase.SYNCED if heard else Phase.WAITING,
        objects=objects if heard else 0,
        heard_seconds=-1 if heard_seconds is None else heard_seconds,
        event_seconds=-1 if heard_seconds is None else heard_seconds,
        lists=1 if heard else 0,
        list_calls=asks,
        message="" if heard else failure,
    )
