"""What differs of groups, and of what is done to them."""

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from reconciler.plan.comparison import Pair
from reconciler.plan.plan import Action, ActionKind, GroupLine
from reconciler.rendering.documents.blocks import FEWER, MORE, OTHERWISE, STAYS, Difference, Meaning, cut
from reconciler.rendering.documents.preview.consequences.groups import ABOUT_TEMPLATES
from reconciler.rendering.words.alike_actions import AlikeActions, alike_actions, lot_words, single_actions
from reconciler.rendering.words.fold import Fold
from reconciler.rendering.words.group_notes import further_reasons, size_bounds
from reconciler.rendering.words.plain import listed
from reconciler.rendering.words.wording import GROWS, MAIN, SHRINKS, action_mark, action_words, owner_words, settled_size

_REASONS_SHOWN = 2


def group_differences(pairs: Sequence[Pair[GroupLine]], actions: Sequence[Pair[Action]], fold: Fold) -> tuple[Difference, ...]:
    """Each with the reason of what is done now, and the bound that it meets; equal ones together. Those that leave, are held
    from now on or move most nodes come first."""
    done: dict[str, list[Pair[Action]]] = {}
    for entry in actions:
        done.setdefault(entry.either.group, []).append(entry)
    moved = sorted(pairs, key=_gravity)
    whys = [_why(pair, done.get(pair.either.name, ())) for pair in moved]
    often = Counter(why.alike for why in whys)
    lots: dict[tuple[object, ...], list[tuple[str, Difference]]] = {}
    for number, (pair, why) in enumerate(zip(moved, whys, strict=True)):
        line = _group(pair)
        # What many groups share is stated once, among the actions; each then names its code.
        why_words = why.codes if fold.names and often[why.alike] > fold.names else why.words
        line = msgspec.structs.replace(line, sentence=f"{line.sentence}{why_words}")
        lots.setdefault((line.sentence, line.mark, line.meaning) if fold.names else (number,), []).append(
            (pair.either.name, line)
        )
    differences = [line for lot in lots.values() for line in _together(lot, fold)]
    return cut(differences, fold.shown(len(differences), fold.rows), "group")


def told_as_warning(pair: Pair[GroupLine]) -> bool:
    """Whether nothing differs but that a template now contradicts the nodes, which is a warning in the same words."""
    old, new = pair.before, pair.after
    if old is None or new is None or msgspec.structs.replace(old, reasons=new.reasons) != new:
        return False
    known, now = ({reason.message: reason for reason in line.reasons} for line in (old, new))
    return known.keys() < now.keys() and all(now[words].code in ABOUT_TEMPLATES for words in now.keys() - known.keys())


def _together(lot: Sequence[tuple[str, Difference]], fold: Fold) -> Iterator[Difference]:
    """`6 groups (a, b, c and 3 more): range 0..10 -> 0..20`, where so many say the same; else group by group."""
    names = tuple(name for name, _ in lot)
    line = lot[0][1]
    if len(lot) > fold.names + 1:
        sentence = f"{len(lot)} groups ({listed(names, fold.names)}): {line.sentence}"
        yield msgspec.structs.replace(line, sentence=sentence, number=len(lot))
        return
    for name in names:
        yield msgspec.structs.replace(line, sentence=f"{name}: {line.sentence}")


def _gravity(pair: Pair[GroupLine]) -> tuple[int, int]:
    """Groups that leave or are held now, then by how many nodes the group settles elsewhere."""
    becomes_held = pair.after is not None and pair.after.held and (pair.before is None or not pair.before.held)
    sizes = [0 if line is None else settled_size(line) for line in (pair.before, pair.after)]
    return 0 if pair.after is None or becomes_held else 1, -abs(sizes[1] - sizes[0])


def _group(pair: Pair[GroupLine]) -> Difference:
    """The words behind its name."""
    old, new = pair.before, pair.after
    if old is None or new is None:
        line = pair.either
        came = old is None
        sentence = f"a group from now on, {line.current} -> {line.desired}" if came else f"leaves the policy at {line.current}"
        return Difference(MORE if came else FEWER, sentence)
    sizes = [("desired", str(old.desired), str(new.desired)), ("settled", _size(old.settled), _size(new.settled))]
    if sizes[0][1:] == sizes[1][1:]:
        sizes = [("nodes", *sizes[0][1:])]
    facts = [
        (name, before, after)
        for name, before, after in (
            ("now", str(old.current), str(new.current)),
            *sizes,
            ("range", f"{old.min}..{old.max}", f"{new.min}..{new.max}"),
            ("tier", old.tier or "none", new.tier or "none"),
            ("owner", *((owner_words(old), owner_words(new)) if old.held is new.held else ("", ""))),
            ("held", "yes" if old.held else "no", "yes" if new.held else "no"),
            ("price", old.price_per_hour or "none", new.price_per_hour or "none"),
            ("target", old.target, new.target),
        )
        if before != after
    ]
    parts = [f"{name} {before} -> {after}" for name, before, after in facts]
    parts += size_bounds(new) if old.desired != new.desired else ()
    if new.held and new.wanted is not None and new.wanted not in (old.wanted, new.current):
        # What a group would do is known of held ones only, and a held one goes nowhere.
        other = f" ({MAIN}: {old.wanted})" if old.held and old.wanted is not None else ""
        parts.append(f"held at {new.current}, would go to {new.wanted}{other}")
    sentence = ", ".join(parts) or _other_reasons(old, new)
    more = settled_size(new) - settled_size(old) or new.desired - old.desired
    mark = MORE if more > 0 else FEWER if more < 0 else STAYS if new.held else OTHERWISE
    return Difference(mark, sentence, Meaning.HELD if new.held else Meaning.NEUTRAL)


def _other_reasons(old: GroupLine, new: GroupLine) -> str:
    """The first reason that comes or goes, where nothing else differs."""
    here, there = ([reason.message for reason in line.reasons] for line in (new, old))
    for words, messages, others in (("now", here, there), ("no longer", there, here)):
        if (message := next((one for one in messages if one not in others), None)) is not None:
            return f"{words}: {message}"
    return f"other reasons than under {MAIN}"


def _size(value: int | None) -> str:
    return "unknown" if value is None else str(value)


class _Why(msgspec.Struct, frozen=True):
    """Reasons in words, and by their codes; all empty without any. Removals for one code are `alike`: their sentences differ in
    names and figures, and the actions tell them once."""

    words: str = ""
    codes: str = ""
    alike: str = ""


def _why(pair: Pair[GroupLine], changed: Sequence[Pair[Action]]) -> _Why:
    """`: 3 pending pods on 3 new nodes; general-a is at its maximum size 6`: why something is done, then the new notes about the
    group. Empty where the size is what it was."""
    old, new = pair.before, pair.after
    if new is None or (old is not None and _ends(old) == _ends(new)):
        return _Why()
    actions = [entry.after for entry in changed if entry.after is not None]
    removals = [action for action in actions if action.kind is ActionKind.REMOVE_NODE]
    codes_by_words = {
        action.reason.message: action.reason.code for action in actions if action.kind is not ActionKind.REMOVE_NODE
    }
    if removals:
        codes_by_words[alike_actions(removals)[0].sentence] = removals[0].reason.code
    known = {reason.message for reason in old.reasons} if old is not None else set()
    codes_by_words |= {reason.message: reason.code for reason in further_reasons(new, actions) if reason.message not in known}
    if not codes_by_words and (ended := [entry.before for entry in changed if entry.before is not None]):
        codes_by_words[f"no longer {alike_actions(ended)[0].sentence}"] = f"not {ended[0].reason.code}"
    words = list(codes_by_words)[:_REASONS_SHOWN]
    if not words:
        return _Why()
    sentences, codes = "; ".join(words), ", ".join(dict.fromkeys(codes_by_words[word] for word in words))
    alike = codes if removals and len(codes_by_words) == 1 else sentences
    return _Why(words=f": {sentences}", codes=f" [{codes}]", alike=alike)


def _ends(line: GroupLine) -> tuple[int, int | None, int | None]:
    return line.desired, line.settled, line.wanted


# What is done, and no longer done.

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
