"""One process for many workload clusters: it finds them, takes its share of their loops by Leases, and runs those."""

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Protocol

import msgspec

from reconciler.control.fleet.member import Connecting, Making, Member
from reconciler.control.fleet.shares import Instance, Loops, next_step
from reconciler.control.log import Log
from reconciler.gitops.git.fault import SourceError
from reconciler.gitops.sources.fleet_tree import CountsHere
from reconciler.gitops.sources.gated_source import tree_content
from reconciler.gitops.sources.shared_source import SharedSource
from reconciler.gitops.sources.source import Fetched
from reconciler.kube.connection.api import Api, ApiError, UnreachableError
from reconciler.kube.leading.fleet_leases import FleetLeases, SeenLeases
from reconciler.kube.leading.lease import LeaderLease, Timing
from reconciler.kube.leading.loop_name import ENDED, FLEET_LABEL, INSTANCE, TEMPLATE_LABEL, LoopName, cluster_label
from reconciler.kube.watching.shared_targets import SharedTargets
from reconciler.kube.watching.watch_pace import RealPace
from reconciler.plan.last_decision import LastDecision, last_decision
from reconciler.plan.waves import SOAK_SECONDS, Ring, Wait, WaveRecord, closed, record_problem, wave_record
from reconciler.values.cluster_identity import ClusterIdentity

LONGEST_SILENCE_SECONDS = 120.0
SECRET_SECONDS = 60.0
"""So often each kubeconfig Secret is read again; a refused credential reads it at once."""
POLICY_SECONDS = 15.0
"""So often the tree is looked at for which policies apply where; a Cluster that comes or changes is looked at sooner."""
FIRST_READING_SECONDS = 30.0
"""So long the first reading of the tree is waited for. Then loops that there were are taken, with their last good policies."""
CHANGE_SECONDS = 10.0
"""When labels of a Cluster change, its view is built again at most this often."""
_AT_ONCE = 16


class Counting(Protocol):
    """Which policies of a tree count in which clusters."""

    def __call__(
        self, fetched: Fetched, clusters: tuple[ClusterIdentity, ...], now_seconds: int
    ) -> Mapping[ClusterIdentity, CountsHere]:
        """Raises `SourceError`."""


class FleetSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How the process runs. `namespace` is that of Leases and states. `policy` chooses one of several (empty: all that count).
    `template` is the version of the Deployment; `owners` are the owner references of the instance's own Lease. A wave must do
    well under a new tree for `soak_seconds` before the next one takes it."""

    namespace: str
    identity: str
    instance: str
    policy: str = ""
    template: str = ""
    owners: tuple[Mapping[str, object], ...] = ()
    soak_seconds: int = SOAK_SECONDS
    lease: Timing = Timing()


class ClusterStanding(msgspec.Struct, frozen=True, kw_only=True):
    """What this instance knows of one cluster. `holder` runs its loop (empty: nobody); `member` is set where that is us.
    `problem` says why nothing is decided, or what is wrong. `loop` is None where no policy counts. `record` is what its Lease
    says about the rollout of policies, `decision` what it says about the last decision."""

    cluster: ClusterIdentity
    loop: LoopName | None = None
    holder: str = ""
    member: Member | None = None
    record: WaveRecord | None = None
    decision: LastDecision | None = None
    problem: str = ""


class FleetProcess:
    """Between `start` and `stop`. `source` is the policy tree for all clusters, `counting` which policies apply where."""

    def __init__(
        self,
        settings: FleetSettings,
        lease_api: Api,
        shared: SharedTargets,
        source: SharedSource,
        counting: Counting,
        *,
        connect: Connecting,
        make: Making,
        log: Callable[[LoopName | None], Log],
        now_seconds: Callable[[], int],
    ) -> None:
        """`lease_api` ends each call within the Lease's time-out. `log` gives the log of a loop, or that of the process."""
        self.settings = settings
        self.shared = shared
        self._lease_api = lease_api
        self._source = source
        self._counting = counting
        self._connect = connect
        self._make = make
        self._log_of = log
        self._log = log(None)
        self._now_seconds = now_seconds
        self._pace = RealPace()
        self._turned = self._pace.monotonic()
        self._leases = FleetLeases(
            lease_api, settings.namespace, self._pace.monotonic, lasts_seconds=settings.lease.duration_seconds
        )
        labels = {FLEET_LABEL: INSTANCE, **({TEMPLATE_LABEL: settings.template} if settings.template else {})}
        self._instance = LeaderLease(
            lease_api, namespace=settings.namespace, name=f"reconciler-instance-{settings.instance}", identity=settings.identity,
            pace=self._pace, wall_seconds=lambda: float(now_seconds()), timing=settings.lease,
            metadata={"labels": labels, **({"ownerReferences": list(settings.owners)} if settings.owners else {})},
        )  # fmt: skip
        self._changed = threading.Event()
        self._members: dict[LoopName, Member] = {}
        self._ending: dict[LoopName, Future[None]] = {}
        self._looking: dict[LoopName, Future[None]] = {}
        self._looked: dict[LoopName, float] = {}
        self._uids: dict[LoopName, str] = {}
        self._began = self._pace.monotonic()
        self._counts: Mapping[tuple[str, str], CountsHere] = {}
        self._content = ""
        self._counted: tuple[tuple[ClusterIdentity, ...], float, str] | None = None
        self._reading: Future[None] | None = None
        self._news = threading.Event()
        self._seen = SeenLeases()
        self._rings: Mapping[LoopName, Ring] = {}
        self._former: dict[str, WaveRecord] = {}
        self._standings: tuple[ClusterStanding, ...] = ()
        self._clusters: tuple[ClusterIdentity, ...] = ()
        self.problem = "the Clusters of the management cluster were not read yet"
        """Why the fleet is not seen now; empty: it is."""
        self._reported: dict[str, str] = {}
        self._pool = ThreadPoolExecutor(max_workers=_AT_ONCE, thread_name_prefix="fleet")
        self._reader = ThreadPoolExecutor(max_workers=1, thread_name_prefix="fleet-policies")
        self._thread = threading.Thread(target=self._run, name="fleet", daemon=True)
        self._stopped = False

    def start(self) -> None:
        """Begin to follow, and to take loops."""
        self.shared.start()
        self._thread.start()

    def clusters_changed(self) -> None:
        """Look soon: a Cluster came, went or changed. Cheap, from any thread."""
        self._changed.set()

    def notify(self) -> None:
        """Somebody says that there is something new at the source."""
        self._source.forget()
        self._news.set()
        self._changed.set()
        for member in tuple(self._members.values()):
            process = member.process
            if process is not None:
                process.source.notify()

    def standings(self) -> tuple[ClusterStanding, ...]:
        """Every cluster that is known, by name; one with several policies has a line for each."""
        return self._standings

    def closed(self, name: LoopName, content: str, decides: bool) -> Wait | None:  # noqa: FBT001 - as a gate asks
        """Why a loop does not take a tree yet (see `plan/waves.py`). From any thread, by the last look at the fleet."""
        rings = self._rings
        own = rings.get(name)
        others = (ring for loop, ring in rings.items() if loop != name)
        wave = own.wave if own is not None else None
        return closed(content, wave, others, decides=decides, soak_seconds=self.settings.soak_seconds)

    def former(self, name: LoopName) -> WaveRecord | None:
        """What an ended loop of the same cluster left: a policy with another name is compared with what was before it, too."""
        return self._former.get(name.title)

    def instances(self) -> tuple[str, ...]:
        """The identities of all instances that live, this one among them."""
        return tuple(sorted({self.settings.identity, *(one.identity for one in self._seen.instances)}))

    def silent_seconds(self) -> float:
        """Since the last look at the fleet ended."""
        return self._pace.monotonic() - self._turned

    def clusters(self) -> tuple[ClusterIdentity, ...]:
        """All clusters of the fleet, as last seen."""
        return self._clusters

    def own_clusters(self) -> tuple[ClusterIdentity, ...]:
        """The clusters whose loops run here."""
        return tuple(dict.fromkeys(member.cluster for member in tuple(self._members.values())))

    def members(self) -> tuple[Member, ...]:
        """The loops that run here, by name."""
        return tuple(member for _, member in sorted(self._members.items()))

    def stop(self) -> None:
        """End in order: each loop is handed over, or ends as a single one does where no other instance lives."""
        self._stopped = True
        self._changed.set()
        if self._thread.ident is not None:
            self._thread.join()
        others = any(one.identity != self.settings.identity for one in self._seen.instances)
        # Not through the pool, which looks at Secrets: each loop may wait for its own cluster only.
        threads = [
            threading.Thread(target=member.stop, kwargs={"handed_over": others}) for member in tuple(self._members.values())
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        wait(self._ending.values(), self.settings.lease.renew_deadline_seconds)
        self._instance.release()
        self._reader.shutdown(wait=False, cancel_futures=True)
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._pace.stop()
        self.shared.stop()

    def _run(self) -> None:
        while not self._stopped:
            try:
                self._turn()
            except Exception as error:
                # The thread that shares the loops must outlive a defect: loops that are held go on.
                self._say("FleetTurnFailed", f"this look at the fleet ended by a defect: {type(error).__name__}: {error}")
            self._turned = self._pace.monotonic()
            self._changed.wait(self.settings.lease.retry_seconds * (0.9 + 0.2 * self._pace.random()))
            self._changed.clear()

    def _turn(self) -> None:
        if not self._instance.step() and self._instance.message:
            self._say("LeaseFailed", f"the Lease of this instance, by which others count it: {self._instance.message}")
        doubts = self.shared.doubts(LONGEST_SILENCE_SECONDS)
        if doubts:
            self.problem = f"the Clusters of the management cluster cannot be seen: {doubts[0]}"
            self._say("FleetNotSeen", self.problem)
            return
        clusters = self._clusters = self.shared.clusters()
        self._count(clusters)
        if self._counted is None and self._pace.monotonic() - self._began < FIRST_READING_SECONDS:
            self.problem = "which policies apply where was not read yet"
            return
        loops = self._loops(clusters)
        try:
            self._seen = self._leases.look(loops)
        except (ApiError, UnreachableError, msgspec.DecodeError) as error:
            self.problem = f"the Leases of the fleet cannot be read: {error}"
            self._say("FleetNotSeen", self.problem)
            return
        for name, ring in self._rings.items():
            if name not in loops and ring.record is not None:
                self._former[ring.cluster] = ring.record
        self._rings = {
            name: Ring(cluster=name.title, wave=cluster.wave, record=wave_record(self._seen.annotations.get(name.text, {})))
            for name, cluster in loops.items()
        }
        self.problem = ""
        self._reported.pop("FleetNotSeen", None)
        uids = self.shared.cluster_uids()
        self._drop(loops, clusters, uids)
        self._share(loops, uids)
        self._look_after(loops)
        by_cluster: dict[ClusterIdentity, list[LoopName | None]] = {}
        for name, cluster in loops.items():
            by_cluster.setdefault(cluster, []).append(name)
        self._standings = tuple(self._standing(cluster, name) for cluster in clusters for name in by_cluster.get(cluster, [None]))

    def _count(self, clusters: tuple[ClusterIdentity, ...]) -> None:
        """Which policies count where: read again when the tree or the clusters changed.

        In a thread of its own: a host that answers slowly, or a tree that is read for minutes, delays no Lease.
        """
        if self._reading is not None and not self._reading.done():
            return
        known, news = self._counted, self._news.is_set()
        if not news and known is not None and known[0] == clusters and self._pace.monotonic() - known[1] < POLICY_SECONDS:
            return
        self._news.clear()
        self._reading = self._reader.submit(self._read, clusters)

    def _read(self, clusters: tuple[ClusterIdentity, ...]) -> None:
        known, revision = self._counted, ""
        try:
            fetched = self._source.fetch(None)
            if known is None or known[0] != clusters or known[2] != fetched.revision:
                counts = self._counting(fetched, clusters, self._now_seconds())
                self._content = tree_content(fetched)
                self._counts = {(one.namespace, one.name): found for one, found in counts.items()}
            revision = fetched.revision
        except SourceError as error:
            self._say("NoPolicy", f"which policies apply where cannot be read again: {error.fault.sentence}")
        except Exception as error:
            self._say("NoPolicy", f"which policies apply where cannot be read again: {type(error).__name__}: {error}")
        self._counted = clusters, self._pace.monotonic(), revision
        self._changed.set()

    def _loops(self, clusters: tuple[ClusterIdentity, ...]) -> dict[LoopName, ClusterIdentity]:
        """The loops that there should be. Where no policy counts now, those that there were stay: their last good policies are
        in force, as for one cluster alone."""
        loops: dict[LoopName, ClusterIdentity] = {}
        before: dict[tuple[str, str], set[str]] = {}
        for name in self._members:
            before.setdefault((name.namespace, name.cluster), set()).add(name.policy)
        ever: dict[str, set[str]] = {}
        for label, policy in self._seen.ever:
            ever.setdefault(label, set()).add(policy)
        # Empty after a reading that failed. Else a cluster without an entry is so new that the next reading has it.
        unread = self._counted is None or not self._counted[2]
        for cluster in clusters:
            key = cluster.namespace, cluster.name
            counts = self._counts.get(key)
            policies = set(counts.policies) if counts is not None else set()
            run = before.get(key, set()) | ever.get(cluster_label(*key), set())
            if not policies:
                policies |= run if counts is not None or unread else before.get(key, set())
            elif run and policies != run and self._waits(cluster):
                # Other policies count there in the new tree, which the cluster does not take yet.
                policies = run
            for policy in sorted(policies):
                if policy and self.settings.policy in ("", policy):
                    loops[LoopName(policy, *key)] = cluster
        return loops

    def _waits(self, cluster: ClusterIdentity) -> bool:
        """Whether a cluster that has loops does not take the tree yet that says which policies count."""
        others = (ring for ring in self._rings.values() if ring.cluster != cluster.title)
        content, soak = self._content, self.settings.soak_seconds
        return bool(content) and closed(content, cluster.wave, others, decides=True, soak_seconds=soak) is not None

    def _drop(
        self,
        loops: Mapping[LoopName, ClusterIdentity],
        clusters: tuple[ClusterIdentity, ...],
        uids: Mapping[tuple[str, str], str],
    ) -> None:
        """End loops whose Cluster is gone or another one, and those that another instance holds."""
        self._ending = {name: ending for name, ending in self._ending.items() if not ending.done()}
        there = {(cluster.namespace, cluster.name) for cluster in clusters}
        for name, member in tuple(self._members.items()):
            key = name.namespace, name.cluster
            holder = self._seen.holders.get(name.text, "")
            if key not in there:
                self._end(name, "its Cluster is gone", handed_over=False)
            elif name not in loops:
                self._end(name, "another policy applies there", handed_over=False, retired=True)
            elif not member.lease.leads() and holder not in ("", self.settings.identity):
                self._end(name, f"{holder} holds its Lease", handed_over=True)
            elif key in uids and self._uids.get(name) != uids[key]:
                # What was seen of the old cluster says nothing about this one, and the old one may not answer any more.
                self._end(name, "its Cluster was deleted, and another one has its name", handed_over=True)

    def _share(self, loops: Mapping[LoopName, ClusterIdentity], uids: Mapping[tuple[str, str], str]) -> None:
        names = {name.text: name for name in loops if name not in self._ending}
        holders = {text: self._seen.holders.get(text, "") for text in names}
        # What the list does not show yet: Leases that were claimed since.
        holders |= {name.text: self.settings.identity for name in self._members if name.text in holders}
        me = self.settings.identity
        instances = [
            Instance(identity=one.identity, template=one.template, started=one.started, seen_seconds=one.seen_seconds)
            for one in self._seen.instances
        ]
        if not any(one.identity == me for one in instances):
            instances.append(Instance(identity=me, template=self.settings.template, started=self._now_seconds(), seen_seconds=0))
        lasts = float(self.settings.lease.duration_seconds)
        step = next_step(
            Loops(me=me, instances=instances, holders=holders, free_seconds=self._seen.free_seconds, lasts_seconds=lasts)
        )
        until = self._pace.monotonic() + self.settings.lease.retry_seconds
        for text in step.take:
            name = names[text]
            self._uids[name] = uids.get((name.namespace, name.cluster), "")
            self._take(name, loops[name])
            if self._pace.monotonic() >= until:
                # The Lease of the instance must be renewed in between, however many there are and however slow the server.
                self._changed.set()
                break
        # One at a time: the next is given up once this one is free.
        if step.give and not self._ending:
            self._end(names[step.give], "other instances have fewer", handed_over=True)

    def _take(self, name: LoopName, cluster: ClusterIdentity) -> None:
        lease = LeaderLease(
            self._lease_api, namespace=self.settings.namespace, name=name.lease, identity=self.settings.identity,
            pace=self._pace, wall_seconds=lambda: float(self._now_seconds()), timing=self.settings.lease,
            metadata={"labels": name.labels},
        )  # fmt: skip
        self._leases.tell(name.lease, lease)
        if not lease.step():
            if lease.message:
                self._say("LeaseFailed", f"{name.title}: {lease.message}")
            return
        member = Member(
            name, cluster, lease, connect=self._connect, make=self._make, log=self._log_of(name),
            timing=self.settings.lease, wall_seconds=lambda: float(self._now_seconds()),
        )  # fmt: skip
        self._members[name] = member
        self._looked[name] = self._pace.monotonic()
        self._log_of(name).info("LoopTaken", f"this instance runs the loop of {name.title} from now on")
        member.start()

    def _end(self, name: LoopName, why: str, *, handed_over: bool, retired: bool = False) -> None:
        """`retired`: another policy applies there. The loop then does not come back while no tree can be read."""
        member = self._members.pop(name)
        self._log_of(name).info("LoopEnded", f"this instance ends the loop of {name.title}: {why}")
        if retired:
            member.lease.relabel({**name.labels, FLEET_LABEL: ENDED})
        ended: Future[None] = Future()
        self._ending[name] = ended

        def end() -> None:
            try:
                member.stop(handed_over=handed_over)
            finally:
                ended.set_result(None)
                self._changed.set()

        threading.Thread(target=end, name=f"end {name.title}", daemon=True).start()

    def _look_after(self, loops: Mapping[LoopName, ClusterIdentity]) -> None:
        """Read the kubeconfig Secrets again when it is time, and follow changes of Clusters."""
        now = self._pace.monotonic()
        self._looking = {name: look for name, look in self._looking.items() if not look.done()}
        for name, member in self._members.items():
            age = now - self._looked.get(name, 0)
            due = age >= SECRET_SECONDS or (age >= CHANGE_SECONDS and member.cluster != loops.get(name))
            if due and name not in self._looking and name in loops:
                self._looked[name] = now
                self._looking[name] = self._pool.submit(member.look, loops[name])

    def _standing(self, cluster: ClusterIdentity, name: LoopName | None) -> ClusterStanding:
        counts = self._counts.get((cluster.namespace, cluster.name))
        if name is None:
            why = counts.problem if counts is not None and counts.problem else "no policy applies in this cluster"
            return ClusterStanding(cluster=cluster, problem=why)
        member = self._members.get(name)
        told = self._seen.annotations.get(name.text, {})
        problem = (counts.problem if counts is not None else "") or cluster.wave_problem or record_problem(told)
        if member is not None:
            problem = member.problem or problem
        holder = self.settings.identity if member is not None else self._seen.holders.get(name.text, "")
        ring = self._rings.get(name)
        record = ring.record if ring is not None else None
        decision = last_decision(told)
        return ClusterStanding(
            cluster=cluster, loop=name, holder=holder, member=member, record=record, decision=decision, problem=problem
        )

    def _say(self, code: str, message: str) -> None:
        """Once for each code, until it has another message or the fleet was seen again."""
        if message != self._reported.get(code):
            self._reported[code] = message
            self._log.warning(code, message)
