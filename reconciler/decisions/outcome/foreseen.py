"""What a decision leads to when nothing but time is in its way: which nodes leave, which join, and where pods go."""

from array import array
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from reconciler.cluster.nodes.node import NodeShape
from reconciler.cluster.target import TargetRef
from reconciler.decisions.demand.queue import Lot
from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.removal.budgets import allows_none
from reconciler.decisions.removal.keeps import ENDING_WITH_REMOVALS
from reconciler.decisions.removal.scale_down import Judged
from reconciler.decisions.situation.lead_times import expectation, overdue_after_seconds
from reconciler.decisions.situation.request_clocks import requested_seconds, unmade_clocks
from reconciler.decisions.view import View
from reconciler.plan.plan import Action, ActionKind, NodeState, PodOutcome
from reconciler.policy.documents import NodeGroupPolicy

_PLACED = (PodOutcome.FITS_EXISTING, PodOutcome.TRIGGERS_SCALE_UP)
_PLAIN_STATES = frozenset((NodeState.IN_USE, NodeState.UNMANAGED))
_PLAIN_ACTIONS = (ActionKind.RESIZE, ActionKind.REMOVE_NODE)


class NewNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node that joins: `index` is what `Foreseen.nodes` calls it, `daemons` the shapes of the DaemonSet pods on it."""

    index: int
    shape: NodeShape
    daemons: tuple[int, ...]


class ChangedGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A group that has another size then: `to` replicas."""

    name: str
    target: TargetRef
    to: int
    joining: tuple[NewNode, ...]
    leaving: tuple[int, ...]


class Foreseen(msgspec.Struct, frozen=True, kw_only=True):
    """`groups` are those that change. Nodes are indices of the World, the new ones behind them.

    `nodes`, `shapes` and `counts` are columns of pods that are bound now and were not before, in order. Negative counts are pods
    that left. `placed` are the rows of pending pods that get one of these places. By `last_seconds` the last of the nodes may
    leave.
    """

    groups: tuple[ChangedGroup, ...]
    nodes: "array[int]"
    shapes: "array[int]"
    counts: "array[int]"
    placed: tuple[int, ...]
    last_seconds: int


def foreseen(
    draft: Draft, judged: Mapping[int, Judged], lots: Sequence[Lot], actions: Iterable[Action], halted: tuple[str, ...]
) -> Foreseen | None:
    """None if more than time is in the way, or if more happens than nodes that join or leave and pods that move. Examples: nodes
    that are starting, leaving or not ready, requested machines, adoptions, replacements, preempted pods,
    CapacityBuffers, ProvisioningRequests, nodes that the platform ends."""
    if not _plain(draft, actions) or any(lot.served.outcome is PodOutcome.DELAYED for lot in lots):
        return None
    leaving = {index: entry for index, entry in judged.items() if entry.safe}
    waiting = [entry for entry in leaving.values() if entry.why is None]
    if waiting and (halted or _forbids(draft.policy)):
        return None
    # The first of them to leave may let others go, and these would wait for their own time.
    staying = (blocker.code for entry in judged.values() if not entry.safe for blocker in entry.blockers)
    if waiting and not ENDING_WITH_REMOVALS.isdisjoint(staying):
        return None
    # Where a pod is awaited, its age counts, and a pod that moved is young again.
    if any(entry.candidate.awaited for entry in waiting):
        return None
    by_group: dict[int, list[int]] = {}
    for index in sorted(leaving):
        by_group.setdefault(draft.members.group_of[index], []).append(index)
    groups = tuple(
        _changed(draft, group, tuple(by_group.get(group.position, ())))
        for group in draft.groups
        if group.new_nodes or group.position in by_group
    )
    nodes, shapes, counts = draft.state.bound_since(draft.begun)
    return Foreseen(
        groups=groups,
        nodes=nodes,
        shapes=shapes,
        counts=counts,
        placed=tuple(row for lot in lots if lot.served.outcome in _PLACED for row in lot.pods),
        last_seconds=max((entry.removable_at or 0 for entry in leaving.values()), default=0),
    )


def _plain(draft: Draft, actions: Iterable[Action]) -> bool:
    return (
        _PLAIN_STATES.issuperset(draft.states)
        and all(_still(group) for group in draft.groups)
        and not draft.memory.replacements
        and not draft.buffers
        and not draft.requests
        and not draft.endings
        and all(action.kind in _PLAIN_ACTIONS for action in actions)
        and all(shape.priority >= draft.cutoff for shape in draft.world.pod_shapes)
    )


def _still(group: GroupDraft) -> bool:
    """Whether nothing is under way in a group none of whose nodes starts or leaves."""
    now = group.situation
    if now.upcoming or now.failed:
        return False
    return bool(group.held_why) or now.current == len(now.nodes)


def _forbids(policy: NodeGroupPolicy) -> bool:
    """Whether a bound of zero keeps nodes for ever."""
    pace = policy.pace
    zero = any(map(allows_none, policy.budgets))
    return zero or pace.max_removed_percent == 0 or pace.require_approval_above == 0


def _changed(draft: Draft, group: GroupDraft, leaving: tuple[int, ...]) -> ChangedGroup:
    joining = tuple(NewNode(index=node, shape=draft.state.shape_of(node), daemons=group.daemons) for node in group.new_nodes)
    return ChangedGroup(
        name=group.group.name,
        target=group.group.target,
        to=group.situation.current + len(joining) - len(leaving),
        joining=joining,
        leaving=leaving,
    )


# Nodes that were asked for and have not registered: one by one, since when, and what became of those that will not come.


class UpcomingNode(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """One request for a node. `machine` is empty where the platform has made none for it. `since_seconds` is when the machine was
    made, or first seen where nothing says so; at `until_seconds` it is given up. By
    `expected_seconds`, most earlier ones had come (0: too few have ended). `failed` says why it will not come, and is empty
    while it is expected."""

    group: str
    since_seconds: int
    machine: str = ""
    until_seconds: int = 0
    expected_seconds: int = 0
    failed: str = ""


def upcoming_nodes(view: View) -> tuple[UpcomingNode, ...]:
    """All of them by group, the longest wait first. A machine that is being deleted is none."""
    upcoming: list[UpcomingNode] = []
    for group, situation, machines in zip(view.groups, view.situations, view.members.machines, strict=True):
        times = view.memory.lead_times.get(str(group.target))
        earlier = expectation(times)
        patience = overdue_after_seconds(times, group.scale_up.max_node_provision_time_seconds)
        failed = dict(situation.failed)
        asked = [
            (machine.name, requested_seconds(view.memory, group, machine, view.now_seconds), failed.pop(machine.name, ""))
            for machine in machines
            if not machine.node and not machine.deleting
        ]
        whys = [*failed.values(), *[""] * (situation.upcoming - sum(not why for _, _, why in asked))]
        clocks = unmade_clocks(view.memory, group, situation.current, len(whys), view.now_seconds)
        upcoming += [
            UpcomingNode(
                group=group.name, since_seconds=since, machine=name, until_seconds=since + patience, failed=why,
                expected_seconds=since + earlier.within_seconds if earlier else 0,
            )
            for name, since, why in (*asked, *(("", *entry) for entry in zip(clocks, whys, strict=True)))
        ]  # fmt: skip
    return tuple(sorted(upcoming))
