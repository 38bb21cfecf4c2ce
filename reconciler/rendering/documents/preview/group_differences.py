"""What differs of groups, and of what is done to them."""

from collections.abc import Container, Iterator, Sequence

import msgspec

from reconciler.decisions.reasons.owners import GroupHeld
from reconciler.plan.comparison import Pair, PlanComparison
from reconciler.plan.plan import Action, ActionKind, GroupLine, Plan
from reconciler.plan.reason import Reason
from reconciler.rendering.documents.blocks import FEWER, MORE, OTHERWISE, STAYS, Difference, Meaning, cut
from reconciler.rendering.documents.preview.action_differences import changes_size
from reconciler.rendering.documents.preview.consequences.group_warnings import new_reasons, warned_of
from reconciler.rendering.words.alike_actions import single_actions
from reconciler.rendering.words.fold import Fold
from reconciler.rendering.words.group_whys import action_causes, cause_words, further_reasons, size_bounds
from reconciler.rendering.words.plain import listed
from reconciler.rendering.words.wording import (
    MAIN,
    count,
    owner_words,
    settled_size,
)


def group_differences(
    pairs: Sequence[Pair[GroupLine]], actions: Sequence[Pair[Action]], fold: Fold, told: Container[tuple[str, str]] = ()
) -> tuple[Difference, ...]:
    """Each with why in a few words, and the bound that it meets; equal ones together. Those that leave, are held from now on or
    move most nodes come first. What is `told` of a group, as its name and the fact, is the policy's own difference. A group of
    which nothing is left to tell has no line."""
    done = _by_group(actions)
    most = max((size for pair in pairs for size in _ends_shown(pair)), default=0)
    lots: dict[tuple[object, ...], list[tuple[str, Difference]]] = {}
    for number, pair in enumerate(sorted(pairs, key=_gravity)):
        name = pair.either.name
        line = _group(pair, done.get(name, ()), told, most)
        if line.sentence:
            lots.setdefault((line.sentence, line.mark, line.meaning) if fold.names else (number,), []).append((name, line))
    differences = [line for lot in lots.values() for line in _together(lot, fold)]
    return cut(differences, fold.shown(len(differences), fold.rows), "group")


def _by_group(actions: Sequence[Pair[Action]]) -> dict[str, list[Pair[Action]]]:
    done: dict[str, list[Pair[Action]]] = {}
    for entry in actions:
        done.setdefault(entry.either.group, []).append(entry)
    return done


def renamed_joined(pairs: Sequence[Pair[GroupLine]]) -> list[Pair[GroupLine]]:
    """A group that leaves and one that comes for the same target are one group with its new name."""
    gone = {pair.before.target: pair.before for pair in pairs if pair.after is None and pair.before is not None}
    came = {pair.after.target for pair in pairs if pair.before is None and pair.after is not None}
    joined = []
    for pair in pairs:
        old = None if pair.after is None else gone.get(pair.after.target)
        if pair.before is None and pair.after is not None and old is not None:
            joined.append(Pair(msgspec.structs.replace(old, name=pair.after.name), pair.after))
        elif pair.after is not None or pair.either.target not in came:
            joined.append(pair)
    return joined


def only_reasons(pair: Pair[GroupLine]) -> bool:
    """Whether nothing differs but why, or what a group would do that is held under both policies."""
    old, new = pair.before, pair.after
    if old is None or new is None:
        return False
    same = msgspec.structs.replace(old, reasons=new.reasons, wanted=new.wanted if new.held else old.wanted)
    return same == new


def told_as_warning(pair: Pair[GroupLine], comparison: PlanComparison) -> bool:
    """Whether nothing differs but what is now warned of in the same words."""
    old, new = pair.before, pair.after
    if old is None or new is None or msgspec.structs.replace(old, reasons=new.reasons) != new:
        return False
    known, told = ({reason.message for reason in reasons} for reasons in (old.reasons, warned_of(pair, comparison)))
    return known | told == {reason.message for reason in new.reasons} and bool(told)


def note_differences(
    pairs: Sequence[Pair[GroupLine]], comparison: PlanComparison, plan: Plan, fold: Fold
) -> tuple[Difference, ...]:
    """What the plan says of groups that it does not say under main, besides the actions, the warnings and why it holds one."""
    lots: dict[str, list[str]] = {}
    for pair in pairs:
        if pair.after is None:
            continue
        told = {reason.message for reason in (*warned_of(pair, comparison), *_holding(pair.after))}
        further = further_reasons(pair.after, [action for action in plan.actions if action.group == pair.after.name])
        for reason in new_reasons(pair, comparison):
            if reason in further and reason.message not in told:
                lots.setdefault(reason.message, []).append(pair.after.name)
    lines = [
        Difference(OTHERWISE, f"{listed(tuple(names), fold.names)}: {words}", number=len(names)) for words, names in lots.items()
    ]
    return cut(lines, fold.shown(len(lines), fold.rows), "note")


def _holding(line: GroupLine) -> tuple[Reason, ...]:
    return tuple(reason for reason in line.reasons if line.held and reason.code in (GroupHeld.code, "TargetMissing"))


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


def _group(pair: Pair[GroupLine], changed: Sequence[Pair[Action]], told: Container[tuple[str, str]], most: int) -> Difference:
    """The words behind its name."""
    old, new = pair.before, pair.after
    if old is None or new is None:
        line = pair.either
        came = old is None
        sentence = f"a group from now on, {line.current} -> {line.desired}" if came else f"leaves the policy at {line.current}"
        return Difference(MORE if came else FEWER, f"{sentence}{_why(pair, changed)}")
    sizes = [("desired", str(old.desired), str(new.desired)), ("steady state", _size(old.settled), _size(new.settled))]
    if sizes[0][1:] == sizes[1][1:]:
        sizes = [("nodes", *sizes[0][1:])]
    if old.target != new.target:
        sizes = []
    facts = [
        (name, before, after)
        for name, before, after in (
            *sizes,
            ("range", f"{old.min}..{old.max}", f"{new.min}..{new.max}"),
            ("tier", old.tier or "none", new.tier or "none"),
            ("owner", *((owner_words(old), owner_words(new)) if old.held is new.held else ("", ""))),
            ("price", old.price_per_hour or "none", new.price_per_hour or "none"),
            ("target", old.target, new.target),
        )
        if before != after and (new.name, name) not in told
    ]
    parts = [f"{name} {before} -> {after}{_bar(pair, most) if name in _LAST_SIZE else ''}" for name, before, after in facts]
    parts += [f"the old target keeps {count(old.current, 'node')}"] if old.target != new.target else []
    parts += size_bounds(new) if old.desired != new.desired else ()
    if new.held and new.wanted is not None and new.wanted not in (old.wanted, new.current):
        # What a group would do is known of held ones only, and a held one goes nowhere.
        other = f" ({MAIN}: {old.wanted})" if old.held and old.wanted is not None else ""
        parts.append(f"would go to {new.wanted}{other}")
    if new.held is not old.held:
        parts.append(f"held: {_held_for(new)}" if new.held else "no longer held")
    sentence = ", ".join(parts)
    sentence += "" if new.held else _why(pair, changed)
    more = settled_size(new) - settled_size(old) or new.desired - old.desired
    mark = MORE if more > 0 else FEWER if more < 0 else STAYS if new.held else OTHERWISE
    return Difference(mark, sentence, Meaning.HELD if new.held else Meaning.NEUTRAL)


def _held_for(group: GroupLine) -> str:
    """`recovering disk (spot.yaml:24:3)`."""
    reasons = {reason.code: reason.message for reason in group.reasons}
    return reasons.get(GroupHeld.code, owner_words(group)).removeprefix(f"{group.name} is held: ")


_CAUSES = ("BelowMin", "Headroom")
"""Reasons that an action may have as well as the one that it names."""
_LAST_SIZE = ("nodes", "steady state")
_MOST_CELLS = 24


def _ends_shown(pair: Pair[GroupLine]) -> tuple[int, ...]:
    return tuple(settled_size(line) for line in (pair.before, pair.after) if line is not None)


def _bar(pair: Pair[GroupLine], most: int) -> str:
    """` ■■■■++`: a cell for each node of both sides, then the nodes that come (`+`) or go (`-`). All bars have the scale in which
    `most` nodes have room."""
    sizes = _ends_shown(pair)
    old, new = (-(-size * min(most, _MOST_CELLS) // most) if most else 0 for size in sizes)
    return f" {'■' * min(old, new)}{'+' * (new - old)}{'-' * (old - new)}"


def _size(value: int | None) -> str:
    return "unknown" if value is None else str(value)


def _why(pair: Pair[GroupLine], changed: Sequence[Pair[Action]]) -> str:
    """`: 3 pending pods, headroom for 2 nodes`, or what this is for under main alone; empty where the size is what it was."""
    if pair.after is None or not changes_size(pair):
        return ""
    causes = list(action_causes([entry.after for entry in changed if entry.after is not None]))
    ended = list(action_causes([entry.before for entry in changed if entry.after is None and entry.before is not None]))
    known = () if pair.before is None else pair.before.reasons
    causes += [cause_words(reason) for reason in pair.after.reasons if reason.code in _CAUSES and reason not in known]
    words = ", ".join(dict.fromkeys(causes)) or (f"{', '.join(ended)} under {MAIN}" if ended else "")
    return f": {words}" if words else ""


def why_differences(pairs: Sequence[Pair[GroupLine]], actions: Sequence[Pair[Action]], fold: Fold) -> tuple[Difference, ...]:
    """Why groups get another size, in whole sentences: what is chosen, and instead of what."""
    done = _by_group(actions)
    changed = [entry.after for pair in sorted(pairs, key=_gravity) if changes_size(pair)
               for entry in done.get(pair.either.name, ()) if entry.after is not None and entry.after.kind in _SIZED]  # fmt: skip
    lines = [Difference(OTHERWISE, f"{lot.first.group}: {lot.sentence}") for lot in single_actions(changed)]
    return cut(lines, fold.shown(len(lines), fold.rows), "group")


_SIZED = (ActionKind.RESIZE, ActionKind.RELEASE)
