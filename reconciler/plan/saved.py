"""A saved plan, read back: whole, of a version that is known, and as it was written."""

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from reconciler.cluster.values.object_parts import DECODING_ERRORS, finding
from reconciler.plan.plan import FORMAT_VERSION, Action, ActionKind, GroupLine, Plan
from reconciler.plan.reason import Because, Reason
from reconciler.plan.summary import plan_digest

MOST_BYTES = 256 << 20
_AMOUNT = re.compile(r"-?[0-9]{1,24}(\.[0-9]{1,12})?")


class SavedPlanError(Exception):
    """The saved plan cannot be applied; the message says why and what to do."""


def read_saved(data: bytes) -> Plan:
    """The plan in the bytes of a file. Raises `SavedPlanError`.

    The digest inside is computed again: a plan that somebody edited or that was cut off is not carried out.
    """
    if not data.strip():
        raise SavedPlanError("the file is empty: make a new plan with `reconciler plan --out`")
    if len(data) > MOST_BYTES:
        raise SavedPlanError(f"larger than {MOST_BYTES >> 20} MiB")
    try:
        version = msgspec.json.decode(data, type=_Version).format_version
    except DECODING_ERRORS as error:
        raise SavedPlanError(f"no plan as `reconciler plan --out` writes it ({finding(error)})") from None
    if version.partition(".")[0] != FORMAT_VERSION.partition(".")[0]:
        raise SavedPlanError(
            f"formatVersion {version[:20]!r} is not known, {FORMAT_VERSION} is: make a new plan with this release"
        )
    try:
        plan = msgspec.json.decode(data, type=Plan)
    except DECODING_ERRORS as error:
        raise SavedPlanError(f"no plan as `reconciler plan --out` writes it ({finding(error)})") from None
    amounts = (plan.cost.current_per_hour, plan.cost.desired_per_hour, plan.cost.settled_per_hour)
    for amount in (*amounts, *(group.price_per_hour for group in plan.groups)):
        if amount is not None and not _AMOUNT.fullmatch(amount):
            raise SavedPlanError(f"invalid price {amount[:20]!r}: a price is a decimal string such as '0.768'")
    if plan_digest(plan) != plan.digest:
        raise SavedPlanError("its content does not belong to its digest: it was edited, cut off or written by another release")
    return plan


class _Version(msgspec.Struct, rename="camel"):
    format_version: str


class SavedPlan(Plan, frozen=True, kw_only=True, rename="camel"):
    """A plan as it is saved: with the policy files that it was made with, so that it is applied where none lie. The digest does
    not cover them: what they say is judged by the digest of the policy that every action is bound to."""

    policy_files: Mapping[str, str] = {}


def with_files(plan: Plan, files: Mapping[str, bytes]) -> SavedPlan:
    """The plan with these files; `files` by path below the policy root."""
    fields = {name: getattr(plan, name) for name in plan.__struct_fields__}
    return SavedPlan(**fields, policy_files={path: text.decode("utf-8", "replace") for path, text in sorted(files.items())})


class _Carried(msgspec.Struct, rename="camel"):
    policy_files: dict[str, str] = {}


def carried_files(data: bytes) -> dict[str, bytes]:
    """The policy files in the bytes of a saved plan; none where it has none. Raises `SavedPlanError`."""
    try:
        found = msgspec.json.decode(data, type=_Carried).policy_files
    except DECODING_ERRORS as error:
        raise SavedPlanError(f"its policyFiles are no texts by path ({finding(error)})") from None
    return {path: text.encode() for path, text in found.items()}


# A saved plan against the decision of now: the actions of both, and by name what has moved under the others.

_MOST_BLOCKERS = 3


class PolicyMoved(Because, frozen=True, kw_only=True):
    """The policy is not the one that the plan was made with."""

    code = "PolicyMoved"
    template = "the policy has changed since the plan was made: {planned} then, {now} now; make a new plan"
    planned: str
    now: str


class GroupGone(Because, frozen=True, kw_only=True):
    """The group is in no policy any more, or has another target."""

    code = "GroupGone"
    template = "the group {group} does not size {target} any more"
    group: str
    target: str


class OwnerMoved(Because, frozen=True, kw_only=True):
    """Another evidence of who decides the replicas than the one that was judged."""

    code = "OwnerMoved"
    template = "who owns the replicas of {target} has changed since the plan was made: {planned} then, {now} now"
    target: str
    planned: str
    now: str


class BoundsMoved(Because, frozen=True, kw_only=True):
    """Another range, by a window that opened or closed or by annotations."""

    code = "BoundsMoved"
    template = "the bounds of {group} were {planned_min}..{planned_max} when the plan was made and are {min}..{max} now"
    group: str
    planned_min: int
    planned_max: int
    min: int
    max: int


class ReplicasMoved(Because, frozen=True, kw_only=True):
    """Somebody resized the target, or another plan was carried out."""

    code = "ReplicasMoved"
    template = "{target} had {planned:replica} when the plan was made and has {now} now"
    target: str
    planned: int
    now: int


class NotDecidedNow(Because, frozen=True, kw_only=True):
    """Nothing that the action is bound to has moved, but the decision of now does not contain it."""

    code = "NotDecidedNow"
    template = "the decision of now does not do this{why}"
    why: str = ""


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """One action of the saved plan that is not done, with everything that stands against it."""

    action: Action
    reasons: tuple[Reason, ...]


class Intersection(msgspec.Struct, frozen=True, kw_only=True):
    """`actions` in the order of the saved plan, bound to what is there now; `refusals` are the others."""

    actions: tuple[Action, ...] = ()
    refusals: tuple[Refusal, ...] = ()


def intersection(saved: Plan, fresh: Plan, *, policy_digest: str) -> Intersection:
    """What both plans do; `policy_digest` is that of the policy that `fresh` was decided by.

    An action is refused when what it is bound to has moved: the policy, the owner, the bounds of the group, the replicas
    of the target. The resourceVersion alone is no reason: it moves with every status; the one of now is judged again
    before the write. Of two sizes in one direction the smaller step is taken. Removals are counted down from the
    replicas of now, since those between them may be refused.
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
            reasons.append(NotDecidedNow(why=": it goes the other way"))
        if reasons or step is None:
            refused.append(Refusal(action=action, reasons=tuple(reason.reason() for reason in reasons)))
        else:
            done.append(step)
    return Intersection(actions=counted_down(done), refusals=tuple(refused))


def action_key(action: Action) -> tuple[ActionKind, str, str, tuple[str, ...], tuple[str, ...]]:
    """What makes two actions of two plans the same one, whatever their sizes."""
    return action.kind, action.group, action.target, action.nodes, action.machines


def counted_down(actions: Iterable[Action]) -> tuple[Action, ...]:
    """Removals of one target with sizes that follow one another, when some between them have been left out."""
    sizes: dict[str, int] = {}
    found = []
    for action in actions:
        if action.kind is ActionKind.REMOVE_NODE:
            size = sizes.get(action.target, action.bound.replicas)
            sizes[action.target] = size - 1
            found.append(msgspec.structs.replace(action, from_=size, to=size - 1))
        else:
            found.append(action)
    return tuple(found)


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
    """The action of now with the saved reason, and the smaller of both steps; None when they go different ways."""
    if saved.kind in (ActionKind.REMOVE_NODE, ActionKind.RELEASE, ActionKind.ADOPT):
        return msgspec.structs.replace(fresh, reason=saved.reason)
    step, step_now = saved.to - saved.from_, fresh.to - fresh.from_
    if (step > 0) != (step_now > 0) or (step < 0) != (step_now < 0):
        return None
    change = min(step, step_now) if step > 0 else max(step, step_now)
    return msgspec.structs.replace(fresh, to=fresh.from_ + change, reason=saved.reason)


def _why(action: Action, fresh: Plan) -> str:
    """What the decision of now says about the nodes of an action; empty where it says nothing."""
    lines = {line.node: line for line in fresh.nodes}
    for name in action.nodes:
        line = lines.get(name)
        if line is None:
            return f": node {name} is not there any more"
        blockers: Sequence[str] = [blocker.message for blocker in line.blockers[:_MOST_BLOCKERS]]
        if blockers:
            return f": node {name} stays, since {'; '.join(blockers)}"
    if action.kind is ActionKind.RESIZE and action.to > action.from_:
        return f": demand asks for no more nodes of {action.group}"
    return ""


def _owner(line: GroupLine | None) -> str:
    if line is None:
        return "not in the plan"
    evidence = f" ({'; '.join(line.owner.evidence)})" if line.owner.evidence else ""
    return f"{line.owner.state.value}{f' by {line.owner.by}' if line.owner.by else ''}{evidence}"


def _short(digest: str) -> str:
    return digest[: len("sha256:") + 12]
