"""Where things stand before anything is decided: how each node is, what each group has, what is on its way."""

from collections.abc import Iterable

import msgspec

from reconciler.cluster.node import Node
from reconciler.cluster.world import World
from reconciler.decisions.group import EffectiveGroup
from reconciler.decisions.membership import Membership
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import NodeState

LEAVING_TAINTS = ("reconciler.dev/deleting", "ToBeDeletedByClusterAutoscaler")


class GroupSituation(msgspec.Struct, frozen=True, kw_only=True):
    """What one group has. `nodes` are indices in World order. `size` is what will remain of `current` once the nodes
    that are leaving are gone; `upcoming` counts nodes asked for, not registered, and still expected."""

    nodes: tuple[int, ...]
    current: int
    size: int
    upcoming: int
    starting: tuple[int, ...]
    leaving: tuple[int, ...]
    failed: tuple[tuple[str, str], ...]
    ready: int


def node_states(
    world: World, groups: tuple[EffectiveGroup, ...], members: Membership, memory: Memory, now_seconds: int
) -> tuple[NodeState, ...]:
    """The state of every node, by World order. InUse stands for everything that is alive and not yet judged."""
    return tuple(
        _node_state(
            world,
            index,
            node,
            groups[members.group_of[index]] if members.group_of[index] >= 0 else None,
            members,
            memory,
            now_seconds,
        )
        for index, node in enumerate(world.nodes)
    )


def _node_state(
    world: World, index: int, node: Node, group: EffectiveGroup | None, members: Membership, memory: Memory, now_seconds: int
) -> NodeState:
    machine = members.machine_of.get(index)
    shape = world.node_shapes[node.shape]
    if node.deleting or node.name in memory.leaving or (machine is not None and (machine.deleting or machine.delete_marked)):
        return NodeState.LEAVING
    if any(taint.key in LEAVING_TAINTS for taint in shape.taints):
        return NodeState.LEAVING
    if group is None:
        return NodeState.UNMANAGED
    young = now_seconds - node.created_seconds < group.max_node_startup_time_seconds
    if not node.ready:
        return NodeState.NOT_STARTED if young else NodeState.UNREADY
    if young and (any(taint.key in group.startup_taints for taint in shape.taints) or _devices_missing(world, node, group)):
        return NodeState.NOT_STARTED
    return NodeState.IN_USE


def _devices_missing(world: World, node: Node, group: EffectiveGroup) -> bool:
    if group.template is None:
        return False
    allocatable = world.node_shapes[node.shape].allocatable
    return any(amount and not allocatable.get(name) for name, amount in group.template.allocatable.extended)


def group_situations(
    world: World,
    groups: tuple[EffectiveGroup, ...],
    members: Membership,
    states: tuple[NodeState, ...],
    now_seconds: int,
) -> tuple[GroupSituation, ...]:
    """One situation a group, by the order of `groups`."""
    return tuple(_situation(world, group, members, position, states, now_seconds) for position, group in enumerate(groups))


def _situation(
    world: World,
    group: EffectiveGroup,
    members: Membership,
    position: int,
    states: tuple[NodeState, ...],
    now_seconds: int,
) -> GroupSituation:
    nodes = members.members[position]
    current = (group.facts.replicas or 0) if group.facts is not None else 0
    leaving = tuple(index for index in nodes if states[index] is NodeState.LEAVING)
    # A machine that is being deleted has already left spec.replicas; a node that is only drained or marked has not.
    gone = sum(1 for index in leaving if _deleting(members, index) or world.nodes[index].deleting)
    registered = len(nodes) - gone
    failed: list[tuple[str, str]] = []
    for machine in members.machines[position]:
        if machine.node or machine.deleting:
            continue
        # AWS does not say when an instance was asked for (created_seconds 0): it is waited for.
        age = now_seconds - machine.created_seconds
        if machine.failed:
            failed.append((machine.name, machine.failed))
        elif machine.created_seconds and age >= group.max_node_provision_time_seconds:
            failed.append((machine.name, f"no node within {group.max_node_provision_time_seconds} s"))
    return GroupSituation(
        nodes=nodes,
        current=current,
        size=current - (len(leaving) - gone),
        upcoming=max(0, current - registered - len(failed)),
        starting=tuple(index for index in nodes if states[index] is NodeState.NOT_STARTED),
        leaving=leaving,
        failed=tuple(failed),
        ready=sum(1 for index in nodes if world.nodes[index].ready and states[index] is not NodeState.LEAVING),
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
    return unready > ok_unready_count and unready * 100 > max_unready_percent * len(managed), unready, len(managed)
