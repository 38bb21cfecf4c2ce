"""The summary line of a plan: one grammar, read by people and by scripts."""

from collections import Counter
from collections.abc import Sequence

from reconciler.plan.group_approvals import WAITS_FOR_APPROVAL
from reconciler.plan.money import difference, money_text
from reconciler.plan.plan import Action, ActionKind, Cost, GroupLine, PlanProblem, PodLine, PodOutcome

_NOWHERE = (PodOutcome.UNPLACEABLE, PodOutcome.NOT_MODELLED)
_WITH_ROOM = (PodOutcome.FITS_EXISTING, PodOutcome.FITS_UPCOMING, PodOutcome.TRIGGERS_SCALE_UP)


def summary(
    groups: Sequence[GroupLine],
    actions: Sequence[Action],
    pods: Sequence[PodLine],
    cost: Cost,
    problems: Sequence[PlanProblem] = (),
) -> str:
    """The one line.

    Grammar: `Plan: ` or `No changes`, what changes (groups up, groups down, replacements, adopted, released, machines asked
    for anew), what stays wrong (pods that cannot be placed, held groups, groups that wait for an approval, problems), the
    difference in cost, a full stop.
    `Plan: 2 groups up (+7 nodes), 1 group down (-2 nodes), 1 held; +$1.92/h.`
    `No changes; 40 pods cannot be placed, 1 group held.` `No changes.` alone says that nothing is pending, held or in error.
    """
    outcomes = Counter(pod.outcome for pod in pods)
    held = sum(group.held for group in groups)
    stuck = _stuck(outcomes)
    asking = _asking(groups)
    wrong = [_count(len(problems), "problem")] if problems else []
    if not actions:
        open_points = [*stuck, *_waiting(outcomes), *([f"{_count(held, 'group')} held"] if held else []), *asking, *wrong]
        return f"No changes; {', '.join(open_points)}." if open_points else "No changes."
    parts = [*_sizes(groups), *_counts(actions), *stuck, *([f"{held} held"] if held else []), *asking, *wrong]
    return f"Plan: {', '.join(parts)}{_price(cost)}."


def _sizes(groups: Sequence[GroupLine]) -> list[str]:
    steps = [group.desired - group.current for group in groups]
    parts = []
    for sign, word, chosen in (("+", "up", [s for s in steps if s > 0]), ("-", "down", [-s for s in steps if s < 0])):
        if chosen:
            parts.append(f"{_count(len(chosen), 'group')} {word} ({sign}{_count(sum(chosen), 'node')})")
    return parts


def _counts(actions: Sequence[Action]) -> list[str]:
    kinds = Counter(action.kind for action in actions)
    parts = [_count(kinds[ActionKind.REPLACE], "replacement")] if kinds[ActionKind.REPLACE] else []
    parts += [
        f"{kinds[kind]} {word}" for kind, word in ((ActionKind.ADOPT, "adopted"), (ActionKind.RELEASE, "released")) if kinds[kind]
    ]
    anew = sum(len(action.machines) for action in actions if action.kind is ActionKind.CANCEL and action.to == action.from_)
    return [*parts, f"{_count(anew, 'machine')} asked for anew"] if anew else parts


def _stuck(outcomes: Counter[PodOutcome]) -> list[str]:
    nowhere = sum(outcomes[outcome] for outcome in _NOWHERE)
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
    return f"; {money_text(change, cost.currency, signed=True)}/h" if change else ""


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
