"""A comparison of two policies and of the two plans that follow from them, as marked sentences by section."""

from collections.abc import Sequence
from decimal import Decimal

import msgspec

from reconciler.plan.comparison import Pair, PlanComparison
from reconciler.plan.money import HOURS_PER_MONTH, money_text
from reconciler.plan.plan import Action, GroupLine, NodeLine, PlanProblem, PodLine
from reconciler.policy.comparison import PolicyChange
from reconciler.rendering.alike import owner_label
from reconciler.rendering.plain import listed
from reconciler.rendering.wording import GROWS, HELD, SHRINKS, action_words, count, outcome_words, owner_words, state_words

_NAMES_SHOWN = 3
_FIRST = ("Policy", "Groups", "Cost")


class Difference(msgspec.Struct, frozen=True):
    """One sentence; `mark` is `+` for what comes, `-` for what goes, `!` for what changes."""

    mark: str
    sentence: str


class Section(msgspec.Struct, frozen=True):
    """A heading and what stands below it."""

    heading: str
    differences: tuple[Difference, ...]


def difference_sections(changes: Sequence[PolicyChange], comparison: PlanComparison) -> tuple[Section, ...]:
    """Sections that are not empty: the policy first, then what it changes."""
    found = (
        Section("Policy", tuple(_policy(change) for change in changes)),
        Section("Groups", tuple(_group(pair) for pair in comparison.groups)),
        Section("Cost", _cost(comparison)),
        Section("Actions", tuple(_action(pair) for pair in comparison.actions)),
        Section("Pending pods", _pods(comparison.pods)),
        Section("Nodes", _nodes(comparison.nodes)),
        Section("Problems", tuple(_problem(pair) for pair in comparison.problems)),
    )
    return tuple(section for section in found if section.differences)


def with_further(sections: Sequence[Section], further: Sequence[Section]) -> tuple[Section, ...]:
    """Sections with others put in before the actions: what a reviewer asks for right after groups and cost."""
    first = tuple(section for section in sections if section.heading in _FIRST)
    return (*first, *further, *(section for section in sections if section.heading not in _FIRST))


def _policy(change: PolicyChange) -> Difference:
    whole = not change.path
    mark = GROWS if whole and change.before is None else SHRINKS if whole and change.after is None else HELD
    return Difference(mark, change.sentence())


def _group(pair: Pair[GroupLine]) -> Difference:
    old, new = pair.before, pair.after
    if old is None or new is None:
        line = pair.either
        came = old is None
        told = f"a group now, {line.current} -> {line.desired}" if came else "no group of this policy any more"
        return Difference(GROWS if came else SHRINKS, f"{line.name}: {told}")
    facts = [
        (name, before, after)
        for name, before, after in (
            ("now", str(old.current), str(new.current)),
            ("desired", str(old.desired), str(new.desired)),
            ("settled", _number(old.settled), _number(new.settled)),
            ("range", f"{old.min}..{old.max}", f"{new.min}..{new.max}"),
            ("tier", old.tier or "none", new.tier or "none"),
            ("owner", owner_words(old), owner_words(new)),
            ("held", "yes" if old.held else "no", "yes" if new.held else "no"),
            ("price", old.price_per_hour or "none", new.price_per_hour or "none"),
            ("target", old.target, new.target),
        )
        if before != after
    ]
    parts = [f"{name} {before} -> {after}" for name, before, after in facts]
    if new.wanted is not None and new.wanted != old.wanted:
        # What a group would do is known of held ones only.
        parts.append(f"would go to {new.wanted}" + ("" if old.wanted is None else f" (before: {old.wanted})"))
    told = ", ".join(parts) or "for other reasons than before"
    rest_before = old.desired if old.settled is None else old.settled
    rest_after = new.desired if new.settled is None else new.settled
    mark = GROWS if rest_after > rest_before else SHRINKS if rest_after < rest_before else HELD
    return Difference(mark, f"{new.name}: {told}")


def _cost(comparison: PlanComparison) -> tuple[Difference, ...]:
    currency = comparison.cost_after.currency
    found = []
    for name, change in (
        ("desired", comparison.desired_per_hour_change),
        ("settled", comparison.settled_per_hour_change),
    ):
        if change:
            month = money_text((change * HOURS_PER_MONTH).quantize(Decimal("0.01")), currency, signed=True)
            told = f"{name}: {money_text(change, currency, signed=True)} per hour, {month} per month ({HOURS_PER_MONTH} h)"
            found.append(Difference(GROWS if change > 0 else SHRINKS, told))
    return tuple(found)


def _action(pair: Pair[Action]) -> Difference:
    if pair.before is not None and pair.after is not None:
        return Difference(HELD, f"{action_words(pair.after)}: {pair.after.reason.message} (before: {action_words(pair.before)})")
    mark = GROWS if pair.before is None else SHRINKS
    return Difference(mark, f"{action_words(pair.either)}: {pair.either.reason.message}")


def _pods(pairs: Sequence[Pair[PodLine]]) -> tuple[Difference, ...]:
    lots: dict[tuple[str, str, str], list[str]] = {}
    for pair in pairs:
        key = owner_label(pair.either.pod), _placed(pair.before), _placed(pair.after)
        lots.setdefault(key, []).append(pair.either.pod)
    return tuple(
        Difference(HELD, f"{f'{label}: {len(pods)} pods, ' if len(pods) > 1 else f'{pods[0]}: '}{_from_to(before, after)}")
        for (label, before, after), pods in lots.items()
    )


def _placed(line: PodLine | None) -> str:
    if line is None:
        return "not pending"
    where = line.node or line.group
    return outcome_words(line.outcome) + (f" ({where})" if where else "")


def _nodes(pairs: Sequence[Pair[NodeLine]]) -> tuple[Difference, ...]:
    lots: dict[tuple[str, str, str], list[str]] = {}
    for pair in pairs:
        key = pair.either.group or "no group", _stands(pair.before), _stands(pair.after)
        lots.setdefault(key, []).append(pair.either.node)
    return tuple(
        Difference(HELD, f"{group}: {count(len(nodes), 'node')}, {_from_to(before, after)}: {listed(tuple(nodes), _NAMES_SHOWN)}")
        for (group, before, after), nodes in lots.items()
    )


def _stands(line: NodeLine | None) -> str:
    if line is None:
        return "not there"
    codes = ", ".join(sorted({blocker.code for blocker in line.blockers}))
    return f"{state_words(line.state)}, {'removable' if line.removable else 'stays'}" + (f" ({codes})" if codes else "")


def _problem(pair: Pair[PlanProblem]) -> Difference:
    problem = pair.either
    about = f"{problem.object}: " if problem.object else ""
    mark = GROWS if pair.before is None else SHRINKS if pair.after is None else HELD
    return Difference(mark, f"{problem.code}: {about}{problem.message}")


def _from_to(before: str, after: str) -> str:
    return f"{before} -> {after}" if before != after else f"{after}, for other reasons than before"


def _number(value: int | None) -> str:
    return "unknown" if value is None else str(value)
