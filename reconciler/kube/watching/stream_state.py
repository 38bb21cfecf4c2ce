"""How much a watch can be trusted now."""

from enum import StrEnum

import msgspec


class Phase(StrEnum):
    """Waiting: the first list is not complete. Synced: it is, and changes arrive. Broken: changes do not arrive now. Absent: the
    server has no such collection. Stopped: nobody watches."""

    WAITING = "Waiting"
    SYNCED = "Synced"
    BROKEN = "Broken"
    ABSENT = "Absent"
    STOPPED = "Stopped"


class StreamState(msgspec.Struct, frozen=True, kw_only=True):
    """One watched collection. `heard_seconds` is how long ago the server last sent anything on it, including bookmarks (negative:
    never), and `event_seconds` the same for a change. `lists` counts the lists and initial states that were read. `renewals`
    counts the watches that were renewed because they were quiet or had expired. `message` is the last failure while Waiting,
    Broken, Absent or silent. `refused`: it was that we may not read the collection."""

    collection: str
    phase: Phase
    objects: int
    heard_seconds: float
    event_seconds: float
    lists: int
    list_calls: int
    renewals: int = 0
    message: str = ""
    refused: bool = False

    def doubt(self, longest_silence_seconds: float) -> str:
        """The collection, and why nothing may be decided on it; empty if it may."""
        why = self.why(longest_silence_seconds)
        return f"{self.collection}: {why}" if why else ""

    def why(self, longest_silence_seconds: float) -> str:
        """Why nothing may be decided on this; empty if it may."""
        if self.phase is Phase.ABSENT:
            return ""
        because = f" ({self.message})" if self.message else ""
        if self.phase is not Phase.SYNCED:
            return self.phase.value.lower() + because
        if self.heard_seconds > longest_silence_seconds:
            return f"the server has been silent for more than {longest_silence_seconds:.0f} s{because}"
        return ""


def polled_state(collection: str, heard_seconds: float | None, *, objects: int, asks: int, failure: str) -> StreamState:
    """The state of a polled source: synced once a complete answer has come (`heard_seconds` ago; None: never)."""
    heard = heard_seconds is not None
    return StreamState(
        collection=collection,
        phase=Phase.SYNCED if heard else Phase.WAITING,
        objects=objects if heard else 0,
        heard_seconds=-1 if heard_seconds is None else heard_seconds,
        event_seconds=-1 if heard_seconds is None else heard_seconds,
        lists=1 if heard else 0,
        list_calls=asks,
        message=failure,
    )
