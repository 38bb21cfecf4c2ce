"""Which nodes could leave at all: how they are used, and what keeps them whatever happens elsewhere."""

from collections.abc import Mapping, Sequence

import msgspec

from reconciler.cluster.world import World
from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.reasons.kept_nodes import NotManaged
from reconciler.decisions.removal.device_load import device_shares
from reconciler.decisions.removal.drains.disruption_ledger import DisruptionLedger
from reconciler.decisions.removal.drains.do_not_disrupt import NO_HOLDS, Holds, disruption_holds
from reconciler.decisions.removal.ignored_pods import ignored_pods, requests_of
from reconciler.decisions.removal.keeps import (
    OF_NODES,
    PLAN,
    NodeAsked,
    NodeLeaving,
    NotUnderutilized,
    blocker_of,
    kept_by,
    rules_asked_by,
)
from reconciler.decisions.removal.load import NodeLoad, NodeLoads, last_end
from reconciler.decisions.removal.utilization import threshold_percent, utilization_permille
from reconciler.decisions.situation.denied_writes import REMOVAL, denied_now
from reconciler.decisions.situation.group_situation import leaving_taint
from reconciler.plan.plan import NodeState
from reconciler.plan.reason import Blocker
from reconciler.policy.documents import RemovalReason

_NOT_MANAGED = NotManaged().blocker()
_RULES = rules_asked_by(OF_NODES, PLAN)
_Place = tuple[int, int, NodeState]
"""Its group, the shape of the node and its state."""


class Candidate(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One node as a removal sees it.

    `reason` is why its own utilization lets it leave (None: it is in use or unmanaged). `above_max`: its group is too large.
    `pods` are all pods on it by index. `moving` are those that need another place, by shape. `blockers` keep the node whatever
    happens elsewhere. `awaited` keep it too, and end without anybody's doing, the last of them at `until_seconds` (None: nobody
    knows when).
    """

    index: int
    group: GroupDraft | None
    state: NodeState
    utilization_permille: int | None
    reason: RemovalReason | None
    above_max: bool
    moving: Mapping[int, int]
    evicted: Mapping[int, int]
    pods: Sequence[int]
    blockers: tuple[Blocker, ...]
    awaited: tuple[Blocker, ...] = ()
    until_seconds: int | None = None

    @property
    def keeps(self) -> tuple[Blocker, ...]:
        """All that keeps it, whatever happens elsewhere."""
        return (*self.blockers, *self.awaited)


def look_at_nodes(draft: Draft, ledger: DisruptionLedger) -> tuple[Candidate, ...]:
    """Every node of the World, in its order. Of nodes that nothing tells apart, only the first is looked at."""
    loads, devices = NodeLoads(draft, ledger), device_shares(draft.world)
    first: dict[tuple[_Place, int], Candidate] = {}
    own: dict[_Place, tuple[Blocker, ...]] = {}
    found: list[Candidate] = []
    for index, node in enumerate(draft.world.nodes):
        load = loads.of(index, draft.world.node_shapes[node.shape])
        place = _place(draft, index)
        alike = None if devices or place is None or load.kind is None else (place, load.kind)
        known = first.get(alike) if alike is not None else None
        if known is None:
            blockers = own.get(place) if place is not None else None
            if blockers is None:
                blockers = _own_blockers(draft, index)
                if place is not None:
                    own[place] = blockers
            known = _look_at(draft, load, devices, index, blockers)
            if alike is not None:
                first[alike] = known
        else:
            known = msgspec.structs.replace(known, index=index, pods=load.pods)
        found.append(known)
    return tuple(found)


def _place(draft: Draft, index: int) -> _Place | None:
    """Equal for nodes that the same rules keep, and that `_look_at` answers equally if their loads are equal. None if something
    is said about the node by name."""
    node, where, state = draft.world.nodes[index], draft.members.group_of[index], draft.states[index]
    if node.annotations or node.unread or state is NodeState.LEAVING or draft.empties(index) or index in draft.repairs.held:
        return None
    machine = draft.members.machine_of.get(index)
    if machine is not None and machine.updating:
        return None
    facts = draft.groups[where].group.facts if where >= 0 else None
    return None if facts is not None and facts.keeps_nodes else (where, node.shape, state)


def _look_at(draft: Draft, load: NodeLoad, devices: Mapping[str, int], index: int, own: tuple[Blocker, ...]) -> Candidate:
    """`own` keep the node itself, before any pod."""
    world = draft.world
    shape = world.node_shapes[world.nodes[index].shape]
    where = draft.members.group_of[index]
    group = draft.groups[where] if where >= 0 else None
    ignored = ignored_pods(world, group.group if group is not None else None, load.pods, draft.cutoff)
    utilization = (
        utilization_permille(shape, load.requested, requests_of(world, ignored))
        if ignored
        else utilization_permille(shape, load.requested)
    )
    if devices and (share := devices.get(world.nodes[index].name)) is not None:
        utilization = max(utilization or 0, share)
    state = draft.states[index]
    # A pod that is awaited runs, though it needs no other place.
    busy = bool(load.moving or load.awaited)
    reason = _reason(draft, group, state, utilization, index, busy=busy)
    above_max = group is not None and group.situation.size > group.group.max_size
    if state is NodeState.IN_USE and not busy:
        state = NodeState.EMPTY
    elif state is NodeState.IN_USE and reason is RemovalReason.UNDERUTILIZED:
        state = NodeState.UNDERUTILIZED
    in_use = reason is None and not above_max
    if group is not None and in_use and state not in (NodeState.LEAVING, NodeState.NOT_STARTED):
        percent = threshold_percent(group.group, shape)
        own = (*own, blocker_of(NotUnderutilized(utilization_permille=utilization, threshold_percent=percent)))
    held = NO_HOLDS if group is None else node_holds(world, index, draft.now_seconds)
    awaited = (*(because.blocker() for because in held.ending), *load.awaited)
    ends = [held.until_seconds] * bool(held.ending) + [load.until_seconds] * bool(load.awaited)
    return Candidate(
        index=index,
        group=group,
        state=state,
        utilization_permille=utilization,
        reason=reason,
        above_max=above_max,
        moving=load.moving,
        evicted=load.evicted,
        pods=load.pods,
        blockers=(*own, *(because.blocker() for because in held.lasting), *load.blockers),
        awaited=awaited,
        until_seconds=last_end(ends),
    )


def _reason(
    draft: Draft, group: GroupDraft | None, state: NodeState, utilization: int | None, index: int, *, busy: bool
) -> RemovalReason | None:
    if group is None:
        return None
    if index in draft.repairs.due:
        return RemovalReason.REPAIRED
    if busy and index in draft.endings:
        return RemovalReason.ENDING
    percent = threshold_percent(group.group, draft.world.node_shapes[draft.world.nodes[index].shape])
    low = utilization is not None and utilization <= 10 * percent
    if state is NodeState.UNREADY:
        return RemovalReason.UNREADY if low else None
    if not busy:
        return RemovalReason.EMPTY
    return RemovalReason.UNDERUTILIZED if low else None


def _own_blockers(draft: Draft, index: int) -> tuple[Blocker, ...]:
    """What keeps the node itself, however it is used."""
    where = draft.members.group_of[index]
    if where < 0:
        return (_NOT_MANAGED,)
    group, state = draft.groups[where], draft.states[index]
    asked = NodeAsked(
        world=draft.world,
        group=group.group,
        index=index,
        held_why=group.held_why,
        marked=group.situation.marked,
        machine=draft.members.machine_of.get(index),
        annotations=dict(draft.world.nodes[index].annotations),
        denied=denied_now(draft.memory, REMOVAL, str(group.group.target), draft.now_seconds),
        leaving=_leaving(draft, index) if state is NodeState.LEAVING else None,
        repair_held=draft.repairs.held.get(index),
        starting=state is NodeState.NOT_STARTED,
    )
    return tuple(kept_by(_RULES, asked))


def _leaving(draft: Draft, index: int) -> NodeLeaving:
    node, machine = draft.world.nodes[index], draft.members.machine_of.get(index)
    taint = leaving_taint(draft.world.node_shapes[node.shape])
    going = machine is not None and (machine.deleting or machine.delete_marked)
    sure = node.deleting or node.name in draft.memory.leaving or going
    return NodeLeaving() if sure or not taint else NodeLeaving(node=node.name, taint=taint)


def node_holds(world: World, index: int, now_seconds: int) -> Holds:
    """What the node's own annotations say about its disruption. Durations count from its creation."""
    node = world.nodes[index]
    return disruption_holds(node.annotations, node.created_seconds, now_seconds) if node.annotations else NO_HOLDS
