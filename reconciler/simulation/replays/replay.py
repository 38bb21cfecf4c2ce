"""Demand of the past under a policy: the real decisions on the embedded cluster, in virtual time, from event to event."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from zlib import crc32

from msgspec.structs import replace

from reconciler.cluster.nodes.node import ZONE_LABEL
from reconciler.cluster.pods.pod import Owner
from reconciler.cluster.target import TargetRef
from reconciler.cluster.values.resources import Resources
from reconciler.cluster.workloads.workload import Controller
from reconciler.cluster.world import World
from reconciler.decisions.decide import DEFAULT_WORK_BUDGET, decide, settle
from reconciler.decisions.groups.effective_groups import effective_groups
from reconciler.decisions.memory import Memory, Outcome
from reconciler.decisions.situation.lead_times import overdue_after_seconds
from reconciler.plan.money import money
from reconciler.plan.plan import ActionKind, Plan, PodOutcome
from reconciler.plan.replay import Replay, ReplayFigures
from reconciler.plan.waiting_times import waited_seconds
from reconciler.policy.documents import GroupFields, PolicySet, ScaleDown, Size, Window
from reconciler.policy.windows import window_edges
from reconciler.scheduling.state import SchedulingState
from reconciler.simulation.embedded.agenda import Event, Happened, MachineBehaviour
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.embedded.objects import ClusterObjects
from reconciler.simulation.embedded.pod_object import NodeObject, PodObject
from reconciler.simulation.embedded.workloads import Workload
from reconciler.simulation.embedded.writes import SimulatedWrites
from reconciler.simulation.execution import execute
from reconciler.simulation.replays.replay_figures import Ledger, share_permille
from reconciler.simulation.replays.trace import DemandSource, DemandStep, Trace, policy_world
from reconciler.simulation.timers import next_timer_seconds
from reconciler.values.instant import instant_text

# Puts the demand of a trace on a simulated cluster, as the controllers of the pods would.


class Demand:
    """The pods of a trace. Every step is put on the cluster's agenda; `wanted` is how many pods each source wants now."""

    def __init__(self, trace: Trace, cluster: SimulatedCluster) -> None:
        self._trace = trace
        self._cluster = cluster
        objects = cluster.objects
        self._shapes = [objects.new_pod_shape(source.shape, source.traits) for source in trace.sources]
        self._traits = [objects.traits(source.traits) for source in trace.sources]
        self._seen = 0
        self.wanted = list(trace.present)

    def begin(self) -> None:
        """Let what is wanted from the start on happen now, and the rest in its time."""
        for step in self._trace.steps:
            at = self._cluster.now_seconds if step.at_seconds <= self._trace.start_seconds else step.at_seconds
            self._cluster.agenda.at(at, partial(self._step, step))

    def _step(self, step: DemandStep) -> None:
        for index, pods in step.changes:
            more = pods - self.wanted[index]
            self.wanted[index] = pods
            source = self._trace.sources[index]
            owner = source.traits.controller
            if owner is None:
                self._bare(index, source, wanted=pods > 0)
            elif more > 0:
                self._grow(index, source, self._workload(source, owner), more)
            else:
                self._shrink(index, self._workload(source, owner), -more)
        self._cluster.objects.touch()
        self._cluster.journal.add(self._cluster.now_seconds, Happened.DEMAND_CHANGED, self._trace.name, after=sum(self.wanted))

    def _workload(self, source: DemandSource, owner: Owner) -> Workload:
        namespace = source.shape.namespace
        workload = self._cluster.workloads.define(owner.kind, namespace, owner.name, source.shape, source.traits)
        controllers = self._cluster.objects.controllers
        if workload.key not in controllers:
            controllers[workload.key] = Controller(
                api_group=owner.api_group, kind=owner.kind, namespace=namespace, name=owner.name, uid=owner.uid, replicas=0
            )
        return workload

    def _grow(self, index: int, source: DemandSource, workload: Workload, pods: int) -> None:
        """New pods like those of the source: its controller takes what has left as the pattern."""
        self._cluster.workloads.scale(workload, workload.desired + pods)
        for _ in range(pods):
            self._seen += 1
            name = source.pod_name or f"{workload.key[2]}-pattern-{self._seen}"
            workload.vacant.append(
                PodObject(source.shape.namespace, name, "", self._shapes[index], self._traits[index], self._cluster.now_seconds)
            )

    def _shrink(self, index: int, workload: Workload, pods: int) -> None:
        """Delete pods of the source; a StatefulSet's is known by its name.

        SOURCE: the order of ReplicaSets (`ActivePodsWithRanks`). Pods without a node go first, then unready ones. Then come those
        that share their node with the most pods of the controller, then the youngest. Equal pods go by their random uid. Here a
        checksum of the name replaces the uid, so that no zone or node is preferred.
        """
        name = self._trace.sources[index].pod_name
        going = [
            pod
            for pod in workload.pods
            if pod.active and pod.shape == self._shapes[index] and pod.traits == self._traits[index] and name in ("", pod.name)
        ]
        beside = Counter(pod.node for pod in workload.pods if pod.active and pod.node is not None)
        going.sort(
            key=lambda pod: (
                pod.node is not None,
                pod.ready,
                -beside[pod.node] if pod.node is not None else 0,
                -pod.created,
                crc32(pod.key.encode()),
                pod.name,
            )
        )
        self._cluster.workloads.want(workload, max(0, workload.desired - pods))
        for pod in going[:pods]:
            self._cluster.pods.terminate(pod)
            if pod in workload.vacant:
                workload.vacant.remove(pod)

    def _bare(self, index: int, source: DemandSource, *, wanted: bool) -> None:
        """A pod that no controller makes."""
        objects = self._cluster.objects
        key = (source.shape.namespace, source.pod_name)
        there = objects.pods.get(key)
        if wanted and there is None:
            uid = f"uid-{source.shape.namespace}-{source.pod_name}"
            now = self._cluster.now_seconds
            pod = PodObject(*key, uid, self._shapes[index], self._traits[index], now)
            self._cluster.pods.created(objects.add_pod(pod))
        elif not wanted and there is not None:
            self._cluster.pods.terminate(there)


# Instants at which a policy changes its effect without any event: windows, scheduled budgets, ends of holds.


class PolicyClock:
    """The edges of everything in a policy that depends on the clock."""

    def __init__(self, policy: PolicySet) -> None:
        rules = policy.policy
        levels: list[GroupFields] = [*policy.groups, *(tier.defaults for tier in rules.tiers), rules.defaults]
        self._windows = {
            replace(window, name="", size=Size(), scale_down=ScaleDown()) for one in levels for window in one.windows
        }
        self._windows |= {
            Window(schedule=budget.schedule, time_zone=budget.time_zone, duration_seconds=budget.duration_seconds or 0)
            for budget in rules.budgets
            if budget.schedule
        }
        self._ends = sorted(
            fields.hold.until_seconds for fields in levels if fields.hold is not None and fields.hold.until_seconds is not None
        )
        self._known: int | None = -1

    def next_edge(self, after_seconds: int) -> int | None:
        """The first edge after an instant (Unix seconds); instants must not go back. None: there are no more."""
        if self._known is not None and self._known <= after_seconds:
            self._known = min(self._edges(after_seconds), default=None)
        return self._known

    def _edges(self, after_seconds: int) -> Iterator[int]:
        for window in self._windows:
            yield from window_edges(window, after_seconds)
        yield from (end for end in self._ends if end > after_seconds)


# Pods that prefer to be spread over zones: how the scheduler of a replay places them, and how even they are.
#
# SOURCE: a preferred pod anti-affinity over topology.kubernetes.io/zone, as in kube-scheduler's InterPodAffinity score. A node in
# a zone with fewer pods of the same kind scores higher, and one without room scores nothing. So the preference holds only while a
# zone has room.


class ZoneSpread:
    """Follows the pods of some shapes in a simulated cluster."""

    def __init__(self, objects: ClusterObjects, shapes: frozenset[int], zones: frozenset[str]) -> None:
        """`shapes` are indices. `zones` are those that nodes can be in at all."""
        self._objects = objects
        self._shapes = set(shapes)
        self._zones = zones
        self._weighted = 0
        self._seconds = 0

    def place(self, state: SchedulingState, shape: int, count: int, nodes: list[NodeObject]) -> tuple[tuple[int, int], ...]:
        """Bind up to `count` pods, each in the zone that has the fewest and still has room; (node, pods bound)."""
        if shape not in self._shapes:
            return state.place(shape, count)
        by_zone: dict[str, list[int]] = {}
        for index, node in enumerate(nodes):
            if state.closed(index):
                continue
            by_zone.setdefault(self._zone(node), []).append(index)
        there = self._counts(shape)
        placed: Counter[int] = Counter()
        for _ in range(count):
            for zone in sorted(by_zone, key=lambda zone: (there[zone], zone)):
                places = state.place(shape, 1, by_zone[zone])
                if places:
                    placed[places[0][0]] += 1
                    there[zone] += 1
                    break
                del by_zone[zone]  # no room for one of them now, so none for the next either
            else:
                break
        return tuple(sorted(placed.items()))

    def pass_time(self, seconds: int) -> None:
        """The pods stayed where they are for this many seconds."""
        for shape in sorted(self._shapes):
            counts = self._counts(shape)
            pods = sum(counts.values())
            zones = len(self._zones)
            if pods < 2 or zones < 2:
                continue
            possible = pods - -(-pods // zones)
            self._weighted += seconds * (1000 * (pods - max(counts.values())) // possible)
            self._seconds += seconds

    def forget(self) -> None:
        """Start the mean over."""
        self._weighted = self._seconds = 0

    @property
    def permille(self) -> int | None:
        """The mean so far; None without two pods of one shape and two zones."""
        return self._weighted // self._seconds if self._seconds else None

    def _counts(self, shape: int) -> Counter[str]:
        return Counter(
            self._zone(pod.node)
            for pod in self._objects.pods.values()
            if pod.shape == shape and pod.node is not None and pod.active
        )

    def _zone(self, node: NodeObject) -> str:
        return next((value for key, value in self._objects.shape_of(node).labels if key == ZONE_LABEL), "")


INTERVAL_SECONDS = 10
"""The time between two iterations (the Cluster Autoscaler's default scan interval)."""
LEAD_SECONDS = 3_600
"""How long the first demand of a curve lasts before figures count, so that a cold start is not mistaken for the policy."""
_BUSY_SECONDS, _IDLE_SECONDS = 60, 600
_CALLS_FOR_A_LOOK = frozenset(Happened) - {
    Happened.POD_BOUND, Happened.POD_EVICTED, Happened.DEMAND_CHANGED, Happened.REMOVAL_BEGAN, Happened.SCENARIO,
}  # fmt: skip

_SPEAKS_FOR_ITSELF = (ActionKind.RESIZE, ActionKind.REMOVE_NODE)  # what follows from them is an event of its own


class ReplayRun:
    """One policy over one trace. Deterministic: same inputs, same figures.

    Iterations are on the loop's interval. Iterations in which the decision cannot have changed are skipped. In these, no pod or
    node came or went, no timer of the plan expired, and no window opened or closed. Changes in progress are checked every minute,
    a cluster in steady state every ten. Actions are carried out whatever the policy's mode, because this shows what would happen.
    """

    def __init__(
        self,
        policy: PolicySet,
        trace: Trace,
        world: World,
        *,
        lead_seconds: int = LEAD_SECONDS,
        otherwise: MachineBehaviour | None = None,
        prices_micros: Mapping[TargetRef, int] | None = None,
        work_budget: int = DEFAULT_WORK_BUDGET,
    ) -> None:
        """`prices_micros` are for targets to which this policy gives no price."""
        self._policy = policy
        self._trace = trace
        self._work_budget = work_budget
        self.begin_seconds = trace.start_seconds - lead_seconds
        self.cluster = SimulatedCluster(world, policy, self.begin_seconds, otherwise=otherwise)
        groups = effective_groups(world, policy, self.begin_seconds)
        own = {group.target: group.price_micros for group in groups if group.price_micros is not None}
        self._patience = {group.target: group.scale_up.max_node_provision_time_seconds for group in groups}
        self._prices = {str(target): price for target, price in ({**(prices_micros or {}), **own}).items()}
        self._writes = SimulatedWrites(self.cluster)
        self._demand = Demand(trace, self.cluster)
        self._clock = PolicyClock(policy)
        objects = self.cluster.objects
        shapes = frozenset(objects.new_pod_shape(one.shape, one.traits) for one in trace.sources if one.zone_spread)
        labels = [group.template.labels for group in groups if group.template is not None]
        labels += [world.node_shapes[node.shape].labels for node in world.nodes]
        zones = frozenset(value for pairs in labels for key, value in pairs if key == ZONE_LABEL)
        self._spread = ZoneSpread(objects, shapes, zones)
        if shapes:
            self.cluster.scheduler.placing = self._spread.place
        self._ledger: Ledger | None = None
        self._read = 0
        self._bound: dict[str, tuple[int, str]] = {}
        self._of_nodes = {pod.key for pod in self.cluster.objects.pods.values() if self.cluster.objects.goes_with_node(pod)}
        self._decisions = self._lead_grown = 0
        self._without_template = frozenset(group.name for group in groups if group.template is None)
        self._always_held = frozenset(group.name for group in groups)
        self._could_grow = False

    def turns(self) -> Iterator[int]:
        """Turn by turn, to the end; the instants (Unix seconds)."""
        memory = Memory()
        self._demand.begin()
        self.cluster.advance_to(self.begin_seconds)
        while self.cluster.now_seconds < self._trace.end_seconds:
            now = self.cluster.now_seconds
            if self._ledger is None and now >= self._trace.start_seconds:
                self._count_from(now)
            plan, memory = decide(self.cluster.world(), self._policy, memory, now, self._work_budget)
            self._decisions += 1
            self._look_at(plan)
            outcomes = execute(plan, self.cluster, self._writes)
            memory = settle(memory, outcomes)
            self._advance(self._latest(plan, memory, outcomes))
            self._spread.pass_time(self.cluster.now_seconds - now)
            yield self.cluster.now_seconds
        self._take_events()

    def _look_at(self, plan: Plan) -> None:
        """Which groups are held, and whether one could grow."""
        free = {line.name for line in plan.groups if not line.held}
        self._always_held -= free
        self._could_grow |= not free <= self._without_template

    def _latest(self, plan: Plan, memory: Memory, outcomes: tuple[Outcome, ...]) -> int:
        """When the loop looks again, whatever happens."""
        now = self.cluster.now_seconds
        done = any(outcome.done for outcome in outcomes)
        if done and any(action.kind not in _SPEAKS_FOR_ITSELF for action in plan.actions):
            wait = INTERVAL_SECONDS
        elif (plan.actions and not done) or any(line.outcome is PodOutcome.DELAYED for line in plan.pods):
            wait = _BUSY_SECONDS
        else:
            wait = _IDLE_SECONDS
        timers = [next_timer_seconds(plan, memory, self._policy.policy, now), self._clock.next_edge(now)]
        timers += [
            machine.created_seconds
            + overdue_after_seconds(memory.lead_times.get(str(machine.target)), self._patience[machine.target])
            + 1
            for machine in self.cluster.objects.machines.values()
            if not machine.node and not machine.failed and machine.target in self._patience
        ]
        due = [now + wait, self._trace.end_seconds]
        due += [self._on_grid(instant) for instant in timers if instant is not None and instant > now]
        if self._ledger is None:
            due.append(self._trace.start_seconds)
        return min(due)

    def _on_grid(self, seconds: int) -> int:
        """The first turn at or after an instant."""
        past = seconds - self.begin_seconds
        return self.begin_seconds + -(-past // INTERVAL_SECONDS) * INTERVAL_SECONDS

    def _advance(self, latest: int) -> None:
        """To the next turn: the first one after something happened, at the latest `latest`."""
        cluster = self.cluster
        events = cluster.journal.events
        while cluster.now_seconds < latest:
            seen = len(events)
            due = cluster.agenda.next_seconds
            cluster.advance_to(latest if due is None else min(due, latest))
            if any(events[position].kind in _CALLS_FOR_A_LOOK for position in range(seen, len(events))):
                latest = min(latest, self._on_grid(cluster.now_seconds))
            self._take_events()  # at once, while nodes and pods of the events are still there

    def _count_from(self, now_seconds: int) -> None:
        """Figures begin here."""
        self._take_events()
        objects = self.cluster.objects
        nodes = {node.name: str(node.target or "") for node in objects.nodes.values()}
        counted = [pod for pod in objects.pods.values() if not objects.goes_with_node(pod) and not pod.finished]
        placed = {
            pod.key: (self._bound.get(pod.key, (max(pod.created, self.begin_seconds), ""))[0], pod.node.name)
            for pod in counted
            if pod.node is not None
        }
        waiting = {pod.key: pod.created for pod in objects.pending()}
        sizes = {node.name: objects.shape_of(node).allocatable for node in objects.nodes.values()}
        sizes |= {pod.key: objects.pod_shapes[pod.shape].requests for pod in counted}
        self._ledger = Ledger(now_seconds, self._trace.end_seconds, nodes, placed, waiting, sizes, self._prices)
        self._spread.forget()
        self._decisions = 0

    def _take_events(self) -> None:
        for event in self.cluster.journal.since(self._read):
            self._read += 1
            if event.kind is Happened.POD_CREATED and self._goes_with_node(event.object):
                self._of_nodes.add(event.object)
            if event.object in self._of_nodes:
                continue
            if self._ledger is not None:
                self._ledger.read(event, self._share(event), self._size(event))
            elif event.kind is Happened.NODE_JOINED:
                self._lead_grown += 1
            elif event.kind is Happened.POD_BOUND:
                self._bound[event.object] = (event.at_seconds, event.detail)

    def _goes_with_node(self, key: str) -> bool:
        namespace, _, name = key.partition("/")
        pod = self.cluster.objects.pods.get((namespace, name))
        return pod is not None and self.cluster.objects.goes_with_node(pod)

    def _size(self, event: Event) -> Resources | None:
        """What a created pod requests or a node that joined offers; None of any other event."""
        objects = self.cluster.objects
        if event.kind is Happened.POD_CREATED:
            return objects.pod_shapes[event.before].requests
        node = objects.nodes.get(event.object) if event.kind is Happened.NODE_JOINED else None
        return objects.shape_of(node).allocatable if node is not None else None

    def _share(self, event: Event) -> int:
        """How much of its node an evicted pod takes, in permille; 0 of any other event and where node or pod are gone."""
        objects = self.cluster.objects
        if event.kind is Happened.POD_EVICTED:
            node = objects.nodes.get(event.detail)
            return share_permille(objects.pod_shapes[event.before], objects.shape_of(node)) if node is not None else 0
        if event.kind is Happened.POD_PREEMPTED:
            namespace, _, name = event.object.partition("/")
            pod = objects.pods.get((namespace, name))
            if pod is not None and pod.node is not None:
                return share_permille(objects.pod_shapes[pod.shape], objects.shape_of(pod.node))
        return 0

    def figures(self, source: str = "") -> ReplayFigures:
        """What it came to, once all turns are done; `source` says where the policy was read from."""
        if self._ledger is None:
            self._count_from(self.cluster.now_seconds)
        assert self._ledger is not None  # noqa: S101 - for the type checker: set right above
        totals = self._ledger.close(self.cluster.now_seconds)
        asked = totals.placed_pod_seconds + totals.unplaced_pod_seconds
        counts, waits, never = totals.counts, totals.waits, totals.never_placed
        whole = self._trace.end_seconds - self._trace.start_seconds
        waited = partial(waited_seconds, waits, never, whole_seconds=whole)
        return ReplayFigures(
            policy=self._policy.policy.name,
            source=source,
            pods_placed=len(waits),
            pods_never_placed=never,
            wait_p50_seconds=waited(50),
            wait_p95_seconds=waited(95),
            wait_p99_seconds=waited(99),
            wait_max_seconds=waited(100),
            pods_pending=sum(1 for _ in self.cluster.objects.pending()),
            unplaced_pod_seconds=totals.unplaced_pod_seconds,
            served_ppm=1_000_000 * totals.placed_pod_seconds // asked if asked else 1_000_000,
            node_seconds=sum(line.node_seconds for line in totals.targets),
            start_nodes=totals.start_nodes,
            peak_nodes=totals.peak_nodes,
            cost=money(totals.cost_micros) if self._prices else None,
            lost_pod_seconds=totals.lost_pod_seconds,
            lost_cost=money(totals.lost_micros) if self._prices else None,
            lead_grown_nodes=self._lead_grown,
            grown_nodes=counts.get(Happened.NODE_JOINED, 0),
            removed_nodes=counts.get(Happened.NODE_GONE, 0),
            evictions=counts.get(Happened.POD_EVICTED, 0) + counts.get(Happened.POD_PREEMPTED, 0),
            machines_failed=counts.get(Happened.MACHINE_FAILED, 0),
            writes_refused=counts.get(Happened.WRITE_REFUSED, 0),
            zone_spread_permille=self._spread.permille,
            decisions=self._decisions,
            could_grow=self._could_grow,
            held_groups=tuple(sorted(self._always_held)),
            groups_without_template=tuple(sorted(self._without_template)),
            unpriced=tuple(line.target for line in totals.targets if line.target and line.cost is None and line.node_seconds),
            targets=totals.targets,
            series=totals.series,
        )


# One trace under one or two policies, on the same cluster.

Progress = Callable[[int, int], None]


def replay(
    sides: Sequence[tuple[str, PolicySet]],
    trace: Trace,
    world: World | None = None,
    *,
    lead_seconds: int = LEAD_SECONDS,
    join_seconds: int = 90,
    work_budget: int = DEFAULT_WORK_BUDGET,
    progress: Progress | None = None,
) -> Replay:
    """The figures of each policy (with its source) over one trace. Pure.

    It runs on the cluster of `world`, which must not be younger than the trace (`Trace.at_same_hour`). Without `world`, it runs
    on the groups of the policies alone. If only one of two policies has a price for a target, that price applies under both.
    Nodes join `join_seconds` after they were requested. `progress` receives how far it is: seconds done, and seconds in total.
    """
    begin = trace.start_seconds - lead_seconds
    start = policy_world([policy for _, policy in sides], begin) if world is None else world
    prices: dict[TargetRef, int] = {}
    for _, policy in reversed(sides):
        groups = effective_groups(start, policy, begin)
        prices |= {group.target: group.price_micros for group in groups if group.price_micros is not None}
    seconds = trace.end_seconds - begin
    figures: list[ReplayFigures] = []
    for number, (source, policy) in enumerate(sides):
        run = ReplayRun(
            policy,
            trace,
            start,
            lead_seconds=lead_seconds,
            otherwise=MachineBehaviour(join_seconds=join_seconds),
            prices_micros=prices,
            work_budget=work_budget,
        )
        for now in run.turns():
            if progress is not None:
                progress(number * seconds + now - begin, len(sides) * seconds)
        figures.append(run.figures(source))
    return Replay(
        trace=trace.name,
        cluster=start.name,
        start=instant_text(trace.start_seconds),
        end=instant_text(trace.end_seconds),
        seconds=trace.end_seconds - trace.start_seconds,
        peak_demand_pods=trace.peak_pods,
        currency=sides[0][1].policy.currency,
        sides=tuple(figures),
    )
