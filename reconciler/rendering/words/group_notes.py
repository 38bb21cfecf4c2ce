"""What people should know about groups besides the actions: notes, and who owns the held ones."""

from collections.abc import Iterator, Sequence

import msgspec

from reconciler.decisions.reasons.groups import CouldBeRepacked, CouldBeReplaced, CouldReturn
from reconciler.plan.plan import Action, ActionKind, GroupLine, Plan
from reconciler.rendering.words.fold import Fold
from reconciler.rendering.words.group_whys import further_reasons
from reconciler.rendering.words.next_step import next_block
from reconciler.rendering.words.one_sentence import one_sentence
from reconciler.rendering.words.plain import listed
from reconciler.rendering.words.wording import held_words, owner_words

_COULD = (CouldBeRepacked.code, CouldBeReplaced.code, CouldReturn.code)


class GroupNote(msgspec.Struct, frozen=True, kw_only=True):
    """One sentence, the code of its reason, and the groups that it describes."""

    code: str
    sentence: str
    groups: tuple[str, ...]


class AlikeHeld(msgspec.Struct, frozen=True, kw_only=True):
    """Held groups of which the same is to be said. `target` is empty where there are several; `block` is YAML to copy, of the
    first one."""

    groups: tuple[str, ...]
    target: str
    owner: str
    sentences: tuple[str, ...]
    block: tuple[str, ...] = ()


def group_notes(plan: Plan) -> tuple[GroupNote, ...]:
    """Notes of groups that are not held, in the order of the plan; equal sentences told once. That nodes could be replaced is
    left out if the plan replaces just these."""
    actions: dict[str, list[Action]] = {}
    for action in plan.actions:
        actions.setdefault(action.group, []).append(action)
    begun = {action.nodes for action in plan.actions if action.kind is ActionKind.REPLACE}
    notes: dict[tuple[str, str], list[str]] = {}
    for group in plan.groups:
        for reason in () if group.held else further_reasons(group, actions.get(group.name, ())):
            if reason.code not in _COULD or reason.data.get("nodes") not in begun:
                notes.setdefault((reason.code, reason.message), []).append(group.name)
    return tuple(GroupNote(code=code, sentence=message, groups=tuple(names)) for (code, message), names in notes.items())


def folded_notes(notes: Sequence[GroupNote], fold: Fold) -> Iterator[str]:
    """`a, b and 9 more: sentence`. Where many notes of one code differ in figures, these become spans; else the first ones are
    told."""
    by_code: dict[str, list[GroupNote]] = {}
    for note in notes:
        by_code.setdefault(note.code, []).append(note)
    for those in by_code.values():
        shown = fold.shown(len(those), fold.names)
        merged = one_sentence([note.sentence for note in those], _about(those)) if shown < len(those) else None
        if merged is not None:
            yield f"{listed(tuple(name for note in those for name in note.groups), fold.names)}: {merged}"
            continue
        for note in those[:shown]:
            yield f"{listed(note.groups, fold.names)}: {note.sentence}"
        if shown < len(those):
            rest = tuple(name for note in those[shown:] for name in note.groups)
            yield f"{listed(rest, fold.names)}: likewise [{those[0].code}]"


def _about(notes: Sequence[GroupNote]) -> tuple[str, ...]:
    return tuple(note.groups[0] for note in notes)


def single_held(groups: Sequence[GroupLine]) -> tuple[AlikeHeld, ...]:
    """Each held group as a lot of its own."""
    return tuple(_lot([group]) for group in groups)


def alike_held(groups: Sequence[GroupLine]) -> tuple[AlikeHeld, ...]:
    """Held groups with one owner and sentences that differ in names and figures only: the largest lots first."""
    lots: dict[tuple[str, int], list[GroupLine]] = {}
    for group in groups:
        lots.setdefault((owner_words(group), len(held_words(group))), []).append(group)
    together = []
    for those in lots.values():
        alike = len(those) > 1 and None not in _merged(those)
        together += [_lot(those)] if alike else [_lot([group]) for group in those]
    order = {group.name: number for number, group in enumerate(groups)}
    return tuple(sorted(together, key=lambda lot: (-len(lot.groups), order[lot.groups[0]])))


def _merged(groups: Sequence[GroupLine]) -> tuple[str | None, ...]:
    names = tuple(group.name for group in groups)
    return tuple(one_sentence(column, names) for column in zip(*(held_words(group) for group in groups), strict=True))


def _lot(groups: Sequence[GroupLine]) -> AlikeHeld:
    return AlikeHeld(
        groups=tuple(group.name for group in groups),
        target=groups[0].target if len(groups) == 1 else "",
        owner=owner_words(groups[0]),
        sentences=tuple(held_words(groups[0]) if len(groups) == 1 else (word or "" for word in _merged(groups))),
        block=next_block(groups[0]),
    )
