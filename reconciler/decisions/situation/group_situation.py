"""Where things stand before anything is decided: how each node is, what each group has, what is on its way."""

from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache, partial

import msgspec

from reconciler.cluster.nodes.node import Node, NodeShape
from reconciler.cluster.target import Machine, TargetRef
from reconciler.cluster.world import World
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.groups.membership import Membership
from reconciler.decisions.groups.passing_taints import starts_with
from reconciler.decisions.groups.template_devices import DeviceEvidence
from reconciler.decisions.groups.template_volumes import unreported
from reconciler.decisions.memory import Memory
from reconciler.decisions.situation.belonging import Belonging
from reconciler.decisions.situation.clocks import clocks_apart
from reconciler.decisions.situation.lead_times import overdue_after_seconds, patience_text
from reconciler.decisions.situation.request_clocks import requested_seconds, unmade_clocks
from reconciler.plan.plan import NodeState

CONFIGURATION = "Configuration"
"""The kind of `LaunchFailure` that waiting does not fix."""
LEAVING_TAINTS = ("reconciler.dev/deleting", "ToBeDeletedByClusterAutoscaler")


class GroupSituation(msgspec.Struct, frozen=True, kw_only=True):
    """The state of one group. `nodes` are indices in World order. `size` is what remains of `current` without the nodes that are
    leaving and the failed requests. `upcoming` counts requested nodes that have not registered and are still expected. `late`
    counts those that are not expected: they may come all the same until somebody takes them back. `failed`
    are (machine or request, why). `cancellable` are the machines among them that may be deleted now. `unmade` are the requests
    without any machine, overdue or refused by the platform. `needs_person`: the platform will refuse all other requests until
    somebody fixes the target. `marked` are the machines of nodes that stay, although the platform would take them first."""

    nodes: tuple[int, ...]
    current: int
    size: int
    upcoming: int
    starting: tuple[int, ...]
    leaving: tuple[int, ...]
    failed: tuple[tuple[str, str], ...]
    ready: int
    unready: int = 0
    cancellable: tuple[str, ...] = ()
    unmade: int = 0
    late: int = 0
    needs_person: bool = False
    marked: tuple[Machine, ...] = ()

    @property
    def without_leaving(self) -> int:
        """Replicas once the nodes that are leaving are off the count; requests that failed are on it."""
        return self.size + len(self.cancellable) + self.unmade


def node_states(
    world: World, groups: tuple[EffectiveGroup, ...], members: Membership, memory: Memory, now_seconds: int
) -> tuple[NodeState, ...]:
    """The state of every node, by World order. InUse stands for everything that is alive and not yet judged."""
    devices = cache(partial(DeviceEvidence.of, world))
    lowered = shrinking(world)
    return tuple(
        _node_state(
            world,
            index,
            node,
            groups[members.group_of[index]] if members.group_of[index] >= 0 else None,
            members,
            memory,
            now_seconds,
            devices,
            lowered,
        )
        for index, node in enumerate(world.nodes)
    )


def _node_state(
    world: World,
    index: int,
    node: Node,
    group: EffectiveGroup | None,
    members: Membership,
    memory: Memory,
    now_seconds: int,
    devices: Callable[[], DeviceEvidence],
    lowered: frozenset[TargetRef],
) -> NodeState:
    machine = members.machine_of.get(index)
    shape = world.node_shapes[node.shape]
    going = machine is not None and (machine.deleting or (machine.delete_marked and machine.target in lowered))
    if node.deleting or node.name in memory.leaving or going:
        return NodeState.LEAVING
    if leaving_taint(shape):
        return NodeState.LEAVING
    if group is None:
        return NodeState.UNMANAGED
    young = now_seconds - node.created_seconds < group.scale_up.max_node_startup_time_seconds
    if not node.ready:
        return NodeState.NOT_STARTED if young else NodeState.UNREADY
    coming = group.template is not None and group.template.devices
    if young and waits_for(world, node, group, devices() if coming else None):
        return NodeState.NOT_STARTED
    return NodeState.IN_USE


def leaving_taint(shape: NodeShape) -> str:
    """The key of a taint that says that somebody removes the node; empty for none."""
    return next((taint.key for taint in shape.taints if taint.key in LEAVING_TAINTS), "")


def shrinking(world: World) -> frozenset[TargetRef]:
    """Targets with more machines that live than they ask for. The platform takes those that are marked first. As long as a target
    asks for all of its machines, a mark is only an intention, and perhaps one that was given up."""
    living = Counter(machine.target for machine in world.machines if not machine.deleting)
    return frozenset(facts.ref for facts in world.targets if facts.replicas is not None and living[facts.ref] > facts.replicas)


def waits_for(world: World, node: Node, group: EffectiveGroup, devices: DeviceEvidence | None = None) -> tuple[str, ...]:
    """What a node that has joined still waits for: to be Ready, startup taints by key, devices by resource or driver, storage by
    class. `devices` is that of the World, if it is already available."""
    shape = world.node_shapes[node.shape]
    offered = group.template.allocatable.extended if group.template is not None else ()
    coming = group.template.devices if group.template is not None else ()
    lacking = (devices or DeviceEvidence.of(world)).lacks(node.name, coming) if coming else ()
    return (
        *(() if node.ready else ("Ready",)),
        *(f"taint {taint.key}" for taint in shape.taints if starts_with(taint.key, group.startup_taints)),
        *(name for name, amount in offered if amount and not shape.allocatable.get(name)),
        *(f"devices of {driver}" for driver in lacking),
        *(f"storage of class {name}" for name in unreported(world, node, group.template)),
    )


def group_situations(
    world: World,
    groups: tuple[EffectiveGroup, ...],
    members: Membership,
    states: tuple[NodeState, ...],
    memory: Memory,
    now_seconds: int,
    belongings: tuple[Belonging, ...],
) -> tuple[GroupSituation, ...]:
    """One situation per group, in the order of `groups`."""
    return tuple(
        _situation(world, group, members, position, states, memory, now_seconds, belongings[position])
        for position, group in enumerate(groups)
    )


def _situation(
    world: World,
    group: EffectiveGroup,
    members: Membership,
    position: int,
    states: tuple[NodeState, ...],
    memory: Memory,
    now_seconds: int,
    belonging: Belonging,
) -> GroupSituation:
    nodes = members.members[position]
    current = (group.facts.replicas or 0) if group.facts is not None else 0
    leaving = tuple(index for index in nodes if states[index] is NodeState.LEAVING)
    # A machine that is being deleted has already left spec.replicas; a node that is only drained or marked has not.
    gone = sum(1 for index in leaving if _deleting(members, index) or world.nodes[index].deleting)
    registered = len(nodes) - gone
    asked = max(0, current - registered)
    waiting = [machine for machine in members.machines[position] if not machine.node and not machine.deleting]
    times, most = memory.lead_times.get(str(group.target)), group.scale_up.max_node_provision_time_seconds
    overdue_after, patience = overdue_after_seconds(times, most), patience_text(times, most)
    failed: list[tuple[str, str]] = []
    apart = bool(clocks_apart(world))
    for machine in waiting:
        since = requested_seconds(memory, group, machine, now_seconds)
        if machine.failed:
            failed.append((machine.name, machine.failed))
        elif now_seconds - since >= overdue_after and not apart:
            last = f", last error {machine.last_error}" if machine.last_error else ""
            failed.append((machine.name, f"no node within {patience}{last}"))
    # More machines than requests: the target has not followed its last write yet, or makes more for a rollout. Which of them
    # will stay is not known then.
    settled = len(waiting) <= asked
    staying = (members.machine_of.get(index) for index in nodes if states[index] is not NodeState.LEAVING)
    marked = tuple(machine for machine in staying if machine is not None and machine.delete_marked)
    # Nobody takes back twice, nor what may be somebody else's. Nor may another machine go instead.
    taken = {machine.name for machine in waiting if machine.delete_marked}.union(belonging.kept)
    if failed:
        # A node of the same name is its node, although nothing has joined the two yet.
        taken.update(node.name for node in world.nodes)
    may_go = settled and not marked and not apart
    cancellable = tuple(name for name, _ in failed if name not in taken) if may_go else ()
    clocks = unmade_clocks(memory, group, current, asked - len(waiting), now_seconds) if settled else []
    overdue = 0 if apart else sum(1 for since in clocks if now_seconds - since >= overdue_after)
    refusal = group.facts.launch_failure if group.facts is not None else None
    unmade = overdue if refusal is None else len(clocks)
    why = f"{refusal.kind}: {refusal.message}" if refusal is not None else f"no machine within {patience}"
    # A later answer of the platform is another failure; the same one is not.
    prefix = f"{refusal.id} " if refusal is not None else ""
    failed.extend((f"{prefix}request {number + 1}", why) for number in range(unmade))
    upcoming = 0 if belonging.expects_nothing(overdue=bool(failed)) else max(0, asked - len(failed))
    return GroupSituation(
        nodes=nodes,
        current=current,
        # A node leaves spec.replicas first; its controller deletes the machine a little later. In between, more nodes exist than
        # are requested, and those that leave must not be subtracted twice.
        size=min(current, max(current, registered) - (len(leaving) - gone)) - (len(cancellable) + unmade),
        upcoming=upcoming,
        late=0 if belonging.of_another_cluster else asked - upcoming,
        starting=tuple(index for index in nodes if states[index] is NodeState.NOT_STARTED),
        leaving=leaving,
        failed=tuple(failed),
        ready=sum(1 for index in nodes if world.nodes[index].ready and states[index] is not NodeState.LEAVING),
        unready=sum(1 for index in nodes if states[index] is NodeState.UNREADY),
        cancellable=cancellable,
        unmade=unmade,
        needs_person=bool(unmade) and refusal is not None and refusal.kind == CONFIGURATION,
        marked=marked,
    )


def _deleting(members: Membership, index: int) -> bool:
    machine = members.machine_of.get(index)
    return machine is not None and machine.deleting


def unhealthy(states: Iterable[NodeState], max_unready_percent: int, ok_unready_count: int) -> tuple[bool, int, int]:
    """(halted, unready, managed): removals halt when both bounds are passed, strictly.

    Source: Cluster Autoscaler `clusterstate` (more than 3 and more than 45 %), counted over managed nodes only, so
    that nodes outside all groups cannot stop everything.
    """
    managed = [state for state in states if state is not NodeState.UNMANAGED]
    unready = sum(1 for state in managed if state is NodeState.UNREADY)
    return exceeds_unready_bounds(unready, len(managed), max_unready_percent, ok_unready_count), unready, len(managed)


def exceeds_unready_bounds(unready: int, nodes: int, max_unready_percent: int, ok_unready_count: int) -> bool:
    """Whether both bounds are passed, strictly: the same test for all managed nodes and for those of one group."""
    return unready > ok_unready_count and unready * 100 > max_unready_percent * nodes
