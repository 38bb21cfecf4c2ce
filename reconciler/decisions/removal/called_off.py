"""Removals that have begun and must not continue, because a rule now keeps the node.

During the minutes of a drain, somebody may set a hold, raise a minimum, or annotate a pod or node. The drain checks this before
each step. A node whose removal is called off is uncordoned, and from then on judged like any other.
"""

from collections.abc import Iterator
from itertools import chain

import msgspec

from reconciler.cluster.defects import judged
from reconciler.cluster.target import TargetRef
from reconciler.cluster.world import World
from reconciler.decisions.limits import LimitLedger, counted_shapes
from reconciler.decisions.memory import Memory
from reconciler.decisions.reasons.kept_nodes import BelowMinSize, GroupObserved, KeptByLimitMin
from reconciler.decisions.removal.candidates import node_holds
from reconciler.decisions.removal.drains.disruption_ledger import DisruptionLedger
from reconciler.decisions.removal.drains.drain import DrainJudge
from reconciler.decisions.removal.keeps import DRAIN, OF_NODES, NodeAsked, kept_by, rules_asked_by
from reconciler.decisions.situation.group_situation import LEAVING_TAINTS
from reconciler.decisions.view import View
from reconciler.decisions.work import Work
from reconciler.plan.plan import NodeState
from reconciler.plan.reason import Blocker
from reconciler.policy.documents import Mode, PolicySet

OUR_TAINT = LEAVING_TAINTS[0]
_RULES = rules_asked_by(OF_NODES, DRAIN)


class CalledOff(msgspec.Struct, frozen=True, kw_only=True):
    """The removal of `node` of `target` must end: `why` is what keeps the node now."""

    target: TargetRef
    node: str
    why: Blocker


def called_off(world: World, policy: PolicySet, memory: Memory, now_seconds: int) -> tuple[CalledOff, ...]:
    """Removals to call off, by node in World order. Empty, and cheap, where no node carries the taint of a removal.

    If the machine is already being deleted, it is too late. Disruption budgets do not count: the drain waits for them, and its
    own evictions use them up. If several drains together would pass a minimum, those with the fewest pods left continue.
    """
    marked = [any(taint.key == OUR_TAINT for taint in shape.taints) for shape in world.node_shapes]
    under_way = [index for index, node in enumerate(world.nodes) if marked[node.shape] and not node.deleting]
    if not under_way:
        return ()
    return judged(world, lambda some: _called_off(some, policy, memory, now_seconds, under_way), memory.defects)


def _called_off(world: World, policy: PolicySet, memory: Memory, now_seconds: int, under_way: list[int]) -> tuple[CalledOff, ...]:
    view = View.of(world, policy, memory, now_seconds, Work(0))
    world = view.world
    going = [index for index in under_way if _may_be_called_off(view, index)]
    pods = _pods_on(world, going)
    judge = DrainJudge(world, policy.policy.drain, DisruptionLedger(world), now_seconds)
    blockers: dict[int, Blocker] = {}
    for index in going:
        blocker = _group_says(view, index) or _pods_say(view, judge, pods[index])
        if blocker is not None:
            blockers[index] = blocker
    rest = sorted(
        (index for index in going if index not in blockers), key=lambda index: (len(pods[index]), world.nodes[index].name)
    )
    blockers |= dict(_minimums_say(view, rest, blockers))
    return tuple(
        CalledOff(target=view.groups[view.members.group_of[index]].target, node=world.nodes[index].name, why=blockers[index])
        for index in going
        if index in blockers
    )


def _may_be_called_off(view: View, index: int) -> bool:
    machine = view.members.machine_of.get(index)
    return view.members.group_of[index] >= 0 and not (machine is not None and machine.deleting)


def _group_says(view: View, index: int) -> Blocker | None:
    """What the group and the node itself have against it."""
    position = view.members.group_of[index]
    group = view.groups[position]
    if group.mode is Mode.OBSERVE:
        return GroupObserved(group=group.name).blocker()
    asked = NodeAsked(
        world=view.world,
        group=group,
        index=index,
        held_why=view.held[position],
        marked=view.situations[position].marked,
        machine=view.members.machine_of.get(index),
        annotations=dict(view.world.nodes[index].annotations),
    )
    held = node_holds(view.world, index, view.now_seconds)
    return next(chain(kept_by(_RULES, asked), (why.blocker() for why in (*held.lasting, *held.ending))), None)


def _pods_on(world: World, nodes: list[int]) -> dict[int, list[int]]:
    """Pods that have neither ended nor are ending, by node."""
    by_node: dict[int, list[int]] = {index: [] for index in nodes}
    pods = world.pods
    for index, node in enumerate(pods.node):
        if node in by_node and not pods.deletion_seconds[index] and not pods.finished(index):
            by_node[node].append(index)
    return by_node


def _pods_say(view: View, judge: DrainJudge, on_node: list[int]) -> Blocker | None:
    """The first pod that a drain rule keeps where it is."""
    world, cutoff = view.world, view.policy.policy.pods.expendable_below_priority
    for index in on_node:
        rules = judge.judge(index).keeps
        if rules and world.pod_shapes[world.pods.shape[index]].priority >= cutoff:
            return rules[0].blocker(world.pods.key(index))
    return None


def _minimums_say(view: View, going: list[int], ended: dict[int, Blocker]) -> Iterator[tuple[int, Blocker]]:
    """Drains that would leave a group, or what a limit counts, below its minimum. `ended` are those that end anyway; `going`
    in the order in which they may go on."""
    size = {position: situation.size for position, situation in enumerate(view.situations)}
    ledger = LimitLedger(view.policy.policy.limits)
    counted = counted_shapes(view.policy.policy.limits, view.world, view.members.group_of, view.groups)
    for index in range(len(view.world.nodes)):
        where = view.members.group_of[index]
        group = view.groups[where] if where >= 0 else None
        if view.states[index] is not NodeState.LEAVING:
            ledger.count(group, counted(index))
    for index in (*going, *ended):
        position = view.members.group_of[index]
        size[position] += 1
        ledger.count(view.groups[position], counted(index))
    for index in going:
        position = view.members.group_of[index]
        group, shape = view.groups[position], counted(index)
        passed = ledger.below_min(group, shape)
        if size[position] - 1 < group.min_size:
            yield index, BelowMinSize(group=group.name, min=group.min_size).blocker()
        elif passed is not None:
            limit, resource = passed
            yield index, KeptByLimitMin(limit=limit.name, resource=resource).blocker()
        else:
            size[position] -= 1
            ledger.count(group, shape, -1)
