"""The first words of a preview: the change in one line, then its consequences by grade, equal ones folded."""

from collections.abc import Iterator, Sequence

import msgspec

from reconciler.plan.preview import Preview
from reconciler.plan.reason import Scalar
from reconciler.rendering.documents.blocks import PROSE_WIDTH, Alarm, Foreign, Meaning, Sentence, plain_sentence
from reconciler.rendering.documents.preview.change_figures import COST, ChangeFigure, change_figures
from reconciler.rendering.documents.preview.consequences.all import consequences
from reconciler.rendering.documents.preview.consequences.consequence import Code, Consequence, Grade
from reconciler.rendering.documents.preview.consequences.looser_values import value_family
from reconciler.rendering.words.wording import MAIN, count

_MOST_PARTS = 2
_WIDTH = PROSE_WIDTH - 10
"""Of a heading on one line, with room for what marks it."""


def headline(preview: Preview) -> Sentence:
    """`5 more pods have nowhere to run; 18 nodes in steady state instead of 24`; without an effect it says so."""
    if preview.comparison is None:
        return ("What this policy does to the node groups",)
    figures = change_figures(preview)
    effects = consequences(preview)
    steady = _steady(figures, effects)
    cautions: list[Sentence] = [(short,) for short in _shorts([one for one in effects if one.grade is Grade.CAUTION])]
    # Beside a caution or another figure no weaker effect has room.
    others: list[Sentence] = [(short,) for short in _shorts(effects)]
    parts = cautions[:_MOST_PARTS] or others[: _MOST_PARTS - bool(steady)]
    if steady:
        parts.append(steady)
    elif parts and not cautions and _nothing_moves(preview):
        parts.append((f"nodes and pods move as under {MAIN}",))
    if not parts:
        return _without_effect(preview)
    shown: list[str] = []
    for part in parts:
        # Large figures make the last part long; then it is told without the cost rather than not at all.
        for words in (part, part[:1]):
            longer = [*shown, *(("; ",) if shown else ()), *words]
            if not shown or len(plain_sentence(tuple(longer))) <= _WIDTH:
                shown = longer
                break
    first = shown[0]
    return tuple(shown) if isinstance(first, Foreign) else (first[:1].upper() + first[1:], *shown[1:])


def _nothing_moves(preview: Preview) -> bool:
    comparison = preview.comparison
    return (
        comparison is not None and not comparison.actions and not preview.later and preview.impact_before == preview.impact_after
    )


def _without_effect(preview: Preview) -> Sentence:
    """No plan differs with the pods of now. That does not mean that a value has no effect: the values are named."""
    if not preview.changed:
        return ("No effect: neither the policy nor the decision differs",)
    if not preview.changes:
        return ("No difference in the steady state: what differs now is below",)
    paths = list(dict.fromkeys(value_family(change.path) or change.kind for change in preview.changes))
    more = f" and {count(len(paths) - 1, 'more value')}" if len(paths) > 1 else ""
    return ("No difference with the pods of now. This changes ", Foreign(paths[0]), more)


_IN_STEADY_PART = (Code.NODES_IN_STEADY_STATE, Code.COST)


def _shorts(effects: Sequence[Consequence]) -> Iterator[str]:
    """The short words of each, the gravest first; looser values are counted."""
    codes = [one.code for one in effects]
    for number, one in enumerate(effects):
        same = codes.count(one.code)
        if one.code in _IN_STEADY_PART or (one.code is Code.NODES_REMOVED and Code.WRITING_STARTS in codes):
            continue
        if codes.index(one.code) < number:
            continue
        if one.code is Code.LOOSENS:
            yield f"{count(same, 'value')} {'becomes' if same == 1 else 'become'} looser"
        elif one.code is Code.MAY_LOOSEN:
            yield f"{count(same, 'value')} may become looser"
        else:
            yield one.short


def _steady(figures: Sequence[ChangeFigure], effects: Sequence[Consequence]) -> Sentence:
    """`18 nodes in steady state instead of 24, -$686.93 per month`; a number of nodes that is told already is not told again."""
    nodes = [one for one in effects if one.code is Code.NODES_IN_STEADY_STATE]
    parts = [one.short for one in nodes if abs(_integer(one.data["change"])) not in _stated_nodes(effects)]
    for figure in figures:
        if figure.code == COST and figure.changed:
            parts += [*((", ",) if parts else ()), figure.cells()[2], " per month"]
    return tuple(parts)


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


# The consequences of a preview line by line.

_TOLD = (Code.NODES_IN_STEADY_STATE, Code.COST, Code.PODS_PLACED, Code.TESTS_LOST)
"""What the table of figures and the lines about policy tests say."""
_MOST_LINES = 5


_MEANINGS = {Grade.CAUTION: Meaning.DANGER, Grade.WARNING: Meaning.HELD, Grade.NOTE: Meaning.NEUTRAL}


def consequence_alarms(preview: Preview, *, everything: bool = False) -> Iterator[Alarm]:
    """What stands above the table of figures: the lines of each grade, the gravest first. Equal ones are folded, and what is cut
    is counted with the gravest of it; neither with `everything`."""
    effects = [one for one in consequences(preview) if one.code not in _TOLD]
    for grade in Grade:
        mine = [one for one in effects if one.grade is grade]
        if lines := [one.sentence for one in _with_causes(mine)] if everything else _folded(tuple(_with_causes(mine))):
            yield Alarm(_MEANINGS[grade], tuple(lines), grade.capitalize())


def _with_causes(effects: Sequence[Consequence]) -> Iterator[Consequence]:
    """Each with the changed values that may cause it, unless an earlier line names the same ones."""
    known: set[Sentence] = {()}
    for one in effects:
        yield one if one.causes in known else msgspec.structs.replace(one, sentence=(*one.sentence, *one.causes))
        known.add(one.causes)


def _folded(effects: Sequence[Consequence]) -> list[Sentence]:
    """First those of equal values together, then, where they are still many, those of one field."""
    for whole in (True, False):
        lots: dict[tuple[Scalar, ...], list[Consequence]] = {}
        for number, one in enumerate(effects):
            lots.setdefault(_alike(one, number, whole=whole), []).append(one)
        if len(lots) <= _MOST_LINES + 1:
            break
    lines = [_lot(lot) for lot in lots.values()]
    if len(lines) <= _MOST_LINES + 1:
        return lines
    shown, rest = lines[:_MOST_LINES], lines[_MOST_LINES:]
    cut = sum(len(lot) for lot in list(lots.values())[_MOST_LINES:])
    return [*shown, (f"And {cut} more of this grade, the gravest: ", *rest[0])]


def _alike(one: Consequence, number: int, *, whole: bool) -> tuple[Scalar, ...]:
    if one.code not in (Code.LOOSENS, Code.MAY_LOOSEN):
        return (number,)
    values = (one.data["today"], one.data["after"], one.data["groups"], one.data["discovered"]) if whole else ()
    return (one.code, value_family(str(one.data["path"])), *values)


def _lot(lot: Sequence[Consequence]) -> Sentence:
    if len(lot) == 1:
        return lot[0].sentence
    verb = "loosens" if lot[0].code is Code.LOOSENS else "may loosen"
    path = str(lot[0].data["path"])
    return (f"This {verb} {len(lot)} values of ", Foreign(value_family(path)), ", such as ", *lot[0].sentence[1:])
