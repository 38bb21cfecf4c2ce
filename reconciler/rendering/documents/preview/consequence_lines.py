"""The consequences of a preview, line by line."""

import re
from collections.abc import Iterator, Sequence

import msgspec

from reconciler.plan.preview import Preview
from reconciler.plan.reason import Scalar
from reconciler.policy.changes.loosening import ADDED
from reconciler.rendering.documents.blocks import (
    Alarm,
    Foreign,
    Meaning,
    Sentence,
    capitalized,
    plain_sentence,
)
from reconciler.rendering.documents.preview.cause_words import LOOSER, discovery_rule, looser_wordings, removal_words
from reconciler.rendering.documents.preview.consequences.all import consequences
from reconciler.rendering.documents.preview.consequences.consequence import Code, Consequence, Grade
from reconciler.rendering.documents.preview.consequences.looser_values import value_family
from reconciler.rendering.documents.preview.consequences.looser_words import EMPTY_NODES_TOO, WITHOUT_BUDGETS
from reconciler.rendering.documents.preview.headline import headline

_TOLD = (Code.NODES_IN_STEADY_STATE, Code.COST, Code.PODS_PLACED, Code.TESTS_LOST, Code.GROUPS_HELD)
"""What the table of figures, the lines about policy tests and those of groups say."""
_MOST_LINES = 5


_MEANINGS = {Grade.CAUTION: Meaning.DANGER, Grade.WARNING: Meaning.HELD, Grade.NOTE: Meaning.NEUTRAL}


def consequence_alarms(preview: Preview, *, everything: bool = False, causes: bool = True) -> Iterator[Alarm]:
    """What stands above the table of figures: the lines of each grade, the gravest first. Equal ones are folded, and what is cut
    is counted with the gravest of it; neither with `everything`. `causes`: cautions name the values that may cause them."""
    effects = [one for one in consequences(preview) if one.code not in _TOLD]
    missing = [one.data["groups"] for one in effects if one.code is Code.TARGET_MISSING]
    effects = [one for one in effects if one.code is not Code.GROUPS_LEAVE or one.data["groups"] not in missing]
    told = plain_sentence(headline(preview)).lower()
    for grade in Grade:
        mine = [one for one in effects if one.grade is grade]
        mine = mine if everything else [_untold(one, told) for one in mine]
        mine = list(_with_causes(mine)) if causes else mine
        lines = [one.sentence for one in mine] if everything else _folded(mine, told)
        lines = [line for line in lines if line and (everything or plain_sentence(line).removesuffix(".").lower() not in told)]
        if lines:
            yield Alarm(_MEANINGS[grade], tuple(lines), grade.capitalize())


def _untold(one: Consequence, told: str) -> Consequence:
    """With what the headline does not say of it."""
    loose = one.code in LOOSER
    if loose and one.data["after"] == ADDED and re.search(_window_words(str(one.data["path"])), told):
        return msgspec.structs.replace(one, sentence=())
    if loose and (rule := discovery_rule(str(one.data["path"]))) and f"discovery rule {rule.lower()} finds " in told:
        return msgspec.structs.replace(one, sentence=())
    wordings = (
        looser_wordings(one) if loose else ((one.named or (one.short,),) if one.detail == () else ((one.short,), one.named))
    )
    if (one.detail is None and not loose) or not any(plain_sentence(words).lower() in told for words in wordings if words):
        return one
    return msgspec.structs.replace(one, sentence=one.detail or ())


def _window_words(path: str) -> str:
    """What the first line says of `windows[night]` while it is open; a pattern without a match for any other path."""
    found = re.fullmatch(r"windows\[([^\]]*)\]", path)
    return rf"^in window {re.escape(found[1].lower())}\b" if found else r"(?!)"


def _with_causes(effects: Sequence[Consequence]) -> Iterator[Consequence]:
    """Each with the changed values that may cause it, unless an earlier line names the same ones."""
    known: set[Sentence] = {()}
    for one in effects:
        whole = (*one.sentence, *one.causes) if one.sentence else one.causes and (one.causes[0].lstrip(), *one.causes[1:])
        yield one if one.causes in known else msgspec.structs.replace(one, sentence=whole)
        known.add(one.causes)


def _folded(effects: Sequence[Consequence], told: str) -> list[Sentence]:
    """First those of equal values together, then, where they are still many, those of one field."""
    for whole in (True, False):
        lots: dict[tuple[Scalar, ...], list[Consequence]] = {}
        for number, one in enumerate(effects):
            lots.setdefault(_alike(one, number, whole=whole), []).append(one)
        if len(lots) <= _MOST_LINES + 1:
            break
    lines = [_lot(lot, told) for lot in lots.values()]
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


def _lot(lot: Sequence[Consequence], told: str) -> Sentence:
    if len(lot) == 1:
        return lot[0].sentence
    if removed := removal_words(lot):
        if plain_sentence((WITHOUT_BUDGETS,)).lower() in told:
            removed = (*removal_words(lot, briefly=True), EMPTY_NODES_TOO)
        return (*capitalized(removed), ".")
    verb = "loosens" if lot[0].code is Code.LOOSENS else "may loosen"
    path = str(lot[0].data["path"])
    first = lot[0].named or lot[0].sentence[1:-1]
    return (f"This {verb} {len(lot)} values of ", Foreign(value_family(path)), ", such as: ", *first, ".")
