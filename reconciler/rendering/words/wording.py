"""The words for parts of a plan, the same on a terminal and in a pull request."""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal

from reconciler.decisions.ownership.owner import declared_by
from reconciler.plan.money import difference, money_text
from reconciler.plan.plan import (
    SETTLING_CUT_SHORT,
    Action,
    ActionKind,
    Cost,
    GroupLine,
    NodeLine,
    NodeState,
    OwnerState,
    Plan,
    PodOutcome,
)
from reconciler.rendering.words.alike import AlikeBlockers, AlikePods
from reconciler.rendering.words.fold import Fold
from reconciler.rendering.words.next_step import next_step
from reconciler.rendering.words.plain import listed
from reconciler.values.money import HOURS_PER_MONTH
from reconciler.values.quantity import permille_text

MAIN, THIS_PR = "main", "this PR"
"""The two sides of a preview, as every text names them."""

GROWS, SHRINKS, HELD, OTHER, SAME = "+", "-", "!", "~", " "
LEGEND = {GROWS: "grows", SHRINKS: "shrinks", HELD: "held", OTHER: "adopted, released or replaced"}

NO_GROUPS = "no NodeGroup names one and discovery finds none. `reconciler init` writes a first policy from the existing objects"
STAY_PENDING = (PodOutcome.UNPLACEABLE, PodOutcome.NOT_MODELLED, PodOutcome.DELAYED, PodOutcome.EXPENDABLE)
_HELD_CODE = "GroupHeld"
_COMMIT = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")
_OUTCOMES = {
    PodOutcome.FITS_EXISTING: "a node that is there has room",
    PodOutcome.FITS_UPCOMING: "an upcoming node will have room",
    PodOutcome.TRIGGERS_SCALE_UP: "a new node will take it",
    PodOutcome.UNPLACEABLE: "cannot be placed",
    PodOutcome.NOT_MODELLED: "not modelled, never a reason to scale up",
    PodOutcome.DELAYED: "delayed",
    PodOutcome.EXPENDABLE: "expendable",
}
_STATES = {
    NodeState.IN_USE: "in use",
    NodeState.EMPTY: "empty",
    NodeState.UNDERUTILIZED: "underutilized",
    NodeState.UNREADY: "not ready",
    NodeState.NOT_STARTED: "not started",
    NodeState.UPCOMING: "upcoming",
    NodeState.LEAVING: "leaving",
    NodeState.UNMANAGED: "unmanaged",
}
_OWNERS = {OwnerState.OURS: "ours", OwnerState.ADOPTABLE: "adoptable", OwnerState.HELD: "held", OwnerState.UNKNOWN: "unknown"}


def count(number: int, noun: str) -> str:
    """`1 pod`, `40 pods`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def settled_size(group: GroupLine) -> int:
    """The size at which the loop leaves the group, as far as it is known."""
    return group.desired if group.settled is None else group.settled


def rest_words(plan: Plan) -> str:
    """`In steady state, 445 nodes fewer (1523 -> 1078)`. Empty if what the loop does now is the steady state, and if it does
    nothing now: then the summary says it."""
    desired = sum(group.desired for group in plan.groups)
    rest = sum(settled_size(group) for group in plan.groups)
    if rest == desired or not plan.actions:
        return ""
    more = f"{count(abs(rest - desired), 'node')} {'fewer' if rest < desired else 'more'} ({desired} -> {rest})"
    when = "In steady state" if reaches_steady_state(plan) else f"After {count(plan.settled_loops or 0, 'plan')}"
    return f"{when}, {more}."


def reaches_steady_state(plan: Plan) -> bool:
    """Whether the settled columns are those of a steady state."""
    return all(problem.code != SETTLING_CUT_SHORT for problem in plan.problems)


def loops_words(plan: Plan) -> str:
    """What the foot of a plan adds to the digest: ` · steady state after 3 iterations`."""
    if plan.settled_loops is None:
        return ""
    state = "steady state" if reaches_steady_state(plan) else "no steady state"
    return f" · {state} after {count(plan.settled_loops, 'iteration')}"


def group_mark(group: GroupLine, others: frozenset[str]) -> str:
    """One character for what happens to a group; `others` are groups with actions besides sizes."""
    if group.held:
        return HELD
    if group.desired != group.current:
        return GROWS if group.desired > group.current else SHRINKS
    return OTHER if group.name in others else SAME


def groups_with_other_actions(actions: Sequence[Action]) -> frozenset[str]:
    """Groups that are adopted or released, or in which nodes are replaced."""
    kinds = (ActionKind.ADOPT, ActionKind.RELEASE, ActionKind.REPLACE, ActionKind.CANCEL)
    return frozenset(action.group for action in actions if action.kind in kinds)


def owner_words(group: GroupLine) -> str:
    """`ours`, `adoptable from kubectl`, `held by capi-topology`, `unknown`."""
    state, by = _OWNERS[group.owner.state], group.owner.by
    if not by or group.owner.state is OwnerState.OURS:
        return state
    return f"{state} {'from' if group.owner.state is OwnerState.ADOPTABLE else 'by'} {by}"


def action_mark(action: Action) -> str:
    """One character for what an action does."""
    if action.kind in (ActionKind.ADOPT, ActionKind.RELEASE, ActionKind.REPLACE) or action.to == action.from_:
        return OTHER
    return GROWS if action.to > action.from_ else SHRINKS


def action_words(action: Action) -> str:
    """`general-a: resize 4 -> 7`, `spot-b: remove node x (5 -> 4)`; node names in full."""
    nodes = ", ".join(action.nodes)
    match action.kind:
        case ActionKind.RESIZE:
            return f"{action.group}: resize {action.from_} -> {action.to}"
        case ActionKind.REMOVE_NODE:
            return f"{action.group}: remove node {nodes} ({action.from_} -> {action.to})"
        case ActionKind.REPLACE:
            return f"{action.group}: replace {count(len(action.nodes), 'node')} {nodes} ({action.from_} -> {action.to})"
        case ActionKind.CANCEL:
            what = f"machine {', '.join(action.machines)}" if action.machines else f"{count(action.from_ - action.to, 'request')}"
            verb = "cancel" if action.to < action.from_ else "replace"
            return f"{action.group}: {verb} {what} ({action.from_} -> {action.to})"
        case ActionKind.ADOPT:
            return f"{action.group}: adopt {action.target} at {count(action.to, 'replica')}"
        case ActionKind.RELEASE:
            return f"{action.group}: release {action.target} at {count(action.to, 'replica')}"


def outcome_words(outcome: PodOutcome) -> str:
    """The outcome in words."""
    return _OUTCOMES[outcome]


def pods_words(lot: AlikePods) -> str:
    """`batch/giant-*: 40 pods, cannot be placed`."""
    pods = f"{lot.label}: {count(len(lot.pods), 'pod')}, " if len(lot.pods) > 1 else f"{lot.label}: "
    return pods + _OUTCOMES[lot.outcome]


def placed_words(plan: Plan, fold: Fold) -> str:
    """Where pending pods with a place go: `9 on new nodes of general-a, 3 on nodes that are there`; empty without any. Of many
    groups those that take most."""
    new: dict[str, int] = {}
    there = upcoming = 0
    for pod in plan.pods:
        if pod.outcome is PodOutcome.TRIGGERS_SCALE_UP:
            new[pod.group or "?"] = new.get(pod.group or "?", 0) + 1
        there += pod.outcome is PodOutcome.FITS_EXISTING
        upcoming += pod.outcome is PodOutcome.FITS_UPCOMING
    most = sorted(new.items(), key=lambda entry: (-entry[1], entry[0]))
    shown = fold.shown(len(most), fold.lots)
    parts = [f"{number} on new nodes of {group}" for group, number in sorted(most[:shown])]
    rest = most[shown:]
    parts += [f"{sum(number for _, number in rest)} on new nodes of {len(rest)} more groups"] if rest else []
    parts += [f"{upcoming} on upcoming nodes"] if upcoming else []
    parts += [f"{there} on existing nodes"] if there else []
    return ", ".join(parts)


def state_words(state: NodeState) -> str:
    """The state in words."""
    return _STATES[state]


def utilization_words(nodes: Sequence[NodeLine]) -> str:
    """`used 12%`, `used 12%..48.5%`, or nothing where no node says."""
    known = [node.utilization_permille for node in nodes if node.utilization_permille is not None]
    if not known:
        return ""
    low, high = permille_text(min(known)), permille_text(max(known))
    return f"used {low}" if low == high else f"used {low}..{high}"


def removable_words(nodes: Sequence[NodeLine]) -> str:
    """`may go at 2026-…`, with the span where nodes differ; empty without any timer."""
    instants = sorted(node.removable_at for node in nodes if node.removable_at)
    if not instants:
        return ""
    return f"may go at {instants[0]}" + (f"..{instants[-1]}" if instants[-1] != instants[0] else "")


def blockers_words(blockers: Sequence[AlikeBlockers], most: int) -> Iterator[str]:
    """One sentence per message: `shop/cache-*: local storage would be lost [LocalStorage]`.

    Of each code at most `most` messages (0: all), then how many more there are.
    """
    by_code: dict[str, list[AlikeBlockers]] = {}
    for entry in blockers:
        by_code.setdefault(entry.code, []).append(entry)
    for code, entries in by_code.items():
        shown = entries if not most or len(entries) <= most + 1 else entries[:most]
        for entry in shown:
            pods = listed(entry.pods, most)
            if entry.pods and entry.count > len(entry.pods):
                pods += f" ({count(entry.count, 'pod')})"
            yield f"{f'{pods}: ' if pods else ''}{entry.message} [{code}]"
        left = entries[len(shown) :]
        if left:
            yield f"{sum(entry.count for entry in left)} more, in other words or with other figures [{code}]"


def blocker_counts(blockers: Sequence[AlikeBlockers]) -> str:
    """`3 pods [LocalStorage], 2 nodes [NotUnderutilized]`: codes only."""
    counts: dict[tuple[str, str], int] = {}
    for entry in blockers:
        noun = "pod" if entry.pods else "node"
        counts[entry.code, noun] = counts.get((entry.code, noun), 0) + entry.count
    return ", ".join(f"{count(number, noun)} [{code}]" for (code, noun), number in sorted(counts.items()))


def held_words(group: GroupLine) -> list[str]:
    """Why a group is held and what it would do: evidence, then reasons that say more than the evidence."""
    evidence = group.owner.evidence
    sentences = [f"evidence: {sentence}" for sentence in evidence]
    for reason in group.reasons:
        repeats = reason.code == _HELD_CODE and evidence and all(sentence in reason.message for sentence in evidence)
        if not repeats:
            sentences.append(reason.message)
    step = next_step(group) if declared_by(group.owner) else ""
    if step and all(step != reason.message for reason in group.reasons):
        sentences.append(step)
    if group.wanted is None or group.wanted == group.current:
        return [*sentences, f"it would stay at {group.current}"]
    return [*sentences, f"it would go {group.current} -> {group.wanted}"]


def cost_rows(cost: Cost) -> tuple[tuple[str, str, str, str], ...]:
    """Name, per hour, per month, difference to now per hour; without rows where nothing has a price."""
    rows = []
    for name, amount in (("now", cost.current_per_hour), ("desired", cost.desired_per_hour), ("settled", cost.settled_per_hour)):
        if amount is not None:
            hour = Decimal(amount)
            change = None if name == "now" else difference(cost.current_per_hour, amount)
            month = money_text((hour * HOURS_PER_MONTH).quantize(Decimal("0.01")), cost.currency)
            shown = money_text(change, cost.currency, signed=True) + "/h" if change else ""
            rows.append((name, money_text(hour, cost.currency), month, shown))
    return tuple(rows)


def header_words(plan: Plan) -> tuple[tuple[str, str], ...]:
    """Names and values for the head of a plan, `now` last; a commit by its first twelve digits."""
    mode = f"{plan.mode} (nothing is written)" if plan.mode == "Observe" else plan.mode
    revision = plan.policy_revision or ""
    commit = revision[:12] if _COMMIT.fullmatch(revision) else revision
    facts = (("cluster", plan.cluster), ("policy", plan.policy), ("revision", commit), ("mode", mode))
    return (*(pair for pair in facts if pair[1]), ("now", plan.now))
