"""Demand of the past under a policy: the real decisions on the embedded cluster, in virtual time, from event to event."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from reconciler.cluster.nodes.node import ZONE_LABEL
from reconciler.cluster.target import TargetRef
from reconciler.cluster.values.resources import Resources
from reconciler.cluster.world import World
from reconciler.decisions.decide import DEFAULT_WORK_BUDGET, decide, settle
from reconciler.decisions.groups.effective_groups import effective_groups
from reconciler.decisions.memory import Memory, Outcome
from reconciler.decisions.situation.lead_times import overdue_after_seconds
from reconciler.plan.money import money
from reconciler.plan.plan import ActionKind, Plan, PodOutcome
from reconciler.plan.replay import Replay, ReplayFigures
from reconciler.plan.waiting_times import waited_seconds
from reconciler.policy.documents import PolicySet
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.embedded.durations import MachineBehaviour, Shortage
from reconciler.simulation.embedded.journal import Event, Happened
from reconciler.simulation.embedded.writes import SimulatedWrites
from reconciler.simulation.execution import execute
from reconciler.simulation.figures.ledger import Ledger, share_permille
from reconciler.simulation.replays.demand_play import Demand
from reconciler.simulation.replays.policy_clock import PolicyClock
from reconciler.simulation.replays.policy_world import policy_world
from reconciler.simulation.replays.trace import Trace
from reconciler.simulation.replays.zone_spread import ZoneSpread
from reconciler.simulation.timers import next_timer_seconds
from reconciler.values.instant import instant_text

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
        """`prices_micros` are for targets to which this policy gives no price. Without them, those of the trace count."""
        self._policy = policy
        self._trace = trace
        self._work_budget = work_budget
        self.begin_seconds = trace.start_seconds - lead_seconds
        self.cluster = SimulatedCluster(
            world, policy, self.begin_seconds, behaviours=_recorded_behaviours(trace, otherwise), otherwise=otherwise
        )
        groups = effective_groups(world, policy, self.begin_seconds)
        seen = dict(trace.prices_micros)
        recorded = {group.target: seen[group.target.name] for group in groups if group.target.name in seen}
        own = {group.target: group.price_micros for group in groups if group.price_micros is not None}
        self._patience = {group.target: group.scale_up.max_node_provision_time_seconds for group in groups}
        self._prices = {str(target): price for target, price in {**recorded, **(prices_micros or {}), **own}.items()}
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
        self.plan: Plan | None = None
        """The last decision."""

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
            self.plan = plan
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
        counts = totals.counts
        whole = self._trace.end_seconds - self._trace.start_seconds
        waited = partial(waited_seconds, totals.waits, totals.never_placed, whole_seconds=whole)
        return ReplayFigures(
            policy=self._policy.policy.name,
            source=source,
            pods_placed=totals.waits.total(),
            pods_never_placed=totals.never_placed,
            wait_p50_seconds=waited(50),
            wait_p95_seconds=waited(95),
            wait_p99_seconds=waited(99),
            wait_max_seconds=waited(100),
            pods_pending=sum(1 for _ in self.cluster.objects.pending()),
            unplaced_pod_seconds=totals.unplaced_pod_seconds,
            served_ppm=1_000_000 * totals.placed_pod_seconds // asked if asked else 1_000_000,
            node_seconds=totals.node_seconds,
            start_nodes=totals.start_nodes,
            peak_nodes=max(totals.series.nodes),
            cost=money(totals.cost_micros) if self._prices else None,
            lost_pod_seconds=totals.lost_pod_seconds,
            lost_cost=money(totals.lost_micros) if self._prices else None,
            lead_grown_nodes=self._lead_grown,
            grown_nodes=counts[Happened.NODE_JOINED],
            removed_nodes=counts[Happened.NODE_GONE],
            evictions=counts[Happened.POD_EVICTED] + counts[Happened.POD_PREEMPTED],
            machines_failed=counts[Happened.MACHINE_FAILED],
            writes_refused=counts[Happened.WRITE_REFUSED],
            zone_spread_permille=self._spread.permille,
            decisions=self._decisions,
            could_grow=self._could_grow,
            held_groups=tuple(sorted(self._always_held)),
            groups_without_template=tuple(sorted(self._without_template)),
            unpriced=totals.unpriced,
            targets=totals.targets,
            series=totals.series,
        )


def _recorded_behaviours(trace: Trace, otherwise: MachineBehaviour | None) -> dict[str, MachineBehaviour]:
    """How machines behaved while the trace was recorded, by name of the target."""
    shortages: dict[str, list[Shortage]] = {}
    for name, one in trace.shortages:
        shortages.setdefault(name, []).append(one)
    usual, learned = otherwise or MachineBehaviour(), dict(trace.lead_times)
    return {
        name: MachineBehaviour(join_seconds=learned.get(name, usual.join_seconds), shortages=tuple(shortages.get(name, ())))
        for name in {*learned, *shortages}
    }


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
    Nodes join `join_seconds` after they were requested, or after what the trace has for their target. `progress` receives how far
    it is: seconds done, and seconds in total.
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
        unobserved_seconds=trace.unobserved_seconds(trace.start_seconds, trace.end_seconds),
        peak_demand_pods=trace.peak_pods,
        currency=sides[0][1].policy.currency,
        sides=tuple(figures),
    )
