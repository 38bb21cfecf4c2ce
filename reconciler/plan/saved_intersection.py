"""A saved plan against the current decision: the actions in both, and what has changed for the others."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from reconciler.plan.plan import Action, ActionKind, GroupLine, Plan
from reconciler.plan.reason import Because, Reason
from reconciler.values.clauses import clauses

_MOST_BLOCKERS = 3


class PolicyMoved(Because, frozen=True, kw_only=True):
    """The policy is not the one of the saved plan."""

    code = "PolicyMoved"
    template = "the policy changed since the plan was made: {planned} then, {now} now. Make a new plan"
    planned: str
    now: str


class GroupGone(Because, frozen=True, kw_only=True):
    """The group left the policy or has another target."""

    code = "GroupGone"
    template = "the group {group} no longer sizes {target}"
    group: str
    target: str


class OwnerMoved(Because, frozen=True, kw_only=True):
    """The evidence of the owner of the replicas changed after the plan was made."""

    code = "OwnerMoved"
    template = "the owner of the replicas of {target} changed since the plan was made: {planned} then, {now} now"
    target: str
    planned: str
    now: str


class BoundsMoved(Because, frozen=True, kw_only=True):
    """The bounds of the group changed, through a window or annotations."""

    code = "BoundsMoved"
    template = "the bounds of {group} were {planned_min}..{planned_max} when the plan was made and are {min}..{max} now"
    group: str
    planned_min: int
    planned_max: int
    min: int
    max: int


class ReplicasMoved(Because, frozen=True, kw_only=True):
    """Somebody resized the target, or another plan was applied."""

    code = "ReplicasMoved"
    template = "{target} had {planned:replica} when the plan was made and has {now} now"
    target: str
    planned: int
    now: int


class NotDecidedNow(Because, frozen=True, kw_only=True):
    """What the action is bound to has not changed, but the current decision does not contain the action."""

    code = "NotDecidedNow"
    template = "the current decision does not include this action{why}"
    why: str = ""


class PartRefused(Because, frozen=True, kw_only=True):
    """New nodes of several groups replace nodes together, and those of one group are refused."""

    code = "PartRefused"
    template = "it is one part of a replacement, and the part of {groups} is refused"
    groups: tuple[str, ...]


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """One action of the saved plan that is refused, with every reason."""

    action: Action
    reasons: tuple[Reason, ...]


class Intersection(msgspec.Struct, frozen=True, kw_only=True):
    """`actions` in the order of the saved plan, bound to the current state; `refusals` are the others."""

    actions: tuple[Action, ...] = ()
    refusals: tuple[Refusal, ...] = ()


def intersection(saved: Plan, fresh: Plan, *, policy_digest: str) -> Intersection:
    """The actions of both plans. `policy_digest` is the digest of the policy of `fresh`.

    An action is refused if what it is bound to has changed. That is the policy, the owner, the bounds of the group or the
    replicas of the target. The resourceVersion alone does not count, because every status changes it. The current one is checked
    again before the write. If both sizes change in one direction, the smaller step counts. Removals count down from the current
    replicas, because others between them may be refused.
    """
    now = {action_key(action): action for action in fresh.actions}
    digests = {action.target: action.bound.owner_digest for action in fresh.actions}
    before, after = _by_name(saved), _by_name(fresh)
    done: list[Action] = []
    refused: list[Refusal] = []
    for action in saved.actions:
        match = now.get(action_key(action))
        planned, current = before.get(action.group), after.get(action.group)
        reasons = list(_moved(action, planned, current, digests, policy_digest))
        if not reasons and match is None:
            reasons.append(NotDecidedNow(why=_why(action, fresh)))
        step = None if match is None else _smaller(action, match)
        if not reasons and step is None:
            reasons.append(NotDecidedNow(why=": it resizes in the other direction"))
        if reasons or step is None:
            refused.append(Refusal(action=action, reasons=tuple(reason.reason() for reason in reasons)))
        else:
            done.append(step)
    whole, parts = _whole(done, refused)
    return Intersection(actions=counted_down(whole), refusals=(*refused, *parts))


def _whole(done: Iterable[Action], refused: Iterable[Refusal]) -> tuple[list[Action], list[Refusal]]:
    """A replacement is done in all its parts or not at all: one whose other part is refused is refused, too."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for refusal in refused:
        if refusal.action.kind is ActionKind.REPLACE:
            groups.setdefault(refusal.action.nodes, []).append(refusal.action.group)
    kept, parts = [], []
    for action in done:
        missing = groups.get(action.nodes, ()) if action.kind is ActionKind.REPLACE else ()
        if missing:
            parts.append(Refusal(action=action, reasons=(PartRefused(groups=tuple(missing)).reason(),)))
        else:
            kept.append(action)
    return kept, parts


def action_key(action: Action) -> tuple[ActionKind, str, str, tuple[str, ...], tuple[str, ...]]:
    """What identifies an action across plans, whatever its size."""
    return action.kind, action.group, action.target, action.nodes, action.machines


def counted_down(actions: Iterable[Action]) -> tuple[Action, ...]:
    """Removals of one target with consecutive sizes, after some between them were dropped."""
    sizes: dict[str, int] = {}
    renumbered = []
    for action in actions:
        if action.kind is ActionKind.REMOVE_NODE:
            size = sizes.get(action.target, action.bound.replicas)
            sizes[action.target] = size - 1
            renumbered.append(msgspec.structs.replace(action, from_=size, to=size - 1))
        else:
            renumbered.append(action)
    return tuple(renumbered)


def _by_name(plan: Plan) -> Mapping[str, GroupLine]:
    return {line.name: line for line in plan.groups}


def _moved(
    action: Action, planned: GroupLine | None, current: GroupLine | None, digests: Mapping[str, str], policy_digest: str
) -> Iterable[Because]:
    bound, target = action.bound, action.target
    if bound.policy_digest != policy_digest:
        yield PolicyMoved(planned=_short(bound.policy_digest), now=_short(policy_digest))
    if action.kind is ActionKind.RELEASE:
        return
    if current is None or current.target != target:
        yield GroupGone(group=action.group, target=target)
        return
    digest = digests.get(target)
    known = digest == bound.owner_digest if digest is not None else planned is not None and planned.owner == current.owner
    if not known:
        yield OwnerMoved(target=target, planned=_owner(planned), now=_owner(current))
    if planned is not None and (planned.min, planned.max) != (current.min, current.max):
        yield BoundsMoved(group=action.group, planned_min=planned.min, planned_max=planned.max, min=current.min, max=current.max)
    if current.current != bound.replicas:
        yield ReplicasMoved(target=target, planned=bound.replicas, now=current.current)


def _smaller(saved: Action, fresh: Action) -> Action | None:
    """The current action with the saved reason and the smaller step; None if the directions differ."""
    if saved.kind in (ActionKind.REMOVE_NODE, ActionKind.RELEASE, ActionKind.ADOPT):
        return msgspec.structs.replace(fresh, reason=saved.reason)
    step, step_now = saved.to - saved.from_, fresh.to - fresh.from_
    if (step > 0) != (step_now > 0) or (step < 0) != (step_now < 0):
        return None
    change = min(step, step_now) if step > 0 else max(step, step_now)
    return msgspec.structs.replace(fresh, to=fresh.from_ + change, reason=saved.reason)


def _why(action: Action, fresh: Plan) -> str:
    """What the current decision says about the nodes of an action; empty if nothing."""
    lines = {line.node: line for line in fresh.nodes}
    for name in action.nodes:
        line = lines.get(name)
        if line is None:
            return f": node {name} no longer exists"
        blockers: Sequence[str] = [blocker.message for blocker in line.blockers[:_MOST_BLOCKERS]]
        if blockers:
            return f": node {name} stays, because {clauses(blockers)}"
    if action.kind is ActionKind.RESIZE and action.to > action.from_:
        return f": demand needs no more nodes of {action.group}"
    return ""


def _owner(line: GroupLine | None) -> str:
    if line is None:
        return "not in the plan"
    evidence = f" ({clauses(line.owner.evidence)})" if line.owner.evidence else ""
    return f"{line.owner.state.value}{f' by {line.owner.by}' if line.owner.by else ''}{evidence}"


def _short(digest: str) -> str:
    return digest[: len("sha256:") + 12]
