"""Virtual time: what is to happen when, in a fixed order."""

import heapq
from collections.abc import Callable
from enum import StrEnum

import msgspec

Step = Callable[[], None]


class Agenda:
    """A clock that only moves when told, with steps at instants (Unix seconds).

    Steps at the same instant run in the order in which they were added, so a run repeats exactly.
    """

    def __init__(self, now_seconds: int) -> None:
        self.now_seconds = now_seconds
        self._queue: list[tuple[int, int, Step]] = []
        self._count = 0

    def at(self, seconds: int, step: Step) -> None:
        """Do `step` at an instant; one in the past is due now."""
        self._count += 1
        heapq.heappush(self._queue, (max(seconds, self.now_seconds), self._count, step))

    def after(self, seconds: int, step: Step) -> None:
        """Do `step` so many seconds from now."""
        self.at(self.now_seconds + seconds, step)

    @property
    def next_seconds(self) -> int | None:
        """The instant of the next thing to do, or None."""
        return self._queue[0][0] if self._queue else None

    def do_due(self) -> bool:
        """Do everything that is due at the present instant, what it adds for this instant included; whether anything was."""
        done = False
        while self._queue and self._queue[0][0] <= self.now_seconds:
            heapq.heappop(self._queue)[2]()
            done = True
        return done


# How machines of a group behave, and how long things take in a simulated cluster.


class Shortage(msgspec.Struct, frozen=True, kw_only=True):
    """No machine can be had from `from_seconds` until before `until_seconds` (Unix time)."""

    from_seconds: int
    until_seconds: int


class MachineBehaviour(msgspec.Struct, frozen=True, kw_only=True):
    """Machines of one target. A machine joins as a Ready node `join_seconds` after it was requested; the first `fail_first`
    machines fail instead. A node shows its devices `device_seconds` after it joined. Cluster API removes its startup taint after
    `taint_seconds`. During a shortage a machine waits without a node, and joins `join_seconds` after the shortage ended."""

    join_seconds: int = 90
    fail_first: int = 0
    shortages: tuple[Shortage, ...] = ()
    device_seconds: int = 0
    taint_seconds: int = 0


class Durations(msgspec.Struct, frozen=True, kw_only=True):
    """How long things take. `drain_retry_seconds` is the time between two attempts to evict what a budget refused. A drain that
    has not ended after `drain_timeout_seconds` is given up, and the node is uncordoned. `honour_grace` False: pods end at once.

    `put_back_seconds` is how soon a controller that owns a field undoes somebody else's write (measured for a topology
    controller: 0.6 to 1.0 s). Pods on an unready node are given up after `unready_toleration_seconds`, the default toleration of
    node.kubernetes.io/not-ready."""

    pod_start_seconds: int = 3
    drain_retry_seconds: int = 5
    drain_timeout_seconds: int = 600
    machine_delete_seconds: int = 20
    put_back_seconds: int = 1
    unready_toleration_seconds: int = 300
    honour_grace: bool = True

    @property
    def nothing_takes_time(self) -> bool:
        """Whether pods end and start, and drains go on, in the same instant."""
        return not (self.pod_start_seconds or self.drain_retry_seconds or self.honour_grace)


NO_DELAY = Durations(
    pod_start_seconds=0,
    drain_retry_seconds=0,
    drain_timeout_seconds=120,
    machine_delete_seconds=0,
    put_back_seconds=0,
    unready_toleration_seconds=300,
    honour_grace=False,
)
AT_ONCE = MachineBehaviour(join_seconds=0)


# What happened in a simulated cluster, in order: the source of summaries and of the rule checks.


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
