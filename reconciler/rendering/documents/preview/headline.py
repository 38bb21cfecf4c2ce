"""The first words of a preview: the change in one line, then its consequences by grade, equal ones folded."""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import product

from reconciler.plan.plan import GroupLine
from reconciler.plan.preview import Preview
from reconciler.plan.reason import Scalar
from reconciler.rendering.documents.blocks import (
    MOST_FOREIGN,
    PROSE_WIDTH,
    Foreign,
    Sentence,
    capitalized,
    plain_sentence,
)
from reconciler.rendering.documents.preview.cause_words import LOOSER, Causes, cause_words, only_renamed, repriced
from reconciler.rendering.documents.preview.change_figures import COST, change_figures
from reconciler.rendering.documents.preview.consequences.all import consequences
from reconciler.rendering.documents.preview.consequences.consequence import Code, Consequence, Grade
from reconciler.rendering.documents.preview.consequences.judged import TEMPLATE_FINDINGS
from reconciler.rendering.documents.preview.what_if import gravest_situations, situation_change, situation_words
from reconciler.rendering.words.plain import shortened
from reconciler.rendering.words.wording import count, settled_size

_MOST_PARTS = 2
_WIDTH, _MARKS = PROSE_WIDTH - len("## "), len("``")
"""Of a heading on one line, and what marks a name in it."""


def headline(preview: Preview) -> Sentence:
    """`auto may grow only to 4 nodes (was 10): 3 more pods have nowhere to run, auto 9 -> 4 nodes`: the change, then its gravest
    effects; without an effect it says so."""
    if preview.comparison is None:
        return ("What this policy does to the node groups",)
    effects = consequences(preview)
    grave = [one for one in effects if one.grade is Grade.CAUTION]
    causes = _causes(preview, effects, grave)
    if grave and Code.TARGET_MISSING not in [one.code for one in grave]:
        grave += [one for one in effects if one.code is Code.GROUPS_LEAVE]
    others = [one for one in grave or effects if not _is_cause(one, causes)]
    steady = _steady(preview, effects)
    parts = list(_shorts(others))[: _MOST_PARTS - bool(steady and not grave)]
    parts += [steady] if steady else []
    if not preview.changed and not causes.named and not parts:
        return ("No effect: neither the policy nor the decision differs",)
    needed = bool(parts)
    if not steady and not grave:
        parts += _elsewhere(preview, bare=not (causes.named or parts))
    return capitalized(_fitting(causes, parts, needed=needed))


def _is_cause(effect: Consequence, causes: Causes) -> bool:
    """Whether the words of the cause say it, maybe with how many more changes there are."""
    named = effect.named
    return bool(causes.named) and (effect.code in LOOSER or any(named and words[: len(named)] == named for words in causes.named))


_NAME_THEIR_CAUSE = (
    Code.WRITING_STOPS, Code.TARGET_MISSING, Code.WRITING_STARTS, Code.TAKES_OVER, Code.TEMPLATE_DIFFERS, Code.OTHER_CLUSTERS,
)  # fmt: skip


def _causes(preview: Preview, effects: Sequence[Consequence], grave: Sequence[Consequence]) -> Causes:
    """What has these effects: a window that is open now, or the only change. Of several changes nobody knows which one has a
    grave effect. Some effects name their cause."""
    if opened := _window(preview):
        return Causes((opened,))
    named = bool(effects) and (effects[0].code in _NAME_THEIR_CAUSE or effects[0].data.get("finding") in TEMPLATE_FINDINGS)
    if named or (grave and len(preview.changes) > 1):
        return Causes()
    return cause_words(preview, effects)


def _window(preview: Preview) -> Sentence:
    """`in window night`, if such a window is open now under one policy alone."""
    sides: list[set[str]] = [set(), set()]
    for pair in () if preview.comparison is None else preview.comparison.groups:
        for names, line in zip(sides, (pair.before, pair.after), strict=True):
            reasons = () if line is None else line.reasons
            names |= {str(one.data["window"]) for one in reasons if one.code == "WindowOpen" and "window" in one.data}
    differing = sorted(sides[0] ^ sides[1])
    if len(differing) != 1:
        return ()
    return ("in window " if differing[0] in sides[1] else "without window ", Foreign(differing[0]))


_NAME = re.compile(r"[^ .\[]*")
_NAME_CHARACTERS = (MOST_FOREIGN, 28, 18)
"""So long are the longest names in a line, as long as it does not fit."""


def _fitting(causes: Causes, parts: Sequence[Sequence[Sentence]], *, needed: bool) -> Sentence:
    """As much as one line holds. The last part has the least to say: it goes before the cause does, and names are cut before they
    are left out. `needed`: the first part stays."""
    named, vague = causes
    numbers = range(len(parts), 0 if needed else -1, -1)
    for cause, number in ((cause, number) for some in (named, vague, [()]) for number in numbers for cause in some):
        shown = parts[:number]
        # Only the last of several parts may have a shorter wording.
        longest = [[wordings[0]] for wordings in shown[:-1]] + list(shown[-1:])
        for chosen, most in product(list(product(*longest)), _NAME_CHARACTERS):
            line = _cut(_line(cause, chosen), most)
            if line and _width(line) <= _WIDTH:
                return line
    return _cut((parts[0] if parts else vague or named)[-1], _NAME_CHARACTERS[-1])


def _line(cause: Sentence, parts: Sequence[Sentence]) -> Sentence:
    words = tuple(word for at, part in enumerate(parts) for word in (*((", ",) if at else ()), *part))
    return (*cause, ": ", *words) if cause and words else cause or words


def _cut(line: Sentence, most: int) -> Sentence:
    """Names that are longer are cut in their middle; paths and values of several words stay."""
    return tuple(Foreign(shortened(word, most)) if isinstance(word, Foreign) and _NAME.fullmatch(word) else word for word in line)


def _width(line: Sentence) -> int:
    return len(plain_sentence(line)) + _MARKS * sum(isinstance(word, Foreign) for word in line)


def _nothing_moves(preview: Preview) -> bool:
    comparison = preview.comparison
    return (
        comparison is not None and not comparison.actions and not preview.later and preview.impact_before == preview.impact_after
    )


def _elsewhere(preview: Preview, *, bare: bool) -> Iterator[list[Sentence]]:
    """What differs if the steady state does not: the next plan, another situation, or nothing. With `bare`, nothing is told."""
    if sizes := _sizes(preview, lambda line: line.desired):
        yield [
            ("the next plan has ", *sizes, ", the steady state does not differ"),
            ("the next plan has ", *sizes),
            ("the next plan differs, the steady state does not",),
        ]
    elif differing := () if preview.what_if is None else gravest_situations(preview.what_if):
        change = Foreign(situation_change(differing[0]))
        wordings = ((change, " with ", situation_words(differing[0])), (change, " in another situation"))
        yield [part for words in wordings for part in (("no change now, ", *words), words)] + [("no change now",)]
    elif _nothing_moves(preview) or only_renamed(preview.changes):
        yield [("no decision changes",)]
    elif bare:
        yield [("No difference in the steady state: what differs now is below",)]


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
        named = one.named if len(same) == 1 else ()
        short = one.short
        if one.code in (Code.LOOSENS, Code.MAY_LOOSEN):
            verb = "may become" if one.code is Code.MAY_LOOSEN else "becomes" if len(same) == 1 else "become"
            short = f"{count(len(same), 'value')} {verb} looser"
        yield [*((named,) if named else ()), (short,)]


def _steady(preview: Preview, effects: Sequence[Consequence]) -> list[Sentence]:
    """`auto 9 -> 11 nodes, big 4 -> 3, -$13.87 per month`, without the cost, or `18 nodes in steady state instead of 24`. A
    number of nodes that is told already is not told again. Where prices differ, the cost says nothing about decisions."""
    nodes = [one for one in effects if one.code is Code.NODES_IN_STEADY_STATE]
    told = any(abs(_integer(one.data["change"])) in _stated_nodes(effects) for one in nodes)
    cost = next((figure for figure in change_figures(preview) if figure.code == COST and figure.changed), None)
    sizes = () if told else _sizes(preview)
    totals = () if told or not nodes else (nodes[0].short,)
    money: Sentence = (cost.cells()[2], " per month") if cost is not None and not repriced(preview) else ()
    parts = [part for part in (sizes, totals) if part]
    return [*((*part, ", ", *money) for part in parts if money), *parts, *([money] if money else [])]


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
