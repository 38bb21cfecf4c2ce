"""The events of a simulated cluster in order. Summaries and rule checks read them."""

from enum import StrEnum

import msgspec


class Happened(StrEnum):
    """Kinds of events."""

    POD_CREATED = "PodCreated"
    POD_BOUND = "PodBound"
    POD_EVICTED = "PodEvicted"
    POD_PREEMPTED = "PodPreempted"
    POD_GONE = "PodGone"
    NODE_JOINED = "NodeJoined"
    NODE_GONE = "NodeGone"
    NODE_CHANGED = "NodeChanged"
    DEVICES_SHOWN = "DevicesShown"
    MACHINE_FAILED = "MachineFailed"
    REMOVAL_BEGAN = "RemovalBegan"
    REMOVAL_FAILED = "RemovalFailed"
    REPLICAS_WRITTEN = "ReplicasWritten"
    WRITE_REFUSED = "WriteRefused"
    DEMAND_CHANGED = "DemandChanged"
    SCENARIO = "Scenario"


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One event. `object` is a pod (`namespace/name`), a node or a target as text. `by` is who did it (a field manager). `before`
    and `after` are replicas of a write. `target` is the target behind a node.

    For an evicted or created pod, `before` is the index of its shape. For a created one, `detail` is the pod that it replaces.
    For a node that joined, `before` is when it was requested."""

    at_seconds: int
    kind: Happened
    object: str
    detail: str = ""
    by: str = ""
    target: str = ""
    before: int = 0
    after: int = 0


class Journal:
    """An append-only list of events; readers keep their own position in it."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def add(
        self,
        at_seconds: int,
        kind: Happened,
        subject: str,
        *,
        detail: str = "",
        by: str = "",
        target: str = "",
        before: int = 0,
        after: int = 0,
    ) -> None:
        """Write down one event."""
        self.events.append(
            Event(
                at_seconds=at_seconds, kind=kind, object=subject, detail=detail, by=by, target=target, before=before, after=after
            )
        )

    def since(self, position: int) -> list[Event]:
        """The events from a position on."""
        return self.events[position:]
