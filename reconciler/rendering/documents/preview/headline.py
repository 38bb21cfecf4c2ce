"""The first words of a preview: the change in one line, then its consequences by grade, equal ones folded."""

from collections.abc import Callable, Iterator, Sequence
from itertools import product

from reconciler.plan.comparison import Pair
from reconciler.plan.plan import GroupLine
from reconciler.plan.preview import Preview
from reconciler.plan.reason import Scalar
from reconciler.policy.changes.comparison import PolicyChange
from reconciler.policy.changes.loosening import REMOVED, Loosened
from reconciler.rendering.documents.blocks import (
    PROSE_WIDTH,
    Foreign,
    Sentence,
    capitalized,
    plain_sentence,
)
from reconciler.rendering.documents.preview.change_figures import COST, change_figures
from reconciler.rendering.documents.preview.consequences.all import consequences
from reconciler.rendering.documents.preview.consequences.consequence import Code, Consequence, Grade
from reconciler.rendering.documents.preview.consequences.looser_values import value_family
from reconciler.rendering.documents.preview.consequences.looser_words import looser_words, removed_words
from reconciler.rendering.documents.preview.what_if import gravest_situations, situation_change, situation_words
from reconciler.rendering.words.wording import count, settled_size

_MOST_PARTS = 2
_WIDTH, _MARKS = PROSE_WIDTH - len("## "), len("``")
"""Of a heading on one line, and what marks a name in it."""


def headline(preview: Preview) -> Sentence:
    """`5 more pods have nowhere to run; 18 nodes in steady state instead of 24`; without an effect it says so."""
    if preview.comparison is None:
        return ("What this policy does to the node groups",)
    effects = consequences(preview)
    steady = _steady(preview, effects)
    grave = [one for one in effects if one.grade is Grade.CAUTION]
    if grave and Code.TARGET_MISSING not in [one.code for one in grave]:
        grave += [one for one in effects if one.code is Code.GROUPS_LEAVE]
    cautions = list(_shorts(grave))
    # Beside a caution or another figure no weaker effect has room.
    parts = cautions[:_MOST_PARTS] or list(_shorts(effects))[: _MOST_PARTS - bool(steady)]
    repriced = _repriced(preview)
    if steady:
        price_too = len(parts) < _MOST_PARTS and bool(repriced)
        parts += [_prices(repriced), steady] if price_too else [steady]
    elif (price := _price_alone(preview)) and not cautions:
        parts = [price]
    elif parts and not cautions and _nothing_moves(preview):
        parts.append([_in_other_situations(preview) or ("no decision changes",)])
    return capitalized(_fitting(_in_window(preview, parts))) if parts else _without_effect(preview)


def _in_window(preview: Preview, parts: list[list[Sentence]]) -> list[list[Sentence]]:
    """The parts, of which the first begins `in window night`, if such a window is open now under one policy alone."""
    sides: list[set[str]] = [set(), set()]
    for pair in () if preview.comparison is None else preview.comparison.groups:
        for names, line in zip(sides, (pair.before, pair.after), strict=True):
            reasons = () if line is None else line.reasons
            names |= {str(one.data["window"]) for one in reasons if one.code == "WindowOpen" and "window" in one.data}
    differing = sorted(sides[0] ^ sides[1])
    if len(differing) != 1:
        return parts
    where = "in window " if differing[0] in sides[1] else "without window "
    return [[(where, Foreign(differing[0]), ": ", *words) for words in parts[0]], *parts[1:]]


def _fitting(parts: Sequence[Sequence[Sentence]]) -> Sentence:
    """As many parts as one line holds. The last part has the least to say: it goes before a name does."""
    for number in range(len(parts), 0, -1):
        last = parts[number - 1]
        named = [[wordings[0]] for wordings in parts[: number - 1]]
        fewer = product(*parts[: number - 1]) if number > 1 else ()
        for wordings in (*product(*named, last), *fewer, *product(*parts[:number])):
            line = tuple(word for at, words in enumerate(wordings) for word in (*(("; ",) if at else ()), *words))
            if len(plain_sentence(line)) + _MARKS * sum(isinstance(word, Foreign) for word in line) <= _WIDTH:
                return line
    return parts[0][-1]


def _nothing_moves(preview: Preview) -> bool:
    comparison = preview.comparison
    return (
        comparison is not None and not comparison.actions and not preview.later and preview.impact_before == preview.impact_after
    )


def _in_other_situations(preview: Preview) -> Sentence:
    """`with pods that fit any node: +$0.134/h`: the first situation in which the policies differ; nothing if there is none."""
    differing = () if preview.what_if is None else gravest_situations(preview.what_if)
    return ("with ", situation_words(differing[0]), ": ", Foreign(situation_change(differing[0]))) if differing else ()


def _without_effect(preview: Preview) -> Sentence:
    """No plan differs with the pods of now. That does not mean that a value has no effect: the values are named."""
    if not preview.changed:
        return ("No effect: neither the policy nor the decision differs",)
    if len(preview.changes) == 1 and not preview.changes[0].path:
        change = preview.changes[0]
        what = (
            ("renamed to ", Foreign(change.after))
            if change.before and change.after
            else ("added" if change.after else "removed",)
        )
        return (f"{change.kind} ", Foreign(change.before or change.name), " is ", *what, "; no decision changes")
    otherwise = _in_other_situations(preview)
    if not preview.changes:
        return ("No difference in the steady state: what differs now is below",)
    paths = list(dict.fromkeys(value_family(change.path) or change.kind for change in preview.changes))
    more = f" and {count(len(paths) - 1, 'more value')}" if len(paths) > 1 else ""
    now: Sentence = ("No difference now; ", *otherwise) if otherwise else ("No difference with the pods of now",)
    if sooner := _sizes(preview, lambda line: line.desired):
        now = ("the next plan differs: ", *sooner, ", but not the steady state")
    wordings = _subjects(preview, paths[0], more)
    lines = [(*now, ". ", *capitalized(words)) for words in wordings]
    if otherwise and not sooner:
        lines.insert(1, (*wordings[0], "; ", *otherwise[1:]))
    return capitalized(_fitting([lines]))


_BRIEF = 24
"""Characters of a value that a headline has room for."""


def _subjects(preview: Preview, path: str, more: str) -> list[Sentence]:
    """`spot leaves tier spot`, `the order of tiers changes`, `humanHoldTime 1h -> 24h`, `this changes humanHoldTime`, with how
    many `more` values change: the longest first."""
    first = next((change for change in preview.changes if (value_family(change.path) or change.kind) == path), preview.changes[0])
    shortest: Sentence = ("This changes ", Foreign(path), more)
    if first.ordered:
        return [(f"The order of {first.ordered} changes{more}",)]
    for pair in () if preview.comparison is None else preview.comparison.groups:
        old, new = pair.before, pair.after
        if old is not None and new is not None and old.tier != new.tier:
            where = (" moves to tier ", Foreign(new.tier)) if new.tier else (" leaves tier ", Foreign(old.tier or ""))
            return [(Foreign(new.name), *where), shortest]
    if words := _in_words(first):
        return [(*words, more), shortest]
    values = first.value_before, first.value_after
    brief = all(len(value) <= _BRIEF for value in values)
    return [*([(Foreign(path), " ", Foreign(values[0]), " -> ", Foreign(values[1]), more)] if brief else []), shortest]


def _in_words(change: PolicyChange) -> Sentence:
    """`budget drained lets 0 nodes leave at a time (was 1)`: that it becomes stricter takes the same words."""
    if change.before is None or change.after is None:
        return ()
    path = change.path.rpartition("defaults.")[2]
    groups = (change.name,) if change.kind == "NodeGroup" else change.reaches if path != change.path else ()
    return looser_words(Loosened(path=path, before=change.before, after=change.after, certain=True, groups=groups))


_IN_STEADY_PART = (Code.NODES_IN_STEADY_STATE, Code.COST)


def _shorts(effects: Sequence[Consequence]) -> Iterator[list[Sentence]]:
    """The wordings of each effect, the gravest first; looser values that have no words in common are counted."""
    codes = [one.code for one in effects]
    for number, one in enumerate(effects):
        if one.code in _IN_STEADY_PART or (one.code is Code.NODES_REMOVED and Code.WRITING_STARTS in codes):
            continue
        if codes.index(one.code) < number:
            continue
        same = [other for other in effects if other.code is one.code]
        named = one.named if len(same) == 1 else removal_words(same, briefly=True) or _and_more(same)
        short = one.short
        if one.code in (Code.LOOSENS, Code.MAY_LOOSEN):
            verb = "may become" if one.code is Code.MAY_LOOSEN else "becomes" if len(same) == 1 else "become"
            short = f"{count(len(same), 'value')} {verb} looser"
        yield [*((named,) if named else ()), (short,)]


def _and_more(same: Sequence[Consequence]) -> Sentence:
    """The gravest of several looser values in words, and how many more there are."""
    first = same[0].named
    looser = same[0].code in (Code.LOOSENS, Code.MAY_LOOSEN)
    return (*first, f" and {count(len(same) - 1, 'more change')}") if first and looser else ()


def _steady(preview: Preview, effects: Sequence[Consequence]) -> list[Sentence]:
    """`auto 9 -> 11 nodes, big 4 -> 3, -$13.87 per month`, without the cost, or `18 nodes in steady state instead of 24`. A
    number of nodes that is told already is not told again. Where prices differ, the cost says nothing about decisions."""
    nodes = [one for one in effects if one.code is Code.NODES_IN_STEADY_STATE]
    told = any(abs(_integer(one.data["change"])) in _stated_nodes(effects) for one in nodes)
    cost = next((figure for figure in change_figures(preview) if figure.code == COST and figure.changed), None)
    sizes = () if told else _sizes(preview)
    totals = () if told or not nodes else (nodes[0].short,)
    money: Sentence = (cost.cells()[2], " per month") if cost is not None and not _repriced(preview) else ()
    parts = [part for part in (sizes, totals) if part]
    return [*((*part, ", ", *money) for part in parts if money), *parts] or ([money] if money else [])


_MOST_SIZES = 2


def _sizes(preview: Preview, size: Callable[[GroupLine], int] = settled_size) -> Sentence:
    """`auto 9 -> 11 nodes, big 4 -> 3`, where one or two groups settle at other sizes; else nothing. Another target of the same
    name is another group."""
    pairs = () if preview.comparison is None else preview.comparison.groups
    moved = [
        (pair.after.name, size(pair.before), size(pair.after))
        for pair in pairs
        if pair.before is not None
        and pair.after is not None
        and size(pair.before) != size(pair.after)
        and pair.before.target == pair.after.target
    ]
    if not moved or len(moved) > _MOST_SIZES or any(pair.before is None or pair.after is None for pair in pairs):
        return ()
    words: list[str] = []
    for number, (name, old, new) in enumerate(sorted(moved, key=lambda one: -abs(one[2] - one[1]))):
        words += [*((", ",) if number else ()), Foreign(name), f" {old} -> {new}{'' if number else ' nodes'}"]
    return tuple(words)


def _repriced(preview: Preview) -> list[Pair[GroupLine]]:
    """Groups of both policies with another price, whatever is decided."""
    pairs = () if preview.comparison is None else preview.comparison.groups
    return [
        pair for pair in pairs
        if pair.before is not None and pair.after is not None and pair.before.price_per_hour != pair.after.price_per_hour
    ]  # fmt: skip


def _price_alone(preview: Preview) -> list[Sentence]:
    """`the price of spot changes from 0.058 to 0.58; no decision changes`: another price of the same nodes."""
    pairs = _repriced(preview)
    if not pairs or not _nothing_moves(preview):
        return []
    return [(*words, "; no decision changes") for words in _prices(pairs)]


def _prices(pairs: Sequence[Pair[GroupLine]]) -> list[Sentence]:
    if len(pairs) > 1:
        return [(f"the prices of {len(pairs)} groups change",)]
    old, new = pairs[0].before, pairs[0].after
    prices = [Foreign((line.price_per_hour if line is not None else None) or "none") for line in (old, new)]
    brief: Sentence = ("the price of ", Foreign(pairs[0].either.name), " changes")
    return [(*brief, " from ", prices[0], " to ", prices[1]), brief, ("the price of 1 group changes",)]


def _stated_nodes(effects: Sequence[Consequence]) -> set[int]:
    numbers: set[int] = set()
    for one in effects:
        if one.code is Code.WRITING_STARTS:
            added, removed = _integer(one.data["nodesAdded"]), _integer(one.data["nodesRemoved"])
            numbers |= {abs(added - removed)}
        elif one.code is Code.NODES_REMOVED:
            numbers.add(_integer(one.data["after"]) - _integer(one.data["today"]))
    return numbers


def _integer(value: Scalar) -> int:
    return value if isinstance(value, int) else 0


def removal_words(lot: Sequence[Consequence], *, briefly: bool = False) -> Sentence:
    """Items of one list that are removed, in one sentence; nothing for anything else. `briefly`: without what follows from it."""
    paths = [str(one.data["path"]) for one in lot if one.data.get("after") == REMOVED and not one.data["groups"]]
    families = {value_family(path) for path in paths}
    if len(paths) < len(lot) or len(families) != 1:
        return ()
    names = [path.partition("[")[2].removesuffix("]") for path in paths]
    return removed_words(families.pop(), names, last=lot[0].code is Code.MAY_LOOSEN and not briefly)
