"""A comparison of two policies and of the two plans that follow from them, as marked sentences by section."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

import msgspec

from reconciler.plan.comparison import Pair, PlanComparison
from reconciler.plan.money import HOURS_PER_MONTH, money_text
from reconciler.plan.plan import Action, ActionKind, GroupLine, NodeLine, PlanProblem, PodLine
from reconciler.policy.comparison import PolicyChange
from reconciler.rendering.alike import owner_label
from reconciler.rendering.alike_actions import alike_actions, lot_words, single_actions
from reconciler.rendering.fold import Fold
from reconciler.rendering.group_notes import further_reasons, size_bounds
from reconciler.rendering.plain import listed
from reconciler.rendering.wording import (
    GROWS,
    HELD,
    SHRINKS,
    action_mark,
    action_words,
    count,
    outcome_words,
    owner_words,
    state_words,
)

_FIRST = ("Policy", "Groups", "Cost")
_REASONS_SHOWN = 2
_MARKS = {GROWS: GROWS, SHRINKS: SHRINKS}


class Difference(msgspec.Struct, frozen=True):
    """One sentence; `mark` is `+` for more nodes (or what comes into the policy), `-` for fewer, `!` for everything else."""

    mark: str
    sentence: str


class Section(msgspec.Struct, frozen=True):
    """A heading and what stands below it."""

    heading: str
    differences: tuple[Difference, ...]


def difference_sections(changes: Sequence[PolicyChange], comparison: PlanComparison, fold: Fold) -> tuple[Section, ...]:
    """Sections that are not empty: the policy first, then what it changes. `fold` says how much is told one by one."""
    found = (
        Section("Policy", tuple(_policy(change) for change in changes)),
        Section("Groups", _groups(comparison.groups, comparison.actions, fold)),
        Section("Cost", _cost(comparison)),
        Section("Actions", tuple(_actions(comparison.actions, fold))),
        Section("Pending pods", _pods(comparison.pods, fold)),
        Section("Nodes", _nodes(comparison.nodes, fold)),
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
    parts += size_bounds(new) if old.desired != new.desired else ()
    if new.wanted is not None and new.wanted != old.wanted:
        # What a group would do is known of held ones only.
        parts.append(f"would go to {new.wanted}" + ("" if old.wanted is None else f" (before: {old.wanted})"))
    told = ", ".join(parts) or "for other reasons than before"
    rest_before = old.desired if old.settled is None else old.settled
    rest_after = new.desired if new.settled is None else new.settled
    more = rest_after - rest_before or new.desired - old.desired
    mark = GROWS if more > 0 else SHRINKS if more < 0 else HELD
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


def _groups(pairs: Sequence[Pair[GroupLine]], actions: Sequence[Pair[Action]], fold: Fold) -> tuple[Difference, ...]:
    """Each with the reason of what is done now, and the bound that it meets."""
    done: dict[str, list[Pair[Action]]] = {}
    for entry in actions:
        done.setdefault(entry.either.group, []).append(entry)
    shown = fold.shown(len(pairs), fold.rows)
    order = sorted(range(len(pairs)), key=lambda at: -_moved(pairs[at]))
    chosen = set(order[:shown])
    moved = [pair for at, pair in enumerate(pairs) if at in chosen]
    whys = [_why(pair, done.get(pair.either.name, ())) for pair in moved]
    often = Counter(why.alike for why in whys)
    found = []
    for pair, why in zip(moved, whys, strict=True):
        line = _group(pair)
        # What many groups share is told once, among the actions; each then names its code.
        told = why.codes if fold.names and often[why.alike] > fold.names else why.words
        found.append(msgspec.structs.replace(line, sentence=f"{line.sentence}{told}"))
    if shown < len(pairs):
        found.append(Difference(HELD, f"and {count(len(pairs) - shown, 'group')} more"))
    return tuple(found)


class _Why(msgspec.Struct, frozen=True):
    """Reasons in words, and by their codes; all empty without any. Removals for one code are `alike`: their sentences differ in
    names and figures, and the actions tell them once."""

    words: str = ""
    codes: str = ""
    alike: str = ""


def _why(pair: Pair[GroupLine], changed: Sequence[Pair[Action]]) -> _Why:
    """`: 3 pending pods on 3 new nodes; general-a is at its maximum size 6`: why something is done, then what is said of the
    group that was not said before. Empty where the size is what it was."""
    old, new = pair.before, pair.after
    if new is None or (old is not None and _ends(old) == _ends(new)):
        return _Why()
    actions = [entry.after for entry in changed if entry.after is not None]
    removals = [action for action in actions if action.kind is ActionKind.REMOVE_NODE]
    told = {action.reason.message: action.reason.code for action in actions if action.kind is not ActionKind.REMOVE_NODE}
    if removals:
        told[alike_actions(removals)[0].sentence] = removals[0].reason.code
    known = {reason.message for reason in old.reasons} if old is not None else set()
    told |= {reason.message: reason.code for reason in further_reasons(new, actions) if reason.message not in known}
    if not told and (ended := [entry.before for entry in changed if entry.before is not None]):
        told[f"without what was done before ({alike_actions(ended)[0].sentence})"] = f"not {ended[0].reason.code}"
    words = list(told)[:_REASONS_SHOWN]
    if not words:
        return _Why()
    sentences, codes = "; ".join(words), ", ".join(dict.fromkeys(told[word] for word in words))
    alike = codes if removals and len(told) == 1 else sentences
    return _Why(words=f": {sentences}", codes=f" [{codes}]", alike=alike)


def _ends(line: GroupLine) -> tuple[int, int | None, int | None]:
    return line.desired, line.settled, line.wanted


def _moved(pair: Pair[GroupLine]) -> int:
    """By how many nodes the group comes to rest elsewhere; a group that comes or goes counts whole."""
    rests = [0 if line is None else line.desired if line.settled is None else line.settled for line in (pair.before, pair.after)]
    return abs(rests[1] - rests[0])


def _actions(pairs: Sequence[Pair[Action]], fold: Fold) -> Iterator[Difference]:
    for pair in pairs:
        if pair.before is not None and pair.after is not None:
            told = f"{action_words(pair.after)}: {pair.after.reason.message} (before: {action_words(pair.before)})"
            yield Difference(HELD, told)
    told_together = alike_actions if fold.lots else single_actions
    for came, chosen in (
        (True, [pair.after for pair in pairs if pair.before is None and pair.after is not None]),
        (False, [pair.before for pair in pairs if pair.after is None and pair.before is not None]),
    ):
        lots = told_together(chosen)
        shown = fold.shown(len(lots), fold.rows)
        for lot in lots[:shown]:
            mark = _MARKS.get(action_mark(lot.first), HELD) if came else HELD
            yield Difference(mark, f"{'' if came else 'no longer: '}{lot_words(lot, fold)}: {lot.sentence}")
        if shown < len(lots):
            yield Difference(HELD, f"and {count(len(lots) - shown, 'action')} more")


def _pods(pairs: Sequence[Pair[PodLine]], fold: Fold) -> tuple[Difference, ...]:
    lots: dict[tuple[str, str, str], list[str]] = {}
    for pair in pairs:
        key = owner_label(pair.either.pod), _placed(pair.before), _placed(pair.after)
        lots.setdefault(key, []).append(pair.either.pod)
    shown = fold.shown(len(lots), fold.lots)
    order = [*lots.items()] if shown == len(lots) else sorted(lots.items(), key=lambda item: -len(item[1]))
    found = [
        Difference(HELD, f"{f'{label}: {len(pods)} pods, ' if len(pods) > 1 else f'{pods[0]}: '}{_from_to(before, after)}")
        for (label, before, after), pods in order[:shown]
    ]
    if shown < len(order):
        found.append(Difference(HELD, f"and {count(sum(len(pods) for _, pods in order[shown:]), 'pod')} more"))
    return tuple(found)


def _placed(line: PodLine | None) -> str:
    if line is None:
        return "not pending"
    where = line.node or line.group
    return outcome_words(line.outcome) + (f" ({where})" if where else "")


def _nodes(pairs: Sequence[Pair[NodeLine]], fold: Fold) -> tuple[Difference, ...]:
    lots: dict[tuple[str, str], dict[str, list[str]]] = {}
    for pair in pairs:
        key = _stands(pair.before), _stands(pair.after)
        lots.setdefault(key, {}).setdefault(pair.either.group or "no group", []).append(pair.either.node)
    together = fold.shown(number := sum(len(groups) for groups in lots.values()), fold.lots) < number
    found = []
    for (before, after), groups in lots.items():
        told = _from_to(before, after)
        parts = {_where(groups): [node for nodes in groups.values() for node in nodes]} if together else groups
        for where, nodes in parts.items():
            found.append(Difference(HELD, f"{where}: {count(len(nodes), 'node')}, {told}: {listed(tuple(nodes), fold.names)}"))
    return tuple(found)


def _where(groups: Mapping[str, object]) -> str:
    return next(iter(groups)) if len(groups) == 1 else count(len(groups), "group")


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
