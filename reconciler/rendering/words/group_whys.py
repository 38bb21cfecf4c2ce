"""Why a group changes and which bound it meets, in words for a row of a table."""

import re
from collections.abc import Collection, Iterator, Sequence

import msgspec

from reconciler.decisions.reasons.sizes import LimitReached, SpendingLimitReached
from reconciler.plan.plan import Action, ActionKind, GroupLine, NodeState, OwnerState, Plan
from reconciler.plan.reason import Reason
from reconciler.rendering.words.plain import listed
from reconciler.rendering.words.wording import count, owner_words, state_words

_CANDIDATES = (NodeState.EMPTY, NodeState.UNDERUTILIZED, NodeState.UNREADY)
_KEPT_BY = {
    "Budget": "budget used up",
    "CoolDown": "cool-down",
    "Headroom": "headroom",
    "KeptByWindow": "window",
    "LimitMin": "minimum of a limit",
    "NeedsApproval": "approval needed",
    "Pace": "pace.maxRemovedPercent",
    "RemovalsOffByWindow": "window",
    "ZoneBudget": "budget used up",
}
"""What keeps a node that could go otherwise, by the code of its blocker; the group's own minimum is told by its size."""
_REFUSED_BY = {
    "BackedOff": "backed off",
    "CapacityEnds": "its capacity ends",
    "GroupUnhealthy": "unhealthy",
    "OnlyWhole": "grows only whole",
    "PaceReached": "pace.maxAddedNodes",
    "PriceUnknown": "no price",
    "LimitUnknown": "limit not known",
    "RoomTaken": "no room at the platform",
    "ZoneShiftedAway": "zone shifted away",
}
"""What refuses a group one more node, by the code of the reason that a pod stays pending for."""
_BY_MIX = frozenset(("LeastCost", "LeastWaste"))
_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")


class GroupWhy(msgspec.Struct, frozen=True, kw_only=True):
    """`causes` are what is done and why, such as `7 pending pods` or `14 empty`, `bounds` what keeps it from going further.
    Both are empty for a group that nothing happens to."""

    causes: tuple[str, ...] = ()
    bounds: tuple[str, ...] = ()


_NOTHING = GroupWhy()


def group_whys(plan: Plan) -> dict[str, GroupWhy]:
    """By name, of groups with actions, of held ones that would change, and of those that nodes leave later."""
    actions: dict[str, list[Action]] = {}
    for action in plan.actions:
        actions.setdefault(action.group, []).append(action)
    later = {group.name for group in plan.groups if group.name not in actions and group.settled not in (None, group.current)}
    bounds = _bounds(plan, frozenset(actions) | later)
    waiting = _waiting(plan, later)
    whys = {}
    for group in plan.groups:
        if group.held and group.wanted not in (None, group.current):
            whys[group.name] = GroupWhy(causes=(f"would go to {group.wanted}",))
        elif group.name in actions:
            bound_words = tuple(dict.fromkeys((*size_bounds(group), *bounds.get(group.name, ()))))
            whys[group.name] = GroupWhy(causes=tuple(action_causes(actions[group.name])), bounds=bound_words)
        elif group.name in waiting and not group.held:
            whys[group.name] = GroupWhy(causes=waiting[group.name], bounds=tuple(bounds.get(group.name, ())))
    return whys


def why_words(group: GroupLine, whys: dict[str, GroupWhy]) -> str:
    """`ours` for a group that stays as it is, `7 pending pods, at max 9`, `adopted from kubectl, 2 pending pods`, `held by
    topology controller, would go to 5`: another owner, what happens, what bounds it."""
    why = whys.get(group.name, _NOTHING)
    adopted = why.causes and why.causes[0].startswith(_ADOPTED)
    ours = group.owner.state is OwnerState.OURS and not group.held
    owner = () if adopted or (ours and why.causes) else (_whose(group),)
    return ", ".join((*owner, *why.causes, *why.bounds))


def _waiting(plan: Plan, later: Collection[str]) -> dict[str, tuple[str, ...]]:
    """`5 empty nodes wait`: nodes that go once a timer or a budget lets them, by group."""
    counts: dict[str, dict[str, int]] = {}
    for node in plan.nodes:
        if node.group is not None and node.group in later and (node.removable or node.removable_at is not None):
            states = counts.setdefault(node.group, {})
            states[state_words(node.state)] = states.get(state_words(node.state), 0) + 1
    return {
        group: tuple(f"{number} {state} {'node waits' if number == 1 else 'nodes wait'}" for state, number in states.items())
        for group, states in counts.items()
    }


def further_reasons(group: GroupLine, actions: Sequence[Action]) -> tuple[Reason, ...]:
    """The reasons of a group besides those of its actions: a mix by cost is among those of the scale-ups that it made."""
    known = {(action.reason.code, action.reason.message) for action in actions}
    bought = any(action.reason.data.get("expander") in _BY_MIX for action in actions)
    return tuple(
        reason
        for reason in group.reasons
        if (reason.code, reason.message) not in known
        and not (bought and (reason.code == "LeastWasteMix" or (reason.code == "LeastCostMix" and reason.data.get("solver"))))
    )


def _whose(group: GroupLine) -> str:
    return "held" if group.held and group.owner.state is OwnerState.OURS else owner_words(group)


def size_bounds(group: GroupLine) -> Iterator[str]:
    """`at max 9`, `at min 2`: the end of its range at which a change stops, none where it is not there or the end is nothing."""
    if group.desired > group.current and group.desired == group.max:
        yield f"at max {group.max}"
    if group.desired < group.current and group.desired == group.min > 0:
        yield f"at min {group.min}"


def removal_words(actions: Sequence[Action], names: int) -> str:
    """`17 nodes drained and removed (14 empty, 3 underutilized): a, b, c and 14 more`, a single cause without its count; nothing
    where no node is removed."""
    leaving = tuple(node for action in actions if action.kind is ActionKind.REMOVE_NODE for node in action.nodes)
    counts = _removals(actions)
    why = ", ".join(f"{number} {word}" if len(counts) > 1 else word for word, number in counts.items())
    return f"{count(len(leaving), 'node')} drained and removed ({why}): {listed(leaving, names)}" if leaving else ""


def _removals(actions: Sequence[Action]) -> dict[str, int]:
    """How many nodes leave, by why."""
    leaving: dict[str, int] = {}
    for action in actions:
        if action.kind is ActionKind.REMOVE_NODE:
            word = _words(action.reason.code)
            leaving[word] = leaving.get(word, 0) + len(action.nodes)
    return leaving


_ADOPTED = "adopted from "


def action_causes(actions: Sequence[Action]) -> Iterator[str]:
    """`7 pending pods`, `adopted from kubectl`, `3 empty`: why each is done, in a few words."""
    for action in actions:
        match action.kind:
            case ActionKind.ADOPT:
                yield f"{_ADOPTED}{action.reason.data.get('manager') or 'another writer'}"
            case ActionKind.RELEASE:
                yield "released"
            case ActionKind.REPLACE:
                yield f"{count(len(action.nodes), 'node')} replaced"
            case ActionKind.CANCEL:
                yield f"{count(max(len(action.machines), action.from_ - action.to), 'request')} cancelled"
            case ActionKind.RESIZE:
                yield cause_words(action.reason)
    for word, number in _removals(actions).items():
        yield f"{number} {word}"


def cause_words(reason: Reason) -> str:
    """`7 pending pods`, `below min 3`, `headroom for 2 nodes`: why a group gets another size."""
    data, buffers = reason.data, reason.data.get("buffers")
    if reason.code == "Headroom" and isinstance(buffers, tuple) and buffers:
        more = f" and {len(buffers) - 1} more" if len(buffers) > 1 else ""
        return f"CapacityBuffer {buffers[0]}{more}"
    if reason.code == "GrownForRequest":
        return f"ProvisioningRequest {data.get('request')}"
    match reason.code, data.get("pods"), data.get("min"), data.get("wanted"):
        case "PendingPods", int(pods), _, _:
            return count(pods, "pending pod")
        case "BelowMin", _, int(least), _:
            return f"below min {least}"
        case "Headroom", _, _, int(wanted):
            return f"headroom for {wanted} {data.get('what') or 'nodes'}"
        case _:
            return _words(reason.code)


def _words(code: str) -> str:
    """`AboveMax` -> `above max`."""
    return _WORD.sub(" ", code).lower()


_LIMITS = frozenset({LimitReached.code, SpendingLimitReached.code})


def _bounds(plan: Plan, changed: frozenset[str]) -> dict[str, list[str]]:
    """What pods were refused by, then what keeps nodes that could go, for groups in which something happens."""
    bounds_by_group: dict[str, list[str]] = {}
    for reason in (reason for pod in plan.pods for reason in pod.reasons):
        group = reason.data.get("group")
        bound = f"limit {reason.data.get('limit')}" if reason.code in _LIMITS else _REFUSED_BY.get(reason.code)
        if bound and isinstance(group, str) and group in changed:
            bounds_by_group.setdefault(group, []).append(bound)
    for node in plan.nodes:
        if node.group is not None and node.group in changed and node.state in _CANDIDATES:
            bounds_by_group.setdefault(node.group, []).extend(
                _KEPT_BY[blocker.code] for blocker in node.blockers if blocker.code in _KEPT_BY
            )
    return {group: list(dict.fromkeys(bounds)) for group, bounds in bounds_by_group.items()}
