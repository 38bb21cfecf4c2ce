"""Actions of which the same is to be said, told once: by what is done and why, then by group, then by name."""

from collections.abc import Sequence

import msgspec

from reconciler.plan.plan import Action, ActionKind
from reconciler.rendering.words.fold import Fold
from reconciler.rendering.words.one_sentence import one_sentence
from reconciler.rendering.words.plain import listed
from reconciler.rendering.words.wording import action_words, count


class GroupActions(msgspec.Struct, frozen=True, kw_only=True):
    """Actions of one kind, for one reason, on one group: sizes before the first and after the last of them."""

    group: str
    before: int
    after: int
    nodes: tuple[str, ...]


class AlikeActions(msgspec.Struct, frozen=True, kw_only=True):
    """Actions of one kind for reasons of one code. `sentence` holds for all of them. `only`: there is just this one."""

    first: Action
    sentence: str
    groups: tuple[GroupActions, ...]
    nodes: int
    only: bool


def alike_actions(actions: Sequence[Action]) -> tuple[AlikeActions, ...]:
    """Lots in the order of their first action. Removals of nodes are told together, everything else one by one."""
    lots: dict[tuple[str, ...], list[Action]] = {}
    for number, action in enumerate(actions):
        folds = action.kind is ActionKind.REMOVE_NODE
        key = (action.kind, action.reason.code) if folds else (str(number),)
        lots.setdefault(key, []).append(action)
    return _mixes_once([_lot(lot) for lot in lots.values()])


def single_actions(actions: Sequence[Action]) -> tuple[AlikeActions, ...]:
    """Each action as a lot of its own."""
    return _mixes_once([_lot([action]) for action in actions])


_CHOSEN = ", chosen by "


def _mixes_once(lots: Sequence[AlikeActions]) -> tuple[AlikeActions, ...]:
    """Only the first group of a mix says why the mix was chosen. The others name that group."""
    first: dict[tuple[object, ...], str] = {}
    told = []
    for lot in lots:
        data, group = lot.first.reason.data, lot.first.group
        mix = first.setdefault((data["expander"], data["compared"]), group) if data.get("compared") else group
        pods, chosen, why = lot.sentence.partition(_CHOSEN)
        if mix != group and chosen:
            more = "".join(why.partition(". ")[1:])
            told.append(msgspec.structs.replace(lot, sentence=f"{pods}, of the same mix as those of {mix}{more}"))
        else:
            told.append(lot)
    return tuple(told)


def lot_words(lot: AlikeActions, fold: Fold) -> str:
    """`general-a: resize 4 -> 7`, `spot-b: remove 14 nodes (20 -> 6): a, b, c and 11 more`, or group by group on one line."""
    if lot.only:
        return action_words(lot.first)
    if len(lot.groups) == 1:
        return group_words(lot.groups[0], fold.names, "remove ")
    shown = fold.shown(len(lot.groups), fold.names)
    parts = [f"{entry.group} {len(entry.nodes)}{_sizes(entry)}" for entry in lot.groups[:shown]]
    parts += [f"{len(lot.groups) - shown} more"] if shown < len(lot.groups) else []
    return f"remove {count(lot.nodes, 'node')} of {count(len(lot.groups), 'group')}: {', '.join(parts)}"


def group_words(entry: GroupActions, names: int, verb: str = "") -> str:
    """`spot-b: 14 nodes (20 -> 6): a, b, c and 11 more`."""
    return f"{entry.group}: {verb}{count(len(entry.nodes), 'node')}{_sizes(entry)}: {listed(entry.nodes, names)}"


def _sizes(entry: GroupActions) -> str:
    """` (20 -> 6)`, where no action of another lot stands between."""
    return f" ({entry.before} -> {entry.after})" if entry.before - entry.after == len(entry.nodes) else ""


def _lot(actions: Sequence[Action]) -> AlikeActions:
    by_group: dict[str, list[Action]] = {}
    for action in actions:
        by_group.setdefault(action.group, []).append(action)
    groups = tuple(
        GroupActions(
            group=group,
            before=max(action.from_ for action in those),
            after=min(action.to for action in those),
            nodes=tuple(node for action in those for node in action.nodes),
        )
        for group, those in by_group.items()
    )
    first = actions[0]
    messages = [action.reason.message for action in actions]
    names = [action.nodes[0] if action.nodes else "" for action in actions]
    sentence = messages[0] if len(messages) == 1 else one_sentence(messages, names) or f"for example: {messages[0]}"
    return AlikeActions(
        first=first,
        sentence=sentence,
        groups=tuple(sorted(groups, key=lambda entry: (-len(entry.nodes), entry.group))),
        nodes=sum(len(entry.nodes) for entry in groups),
        only=len(actions) == 1,
    )
