"""Which replacement a node is part of, or what keeps it out of every one."""

from collections.abc import Iterator

from reconciler.decisions.demand.purchase import GIVEN_UP_SECONDS
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.memory import Memory
from reconciler.decisions.reasons.groups import CouldBeRepacked, CouldBeReplaced, CouldReturn
from reconciler.decisions.reasons.nodes import ReplacementsNotExamined
from reconciler.decisions.reasons.replacements import (
    RepackedBefore,
    ReplacedBefore,
    ReplacementBlocked,
    ReplacementDisabled,
    ReplacementPaysLate,
    ReplacementSavesTooLittle,
    ReplacementUnpaid,
    ReplacementWithoutPrice,
)
from reconciler.decisions.removal.keeps import SEARCH, codes_asked_by
from reconciler.decisions.removal.replacements.opportunity import REPACKED_SECONDS
from reconciler.plan.plan import ActionKind, NodeLine, NodeState, Plan
from reconciler.plan.reason import Because, Reason
from reconciler.policy.documents import Disruption, Toggle
from reconciler.values.instant import instant_text, parse_instant

REPLACEMENT_FOUND = (
    CouldBeRepacked.code, CouldBeReplaced.code, CouldReturn.code, ReplacementPaysLate.code, ReplacementUnpaid.code
)  # fmt: skip
"""The codes of reasons of a group that name nodes which new ones could replace."""
_SEARCHED = (NodeState.IN_USE, NodeState.UNDERUTILIZED)


def replacement_standing(plan: Plan, memory: Memory, group: EffectiveGroup | None, line: NodeLine) -> tuple[Reason, ...]:
    """Of one node. `memory` is what `decide` returned with the plan. Empty: the node is in no group, leaves without a
    replacement, or has no pods that would have to move."""
    begun = [action for action in plan.actions if line.node in action.nodes]
    if begun or group is None or line.state not in _SEARCHED:
        return tuple(action.reason for action in begun if action.kind is ActionKind.REPLACE)[:1]
    own = next((one for one in plan.groups if one.name == group.name), None)
    reasons = own.reasons if own is not None else ()
    found = tuple(one for one in reasons if one.code in REPLACEMENT_FOUND and line.node in _names(one))
    if found or any(line.node in one.nodes for one in memory.replacements):
        return found
    cut_short = tuple(one for one in reasons if one.code == ReplacementsNotExamined.code)
    return (*(one.reason() for one in _missing(memory, group, line, parse_instant(plan.now))), *cut_short)


def _names(reason: Reason) -> tuple[str, ...]:
    names = reason.data.get("nodes")
    return names if isinstance(names, tuple) else ()


def _missing(memory: Memory, group: EffectiveGroup, line: NodeLine, now_seconds: int) -> Iterator[Because]:
    rule = group.scale_down.consolidation
    keeps = [one for one in line.blockers if one.code in codes_asked_by(SEARCH)]
    given_up, repacked = memory.given_up.get(line.node), memory.repacked.get(line.node)
    if rule.mode is Toggle.DISABLED:
        yield ReplacementDisabled(group=group.name)
    if not group.price_micros:
        yield ReplacementWithoutPrice(group=group.name)
    if keeps:
        why = f"{keeps[0].pod}: {keeps[0].message}" if keeps[0].pod else keeps[0].message
        yield ReplacementBlocked(codes=tuple(dict.fromkeys(one.code for one in keeps)), why=why)
    if given_up is not None:
        yield ReplacedBefore(since=instant_text(given_up), until=instant_text(given_up + GIVEN_UP_SECONDS))
    elif rule.mode is Toggle.ENABLED and group.price_micros and not keeps:
        yield ReplacementSavesTooLittle(
            percent=rule.min_saving_percent,
            per_moved_pod=rule.min_saving_per_moved_pod,
            balanced=rule.disruption is Disruption.BALANCED,
        )
    if repacked is not None and now_seconds < repacked + REPACKED_SECONDS:
        yield RepackedBefore(since=instant_text(repacked), until=instant_text(repacked + REPACKED_SECONDS))
