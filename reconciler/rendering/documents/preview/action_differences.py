"""Actions that only one of the two policies takes."""

from collections.abc import Iterator, Sequence

from reconciler.plan.comparison import Pair
from reconciler.plan.plan import Action, ActionKind, GroupLine
from reconciler.rendering.documents.blocks import FEWER, MORE, OTHERWISE, Difference, cut
from reconciler.rendering.words.alike_actions import AlikeActions, alike_actions, lot_words, single_actions
from reconciler.rendering.words.fold import Fold
from reconciler.rendering.words.wording import (
    GROWS,
    MAIN,
    SHRINKS,
    action_mark,
    action_words,
)


def _ends(line: GroupLine) -> tuple[int, int | None, int | None]:
    return line.desired, line.settled, line.wanted


_KINDS = (
    ActionKind.REMOVE_NODE, ActionKind.REPLACE, ActionKind.CANCEL, ActionKind.RELEASE, ActionKind.ADOPT, ActionKind.RESIZE,
)  # fmt: skip
"""The gravest first."""
_MARKS = {GROWS: MORE, SHRINKS: FEWER}


def changes_size(pair: Pair[GroupLine]) -> bool:
    """Whether the group gets another size than under main."""
    return pair.before is None or pair.after is None or _ends(pair.before) != _ends(pair.after)


def told_as_actions(groups: Sequence[Pair[GroupLine]], actions: Sequence[Pair[Action]]) -> tuple[Pair[Action], ...]:
    """Without the changes of size, and the releases, that the line of the group tells with their reasons."""
    told = {pair.either.name for pair in groups if changes_size(pair)}
    released = {pair.after.name for pair in groups if pair.before is not None and pair.after is not None and changes_size(pair)}
    by_kind = {ActionKind.RESIZE: told, ActionKind.RELEASE: released}
    return tuple(pair for pair in actions if pair.either.group not in by_kind.get(pair.either.kind, ()))


def action_differences(pairs: Sequence[Pair[Action]], fold: Fold) -> tuple[Difference, ...]:
    """What only this PR does, then what it does differently, then what only main does; removals first."""
    ordered = [line for _, line in sorted(_lots(pairs, fold), key=lambda entry: entry[0])]
    return cut(ordered, fold.shown(len(ordered), fold.rows), "action")


def _lots(pairs: Sequence[Pair[Action]], fold: Fold) -> Iterator[tuple[tuple[int, int, int], Difference]]:
    """Lines with their place in the order."""
    lots_of = alike_actions if fold.lots else single_actions
    for lot in lots_of([pair.after for pair in pairs if pair.before is None and pair.after is not None]):
        mark = _MARKS.get(action_mark(lot.first), OTHERWISE)
        yield (
            (0, _rank(lot), -lot.nodes),
            Difference(mark, f"{lot_words(lot, fold)}: {lot.sentence}", number=_actions_in(lot)),
        )
    for pair in pairs:
        if pair.before is not None and pair.after is not None:
            sentence = f"{action_words(pair.after)}: {pair.after.reason.message} ({MAIN}: {action_words(pair.before)})"
            mark = _MARKS.get(action_mark(pair.after), OTHERWISE)
            yield (1, _KINDS.index(pair.after.kind), -len(pair.after.nodes)), Difference(mark, sentence)
    for lot in lots_of([pair.before for pair in pairs if pair.after is None and pair.before is not None]):
        sentence = f"no longer: {lot_words(lot, fold)}: {lot.sentence}"
        yield (2, _rank(lot), -lot.nodes), Difference(OTHERWISE, sentence, number=_actions_in(lot))


def _rank(lot: AlikeActions) -> int:
    return _KINDS.index(lot.first.kind)


def _actions_in(lot: AlikeActions) -> int:
    return 1 if lot.only else lot.nodes
