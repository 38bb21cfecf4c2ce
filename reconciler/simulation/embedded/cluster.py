"""A whole cluster in memory with a clock of its own: what the loop runs on when there is nothing real to write to."""

from collections.abc import Mapping
from functools import partial

import msgspec

from reconciler.cluster.nodes.node import NodeShape, Taint
from reconciler.cluster.pods.pod import PodPhase
from reconciler.cluster.pods.pod_table import phase_code
from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.cluster.world import World
from reconciler.decisions.groups.daemons import static_pods
from reconciler.decisions.groups.effective_groups import effective_view
from reconciler.decisions.groups.passing_taints import starts_with
from reconciler.policy.documents import PolicySet
from reconciler.scheduling.configured import configured
from reconciler.scheduling.default_spread import DefaultSpread
from reconciler.simulation.embedded.agenda import Agenda
from reconciler.simulation.embedded.disruption_controller import DisruptionController
from reconciler.simulation.embedded.drains import Drains
from reconciler.simulation.embedded.durations import Durations, MachineBehaviour
from reconciler.simulation.embedded.field_owner import OUR_MANAGER, TOPOLOGY_MANAGER, Via, taken, written_by
from reconciler.simulation.embedded.journal import Happened, Journal
from reconciler.simulation.embedded.machines import Machines
from reconciler.simulation.embedded.moves_at_once import MovesAtOnce
from reconciler.simulation.embedded.objects import ClusterObjects
from reconciler.simulation.embedded.pod_lifecycle import PodLifecycle
from reconciler.simulation.embedded.pod_object import NodeObject, PodObject
from reconciler.simulation.embedded.rooms import with_rooms_taken
from reconciler.simulation.embedded.scheduler import Scheduler
from reconciler.simulation.embedded.workloads import Workloads

HOLD_ANNOTATION = "reconciler.dev/hold"
NOT_READY_TAINTS = (
    Taint("node.kubernetes.io/not-ready", "", "NoExecute"),
    Taint("node.kubernetes.io/not-ready", "", "NoSchedule"),
)


class SimulatedCluster:
    """Starts as a World and continues by itself: machines join, pods are bound, evicted and recreated, budgets follow.

    Everything is deterministic: the same start and the same calls give the same Worlds. The templates of the policy's groups
    define what new nodes offer, so the policy is part of the start. Writes arrive through `simulation.writes`. People and other
    controllers write through `write_replicas`.
    """

    def __init__(
        self,
        world: World,
        policy: PolicySet,
        now_seconds: int,
        *,
        durations: Durations | None = None,
        behaviours: Mapping[str, MachineBehaviour] | None = None,
        otherwise: MachineBehaviour | None = None,
    ) -> None:
        """`behaviours` by target name; `otherwise` for all others."""
        world = configured(world, policy.policy)
        groups, members = effective_view(world, policy, now_seconds)
        target_of = {machine.node: machine.target for machine in world.machines if machine.node and machine.target is not None}
        for position, group in enumerate(groups):
            target_of.update(dict.fromkeys((world.nodes[index].name for index in members.members[position]), group.target))
        self.durations = durations or Durations()
        self.agenda = Agenda(now_seconds)
        self.journal = Journal()
        self.objects = ClusterObjects(world, target_of, DefaultSpread(world, policy.policy))
        self.disruption = DisruptionController(self.objects)
        self.workloads = Workloads(self.objects)
        self.pods = PodLifecycle(self.objects, self.agenda, self.durations, self.disruption, self.workloads, self.journal)
        self.drains = Drains(self.objects, self.agenda, self.durations, self.pods)
        self.scheduler = Scheduler(self.objects, policy.policy.pods.scheduler_names, self.disruption.refusal)
        self.machines = Machines(
            self.objects,
            self.agenda,
            self.durations,
            behaviours or {},
            otherwise or MachineBehaviour(),
            self.pods,
            self.drains,
            self.journal,
            world.daemon_pods,
        )
        self._moves = MovesAtOnce(
            self.objects, self.agenda, self.disruption, self.workloads, self.drains, self.scheduler, self.journal
        )
        self._versions = 0
        self.machines.templates = {group.target: group.template for group in groups if group.template is not None}
        self.machines.in_zones = {group.target: dict(group.in_zones) for group in groups if group.in_zones}
        static = static_pods(world, members.group_of)
        self.machines.static_pods = {groups[position].target: pods for position, pods in static.items()}
        self._go_on(tuple(group.target for group in groups))

    def _go_on(self, targets: tuple[TargetRef, ...]) -> None:
        """Take up what was under way when the view was taken."""
        self.machines.adopt_waiting()
        self.machines.make_missing(targets)
        rows, waits = self.objects.pod_table(), phase_code(PodPhase.PENDING)
        state = zip(rows.deletion_seconds, rows.node, rows.phase, strict=True)
        for row, (deletion, node, phase) in enumerate(state):
            if deletion:
                ends = deletion if self.durations.honour_grace else self.now_seconds
                self.agenda.at(ends, partial(self.pods.vanish, self._pod(row)))
            elif node >= 0 and phase == waits and not rows.gated(row):
                self.agenda.at(self.now_seconds, partial(self.pods.bound, self._pod(row)))

    def _pod(self, row: int) -> PodObject:
        rows = self.objects.pod_table()
        return self.objects.pods[rows.namespace[row], rows.name[row]]

    @property
    def now_seconds(self) -> int:
        """The virtual clock, Unix seconds."""
        return self.agenda.now_seconds

    def world(self) -> World:
        """The view at this instant."""
        return self.objects.world(self.agenda.now_seconds)

    def advance_to(self, seconds: int) -> None:
        """Let time pass; everything due on the way happens at its instant."""
        self._converge()
        while (due := self.agenda.next_seconds) is not None and due <= seconds:
            self.agenda.now_seconds = max(due, self.agenda.now_seconds)
            self._converge()
        self.agenda.now_seconds = max(seconds, self.agenda.now_seconds)

    def _converge(self) -> None:
        """All controllers, until none has anything to do at this instant."""
        moved = True
        while moved:
            moved = self.agenda.do_due()
            moved = self.machines.reconcile() or moved
            if self.durations.nothing_takes_time:
                moved = self._moves.step() or moved
            moved = self.drains.step() or moved
            for pod in self.workloads.surplus():
                self.pods.terminate(pod)
                moved = True
            for pod in self.workloads.make_missing(self.agenda.now_seconds):
                self.pods.created(pod)
                moved = True
            self.disruption.sync()
            look = self.scheduler.look(self.agenda.now_seconds)
            for pod in look.bound:
                self.pods.bound(pod)
            for preemption in look.preemptions:
                for victim in preemption.victims:
                    self.pods.preempt(victim, preemption.pod)
            moved = moved or bool(look.bound or look.preemptions)
            self.disruption.sync()

    def store(self, facts: TargetFacts, by: str) -> TargetFacts:
        """Write a target back, as the API server does: a new resourceVersion when anything changed."""
        before = self.objects.targets.get(facts.ref)
        if before == facts:
            return facts
        self._versions += 1
        stored = msgspec.structs.replace(facts, resource_version=f"{facts.resource_version.partition('+')[0]}+{self._versions}")
        self.objects.targets[facts.ref] = stored
        self.objects.touch()
        if before is None or before.replicas != stored.replicas:
            self.journal.add(
                self.now_seconds,
                Happened.REPLICAS_WRITTEN,
                str(facts.ref),
                by=by,
                before=(before.replicas or 0) if before is not None else 0,
                after=stored.replicas or 0,
            )
            self._take_room(stored, (stored.replicas or 0) - ((before.replicas or 0) if before is not None else 0))
            self.machines.resized(facts.ref)
            self._follow_above(stored)
        self._put_back(stored)
        return self.objects.targets[facts.ref]

    def _take_room(self, facts: TargetFacts, nodes: int) -> None:
        """What the platform can still give shrinks for all targets that share it."""
        self.objects.targets.update({one.ref: one for one in with_rooms_taken(self.objects.targets.values(), [(facts, nodes)])})

    def _follow_above(self, facts: TargetFacts) -> None:
        """A MachineSet gets the replicas of the MachineDeployment that controls it."""
        below = [other for other in self.objects.targets.values() if other.owner.controller == _plain_text(facts.ref)]
        if len(below) == 1:
            replaced = msgspec.structs.replace(below[0], replicas=facts.replicas, generation=below[0].generation + 1)
            self.objects.targets[replaced.ref] = replaced

    def _put_back(self, facts: TargetFacts) -> None:
        """A topology that declares replicas undoes what others write, by a forced apply, in about a second."""
        declared = facts.owner.topology_replicas
        owned = any(owner.manager == TOPOLOGY_MANAGER for owner in facts.owner.owners)
        if facts.owner.topology_owned and declared is not None and (facts.replicas != declared or not owned):
            self.agenda.after(self.durations.put_back_seconds, partial(self._topology_writes, facts.ref))

    def _topology_writes(self, target: TargetRef) -> None:
        facts = self.objects.targets.get(target)
        declared = facts.owner.topology_replicas if facts is not None else None
        if facts is not None and declared is not None:
            self.store(taken(facts, TOPOLOGY_MANAGER, "Apply", declared, self.now_seconds), TOPOLOGY_MANAGER)

    def write_replicas(self, target: TargetRef, replicas: int, manager: str, via: Via) -> bool:
        """Somebody else writes replicas without asking; False if the target does not exist."""
        facts = self.objects.targets.get(target)
        if facts is None:
            return False
        self.store(written_by(facts, via, manager, replicas, self.now_seconds), manager)
        return True

    def hold(self, target: TargetRef, reason: str) -> bool:
        """Write (or with an empty reason take away) the annotation that `reconciler hold` writes."""
        facts = self.objects.targets.get(target)
        if facts is None:
            return False
        annotations = {key: value for key, value in facts.annotations if key != HOLD_ANNOTATION}
        if reason:
            annotations[HOLD_ANNOTATION] = reason
        owner = msgspec.structs.replace(facts.owner, hold=reason)
        self.store(msgspec.structs.replace(facts, owner=owner, annotations=tuple(sorted(annotations.items()))), OUR_MANAGER)
        return True

    def set_ready(self, name: str, *, ready: bool) -> bool:
        """A node fails or recovers; False if it does not exist.

        Its pods stop counting as Ready at once; after their toleration they are given up and made again elsewhere.
        """
        node = self.objects.nodes.get(name)
        if node is None or node.value.ready is ready:
            return node is not None
        shape = self.objects.shape_of(node)
        taints = {*shape.taints} - {*NOT_READY_TAINTS} if ready else {*shape.taints, *NOT_READY_TAINTS}
        fresh = msgspec.structs.replace(shape, taints=tuple(sorted(taints)))
        self.objects.change_node(node, node_shape=fresh, ready=ready, ready_seconds=self.now_seconds)
        self.pods.set_ready_on(node, ready=ready)
        self.journal.add(self.now_seconds, Happened.NODE_CHANGED, name, detail="Ready" if ready else "NotReady")
        if not ready:
            self.agenda.after(self.durations.unready_toleration_seconds, partial(self._give_up_pods, node))
        return True

    def _give_up_pods(self, node: NodeObject) -> None:
        if self.objects.nodes.get(node.name) is node and not node.value.ready:
            for pod in list(node.pods):
                if not self.objects.goes_with_node(pod):
                    self.pods.terminate(pod)

    def finish_start(self, node: NodeObject, template: NodeShape, startup_taints: tuple[str, ...]) -> None:
        """A node that is starting has started: Ready, with what its template offers, without start-up taints."""
        shape = self.objects.shape_of(node)
        missing = {name for name, amount in template.allocatable.extended if amount and not shape.allocatable.get(name)}
        starting = {taint for taint in shape.taints if starts_with(taint.key, startup_taints) or taint in NOT_READY_TAINTS}
        if node.value.ready and not missing and not starting:
            return
        fresh = msgspec.structs.replace(
            shape,
            taints=tuple(sorted({*shape.taints} - starting)),
            capacity=template.capacity if missing else shape.capacity,
            allocatable=template.allocatable if missing else shape.allocatable,
        )
        self.objects.change_node(node, node_shape=fresh, ready=True, ready_seconds=self.now_seconds)
        self.pods.set_ready_on(node, ready=True)

    def kill_node(self, name: str) -> bool:
        """The machine behind a node dies, and its node object with it. Replicas stay, so a new one is made."""
        node = self.objects.nodes.get(name)
        if node is not None:
            self.machines.gone(node)
        return node is not None

    def follow(self, policy: PolicySet) -> None:
        """The policy changed: new nodes follow its templates from now on."""
        groups, _ = effective_view(self.world(), policy, self.now_seconds)
        self.machines.templates.update({group.target: group.template for group in groups if group.template is not None})
        self.machines.in_zones.update({group.target: dict(group.in_zones) for group in groups if group.in_zones})


def _plain_text(ref: TargetRef) -> str:
    """How the facts of a MachineSet name the MachineDeployment above it."""
    return f"{ref.kind} {ref.namespace}/{ref.name}"
