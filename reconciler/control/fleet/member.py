"""The loop of one workload cluster in a fleet: its Lease, connection and process. Nothing of it waits for another cluster."""

import threading
import time
from collections.abc import Callable
from enum import StrEnum
from typing import Protocol

import msgspec

from reconciler.control.live.live_process import LiveProcess
from reconciler.control.log import Log
from reconciler.control.pages.pages import STUCK_SECONDS
from reconciler.kube.connection.api import ApiError, UnreachableError
from reconciler.kube.connection.backoff import Backoff
from reconciler.kube.connection.connection_choice import ConnectionConfigError
from reconciler.kube.connection.workload_connection import Rotation, WorkloadConnection
from reconciler.kube.leading.lease import LeaderLease, Timing
from reconciler.kube.leading.loop_name import LoopName
from reconciler.kube.watching.watch_pace import RealPace
from reconciler.plan.last_decision import last_decision, told
from reconciler.values.cluster_identity import ClusterIdentity

SWAP_PATIENCE_SECONDS = 60.0
"""A new view gets so long to be complete, while the old one is still decided by."""
_LEASES_LEFT = 2
"""For so many durations of a Lease, a stuck loop leaves its Lease to others. Then it renews again: nobody else took it."""


class Connecting(Protocol):
    """Opens the connection to a workload cluster."""

    def __call__(self, cluster: ClusterIdentity) -> WorkloadConnection:
        """Raises `ConnectionConfigError`, `ApiError` or `UnreachableError`."""


class Making(Protocol):
    """Makes the process of a cluster, not started."""

    def __call__(
        self, name: LoopName, cluster: ClusterIdentity, connection: WorkloadConnection, lease: LeaderLease, log: Log
    ) -> LiveProcess:
        """Raises `ApiError` or `UnreachableError`."""


class MemberState(StrEnum):
    """Connecting: the cluster cannot be reached yet, and nothing is decided. Running: its process decides by what it sees."""

    CONNECTING = "Connecting"
    RUNNING = "Running"


class _Opened(msgspec.Struct, frozen=True):
    connection: WorkloadConnection
    process: LiveProcess
    cluster: ClusterIdentity


class Member:
    """One loop that this instance holds, between `start` and `stop`. `lease` was claimed already."""

    def __init__(
        self,
        name: LoopName,
        cluster: ClusterIdentity,
        lease: LeaderLease,
        *,
        connect: Connecting,
        make: Making,
        log: Log,
        timing: Timing,
        wall_seconds: Callable[[], float] = time.time,
    ) -> None:
        self.name = name
        self.lease = lease
        self.problem = ""
        """Why the cluster cannot be reached, or its kubeconfig not be used."""
        self._cluster = cluster
        self._connect = connect
        self._make = make
        self._log = log
        self._timing = timing
        self._away = False
        self._wall_seconds = wall_seconds
        self._pace = RealPace()
        self._turned: tuple[LiveProcess, int] | None = None
        self._moved = self._pace.monotonic()
        self._left: float | None = None
        self._backoff = Backoff(self._pace.random)
        self._changing = threading.Lock()
        self._opened: _Opened | None = None
        self._next: _Opened | None = None
        self._over = threading.Event()
        self._loop = threading.Thread(target=self._run, name=f"loop {name.title}", daemon=True)
        self._renewal = threading.Thread(target=self._renew, name=f"lease {name.title}", daemon=True)

    def start(self) -> None:
        """Begin to renew the Lease, to connect and to decide."""
        self._renewal.start()
        self._loop.start()

    @property
    def state(self) -> MemberState:
        """Whether its process runs."""
        return MemberState.CONNECTING if self._opened is None else MemberState.RUNNING

    @property
    def cluster(self) -> ClusterIdentity:
        """The Cluster as this loop knows it, labels included."""
        opened = self._opened
        return self._cluster if opened is None else opened.cluster

    def stuck_seconds(self) -> int:
        """For how long a turn is overdue; 0: none is. A loop that is stuck renews its Lease no more, so that others take it."""
        return int(self._pace.monotonic() - self._moved) if self._left is not None else 0

    @property
    def process(self) -> LiveProcess | None:
        """The process that runs now; None while the cluster cannot be reached."""
        opened = self._opened
        return None if opened is None else opened.process

    def look(self, cluster: ClusterIdentity) -> None:
        """Use new credentials, or build a new connection and view where the cluster answers elsewhere or has other labels.

        The old process decides until the new view is complete. Blocks for as long as that takes. Never raises for what servers
        do.
        """
        opened = self._opened
        if opened is None or self._over.is_set():
            self._cluster = cluster
            return
        rotation = opened.connection.look()
        self.problem = opened.connection.message
        if rotation is Rotation.SWAPPED:
            self._log.info("CredentialsSwapped", "the kubeconfig Secret has new credentials, which are used from now on")
        if rotation is not Rotation.MOVED and cluster == opened.cluster:
            return
        why = "answers at another address or by another authority" if rotation is Rotation.MOVED else "has other labels"
        try:
            fresh = self._open(cluster)
        except (ApiError, UnreachableError, ConnectionConfigError) as error:
            self.problem = str(error)
            return
        except Exception as error:
            # Such as an answer that nobody can read: nobody waits for what this gives, so it must say so itself.
            self.problem = f"{type(error).__name__}: {error}"
            self._log.error("LoopBroken", f"the new connection could not be made, the old one stays: {self.problem}")
            return
        fresh.process.follow()
        until = self._pace.monotonic() + SWAP_PATIENCE_SECONDS
        complete = False
        while not complete and not self._over.is_set() and self._pace.monotonic() < until:
            complete = fresh.process.view.wait(1)
        self._log.info("ViewSwapped", f"the cluster {why}: a new view takes over" + ("" if complete else ", not complete yet"))
        with self._changing:
            stopped = self._over.is_set()
            if not stopped:
                self._cluster, passed, self._next = cluster, self._next, fresh
        if stopped:
            fresh.process.stop(handed_over=True)
            return
        if passed is not None:
            passed.process.stop(handed_over=True)
        opened.process.stop(handed_over=True)

    def stop(self, *, handed_over: bool) -> None:
        """End in order, then release the Lease. `handed_over`: another instance goes on with drains that are under way."""
        with self._changing:
            self._over.set()
            opened = self._opened
        if opened is not None:
            opened.process.stop(handed_over=handed_over)
        self._pace.stop()
        for thread in (self._loop, self._renewal):
            if thread.ident is not None:
                thread.join()

    def _run(self) -> None:
        while not self._over.is_set():
            with self._changing:
                fresh, self._next = self._next, None
            if fresh is None:
                fresh = self._reached()
                if fresh is None:
                    break
            with self._changing:
                stopped = self._over.is_set()
                if not stopped:
                    # Under the lock: `stop` ends what has begun, and nothing begins after it.
                    self._opened = fresh
                    fresh.process.start()
            if stopped:
                fresh.process.stop(handed_over=True)
                break
            fresh.process.lease_stepped()
            fresh.process.run()
        with self._changing:
            unused, self._next = self._next, None
        if unused is not None:
            # It was to take over, and follows its cluster already.
            unused.process.stop(handed_over=True)

    def _reached(self) -> _Opened | None:
        """The connection, however long that takes; None: it was stopped."""
        while not self._over.is_set():
            try:
                opened = self._open(self._cluster)
                self.problem = ""
                return opened
            except (ApiError, UnreachableError, ConnectionConfigError) as error:
                self._away = isinstance(error, UnreachableError)
                if str(error) != self.problem:
                    self.problem = str(error)
                    self._log.warning("ClusterUnreachable", f"nothing is decided: {error}")
                wait = self._backoff.after(error)
            except Exception as error:
                # A defect of one cluster's loop must show, and must not end the process of all.
                self.problem = f"{type(error).__name__}: {error}"
                self._log.error("LoopBroken", f"the loop could not be made: {self.problem}")
                wait = self._backoff.next_seconds()
            if self._pace.pause(wait):
                return None
        return None

    def _open(self, cluster: ClusterIdentity) -> _Opened:
        connection = self._connect(cluster)
        return _Opened(connection, self._make(self.name, cluster, connection, self.lease, self._log), cluster)

    def _renew(self) -> None:
        while not self._pace.pause(self._timing.retry_seconds * (1 + 0.2 * self._pace.random())):
            if not self._may_renew():
                continue
            opened = self._opened
            if opened is not None:
                opened.process.tell_decision()
            else:
                self._tell_unconnected()
            self.lease.step()
            if opened is not None:
                opened.process.lease_stepped()
        self.lease.release()

    def _tell_unconnected(self) -> None:
        """Nothing is decided before the cluster is connected to; what the Lease says of earlier decisions stays."""
        now = int(self._wall_seconds())
        self.lease.annotate(
            told(
                last_decision(self.lease.annotations), now_seconds=now, at_seconds=0, period_seconds=0, why=self.problem,
                away=self._away,
            )
        )  # fmt: skip

    def _may_renew(self) -> bool:
        """Whether to renew: the loop turns, or does not lead, or has left its Lease to others for long enough.

        It is asked before each renewal. Ages are counted on our own clock, because the wall clock may jump.
        """
        now, process = self._pace.monotonic(), self.process
        turned = None if process is None else (process, process.figures.seen().turned_seconds)
        if process is None or turned != self._turned:
            self._turned, self._moved, self._left = turned, now, None
        elif self._left is None:
            if not self.lease.leads():
                # A loop that does not lead need not turn.
                self._moved = now
            elif now - self._moved > process.settings.period_seconds + STUCK_SECONDS:
                self._left = now
                self._log.warning("LoopStuck", f"no turn has ended for {now - self._moved:.0f} s: others may take the Lease")
        return self._left is None or now - self._left > _LEASES_LEFT * self._timing.duration_seconds
