"""One process of the live loop, put together: what it follows, by what it leads, where it remembers, what it shows."""

import threading
from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

from reconciler.cluster.target import TargetKind, TargetRef
from reconciler.cluster.world import World
from reconciler.control.announcements import announcements
from reconciler.control.figures import Figures
from reconciler.control.live_memory_store import LiveMemoryStore
from reconciler.control.live_port import LivePort
from reconciler.control.live_run import LiveRun
from reconciler.control.log import Log
from reconciler.control.loop import ControlLoop
from reconciler.control.memory_store import InMemoryStore, MemoryStore
from reconciler.control.observing_policy import ObservingPolicy
from reconciler.control.report import LoopReport
from reconciler.control.state_last_good import LockedState
from reconciler.control.wake import Wake
from reconciler.kube.api import Api
from reconciler.kube.drain import NodeDrain
from reconciler.kube.events import EventRecorder
from reconciler.kube.lease import LeaderLease, NotLeaderError, Timing
from reconciler.kube.live_world import LiveWorld
from reconciler.kube.pace import RealPace
from reconciler.kube.state import StateObject
from reconciler.plan.plan import Plan
from reconciler.policy.documents import DrainRules, PolicySet
from reconciler.providers.clusterapi import ClusterApiProvider
from reconciler.providers.clusterapi_resource import ClusterApiVersion


class Connection(Api, Protocol):
    """An `Api` that can be had with another guard or time-out."""

    def with_guard(self, guard: Callable[[], None] | None) -> "Connection":
        """The same user; `guard` is asked before every write."""

    def with_timeout(self, seconds: float) -> "Connection":
        """The same user; every call ends after so many seconds."""


class Source(Protocol):
    """The policy in force, wherever it comes from."""

    def current(self) -> PolicySet:
        """The policy. Raises unless `missing` is empty."""

    def missing(self) -> str:
        """Why there is none; empty when there is."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How the process runs. `name` is the policy's: it stands in Lease, state and taints. `namespace` is where Lease and
    state lie. `identity` tells this process from its siblings. `read_only`: not one write, so that it neither leads nor
    remembers beyond its life. `target_namespaces` limits what is read of Cluster API (none: all)."""

    name: str
    namespace: str
    identity: str
    cluster: str = ""
    read_only: bool = False
    target_namespaces: tuple[str, ...] = ()
    cluster_api: ClusterApiVersion = ClusterApiVersion()
    period_seconds: float = 10
    idle_seconds: float = 1
    most_seconds: float = 10
    drain_timeout_seconds: int = 600
    longest_silence_seconds: float = 120
    lease: Timing = Timing()
    blind_removals: bool = False


class LiveProcess:
    """Made of connections to the cluster whose pods are placed and to the one that holds the targets (often the same).

    `source` makes the policy's source, given where the last good policy may be kept and whether this process leads.
    `start`, then `run` in a thread of its own until `stop`, which any other thread may call.
    """

    def __init__(
        self,
        settings: Settings,
        workload: Connection,
        management: Connection,
        source: Callable[[LockedState, Callable[[], bool]], Source],
        log: Log,
        *,
        now_seconds: Callable[[], int],
        wall_seconds: Callable[[], float],
    ) -> None:
        self.settings = settings
        self.journal = log
        self.figures = Figures()
        self._now = now_seconds
        self._pace = RealPace()
        self.wake = Wake(
            self._pace.monotonic,
            period_seconds=settings.period_seconds,
            idle_seconds=settings.idle_seconds,
            most_seconds=settings.most_seconds,
        )
        self.lease = LeaderLease(
            management.with_timeout(settings.lease.call_timeout_seconds),
            namespace=settings.namespace,
            name=f"reconciler-{settings.name}",
            identity=settings.identity,
            pace=self._pace,
            wall_seconds=wall_seconds,
            timing=settings.lease,
        )
        self.reader = management
        guard = _refuse if settings.read_only else self.lease.guard
        self.management = management.with_guard(guard)
        self.workload = workload.with_guard(guard)
        self.view = LiveWorld(
            workload,
            management,
            now_seconds=now_seconds,
            name=settings.cluster,
            capi_group=settings.cluster_api.group,
            capi_version=settings.cluster_api.version,
            namespaces=settings.target_namespaces,
            on_change=self.wake.notify,
            pace=self._pace,
            longest_silence_seconds=settings.longest_silence_seconds,
        )
        self.state = LockedState(StateObject(self.management, settings.namespace, settings.name))
        self.source = source(self.state, self._leads)
        policies = ObservingPolicy(self.source) if settings.read_only else self.source
        self.port = LivePort(
            self.view,
            now_seconds,
            policies,
            dict.fromkeys(
                (TargetKind.MACHINE_DEPLOYMENT, TargetKind.MACHINE_SET, TargetKind.MACHINE_POOL),
                ClusterApiProvider(self.management, settings.cluster_api, settings.name, blind_removals=settings.blind_removals),
            ),
            NodeDrain(
                self.workload,
                settings.name,
                now_seconds,
                timeout_seconds=settings.drain_timeout_seconds,
                rules=self._drain_rules,
            ),
            settings.name,
            self._marks,
        )
        store: MemoryStore = InMemoryStore() if settings.read_only else LiveMemoryStore(self.state)
        self._recorder = EventRecorder(self.management, settings.identity, wall_seconds)
        self._pod_recorder = EventRecorder(self.workload, settings.identity, wall_seconds)
        self._before: Plan | None = None
        self.run_loop = LiveRun(
            ControlLoop(self.port, policies, store),
            _Freshness(self.view),
            self.wake,
            self.figures,
            log,
            leads=self._leads,
            policy_missing=self.source.missing,
            monotonic=self._pace.monotonic,
            after_turn=self._announce,
        )
        self._lease_thread = threading.Thread(target=self._lead, name="lease", daemon=True)

    def start(self) -> None:
        """Begin to follow the clusters and to claim the Lease."""
        self.view.start()
        if not self.settings.read_only:
            self._lease_thread.start()

    def run(self) -> None:
        """Turn until stopped."""
        self.run_loop.run()

    def stop(self) -> None:
        """End in order: no new turn, what was begun is finished or undone while we still lead, then the Lease goes."""
        self.wake.stop()
        with self.run_loop.turning:
            if self._leads() and not self.settings.read_only:
                self._abandon()
        self._recorder.flush()
        self._pod_recorder.flush()
        self._pace.stop()
        if self._lease_thread.is_alive():
            self._lease_thread.join(self.settings.lease.renew_deadline_seconds)
        self.view.stop()

    def view_problem(self) -> str:
        """Why there is no view to trust now; empty when there is."""
        return "; ".join(self.view.doubts()[:3])

    def _abandon(self) -> None:
        try:
            for progress in self.port.abandon_removals():
                self.journal.info(
                    f"Removal{progress.state}", progress.message, target=str(progress.target), nodes=(progress.node,)
                )
        except Exception as error:
            # The next leader finds the taints and goes on; ending must not fail for it.
            self.journal.warning("AbandonFailed", f"{type(error).__name__}: {error}")

    def _leads(self) -> bool:
        return self.settings.read_only or self.lease.leads()

    def _lead(self) -> None:
        """Renew, and wake the loop when we begin to lead: it need not wait for its period."""
        led = False
        while True:
            leads = self.lease.step()
            if leads and not led:
                self.wake.notify()
            led = leads
            if self._pace.pause(self.settings.lease.retry_seconds * (1 + 0.2 * self._pace.random())):
                break
        self.lease.release()

    def _drain_rules(self) -> DrainRules | None:
        return None if self.source.missing() else self.source.current().policy.drain

    def _marks(self, _: TargetRef) -> Mapping[str, str]:
        revision = self.source.current().revision
        return {"reconciler.dev/revision": revision} if revision else {}

    def _announce(self, report: LoopReport) -> None:
        """Best effort: what cannot be told does not stop what is done."""
        if self.settings.read_only:
            return
        told = announcements(report, self._before, self.settings.cluster_api.api_version, _targets(self.port.last_world))
        self._before = report.plan or self._before
        for happening in told:
            recorder = self._pod_recorder if happening.subject.kind == "Pod" else self._recorder
            recorder.tell(happening)


class _Freshness:
    """What the run asks of the view."""

    def __init__(self, view: LiveWorld) -> None:
        self._view = view

    def doubts(self) -> tuple[str, ...]:
        return self._view.doubts()

    def age_seconds(self) -> float:
        return max((state.heard_seconds for state in self._view.freshness()), default=0.0)


def _refuse() -> None:
    raise NotLeaderError("this process was started to read only")


def _targets(world: World | None) -> dict[str, TargetRef]:
    return {str(facts.ref): facts.ref for facts in world.targets} if world is not None else {}
