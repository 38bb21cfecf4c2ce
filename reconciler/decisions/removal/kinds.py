"""The kinds of removal: why a node leaves, when it may, what else bounds it, and the reason with its numbers.

One row per kind. Code that examines a node uses the row and never the name of the kind.
"""

from collections.abc import Callable, Mapping

import msgspec

from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.reasons.kept_nodes import NotUnneededLongEnough, NotUnreadyLongEnough
from reconciler.decisions.reasons.nodes import (
    NodeAboveMax,
    NodeEmpty,
    NodeEnding,
    NodeRepaired,
    NodeReplaced,
    NodeReturned,
    NodeUnderutilized,
    NodeUnready,
)
from reconciler.decisions.removal.candidates import Candidate
from reconciler.decisions.removal.utilization import threshold_percent
from reconciler.decisions.situation.takeovers import Takeover
from reconciler.plan.reason import Because
from reconciler.policy.documents import RemovalReason
from reconciler.values.instant import instant_text
from reconciler.values.money import price_text


class Leaving(msgspec.Struct, frozen=True, kw_only=True):
    """One node that may leave: `since` when it is unneeded (Unix time), `takeover` where a new node takes its pods."""

    draft: Draft
    group: GroupDraft
    candidate: Candidate
    since: int
    takeover: Takeover | None = None

    @property
    def name(self) -> str:
        """The node's name."""
        return self.draft.world.nodes[self.candidate.index].name

    @property
    def ready_seconds(self) -> int:
        """When its Ready condition changed last (Unix time)."""
        return self.draft.world.nodes[self.candidate.index].ready_seconds

    @property
    def pods(self) -> int:
        """How many pods have to move."""
        return sum(self.candidate.moving.values())


class RemovalKind(msgspec.Struct, frozen=True, kw_only=True):
    """`due` is when the node may leave (Unix time), `waits` the reason until then, `why` the reason of its removal.

    `saves`: the removal follows demand. So its pods may not move to nodes added for the current demand, and its group must not
    have grown for it. `keeps_headroom`: a node that is headroom stays. `moves_beside_headroom` false: it stays if its pods could
    take room that headroom keeps free. `cools_down`: it waits after additions, removals and failures.
    """

    due: Callable[[Leaving], int]
    why: Callable[[Leaving], Because]
    waits: type[NotUnneededLongEnough] | type[NotUnreadyLongEnough] = NotUnneededLongEnough
    saves: bool = False
    keeps_headroom: bool = True
    moves_beside_headroom: bool = True
    cools_down: bool = True


def _after_unneeded_time(leaving: Leaving) -> int:
    return leaving.since + leaving.group.group.scale_down.unneeded_time_seconds


def _at_once(leaving: Leaving) -> int:
    return leaving.since


def _after_unready_time(leaving: Leaving) -> int:
    return max(leaving.since, leaving.ready_seconds + leaving.group.group.scale_down.unready_time_seconds)


def _empty(leaving: Leaving) -> Because:
    return NodeEmpty(node=leaving.name, since=instant_text(leaving.since))


def _underutilized(leaving: Leaving) -> Because:
    world = leaving.draft.world
    return NodeUnderutilized(
        node=leaving.name,
        utilization_permille=leaving.candidate.utilization_permille or 0,
        threshold_percent=threshold_percent(leaving.group.group, world.node_shapes[world.nodes[leaving.candidate.index].shape]),
        pods=leaving.pods,
        since=instant_text(leaving.since),
    )


def _unready(leaving: Leaving) -> Because:
    return NodeUnready(node=leaving.name, since=instant_text(leaving.ready_seconds))


def _above_max(leaving: Leaving) -> Because:
    group = leaving.group
    return NodeAboveMax(node=leaving.name, current=group.situation.size, max=group.group.max_size, pods=leaving.pods)


def _consolidated(leaving: Leaving) -> Because:
    if leaving.takeover is None:
        raise ValueError("a node is consolidated by the node that takes its pods")
    return NodeReplaced(
        node=leaving.name,
        by=tuple(leaving.draft.world.nodes[index].name for index in leaving.takeover.takers),
        pods=leaving.pods,
        saving_per_hour=price_text(leaving.takeover.replacement.saving_micros),
    )


def _returned(leaving: Leaving) -> Because:
    if leaving.takeover is None:
        raise ValueError("a node returns to the node that takes its pods")
    tier = next(
        group.group.tier for group in leaving.draft.groups if str(group.group.target) == leaving.takeover.replacement.target
    )
    return NodeReturned(
        node=leaving.name,
        by=tuple(leaving.draft.world.nodes[index].name for index in leaving.takeover.takers),
        tier=tier,
        pods=leaving.pods,
    )


def _ending(leaving: Leaving) -> Because:
    end = leaving.draft.endings[leaving.candidate.index]
    return NodeEnding(node=leaving.name, what=end.what, at=instant_text(end.at_seconds), pods=leaving.pods)


def _repaired(leaving: Leaving) -> Because:
    one = leaving.draft.repairs.due[leaving.candidate.index]
    since = instant_text(one.since_seconds)
    return NodeRepaired(node=leaving.name, condition=one.condition, status=one.status, since=since, pods=leaving.pods)


KINDS: Mapping[RemovalReason, RemovalKind] = {
    RemovalReason.EMPTY: RemovalKind(due=_after_unneeded_time, why=_empty, saves=True),
    RemovalReason.UNDERUTILIZED: RemovalKind(
        due=_after_unneeded_time, why=_underutilized, saves=True, moves_beside_headroom=False
    ),
    RemovalReason.UNREADY: RemovalKind(due=_after_unready_time, why=_unready, waits=NotUnreadyLongEnough),
    RemovalReason.ABOVE_MAX: RemovalKind(due=_at_once, why=_above_max, keeps_headroom=False),
    # The drains of a replacement are its second half: what it added itself must not put them off.
    RemovalReason.CONSOLIDATED: RemovalKind(due=_at_once, why=_consolidated, cools_down=False),
    RemovalReason.RETURNED: RemovalKind(due=_at_once, why=_returned, cools_down=False),
    # The platform ends it in any case, so headroom and cool-downs would keep it only for an end without a drain.
    RemovalReason.ENDING: RemovalKind(due=_at_once, why=_ending, keeps_headroom=False, cools_down=False),
    # It has been tolerated long enough, and is no headroom for anybody.
    RemovalReason.REPAIRED: RemovalKind(due=_at_once, why=_repaired, keeps_headroom=False, cools_down=False),
}
