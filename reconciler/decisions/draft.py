"""The working state of one decision: a scheduling state to try things in, and what each group has been given so far."""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import compress, groupby

import msgspec

from reconciler.cluster.nodes.node import NodeShape
from reconciler.cluster.pods.pod import PodShape
from reconciler.cluster.target import Ending
from reconciler.cluster.world import World
from reconciler.decisions.buffers import buffers_in_force
from reconciler.decisions.groups.daemons import daemon_shapes, static_pods
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.groups.membership import Membership
from reconciler.decisions.groups.template_devices import DeviceEvidence
from reconciler.decisions.limits import UNKNOWN_SHAPE, LimitLedger, counted_shapes
from reconciler.decisions.memory import Memory, Probe
from reconciler.decisions.ownership.owner import Judgement
from reconciler.decisions.provisioning import requests_asked
from reconciler.decisions.reasons.groups import BackedOff, GroupUnhealthy, TemplateUnknown
from reconciler.decisions.reasons.owners import GroupHeld
from reconciler.decisions.reasons.pods import LabelUnknown, SizeDoubtful, TemplateRefuted, ZoneNotCertain
from reconciler.decisions.reasons.sizes import (
    AtMaxSize,
    CapacityEnds,
    OnlyWhole,
    PaceReached,
    TemplateUntried,
    ZoneShiftedAway,
)
from reconciler.decisions.situation.denied_writes import GROWTH, denied_now
from reconciler.decisions.situation.endings import ending_of, last_growth
from reconciler.decisions.situation.group_situation import GroupSituation, exceeds_unready_bounds
from reconciler.decisions.situation.repairs import repairs
from reconciler.decisions.situation.takeovers import takeovers
from reconciler.decisions.situation.waiting_pods import WaitingPods, waiting_since
from reconciler.decisions.situation.zone_order import NEVER, Landing, ZoneOrder, zone_order
from reconciler.decisions.situation.zone_ways import other_ways
from reconciler.decisions.tier_shares import TierShares
from reconciler.decisions.work import Work
from reconciler.decisions.work_shares import Shares
from reconciler.plan.plan import NodeState
from reconciler.plan.reason import Because, Reason
from reconciler.policy.documents import NodeGroupPolicy
from reconciler.scheduling.packing import label_keys
from reconciler.scheduling.state import SchedulingState
from reconciler.values.instant import instant_text

_BY_ZONE = ("NodeAffinity", "VolumeBinding", "VolumeZone")
"""What these have against a pod on an empty node hangs on its labels alone."""


Load = tuple[tuple[int, int], ...]
"""(pod shape, count) on a node, by shape."""


class OpenZones(msgspec.Struct, frozen=True, eq=False):
    """Future nodes of one group that are assumed to be in one zone each, but may come up in others. `ways` are the other
    possibilities: for each, the shapes of the nodes. Pods of the shapes `fixed` can run in only one of these zones, on whichever
    node is there. `loaded`: the nodes have other pods."""

    nodes: tuple[int, ...]
    ways: tuple[tuple[NodeShape, ...], ...]
    fixed: frozenset[int] = frozenset()
    loaded: bool = False


NOT_OPEN = OpenZones((), ())
"""Of a node whose zone is certain."""


class Cancellation(msgspec.Struct, frozen=True, kw_only=True):
    """What one group takes back of what it asked for: `machines` go and `requests` fewer nodes are asked for.

    With 0 requests the target makes others in their place.
    """

    machines: tuple[str, ...]
    requests: int
    why: Because


class GroupDraft:
    """One group while a plan is made. `desired` is the size after the decisions so far. Node numbers are indices of the
    scheduling state; `removed` are indices of the World. `not_ours` is a reason about machines that may belong to somebody else.
    `order` is the order in which new nodes get their zones. It is None if no pending pod depends on the zone, or if the template
    sets the zone."""

    __slots__ = (
        "cancelled",
        "daemons",
        "desired",
        "group",
        "held_why",
        "judgement",
        "new_nodes",
        "not_ours",
        "order",
        "position",
        "reasons",
        "removed",
        "situation",
        "upcoming_nodes",
    )

    def __init__(
        self,
        position: int,
        group: EffectiveGroup,
        situation: GroupSituation,
        judgement: Judgement,
        held_why: str,
        not_ours: Because | None = None,
    ) -> None:
        self.position = position
        self.group = group
        self.situation = situation
        self.judgement = judgement
        self.held_why = held_why
        self.not_ours = not_ours
        self.desired = situation.current
        self.new_nodes: list[int] = []
        self.upcoming_nodes: list[int] = []
        self.removed: list[int] = []
        self.reasons: list[Reason] = list(group.reasons)
        self.daemons: tuple[int, ...] = ()
        self.order: ZoneOrder | None = None
        self.cancelled: Cancellation | None = None


class Draft:
    """Everything that the steps of one decision share. `protected` are nodes that provide headroom. `promised` are nodes that
    take the pods of nodes that are already leaving, or that the platform ends soon. Everything that `state` binds from `begun`
    on is a decision of this plan. `refuted`: how nodes contradict a template, by group and pod shape (None: they do not)."""

    def __init__(
        self,
        *,
        world: World,
        policy: NodeGroupPolicy,
        memory: Memory,
        now_seconds: int,
        work: Work,
        waiting: WaitingPods,
        groups: tuple[GroupDraft, ...],
        members: Membership,
        states: tuple[NodeState, ...],
        policy_digest: str = "",
    ) -> None:
        self.world = world
        self.policy = policy
        self.memory = memory
        self.now_seconds = now_seconds
        self.work = work
        self.waiting = waiting
        self.shares = Shares(work)
        self.groups = groups
        self.members = members
        self.states = states
        self.policy_digest = policy_digest
        self.refuted: dict[tuple[int, int], TemplateRefuted | None] = {}
        self.probes: dict[tuple[int, int], LabelUnknown | SizeDoubtful | ZoneNotCertain] = {}
        """Reasons about labels that nobody states, by group and pod shape."""
        self.probed: dict[str, Probe] = {}
        """What to remember of nodes that were added to learn it."""
        self._closed_for: dict[int, Because | None] = {}
        self.solved: dict[object, object] = {}
        """What a search for the best mix found, by its question."""
        self.limits = LimitLedger(policy.limits, policy.currency)
        self.counted = counted_shapes(policy.limits, world, members.group_of, tuple(draft.group for draft in groups))
        """What a node, by its index, counts as for limits."""
        self.added = 0
        self.ceiling: int | None = None
        """How many nodes this plan may have added while a tier grows for its share; groups that grow whole pass it."""
        not_held = {str(one.group.target): (one.group, one.situation) for one in groups if not one.held_why}
        self.takeovers = takeovers(world, memory, not_held, states, now_seconds)
        self.tier_shares = self._tier_shares()
        self.second_turn: set[int] = set()
        """Groups, by position, that grow again for pods that they were tried for."""
        self.reserved_only = False
        """Whether groups grow only into free reserved capacity for now."""
        self.protected: set[int] = set()
        self.kept_for: dict[int, str] = {}
        """Of protected nodes that have room for a CapacityBuffer: its namespace and name."""
        self.booked_for: dict[int, str] = {}
        """Of protected nodes that have room for a ProvisioningRequest: its namespace and name."""
        self.promised: set[int] = set()
        self.endings = dict(self._endings())
        """By node that has to leave now: when the platform ends its machine. It has no room for other pods any more."""
        self.repairs = repairs(world, self.states, policy.health, now_seconds)
        """Broken nodes. Those that are due leave in the same way."""
        self._staying: frozenset[int] | None = None
        self.buffers = buffers_in_force(world, policy)
        self.requests = requests_asked(world, policy, memory)
        self.zone_minded = self._zone_minded()
        self.cutoff = policy.pods.expendable_below_priority
        self.state = SchedulingState(world, pods=self._counted_pods())
        self._daemon_shapes = daemon_shapes(world, members.group_of)
        self._static_pods = static_pods(world, members.group_of)
        self._prepare_nodes()
        self._open_to = self._open_zones()
        self.zone_minded -= self._indifferent()
        self.begun = self.state.stack_size

    @cached_property
    def device_evidence(self) -> DeviceEvidence:
        """What drivers of devices offer on the nodes that are there."""
        return DeviceEvidence.of(self.world)

    @cached_property
    def keys_of_all(self) -> frozenset[str]:
        """Labels by which pods of the World tell nodes apart, running or not, apart from their volumes and claims."""
        return label_keys([msgspec.structs.replace(shape, volumes=()) for shape in self.world.pod_shapes], ())

    @cached_property
    def claiming(self) -> tuple[PodShape, ...]:
        """Shapes of pods of the World with claims of devices, without their volumes."""
        return tuple(msgspec.structs.replace(shape, volumes=()) for shape in self.world.pod_shapes if shape.claims)

    def _tier_shares(self) -> TierShares:
        counted = TierShares(self.policy.tiers)
        for draft in self.groups:
            counted.count(draft.group, draft.situation.size)
        for index in {index for one in self.takeovers for index in one.sources}:
            where = self.members.group_of[index]
            if where >= 0 and self.states[index] is not NodeState.LEAVING:
                counted.count(self.groups[where].group, -1)
        return counted

    def _counted_pods(self) -> Iterable[int] | None:
        """Bound pods that hold room (None: all that run): expendable ones do not (Cluster Autoscaler leaves them out of its
        snapshot)."""
        low = frozenset(index for index, shape in enumerate(self.world.pod_shapes) if shape.priority < self.cutoff)
        if not low:
            return None
        return [index for index in self.world.pods.running() if self.world.pods.shape[index] not in low]

    def _zone_minded(self) -> frozenset[int]:
        """Shapes of pending pods, buffers and requests to which it matters in which of its zones a new node of a group comes."""
        if not any(draft.group.in_zones for draft in self.groups):
            return frozenset()
        waiting = self.waiting.keys() | {one.shape for one in self.buffers}
        waiting |= {pods.shape for one in self.requests for pods in one.left}
        return self.minding({shape: self.world.pod_shapes[shape] for shape in waiting})

    def minding(self, shapes: Mapping[int, PodShape]) -> frozenset[int]:
        """Of these shapes of pods those to which it matters in which of its zones a new node of a group comes."""
        templates = [shape for draft in self.groups for _, shape in draft.group.in_zones]
        if not templates:
            return frozenset()
        label_counts = Counter(pair for template in templates for pair in template.labels)
        keys = {key for (key, _), template_count in label_counts.items() if template_count < len(templates)}
        # With one zone left, the others are those of the nodes that are there.
        for group in (draft.group for draft in self.groups if len(draft.group.in_zones) == 1):
            own = group.template.labels if group.template is not None else ()
            keys |= {key for key, _ in set(group.in_zones[0][1].labels).difference(own)}
        if any(term.topology_key in keys for shape in self.world.pod_shapes for term in shape.anti_affinity):
            return frozenset(shapes)
        return frozenset(shape for shape, pod in shapes.items() if keys & label_keys((pod,), templates))

    def _open_zones(self) -> Mapping[tuple[int, int], frozenset[NodeShape]]:
        """By group and pod shape that names zones or has a volume: of what the group's nodes are in each zone, where it may run.
        Asked before anything is placed: a claim goes with the first pod that is."""
        naming = [
            shape
            for shape in self.zone_minded
            if (pod := self.state.pod_shape(shape)).volumes or pod.node_selector or pod.required_terms is not None
        ]
        open_zones = {}
        for draft in self.groups if naming else ():
            mark = self.state.mark()
            nodes = [(zone, self.state.add_node(f"{draft.group.name}-try", zone)) for _, zone in draft.group.in_zones]
            for shape in naming if nodes else ():
                plugins_by_zone = {zone: {one.plugin for one in self.state.verdict(shape, node)} for zone, node in nodes}
                open_zones[draft.position, shape] = frozenset(
                    zone for zone, plugins in plugins_by_zone.items() if plugins.isdisjoint(_BY_ZONE)
                )
            self.state.undo(mark)
        return open_zones

    def _indifferent(self) -> frozenset[int]:
        """Shapes that depend on the zone only because of a volume that could be created in any zone. A claim gets a new volume
        wherever its pod runs. But volumes that wait for a claim are each in one place."""
        volumes = {shape for shape in self.zone_minded if self.state.pod_shape(shape).volumes}
        if not volumes or not all(volume.claim for volume in self.world.storage.volumes):
            return frozenset()
        without = {shape: msgspec.structs.replace(self.state.pod_shape(shape), volumes=()) for shape in volumes}
        minded = self.minding(without)
        every = {draft.position: len(draft.group.in_zones) for draft in self.groups}
        bound = {shape for (position, shape), zones in self._open_to.items() if len(zones) not in (0, every[position])}
        return frozenset(volumes - minded - bound)

    def empties(self, index: int) -> bool:
        """Whether the node has to leave now, whatever runs on it."""
        return index in self.endings or index in self.repairs.due

    def _endings(self) -> Iterator[tuple[int, Ending]]:
        """Nodes that have to leave now, because the platform ends their machines soon."""
        for draft in self.groups:
            if draft.group.facts is None or not draft.group.facts.endings:
                continue
            for index in draft.situation.nodes:
                shape = self.world.node_shapes[self.world.nodes[index].shape]
                end = ending_of(draft.group, shape, self.members.machine_of.get(index), self.now_seconds)
                if end is not None:
                    yield index, end

    def _prepare_nodes(self) -> None:
        for draft in self.groups:
            draft.daemons = self._daemons(draft)
            if self.zone_minded:
                machines = self.members.machines[draft.position]
                draft.order = zone_order(self.world, draft.group, draft.situation, self.members, machines, self.memory)
        self._ordered = tuple(draft for draft in self.groups if draft.order is not None)
        for index, node in enumerate(self.world.nodes):
            where = self.members.group_of[index]
            group = self.groups[where].group if where >= 0 else None
            self.limits.count(group, self.counted(index))
            closed = self.states[index] in (NodeState.LEAVING, NodeState.UNREADY, NodeState.NOT_STARTED)
            if closed or not node.ready or self.empties(index):
                self.state.close(index)
        for draft in self.groups:
            template = draft.group.template
            # A machine that is late costs as much as one in time, and joins as soon as it can.
            coming = draft.situation.upcoming + draft.situation.late
            self.limits.count(draft.group, UNKNOWN_SHAPE if template is None else template, coming)
            if template is None:
                continue
            starting = draft.situation.starting
            upcoming = range(draft.situation.upcoming + len(starting))
            names = [f"{draft.group.name}-upcoming-{number + 1}" for number in upcoming]
            draft.upcoming_nodes.extend(map(partial(self._stand_in, draft, template), names, starting))
            draft.upcoming_nodes.extend(self.open(draft, names[len(starting) :], template, len(starting)))
        self.limits.begin()

    def _stand_in(self, draft: GroupDraft, template: NodeShape, name: str, index: int) -> int:
        """A node as one that starts will be: with the labels that this one shows, and the pods that run there."""
        labels = dict(template.labels) | dict(self.state.shape_of(index).labels)
        shape = msgspec.structs.replace(template, labels=tuple(sorted(labels.items())))
        staying = self.staying_shapes()
        running = [shape for shape, pods in self.state.bound(index) if shape not in staying for _ in range(pods)]
        # The stand-in takes its place: both together would count as two domains.
        self.state.leave(index)
        return self.state.add_node(name, shape, (*draft.daemons, *running))

    def _daemons(self, draft: GroupDraft) -> tuple[int, ...]:
        """Shapes of the static and the DaemonSet pods that a new node of a group would get."""
        template, world = draft.group.template, self.world
        static = tuple(pod.shape for pod in self._static_pods.get(draft.position, ()))
        if template is None or not world.daemon_pods:
            return static
        mark = self.state.mark()
        node = self.state.add_node("template", template, static)
        shapes = (
            self._daemon_shapes.get((daemon.namespace, daemon.name, draft.position), daemon.shape) for daemon in world.daemon_pods
        )
        daemon_pods = tuple(shape for shape in shapes if self.state.place(shape, 1, [node]))
        self.state.undo(mark)
        return (*static, *daemon_pods)

    def share_among(self, namespaces: Iterable[str]) -> None:
        """From here on each of these namespaces has its share of the work that is left."""
        self.shares.book()
        self.shares = Shares(self.work, namespaces, self._taken)

    def _taken(self) -> Iterable[tuple[str, int]]:
        return [(self.namespace(shape), steps) for shape, steps in self.state.taken()]

    def namespace(self, shape: int) -> str:
        """Of all pods of a shape."""
        return self.state.pod_shape(shape).namespace

    def replace_leaving(self) -> None:
        """Pods of leaving nodes are placed elsewhere first: they run now and will be pending in a moment. This excludes pods that
        are already terminating. Their replacements are pending pods of their own, and a pod must not get two places."""
        leaving = [index for index, state in enumerate(self.states) if state is NodeState.LEAVING]
        if not leaving:
            return
        staying, succeeded = self.staying_shapes(), self._succeeded()
        for index in leaving:
            self.state.leave(index)
        for index in leaving:
            for shape, count in self.state.bound(index):
                if shape not in staying and not self.state.modelled(shape):
                    self.state.unbind(shape, index, count)
                    left = count - succeeded[index, shape]
                    self.promised.update(node for node, _ in self.state.place(shape, left))

    def _succeeded(self) -> Counter[tuple[int, int]]:
        """Pods that terminate and whose successors are there, or never come, by (node, shape). A StatefulSet makes a pod again
        when its name is free; other controllers do at once, and nobody does without one."""
        pods, traits = self.world.pods, self.world.pod_traits
        return Counter(
            (pods.node[index], pods.shape[index])
            for index in compress(range(len(pods)), pods.deletion_seconds)
            if not pods.finished(index)
            and ((owner := traits[pods.traits[index]].controller) is None or owner.kind != "StatefulSet")
        )

    def staying_shapes(self) -> frozenset[int]:
        """Shapes whose pods go down with their node (DaemonSet and mirror pods)."""
        if self._staying is None:
            pods = self.world.pods
            down = {index for index, traits in enumerate(self.world.pod_traits) if traits.daemonset or traits.mirror}
            pairs = set(zip(pods.shape, pods.traits, strict=True)) if down else set()
            self._staying = frozenset(shape for shape, traits in pairs if traits in down)
        return self._staying

    @cached_property
    def busy(self) -> frozenset[int]:
        """Nodes with a pod that does not go down with its node."""
        staying = self.staying_shapes()
        moves = bytes(shape not in staying for shape in range(len(self.world.pod_shapes)))
        return self.world.pods.nodes_running(moves)

    @cached_property
    def _waiting_since(self) -> Mapping[int, int]:
        return waiting_since(self.world, self.waiting)

    def was_tried(self, draft: GroupDraft, shape: int) -> bool:
        """Whether the group failed while pods of this shape waited, so that others come first. For room that no pending pod asks
        for, this is as long as the failure counts."""
        failed = self.memory.last_failures.get(draft.group.name)
        if failed is None or draft.position in self.second_turn:
            return False
        since = self._waiting_since.get(shape)
        return draft.group.name in self.memory.backoffs if since is None else failed >= since

    def growth_stop(self, draft: GroupDraft) -> Because | None:
        """Why the group may not grow at all; None when it may."""
        group = draft.group
        if draft.held_why:
            return GroupHeld(group=group.name, why=draft.held_why)
        if group.template is None:
            return TemplateUnknown(group=group.name, why=group.template_problem)
        health, unready, nodes = self.policy.health, draft.situation.unready, len(draft.situation.nodes)
        if unready and exceeds_unready_bounds(unready, nodes, health.max_unready_percent, health.ok_unready_count):
            return GroupUnhealthy(
                group=group.name,
                unready=unready,
                nodes=nodes,
                ok_unready=health.ok_unready_count,
                max_percent=health.max_unready_percent,
            )
        if (denied := denied_now(self.memory, GROWTH, str(group.target), self.now_seconds)) is not None:
            return denied
        backoff = self.memory.backoffs.get(group.name)
        if backoff is not None and backoff.until_seconds > self.now_seconds:
            until = instant_text(backoff.until_seconds)
            return BackedOff(group=group.name, failures=backoff.failures, until=until)
        return None

    def growth_stops(self, draft: GroupDraft) -> tuple[Because, ...]:
        """Everything that keeps a group without a template from growing, so that no cause appears only after another was
        fixed."""
        group, first = draft.group, self.growth_stop(draft)
        unknown = TemplateUnknown(group=group.name, why=group.template_problem)
        full = AtMaxSize(group=group.name, max=group.max_size) if draft.desired >= group.max_size else None
        return tuple(one for one in (first, unknown if draft.held_why else None, full) if one is not None)

    def room(self, draft: GroupDraft, shape: NodeShape) -> tuple[int, Because | None]:
        """How many nodes the group may still gain, and what refuses the next one. A group that only grows whole may gain all
        of them, or none."""
        group = draft.group
        whole = max(0, group.max_size - draft.desired)
        room, refusal = self._room(draft, shape, whole)
        if group.whole and room < whole:
            bound = refusal.sentence() if refusal is not None else ""
            return 0, OnlyWhole(group=group.name, missing=whole, possible=room, bound=bound)
        return room, refusal

    def step(self, draft: GroupDraft, shape: NodeShape, nodes: int) -> int:
        """How many nodes the group gains when it is to gain `nodes` (more than 0): all that it may where it grows whole."""
        return self.room(draft, shape)[0] if draft.group.whole else nodes

    def _room(self, draft: GroupDraft, shape: NodeShape, room: int) -> tuple[int, Because | None]:
        group = draft.group
        if draft.position not in self._closed_for:
            self._closed_for[draft.position] = self._closed(group)
        if (closed := self._closed_for[draft.position]) is not None:
            return 0, closed
        if self.reserved_only:
            room = min(room, self.limits.reserved(group))
        refusal: Because | None = AtMaxSize(group=group.name, max=group.max_size)
        pace = max(0, self.policy.pace.max_added_nodes - self.added)
        if pace < room:
            room, refusal = pace, PaceReached(group=group.name, max=self.policy.pace.max_added_nodes)
        if self.ceiling is not None and not group.whole and self.addable() < room:
            room, refusal = self.addable(), None
        if group.untried and not group.whole and (one := self._one_more(draft)) < room:
            room, refusal = one, TemplateUntried(group=group.name)
        allowed, limit = self.limits.room(group, shape, room)
        return (allowed, limit) if limit is not None else (room, refusal)

    def addable(self) -> int:
        """How many nodes this plan may still add, by its pace and its ceiling."""
        most = self.policy.pace.max_added_nodes
        return max(0, (most if self.ceiling is None else min(most, self.ceiling)) - self.added)

    def _closed(self, group: EffectiveGroup) -> Because | None:
        """Why the platform should make no more machines of the group now, though it might."""
        if group.facts is None:
            return None
        if (end := last_growth(group, self.now_seconds)) is not None:
            return CapacityEnds(group=group.name, what=end.what, at=instant_text(end.at_seconds))
        shift = next((one for one in group.facts.zone_shifts if one.closes), None)
        if shift is None:
            return None
        until = instant_text(shift.until_seconds) if shift.until_seconds else ""
        return ZoneShiftedAway(group=group.name, zone=shift.zone, moved=shift.moved, until=until)

    def _one_more(self, draft: GroupDraft) -> int:
        """1 while nothing of the group is on its way, else 0."""
        on_the_way = draft.situation.upcoming + len(draft.situation.starting) + len(draft.new_nodes)
        return 0 if on_the_way else 1

    def grow(self, draft: GroupDraft, shape: NodeShape, count: int) -> list[int]:
        """Give the group `count` new nodes; their numbers in the scheduling state."""
        first = len(draft.new_nodes)
        names = [f"{draft.group.name}-new-{first + number + 1}" for number in range(count)]
        draft.new_nodes.extend(self.open(draft, names, shape, self.coming(draft)))
        self.raise_size(draft, count)
        self.limits.count(draft.group, shape, count)
        return draft.new_nodes[first:]

    def raise_size(self, draft: GroupDraft, count: int) -> None:
        """Let the group ask for `count` more nodes."""
        draft.desired += count
        self.added += count
        self.tier_shares.count(draft.group, count)

    def coming(self, draft: GroupDraft) -> int:
        """How many nodes of the group are to come by now, those of this plan among them."""
        return len(draft.upcoming_nodes) + len(draft.new_nodes)

    def open(self, draft: GroupDraft, names: Sequence[str], template: NodeShape, first: int) -> Sequence[int]:
        """Nodes of the group in the scheduling state, the first of which is the one with number `first` of those to come."""
        if draft.order is None:
            return self.state.add_nodes(names, template, draft.daemons)
        landings = (draft.order.landing(first + number) for number in range(len(names)))
        return [self.state.add_node(name, landing.shape, draft.daemons) for name, landing in zip(names, landings, strict=True)]

    def next_landing(self, draft: GroupDraft) -> Landing | None:
        """Of the next new node of the group, where its zone matters."""
        return draft.order.landing(self.coming(draft)) if draft.order is not None else None

    def tries_again(self, draft: GroupDraft, number: int, shape: int) -> bool:
        """Whether the node with this number of those to come would be a second one for a zone that is only tried for the pod."""
        some = len(self._open_to.get((draft.position, shape), draft.group.in_zones)) < len(draft.group.in_zones)
        return draft.order is not None and draft.order.landing(number).tries_again(some_zones=some)

    def elsewhere(self, trying: GroupDraft | None = None, trials: Iterable[int] = ()) -> dict[int, OpenZones]:
        """Future nodes whose zone is open. `trials` are additional ones of the group `trying`. Once each of the zones with the
        fewest nodes has a new one, their order makes no difference. That holds while these nodes have the same pods, apart from
        pods that can run in only one of the zones."""
        open_zones: dict[int, OpenZones] = {}
        for draft in self._ordered:
            order = draft.order
            if order is None:
                continue
            nodes = [*draft.upcoming_nodes, *draft.new_nodes, *(trials if draft is trying else ())]
            lasts = [order.landing(number).last for number in range(len(nodes))]
            for last, group in groupby(range(len(nodes)), key=lasts.__getitem__):
                numbers = list(group)
                first, several = order.landing(numbers[0]), tuple(nodes[number] for number in numbers)
                zones = (first.shape, *first.others)
                loads = [self.state.bound(node) for node in several]
                if last == NEVER:
                    alone = tuple((zone,) for zone in first.others)
                    for one, load in zip(several, loads, strict=True):
                        open_zones[one] = OpenZones((one,), alone, loaded=_carries(load, draft.daemons))
                elif len(first.zones) > 1 and not (last < len(nodes) and _alike(loads)):
                    fixed = self._fixed(draft, loads, zones)
                    if last >= len(nodes) or not _alike(loads, fixed):
                        loaded = any(_carries(load, fixed.union(draft.daemons)) for load in loads)
                        open_zones.update(
                            dict.fromkeys(several, OpenZones(several, other_ways(len(several), zones), fixed, loaded))
                        )
        return open_zones

    def _fixed(self, draft: GroupDraft, loads: Iterable[Load], zones: Sequence[NodeShape]) -> frozenset[int]:
        """Shapes of these loads that run in one of the zones only."""
        every = frozenset(zones)
        there = {shape for load in loads for shape, _ in load}
        return frozenset(shape for shape in there if len(self._open_to.get((draft.position, shape), every) & every) < 2)


def _alike(loads: Sequence[Load], without: frozenset[int] = frozenset()) -> bool:
    rest = [[pair for pair in load if pair[0] not in without] for load in loads] if without else loads
    return all(load == rest[0] for load in rest)


def _carries(load: Load, own: Container[int]) -> bool:
    return any(shape not in own for shape, _ in load)
