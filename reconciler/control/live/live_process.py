"""One process of the live loop, put together: what it follows, by what it leads, where it remembers, what it shows."""

import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Protocol

import msgspec

from reconciler.cluster.target import TargetRef
from reconciler.cluster.world import World
from reconciler.control.live.answers import Answers
from reconciler.control.live.buffer_status import buffer_answers
from reconciler.control.live.live_memory_store import LiveMemoryStore, remembered_targets
from reconciler.control.live.live_port import LivePort
from reconciler.control.live.live_providers import LiveProviders
from reconciler.control.live.live_run import LiveRun
from reconciler.control.live.news_webhook import NewsWebhook
from reconciler.control.live.other_policies import OtherPolicies
from reconciler.control.live.request_status import request_answers
from reconciler.control.live.telling import Telling
from reconciler.control.live.wake import Wake
from reconciler.control.log import Log
from reconciler.control.policy.observing import ObservingPolicy
from reconciler.control.policy.own_objects import OwnObjects
from reconciler.control.policy.stored_policy import LockedState
from reconciler.control.turn.figures import Figures
from reconciler.control.turn.loop import Chooser, ControlLoop
from reconciler.control.turn.memory_store import InMemoryStore, MemoryStore
from reconciler.control.turn.turn_report import Decided, LoopReport
from reconciler.decisions.groups.cluster_names import CLUSTER_MARK, in_cloud
from reconciler.decisions.groups.effective_groups import platform_chooses
from reconciler.decisions.ownership.owner import POLICY_MARK
from reconciler.kube.connection.api import Api
from reconciler.kube.connection.outages import Outages
from reconciler.kube.connection.server_clock import ServerClock, farthest
from reconciler.kube.drain import NodeDrain
from reconciler.kube.leading.ended_policies import EndedPolicies
from reconciler.kube.leading.lease import LeaderLease, NotLeaderError, Timing
from reconciler.kube.leading.loop_name import CLUSTER_LABEL, ENDED, FLEET_LABEL, LoopName
from reconciler.kube.leading.rival import LOOK_SECONDS, RivalWatch
from reconciler.kube.leading.state import StateObject
from reconciler.kube.leading.target_holders import TargetHolders
from reconciler.kube.watching.collection import BUFFERS, REQUESTS, SERVICES, Collection, Served, renamed_group
from reconciler.kube.watching.live_world import LiveWorld
from reconciler.kube.watching.reflector import Drive
from reconciler.kube.watching.target_streams import TargetStreams
from reconciler.kube.watching.watch_pace import RealPace
from reconciler.plan.last_decision import last_decision, told
from reconciler.plan.plan import Action, ActionKind, Plan
from reconciler.policy.documents import DrainRules, PolicySet
from reconciler.providers.live_platforms import Surroundings, autoscaler_homes, polled
from reconciler.scheduling.default_spread import needs_services
from reconciler.values.clauses import clauses
from reconciler.values.cluster_identity import ClusterIdentity, FleetPlace


class Connection(Api, Protocol):
    """An `Api` that can be had with another guard or time-out, and knows its server's clock and when it was away."""

    @property
    def outages(self) -> Outages:
        """When the server was away."""

    @property
    def clock(self) -> ServerClock:
        """The server's clock."""

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

    def start(self, changed: Callable[[], None]) -> None:
        """Follow from now on, while this process leads; `changed` is called when another policy is in force."""

    def poll(self) -> bool:
        """Look once, instead of `start`."""

    def notify(self) -> None:
        """Look soon: this process leads now, or somebody says that there is something new."""

    def stop(self) -> None:
        """Follow no more."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How the process runs. `name` is the policy's; the Lease, state and taints contain it. `namespace` is that of the Lease and
    state. `identity` distinguishes this process from its siblings. `read_only`: the process writes nothing, so it neither leads
    nor remembers anything after it ends. `served` are the platforms of which the management cluster keeps targets,
    `target_namespaces` limits what is read of them (none: all). `beside_autoscaler`: a Cluster Autoscaler that is alive holds no
    group. `once`: only one iteration. `cluster_object` is the Cluster in a fleet, None outside one. `most_objects` is
    how many objects a collection of the workload cluster may have (0: any number)."""

    name: str
    namespace: str
    identity: str
    cluster: str = ""
    cluster_object: ClusterIdentity | None = None
    read_only: bool = False
    target_namespaces: tuple[str, ...] = ()
    served: tuple[Served, ...] = ()
    period_seconds: float = 10
    idle_seconds: float = 1
    most_seconds: float = 2
    drain_timeout_seconds: int = 600
    longest_silence_seconds: float = 120
    lease: Timing = Timing()
    beside_autoscaler: bool = False
    look_seconds: float = LOOK_SECONDS
    once: bool = False
    most_objects: int = 0

    @property
    def loop(self) -> LoopName:
        """What Lease and state are called after."""
        return self.loop_of(self.name)

    def loop_of(self, policy: str) -> LoopName:
        """What those of a policy are called after that runs, or ran, for the same cluster."""
        cluster = self.cluster_object
        return LoopName(policy) if cluster is None else LoopName(policy, cluster.namespace, cluster.name)


_KEEPS_NODES = frozenset({ActionKind.RESIZE, ActionKind.ADOPT, ActionKind.RELEASE, ActionKind.CANCEL})


class LiveProcess:
    """Made of connections to the cluster whose pods are placed and to the one that holds the targets (often the same).

    `source` makes the policy's source, given where the last good policy may be kept and in which term this process leads.
    `objects` makes what tells on custom resources, given a connection that writes while this process leads.
    `start`, then `run` in a thread of its own until `stop`, which any other thread may call; or `one_turn` and `stop`.
    `lease` is one that somebody else renews, who calls `lease_stepped` (None: this process claims one and renews it). `targets`
    makes the streams of the management cluster where several processes share them. `turned` is given every report.
    `drive` drives the streams of the workload cluster (None: each has a thread). `neighbours`
    returns all clusters of the fleet that this cluster is in. `rivals` looks for other autoscalers on a management cluster that
    several loops share. This loop then looks there at its own namespaces alone. `news` sends what happens to a webhook.

    A process that loses the Lease stays. Its view is in sync, so that it takes over within one iteration when it leads again. It
    then uses nothing that it knew as the leader. It reads memory and policy again; drains are marked on the nodes.
    """

    def __init__(
        self,
        settings: Settings,
        workload: Connection,
        management: Connection,
        source: Callable[[LockedState, Callable[[], int]], Source],
        log: Log,
        *,
        now_seconds: Callable[[], int],
        wall_seconds: Callable[[], float],
        objects: Callable[[Api], OwnObjects | None] = lambda _: None,
        lease: LeaderLease | None = None,
        targets: Callable[[Callable[[], None]], TargetStreams] | None = None,
        turned: Callable[[LoopReport], None] = lambda _: None,
        drive: Drive | None = None,
        neighbours: Callable[[], tuple[ClusterIdentity, ...]] = tuple,
        rivals: RivalWatch | None = None,
        news: NewsWebhook | None = None,
    ) -> None:
        self.settings = settings
        self.journal = log
        self.figures = Figures()
        self._pace = RealPace()
        self.wake = Wake(
            self._pace.monotonic, period_seconds=settings.period_seconds, idle_seconds=settings.idle_seconds,
            most_seconds=settings.most_seconds,
        )  # fmt: skip
        self.lease = lease or LeaderLease(
            management.with_timeout(settings.lease.call_timeout_seconds),
            namespace=settings.namespace,
            name=settings.loop.lease,
            identity=settings.identity,
            pace=self._pace,
            wall_seconds=wall_seconds,
            timing=settings.lease,
            metadata={"labels": settings.loop.labels} if settings.loop.labels else {},
        )
        self.reader, self.workload_reader = management, workload
        guard = _refuse if settings.read_only else self.lease.guard
        self.management = management.with_guard(guard)
        self.workload = workload.with_guard(guard)
        self.state = LockedState(StateObject(self.management, settings.namespace, settings.loop.text, settings.loop.labels))
        cluster = settings.cluster_object
        fleet = None if cluster is None else partial(_place, cluster, neighbours)
        self.last: tuple[Plan, Decided] | None = None  # The last plan, with what it was decided from: for those who ask.
        around = Surroundings(
            management=self.management,
            served=settings.served,
            namespaces=settings.target_namespaces,
            platform_chooses=self._platform_chooses,
            policy=lambda: None if self.source.missing() else self.source.current(),
            guard=guard,
            notes=self.state,
            remembered=None if settings.read_only else remembered_targets(management, settings.namespace, settings.loop.text),
            reconnecting_seconds=management.outages.reconnecting_seconds,
            pods_wait=lambda: self.last is not None and self.last[0].pods_wait,
            loop=settings.loop.text if cluster is not None else "",
            cluster=cluster.title if cluster is not None else "",
            fleet=fleet,
        )
        self.view = LiveWorld(
            workload,
            management,
            now_seconds=now_seconds,
            ahead_seconds=lambda: farthest((management.clock, workload.clock), wall_seconds()),
            name=settings.cluster,
            capi_group=renamed_group(settings.served),
            served=settings.served,
            polled=polled(around),
            namespaces=settings.target_namespaces,
            also=self._also_followed,
            targets=targets,
            most_objects=settings.most_objects,
            drive=drive,
            on_change=self.wake.notify,
            pace=self._pace,
            longest_silence_seconds=settings.longest_silence_seconds,
        )
        self.source = source(self.state, self.term)
        providers = LiveProviders(self.workload, around)
        policies = ObservingPolicy(self.source) if settings.read_only else self.source
        ended = EndedPolicies(management, settings.namespace, self._pace.monotonic, loop=settings.loop_of)
        watches = () if settings.beside_autoscaler else self._rivals(workload, management, wall_seconds, rivals)
        self.port = LivePort(
            self.view,
            now_seconds,
            policies,
            providers.of(settings.name),
            NodeDrain(
                self.workload, settings.name, now_seconds, timeout_seconds=settings.drain_timeout_seconds, rules=self._drain_rules
            ),
            settings.name,
            self._marks,
            lambda: tuple(dict.fromkeys(sentence for one in watches for sentence in one.evidence())),
            log.warning,
            providers.former(ended, now_seconds),
            self._pace,
            (lambda: tuple(dict.fromkeys(sentence for one in watches for sentence in one.before_write()))) if watches else None,
            # A loop that writes nothing stores no claims, and read-only rights cover no state of others.
            None
            if settings.read_only
            else OtherPolicies(
                management,
                settings.namespace,
                settings.loop,
                monotonic=self._pace.monotonic,
                wall_seconds=wall_seconds,
                saves=lambda: self.state.saves,
                look_seconds=settings.look_seconds,
            ),
            fleet,
            None
            if cluster is None
            else TargetHolders(
                self.management, settings.namespace, cluster.title, {CLUSTER_LABEL: settings.loop.labels[CLUSTER_LABEL]}
            ),
        )
        store: MemoryStore = InMemoryStore() if settings.read_only else LiveMemoryStore(self.state, self.term)
        self._telling = Telling(
            self.workload, self.management, self.state, None if settings.read_only else objects(self.management),
            identity=settings.identity, wall_seconds=wall_seconds,
            lost=lambda why: self.journal.warning("LostLease", why),
            **({} if news is None else {"news": partial(news.tell, settings.cluster, settings.name)}),
        )  # fmt: skip
        self._answering = tuple(
            Answers(self.workload, lambda: int(wall_seconds()), collection, answers)
            for collection, answers in ((BUFFERS[0], buffer_answers), (REQUESTS[0], request_answers))
        )
        choose: Chooser | None = _keeping_nodes if settings.once else None
        self.run_loop = LiveRun(
            ControlLoop(self.port, policies, store, choose=choose, reopens=not settings.read_only),
            self.view,
            self.wake,
            self.figures,
            log,
            term=self.term,
            within=self.lease.within,
            leader=self._leader,
            policy_missing=self.source.missing,
            monotonic=self._pace.monotonic,
            wall_seconds=wall_seconds,
            began=self._began,
            after_turn=self._announce,
            period_seconds=settings.period_seconds,
        )
        self._turned = turned
        self._wall_seconds = wall_seconds
        self._following = False
        self._renews = lease is None
        self._led, self._reported = 0, ""
        self._leading = threading.Event()
        self._lease_thread = threading.Thread(target=self._lead, name="lease", daemon=True)

    def start(self) -> None:
        """Begin to follow the clusters and the policy, and to claim the Lease."""
        self._begin()
        self.source.start(self.wake.notify)

    def run(self) -> None:
        """Turn until stopped."""
        self.run_loop.run()

    def stand_by(self, patience_seconds: float) -> str:
        """Begin, without a turn: wait for a view to trust and for the Lease; why there is none of it, empty when there is."""
        self._begin()
        if not self.view.wait(patience_seconds):
            return self.view_problem()
        if not self.settings.read_only and not self._leading.wait(patience_seconds):
            return self._leader()
        return ""

    def one_turn(self, patience_seconds: float) -> tuple[LoopReport | None, str]:
        """One turn instead of `start` and `run`: its report, or why there was none. `patience_seconds`: for a first view, and for
        the Lease when another instance has it."""
        why = self.stand_by(patience_seconds)
        if why:
            return None, why
        self.source.poll()
        missing = self.source.missing()
        report = None if missing else self.run_loop.look()
        return report, missing or self._leader()

    def follow(self) -> None:
        """Begin to follow the clusters alone, before `start`: another process decides until then."""
        self.view.start()
        self._following = True

    def stop(self, *, handed_over: bool = False) -> None:
        """End in order: no new turn, what was begun is finished or undone while we still lead, then the Lease goes.

        `handed_over`: another loop goes on at once. Drains stay marked on their nodes, and it continues them.
        """
        self.wake.stop()
        self.source.stop()
        with self.run_loop.turning:
            if self.leads() and not self.settings.read_only and not handed_over:
                self._abandon()
        self._telling.flush()
        self._pace.stop()
        if self._lease_thread.is_alive():
            self._lease_thread.join(self.settings.lease.renew_deadline_seconds)
        self.view.stop()

    def held_since(self) -> Mapping[str, int]:
        """Since when targets are held, as far as it was kept with the memory; Unix seconds."""
        return self._telling.held_since()

    def leads(self) -> bool:
        """Whether this process decides now: it has the Lease, or only reads."""
        return self.term() > 0

    def term(self) -> int:
        """The number of the time that this process decides, from 1; 0: it does not. Nothing known in one is used in another."""
        return 1 if self.settings.read_only else self.lease.term()

    def leader(self) -> str:
        """Who decides, in a sentence."""
        if self.settings.read_only:
            return "this instance only reads"
        return f"this instance leads ({self.settings.identity})" if self.leads() else self._leader()

    def view_problem(self) -> str:
        """Why there is no view to trust now, or no telling who leads; empty when all is well."""
        doubts = self.view.doubts()
        problem = clauses(doubts, 3)
        return problem or (f"the Lease: {self.lease.message}" if self.lease.message else "")

    def _begin(self) -> None:
        if not self._following:
            self.follow()
        if not self.settings.read_only and self._renews:
            self._lease_thread.start()

    def _leader(self) -> str:
        holder = self.lease.holder
        if self.lease.message:
            return f"the Lease cannot be claimed: {self.lease.message}"
        return f"{holder} leads" if holder and holder != self.lease.identity else "nobody is known to lead yet"

    def _rivals(
        self, workload: Api, management: Api, wall_seconds: Callable[[], float], shared: RivalWatch | None
    ) -> tuple[RivalWatch, ...]:
        settings = self.settings
        made = partial(RivalWatch, monotonic=self._pace.monotonic, wall_seconds=wall_seconds)
        apis = (workload,) if workload is management or shared is not None else (workload, management)
        namespaces = (settings.namespace, *settings.target_namespaces, *autoscaler_homes(settings.served))
        if shared is None:
            return (made(apis, namespaces),)
        own = made((management,), settings.target_namespaces, look_seconds=settings.look_seconds, homes=False)
        return made(apis, namespaces), own, shared

    def _began(self) -> None:
        self.port.forget()
        self._telling.began()

    def _abandon(self) -> None:
        try:
            for progress in self.port.abandon_removals():
                self.journal.info(
                    f"Removal{progress.state}",
                    progress.message,
                    nodes=(progress.node,),
                    target="" if progress.target is None else str(progress.target),
                )
        except Exception as error:
            # The next leader finds the taints and goes on; ending must not fail for it.
            self.journal.warning("AbandonFailed", f"{type(error).__name__}: {error}")

    def _lead(self) -> None:
        while True:
            self.tell_decision()
            self.lease.step()
            self.lease_stepped()
            if self._pace.pause(self.settings.lease.retry_seconds * (1 + 0.2 * self._pace.random())):
                break
        self.lease.release()

    def tell_decision(self) -> None:
        """Before an attempt to renew: the Lease says when this loop last decided, and why it has not since."""
        seen = self.figures.seen()
        self.lease.annotate(
            told(
                last_decision(self.lease.annotations), now_seconds=int(self._wall_seconds()), at_seconds=seen.plan_seconds,
                period_seconds=self.settings.period_seconds, why=seen.unavailable, away=self.workload_reader.outages.away,
            )
        )  # fmt: skip

    def tell_gone(self, *, gone: bool) -> None:
        """Whether the source has no policy of our name any more, as after it was renamed. When this process then releases the
        Lease, the Lease says so, and a policy with another name need not wait. The Leases of a fleet belong to the fleet."""
        if self.settings.cluster_object is None:
            self.lease.relabel({FLEET_LABEL: ENDED} if gone else {})

    def lease_stepped(self) -> None:
        """After an attempt to renew: policy and loop look when we begin to lead or end, and need not wait for their periods."""
        term = self.lease.term()
        if self.lease.message and self.lease.message != self._reported:
            self.journal.warning("LeaseFailed", self.lease.message)
        self._reported = self.lease.message
        if term and term != self._led:
            self._leading.set()
            self.source.notify()
        elif self._led and not term:
            self.wake.notify()
        self._led = term

    def _drain_rules(self) -> DrainRules | None:
        return None if self.source.missing() else self.source.current().policy.drain

    def _also_followed(self) -> tuple[Collection, ...]:
        if self.source.missing():
            return ()
        policy = self.source.current().policy
        return (
            *((SERVICES,) if needs_services(policy) else ()),
            *(BUFFERS if policy.headroom_from.reads_buffers else ()),
            *(REQUESTS if policy.requests_from.reads_requests else ()),
        )

    def _platform_chooses(self, target: TargetRef) -> bool:
        return platform_chooses(self.port.last_world, self.source.current(), target, self.port.now_seconds())

    def _marks(self, target: TargetRef) -> Mapping[str, str]:
        revision, cluster = self.source.current().revision, self.settings.cluster_object
        # Targets on an API server name their cluster themselves.
        whose = {CLUSTER_MARK: cluster.title} if cluster is not None and in_cloud(target.kind) else {}
        return {POLICY_MARK: self.settings.name, **whose} | ({"reconciler.dev/revision": revision} if revision else {})

    def _announce(self, report: LoopReport) -> None:
        """Best effort: what cannot be told does not stop what is done."""
        if report.plan is not None and report.decided is not None:
            self.last = (report.plan, report.decided)
        self._turned(report)
        if not self.settings.read_only:
            self._telling.turned(report, self.port.last_world, self.settings.served)
            if not self.source.missing():
                for one in self._answering:
                    one.turned(report.plan, self.port.last_world, self.source.current().policy)


def _place(cluster: ClusterIdentity, neighbours: Callable[[], tuple[ClusterIdentity, ...]]) -> FleetPlace:
    return FleetPlace(cluster=cluster, others=tuple(one for one in neighbours() if one.title != cluster.title))


def _keeping_nodes(plan: Plan, _: World) -> tuple[Action, ...]:
    return tuple(action for action in plan.actions if action.kind in _KEEPS_NODES)


def _refuse() -> None:
    raise NotLeaderError("this process was started to read only")
