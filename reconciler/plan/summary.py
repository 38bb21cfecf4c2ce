"""The summary line of a plan, one grammar for people and scripts, and its digest: two plans with the same digest have the same
content."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from reconciler.plan.approvals.group_approvals import WAITS_FOR_APPROVAL
from reconciler.plan.money import difference, money_text
from reconciler.plan.plan import Action, ActionKind, Cost, GroupLine, Plan, PlanProblem, PodOutcome, withdrawn_requests
from reconciler.plan.pod_runs import PodRun, runs_of


def canonical_json(plan: Plan) -> bytes:
    """The whole plan as JSON with sorted keys and no spaces: equal plans give equal bytes, whatever the order of mappings."""
    return msgspec.json.encode(plan, order="sorted")


def plan_digest(plan: Plan, runs: Sequence[PodRun] | None = None) -> str:
    """`sha256:` over everything except `now` and the digest itself. Plans have instants, not ages, so time alone changes nothing.

    It covers the canonical JSON of the plan without pods and with empty `now` and `digest`, then the JSON of the pods as runs. A
    run is `[first line, [names]]` for consecutive lines that differ only in the pod. So the digest does not repeat equal lines of
    tens of thousands of pods. `runs` are those of the plan, if they are known.
    """
    rest = canonical_json(msgspec.structs.replace(plan, now="", digest="", pods=()))
    pods = msgspec.json.encode(runs_of(plan.pods) if runs is None else runs, order="sorted")
    return "sha256:" + hashlib.sha256(rest + pods).hexdigest()


def with_digest(plan: Plan, runs: Sequence[PodRun] | None = None) -> Plan:
    """The plan with its digest filled in. `runs` are those of its pods, if they are known."""
    return msgspec.structs.replace(plan, digest=plan_digest(plan, runs))


NOWHERE = (PodOutcome.UNPLACEABLE, PodOutcome.NOT_MODELLED)
_WITH_ROOM = (PodOutcome.FITS_EXISTING, PodOutcome.FITS_UPCOMING, PodOutcome.TRIGGERS_SCALE_UP)


def summary(
    groups: Sequence[GroupLine],
    actions: Sequence[Action],
    pods: Iterable[PodRun],
    cost: Cost,
    problems: Sequence[PlanProblem] = (),
) -> str:
    """The one line.

    Grammar: `Plan: ` or `No changes`, then what changes, what stays wrong, the difference in cost and a full stop. What changes:
    groups up, groups down, replacements, adopted, released, requests cancelled, machines requested again. What stays wrong: pods
    that cannot be placed, held groups, groups that wait for an approval, problems.

    `Plan: 2 groups up (+7 nodes), 1 group down (-2 nodes), 1 held, +$1.92/h.`
    `No changes, 40 pods cannot be placed, 1 group held.`
    `No changes now, 1 group down (-2 nodes) in the steady state.` if sizes change later.
    `No changes.` alone says that nothing is pending, held or in error, and that no size changes later.
    """
    outcomes = Counter[PodOutcome]()
    for first, names in pods:
        outcomes[first.outcome] += len(names)
    held = sum(group.held for group in groups)
    stuck = _stuck(outcomes)
    asking = _asking(groups)
    wrong = [_count(len(problems), "problem")] if problems else []
    if not actions:
        open_points = [*stuck, *_waiting(outcomes), *([f"{_count(held, 'group')} held"] if held else []), *asking, *wrong]
        nothing = f"No changes{_later(groups)}"
        return f"{', '.join((nothing, *open_points))}."
    withdrawn = withdrawn_requests(actions)
    parts = [
        *_sizes([group.desired - group.current + withdrawn.get(group.name, 0) for group in groups]),
        *_counts(actions),
        *stuck,
        *([f"{held} held"] if held else []),
        *asking,
        *wrong,
    ]
    return f"Plan: {', '.join(parts)}{_price(cost)}."


def _later(groups: Sequence[GroupLine]) -> str:
    """The words after `No changes` if the sizes differ in the steady state; else empty."""
    steps = [group.settled - group.current for group in groups if group.settled is not None]
    return f" now, {' and '.join(_sizes(steps))} in the steady state" if any(steps) else ""


def _sizes(steps: Sequence[int]) -> list[str]:
    """Added and removed nodes by group. A cancelled request is neither."""
    parts = []
    for sign, word, chosen in (("+", "up", [s for s in steps if s > 0]), ("-", "down", [-s for s in steps if s < 0])):
        if chosen:
            parts.append(f"{_count(len(chosen), 'group')} {word} ({sign}{_count(sum(chosen), 'node')})")
    return parts


def _counts(actions: Sequence[Action]) -> list[str]:
    kinds = Counter(action.kind for action in actions)
    replaced = {action.nodes for action in actions if action.kind is ActionKind.REPLACE}
    parts = [_count(len(replaced), "replacement")] if replaced else []
    parts += [
        f"{kinds[kind]} {word}" for kind, word in ((ActionKind.ADOPT, "adopted"), (ActionKind.RELEASE, "released")) if kinds[kind]
    ]
    withdrawn = sum(withdrawn_requests(actions).values())
    parts += [f"{_count(withdrawn, 'request')} cancelled"] if withdrawn else []
    anew = sum(len(action.machines) for action in actions if action.kind is ActionKind.CANCEL and action.to == action.from_)
    return [*parts, f"{_count(anew, 'machine')} requested again"] if anew else parts


def _stuck(outcomes: Counter[PodOutcome]) -> list[str]:
    nowhere = sum(outcomes[outcome] for outcome in NOWHERE)
    return [f"{_count(nowhere, 'pod')} cannot be placed"] if nowhere else []


def _asking(groups: Sequence[GroupLine]) -> list[str]:
    waiting = sum(any(reason.code == WAITS_FOR_APPROVAL for reason in group.reasons) for group in groups)
    return [f"{_count(waiting, 'group')} {'waits' if waiting == 1 else 'wait'} for an approval"] if waiting else []


def _waiting(outcomes: Counter[PodOutcome]) -> list[str]:
    parts = []
    roomy = sum(outcomes[outcome] for outcome in _WITH_ROOM)
    if roomy:
        parts.append(f"{_count(roomy, 'pod')} {'fits' if roomy == 1 else 'fit'} existing or upcoming nodes")
    for outcome, word in ((PodOutcome.DELAYED, "delayed"), (PodOutcome.EXPENDABLE, "expendable")):
        if outcomes[outcome]:
            parts.append(f"{_count(outcomes[outcome], 'pod')} {word}")
    return parts


def _price(cost: Cost) -> str:
    change = difference(cost.current_per_hour, cost.desired_per_hour)
    return f", {money_text(change, cost.currency, signed=True)}/h" if change else ""


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
