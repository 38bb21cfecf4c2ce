"""Why a node leaves, with the numbers of this plan."""

import msgspec

from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.memory import Replacement
from reconciler.decisions.reasons.nodes import NodeAboveMax, NodeEmpty, NodeReplaced, NodeUnderutilized, NodeUnready
from reconciler.decisions.removal.candidates import Candidate
from reconciler.decisions.removal.utilization import threshold_percent
from reconciler.plan.reason import Because
from reconciler.policy.documents import RemovalReason
from reconciler.values.instant import instant_text
from reconciler.values.money import price_text


class Takeover(msgspec.Struct, frozen=True, kw_only=True):
    """A replacement under way: `sources` are its nodes that are still there, `takers` new ones that are ready (World
    indices)."""

    replacement: Replacement
    sources: tuple[int, ...]
    takers: tuple[int, ...]


def why_removed(draft: Draft, group: GroupDraft, candidate: Candidate, reason: RemovalReason, since: int) -> Because:
    """Of a node that goes by itself, unneeded since `since` (Unix time)."""
    node = draft.world.nodes[candidate.index]
    pods = sum(candidate.moving.values())
    if reason is RemovalReason.ABOVE_MAX:
        return NodeAboveMax(node=node.name, current=group.situation.size, max=group.group.max_size, pods=pods)
    if reason is RemovalReason.UNREADY:
        return NodeUnready(node=node.name, since=instant_text(node.ready_seconds))
    if reason is RemovalReason.EMPTY:
        return NodeEmpty(node=node.name, since=instant_text(since))
    return NodeUnderutilized(
        node=node.name,
        utilization_permille=candidate.utilization_permille or 0,
        threshold_percent=threshold_percent(group.group, draft.world.node_shapes[node.shape]),
        pods=pods,
        since=instant_text(since),
    )


def why_replaced(draft: Draft, candidate: Candidate, takeover: Takeover) -> Because:
    """Of a node whose pods a new one takes."""
    return NodeReplaced(
        node=draft.world.nodes[candidate.index].name,
        by=tuple(draft.world.nodes[index].name for index in takeover.takers),
        pods=sum(candidate.moving.values()),
        saving_per_hour=price_text(takeover.replacement.saving_micros),
    )
