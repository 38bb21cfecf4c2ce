"""The demand for which nodes were added. While it lasts, it does not cost nodes again.

A drain into the spare capacity of nodes that the same demand just added is a scale-up and a scale-down without any change. The
Cluster Autoscaler does that one unneeded time after a scale-up (measured on 1.36: 2 -> 9 -> 8 nodes for one burst of pods).
"""

from collections.abc import Collection, Mapping
from functools import cached_property

import msgspec

from reconciler.cluster.nodes.node import Node, NodeShape
from reconciler.decisions.demand.pod_counts import PodCounts
from reconciler.decisions.draft import Draft
from reconciler.decisions.memory import Purchase
from reconciler.decisions.situation.evidence import in_vain_since, target_of
from reconciler.decisions.situation.takeovers import began
from reconciler.plan.plan import NodeState


class Bought(msgspec.Struct, frozen=True):
    """Nodes (indices of the World) that came for the present demand; `since` by the position of a group that grew for it.
    `in_vain` are nodes of these groups that came for it as well, but do not help it."""

    nodes: frozenset[int] = frozenset()
    since: Mapping[int, int] = {}
    in_vain: frozenset[int] = frozenset()

    def keeps(self, position: int, node: int) -> int | None:
        """Since when the group of a node has grown for the demand, which therefore keeps the node; None: it does not."""
        return None if node in self.in_vain else self.since.get(position)


NOTHING = Bought()


class Owed(msgspec.Struct, frozen=True):
    """What a `Replace` that begins must save before others begin, as in `Purchase`."""

    paid_at_micros: int
    repair_above_micros: int

    @classmethod
    def by(cls, cost_micros: int, weight_micros: int, unpaid: Purchase | None) -> "Owed":
        """All nodes cost so much an hour now, and the pods that move weigh so much. `unpaid`: it repairs this one, which has not
        paid. Then it must save as much as that one, and is not repaired itself. So costs fall with every second start."""
        if unpaid is None:
            return cls(cost_micros - max(1, weight_micros), cost_micros)
        return cls(unpaid.paid_at_micros - max(1, weight_micros), 0)


def may_begin(unpaid: Purchase, cost_micros: int, net_micros: int) -> bool:
    """Whether a `Replace` that saves `net_micros` beyond what its pods weigh may begin. If the last one has made everything more
    expensive than before, one may that leads below what the last one had to reach."""
    worse = 0 < unpaid.repair_above_micros < cost_micros
    return worse and cost_micros - net_micros <= unpaid.paid_at_micros


GIVEN_UP_SECONDS = 86_400
"""So long nodes whose replacement was given up are not replaced again. A `Replace` that has not paid keeps others for the same
demand from beginning. So the same demand does not pay twice."""
_MOST_CLOSED = 1_000
"""Nodes that take no pods of which it is remembered: when thousands fail at once and come back, these tell it too."""


class Demand:
    """The demand of one view, computed on first use.

    It lasts while every kind has as many pods as the most since the nodes were added. More pods do not end it; one pod less does.
    The most since then counts, not the number at that instant. Some pods may have just been preempted, evicted or drained, and
    not yet created again. If one of them is really gone later, that is less demand. A lower number may be such a gap too. So the
    entry stays, and counts again when the pods are back.

    It ends for good under another policy, or if room appears that was not added for it. For example, a node takes pods that took
    none then, or a node requested since then is not ours. It does not end if room disappears, nor if a group becomes ours or
    stops being ours with its nodes.
    """

    def __init__(self, draft: Draft, policy_digest: str) -> None:
        self._draft = draft
        self._policy_digest = policy_digest

    @cached_property
    def _pods(self) -> PodCounts:
        return PodCounts.of(self._draft)

    @cached_property
    def _before(self) -> Purchase | None:
        """The purchase of the memory, unless its demand is over. More pods are another demand for a `Replace`: what was replaced
        for fewer has nothing to pay for them. Neither has one that never began."""
        purchase, conflicts = self._draft.memory.purchase, self._draft.memory.conflicts
        if purchase is not None:
            # Of a group that somebody else has sized since, nobody can tell which nodes were added for the demand.
            since = {
                target: instant
                for target, instant in purchase.since.items()
                if target not in conflicts or conflicts[target].last_seconds < instant
            }
            purchase = msgspec.structs.replace(purchase, since=since) if len(since) < len(purchase.since) else purchase
        if (
            purchase is not None
            and purchase.replaced_seconds
            and (self._never_began(purchase.replaced_seconds) or self._pods.raised(purchase.pods) is not purchase.pods)
        ):
            purchase = msgspec.structs.replace(purchase, replaced_seconds=0)
        over = purchase is None or purchase.policy != self._policy_digest or self._room_came(purchase)
        return None if over else purchase

    def _never_began(self, started_seconds: int) -> bool:
        """Whether the `Replace` of then is in the memory, but no target grew for it and no write is noted."""
        draft = self._draft
        parts = {one.target: one for one in draft.memory.replacements if one.started_seconds == started_seconds}
        writes = draft.memory.last_writes
        if any(target in writes and writes[target].written_seconds >= started_seconds for target in parts):
            return False
        groups = (group for group in draft.groups if str(group.group.target) in parts)
        return bool(parts) and not any(began(parts[str(group.group.target)], draft.world, group.situation) for group in groups)

    @cached_property
    def _lasts(self) -> bool:
        return self._before is not None and self._pods.cover(self._before.pods)

    def _closed(self) -> tuple[str, ...]:
        draft = self._draft
        pairs = zip(draft.world.nodes, draft.states, strict=True)
        return tuple(node.name for node, state in pairs if _takes_none(node, state, draft.world.node_shapes[node.shape]))

    def _room_came(self, purchase: Purchase) -> bool:
        draft = self._draft
        others = {group.position for group in draft.groups if group.held_why and str(group.group.target) not in purchase.since}
        others.add(-1)
        places = enumerate(draft.members.group_of)
        if any(self._asked_for(index) > purchase.last_seconds for index, where in places if where in others):
            return True
        closed = frozenset(purchase.closed)
        return bool(closed) and any(
            state not in (NodeState.LEAVING, NodeState.NOT_STARTED)
            and not _takes_none(node, state, draft.world.node_shapes[node.shape])
            for node, state in zip(draft.world.nodes, draft.states, strict=True)
            if node.name in closed
        )

    def _asked_for(self, index: int) -> int:
        """When somebody asked for a node: a purchase counts on those that are still to join."""
        machine = self._draft.members.machine_of.get(index)
        return machine.created_seconds if machine is not None else self._draft.world.nodes[index].created_seconds

    def bought(self) -> Bought:
        """What was added for this very demand, by the memory. A node that a repack did not need after all is not."""
        draft, purchase = self._draft, self._before
        if purchase is None or not self._lasts:
            return NOTHING
        since = {
            group.position: purchase.since[target]
            for group in draft.groups
            if (target := str(group.group.target)) in purchase.since
        }
        nodes = {
            index
            for position, instant in since.items()
            for index in draft.groups[position].situation.nodes
            if draft.world.nodes[index].created_seconds >= instant
        }
        awaited = {index for one in draft.takeovers for index in one.takers}
        in_vain = frozenset(
            index
            for index in nodes
            if index not in draft.busy and (self._in_vain(index) or (index not in awaited and self._repacked(index)))
        )
        return Bought(frozenset(nodes - in_vain), since, in_vain)

    @cached_property
    def _vain_since(self) -> Mapping[int, int]:
        """By the position of a group: since when its nodes may not have helped."""
        draft = self._draft
        since = {position: 0 for (position, _), seen in draft.refuted.items() if seen is not None}
        for group in draft.groups:
            if (asked := in_vain_since(draft.memory, str(group.group.target))) is not None:
                since.setdefault(group.position, asked)
            for key, entry in draft.memory.probes.items():
                if target_of(key) == str(group.group.target):
                    first = entry.first_seconds or entry.asked_seconds
                    since[group.position] = min(since.get(group.position, first), first)
        return since

    def _repacked(self, index: int) -> bool:
        return self._draft.world.nodes[index].name in self._draft.memory.repacked

    def _in_vain(self, index: int) -> bool:
        """Whether an empty node was added for a promise that did not come true."""
        since = self._vain_since.get(self._draft.members.group_of[index])
        return since is not None and self._draft.world.nodes[index].created_seconds >= since

    def unpaid(self, cost_micros: int) -> Purchase | None:
        """The purchase, if the last `Replace` for this demand has not saved what it must. `cost_micros` is what all nodes cost
        an hour now. After a day nobody waits for it any more. None: any other one may begin."""
        purchase = self._before
        if purchase is None or cost_micros <= purchase.paid_at_micros or not self._lasts:
            return None
        return purchase if self._draft.now_seconds - purchase.replaced_seconds < GIVEN_UP_SECONDS else None

    def purchase(self, grown: Collection[str], adopted: Collection[str], owed: Owed | None = None) -> Purchase | None:
        """What to remember when the groups of these names grow for pods or headroom now, and others are adopted. What somebody
        else did to a group was not added for this demand. With `owed`, they grow for a `Replace`."""
        draft, purchase = self._draft, self._before
        if purchase is not None and self._lasts:
            pods = self._pods.raised(purchase.pods)
            others = {str(group.group.target) for group in draft.groups if group.group.name in adopted}
            since = {target: instant for target, instant in purchase.since.items() if target not in others}
            purchase = msgspec.structs.replace(purchase, pods=pods, since=since)
        elif grown:
            purchase = Purchase(policy=self._policy_digest)
        if purchase is None or not grown:
            return purchase
        now = {str(group.group.target): draft.now_seconds for group in draft.groups if group.group.name in grown}
        since = dict(sorted({**now, **purchase.since}.items()))
        closed = self._closed()[:_MOST_CLOSED]
        # Not what was counted before: a fall of then may have been hidden by pods between two lives, and is no fall from now on.
        pods = self._pods.least
        purchase = msgspec.structs.replace(purchase, since=since, pods=pods, closed=closed, last_seconds=draft.now_seconds)
        if owed is None:
            return purchase
        return msgspec.structs.replace(
            purchase,
            replaced_seconds=draft.now_seconds,
            paid_at_micros=owed.paid_at_micros,
            repair_above_micros=owed.repair_above_micros,
        )


def _takes_none(node: Node, state: NodeState, shape: NodeShape) -> bool:
    """Whether a node takes no pods for other reasons than that we remove it, or that it is still starting."""
    if state in (NodeState.LEAVING, NodeState.NOT_STARTED):
        return False
    return state is NodeState.UNREADY or not node.ready or shape.unschedulable


def came_late(draft: Draft, index: int) -> bool:
    """Whether a node joined after its machine was given up. Others were added instead, so it may leave."""
    machine = draft.members.machine_of.get(index)
    where = draft.members.group_of[index]
    if machine is None or not machine.created_seconds or where < 0:
        return False
    waited = draft.world.nodes[index].created_seconds - machine.created_seconds
    return waited >= draft.groups[where].group.scale_up.max_node_provision_time_seconds
