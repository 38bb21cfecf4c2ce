"""How many nodes each group may still lose within a day without an approval, or by one.

Removed nodes are remembered by target, so a new name of the group changes nothing. They are counted in spans of ten minutes. Each
span counts until a day after its end: rather too long than too short.
"""

from collections import Counter
from collections.abc import Iterable

from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.memory import Departures
from reconciler.decisions.reasons.groups import WaitsForApproval
from reconciler.decisions.reasons.kept_nodes import NeedsApproval
from reconciler.plan.approvals.group_approvals import group_trailer
from reconciler.plan.plan import NodeState
from reconciler.plan.reason import Blocker
from reconciler.policy.documents import PolicySet
from reconciler.policy.pace import DAY_SECONDS

SPAN_SECONDS = 600


def departed(departures: Departures, target: str, nodes: int, now_seconds: int) -> Departures:
    """So many more nodes of a target began to leave now; negative: so many of the last ones stayed after all."""
    spans = dict(departures.get(target, ()))
    if nodes > 0:
        end = (now_seconds // SPAN_SECONDS + 1) * SPAN_SECONDS
        spans[end] = spans.get(end, 0) + nodes
    for end in sorted(spans, reverse=True):
        stayed = min(max(-nodes, 0), spans[end])
        spans[end] -= stayed
        nodes += stayed
    kept = tuple(sorted((end, count) for end, count in spans.items() if count))
    others = {name: spans_of for name, spans_of in departures.items() if name != target}
    return {**others, target: kept} if kept else others


def lasting(departures: Departures, now_seconds: int) -> Departures:
    """Those that still count."""
    kept = {
        target: tuple((end, count) for end, count in spans if end + DAY_SECONDS > now_seconds)
        for target, spans in sorted(departures.items())
    }
    return {target: spans for target, spans in kept.items() if spans}


class ApprovalCeilings:
    """What is left of each group's ceiling while a plan is made. Without `pace.requireApprovalAbove` there is none."""

    def __init__(self, draft: Draft, policy: PolicySet) -> None:
        self._draft = draft
        self._policy = policy
        self._free = draft.policy.pace.require_approval_above
        self._waiting: Counter[int] = Counter()
        self._gone: Counter[int] = Counter()
        if self._free is None:
            return
        counted = lasting(draft.memory.departures, draft.now_seconds)
        for group in draft.groups:
            gone = sum(count for _, count in counted.get(str(group.group.target), ()))
            self._gone[group.position] = gone + self._unrecorded(group)

    def refuses(self, group: GroupDraft) -> Blocker | None:
        """What keeps one more node of the group; the node is counted as waiting then."""
        if self._free is None or self._gone[group.position] < self._most(group):
            return None
        self._waiting[group.position] += 1
        gone = self._gone[group.position]
        return NeedsApproval(group=group.group.name, gone=gone, limit=self._most(group)).blocker()

    def allows(self, nodes: Iterable[int]) -> bool:
        """Whether all of these nodes (indices of the World) may still go."""
        if self._free is None:
            return True
        asked = Counter(self._draft.members.group_of[index] for index in nodes)
        return all(self._gone[where] + count <= self._most(self._draft.groups[where]) for where, count in asked.items())

    def take(self, group: GroupDraft) -> None:
        """One more node of the group leaves."""
        self._gone[group.position] += 1

    def add_reasons(self) -> None:
        """Say at every group that waits for an approval how many nodes wait."""
        for position, waiting in sorted(self._waiting.items()):
            group, gone = self._draft.groups[position], self._gone[position]
            trailer = group_trailer(self._policy.digest, self._draft.world.name, group.group.name, gone + waiting)
            reason = WaitsForApproval(
                group=group.group.name, waiting=waiting, gone=gone, limit=self._most(group), trailer=trailer
            )
            group.reasons.append(reason.reason())

    def _most(self, group: GroupDraft) -> int:
        """Of several approvals the strictest counts, and none lowers what is free anyway."""
        world, now = self._draft.world, self._draft.now_seconds
        approved = [
            one.nodes for one in self._policy.approvals if one.covers(self._policy.digest, world.name, group.group.name, now)
        ]
        return max(self._free or 0, min(approved, default=0))

    def _unrecorded(self, group: GroupDraft) -> int:
        """Nodes that are leaving and that no memory tells of: whoever began it ended before it was stored."""
        draft = self._draft
        return sum(
            draft.states[index] is NodeState.LEAVING and draft.world.nodes[index].name not in draft.memory.leaving
            for index in group.situation.nodes
        )
