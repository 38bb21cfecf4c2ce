"""What a change of policy does, in a few words for the first line of its preview."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from reconciler.plan.comparison import Pair
from reconciler.plan.plan import GroupLine
from reconciler.plan.preview import Preview
from reconciler.policy.changes.comparison import UNSET, PolicyChange
from reconciler.policy.changes.loosening import REMOVED, Loosened
from reconciler.rendering.documents.blocks import Foreign, Sentence, names_listed
from reconciler.rendering.documents.preview.consequences.consequence import Code, Consequence
from reconciler.rendering.documents.preview.consequences.looser_values import value_family
from reconciler.rendering.documents.preview.consequences.looser_words import (
    WITHOUT_BUDGETS,
    looser_words,
    reached_words,
    removed_words,
)
from reconciler.rendering.documents.preview.consequences.writing import listed_names
from reconciler.rendering.documents.preview.policy_differences import gravest_changes
from reconciler.rendering.words.wording import count
from reconciler.values.plural import verb_for

_BRIEF = 24
"""Characters of a value that a first line has room for."""
_DEFAULT = re.compile(r"unset \(default (.+)\)")
_HOLD = re.compile(r"\{reason: (.*)\}")
_DISCOVERY = re.compile(r"discovery\[([^\]]*)\]\.(\w+)")
INHERITED = f"{UNSET} (inherited)"
_FROM_UNSET = ("hold", "headroom", "limits[")
LOOSER = (Code.LOOSENS, Code.MAY_LOOSEN)


class Causes(NamedTuple):
    """Words for what changes, the longest wording first: those that name the value, and those that only say where it is."""

    named: tuple[Sentence, ...] = ()
    vague: tuple[Sentence, ...] = ()


def cause_words(preview: Preview, effects: Sequence[Consequence]) -> Causes:
    """`auto may grow to 14 nodes (was 10)`, with how many more values change. Of several values the gravest is named."""
    changes = gravest_changes(preview.changes, preview.loosened)
    loose = [one for one in effects if one.code in LOOSER]
    if not changes and not loose:
        return Causes(tuple(price_words(pairs)) if (pairs := repriced(preview)) else ())
    if moved := _moved_tier(preview):
        # Values that become looser come from the other tier.
        found, told, loose = Causes((moved,)), 1, []
    else:
        found, told = _looser(loose) if loose else (Causes(), 1)
        if not found.named:
            found, told = _changed(preview, changes, effects)
    number = max(len(loose), len(changes))
    if number == told:
        return found
    more = f" and {count(number - told, 'more change')}"
    return Causes(tuple((*words, more) for words in found.named))


def only_renamed(changes: Sequence[PolicyChange]) -> bool:
    """Whether nothing but the name of one document changes."""
    return len(changes) == 1 and not changes[0].path and None not in (changes[0].before, changes[0].after)


def removal_words(lot: Sequence[Consequence], *, briefly: bool = False) -> Sentence:
    """Items of one list that are removed, in one sentence; nothing for anything else. `briefly`: without what follows from it."""
    paths = [str(one.data["path"]) for one in lot if one.data.get("after") == REMOVED and not one.data["groups"]]
    families = {value_family(path) for path in paths}
    if len(paths) < len(lot) or len(families) != 1:
        return ()
    names = [path.partition("[")[2].removesuffix("]") for path in paths]
    return removed_words(families.pop(), names, last=lot[0].code is Code.MAY_LOOSEN and not briefly)


def _looser(loose: Sequence[Consequence]) -> tuple[Causes, int]:
    """The words of the gravest looser value, and how many values they tell."""
    if len(loose) > 1 and (removed := removal_words(loose, briefly=True)):
        all_budgets = loose[0].code is Code.MAY_LOOSEN and str(loose[0].data["path"]).startswith("budgets")
        return Causes((*(((WITHOUT_BUDGETS,),) if all_budgets else ()), removed)), len(loose)
    return Causes(looser_wordings(loose[0])), 1


def looser_wordings(effect: Consequence) -> tuple[Sentence, ...]:
    """One looser value with the groups that it reaches, and with their number; empty for a value without words of its own."""
    groups = effect.data["groups"]
    one = Loosened(
        path=str(effect.data["path"]), before=str(effect.data["today"]), after=str(effect.data["after"]), certain=True,
        groups=groups if isinstance(groups, tuple) else (), discovered=bool(effect.data["discovered"]),
    )  # fmt: skip
    if one.path.startswith("discovery[") and not looser_words(one):
        return ()
    return tuple(words for words in (effect.named, looser_words(one, briefly=True)) if words)


def _changed(preview: Preview, changes: Sequence[PolicyChange], effects: Sequence[Consequence]) -> tuple[Causes, int]:
    """The words of the first change, and how many changes they tell."""
    first = changes[0]
    if not first.path:
        return _document(first, effects)
    if found := _DISCOVERY.match(first.path):
        same = [one for one in changes if (other := _DISCOVERY.match(one.path)) and other[1] == found[1]]
        return Causes((_discovered(found[1], same),)), len(same)
    if first.ordered:
        return Causes((_order(first),)), 1
    if first.path == "pricePerHour" and (pairs := repriced(preview)):
        return Causes(tuple(price_words(pairs))), max(1, len(pairs))
    whose = (first.name,) if first.kind == "NodeGroup" else first.reaches if "defaults." in first.path else ()
    path = first.path.rpartition("defaults.")[2]
    if path == "adoptFrom" and (lost := sorted(listed_names(first.before or "") - listed_names(first.after or ""))):
        return Causes(((Foreign(path), " no longer names ", *names_listed(lost, 1)),)), 1
    words = [_in_words(first, path, whose, briefly=briefly) for briefly in (False, True)]
    if path == "hold" and first.after is not None:
        words.append((*reached_words(whose, discovered=False), f" {verb_for(len(whose), 'is', 'are')} held"))
    of = (" of ", *reached_words(whose, discovered=False)) if whose else ()
    values = [UNSET if value == INHERITED else value for value in (first.value_before, first.value_after)]
    if not any(words) and all(len(value) <= _BRIEF for value in values):
        words = [(Foreign(path), *of, " ", Foreign(values[0]), " -> ", Foreign(values[1]))]
    if len(whose) > 1:
        of = (f" of {count(len(whose), 'group')}",)
    return Causes(tuple(one for one in words if one), ((Foreign(path), *of, " changes"),)), 1


def _document(change: PolicyChange, effects: Sequence[Consequence]) -> tuple[Causes, int]:
    """The words of a document that comes, goes or gets another name, and how many documents they tell."""
    what = f"{change.kind} ", Foreign(change.before or change.name)
    if change.before is not None and change.after is not None:
        return Causes(((*what, " is renamed to ", Foreign(change.after)),)), 1
    code = Code.GROUPS_LEAVE if change.after is None else Code.GROUPS_COME
    for one in effects:
        groups = one.data.get("groups")
        if one.code is code and isinstance(groups, tuple) and change.name in groups:
            return Causes((one.named,)), len(groups)
    return Causes(((*what, " is removed" if change.after is None else " is added"),)), 1


def discovery_rule(path: str) -> str:
    """`all` of `discovery[all].clusterAPI`; empty for any other path."""
    found = _DISCOVERY.match(path)
    return found[1] if found else ""


def _discovered(rule: str, changes: Sequence[PolicyChange]) -> Sentence:
    """`discovery rule all finds openshift targets instead of clusterAPI`, or which keys of it change."""
    keys = [(found[2], one) for one in changes if (found := _DISCOVERY.match(one.path))]
    gone = [key for key, one in keys if one.after is None and one.path.endswith(f"].{key}")]
    come = [key for key, one in keys if one.before is None and one.path.endswith(f"].{key}")]
    head = ("discovery rule ", Foreign(rule))
    if len(gone) == len(come) == 1:
        return (*head, " finds ", Foreign(come[0]), " targets instead of ", Foreign(gone[0]))
    one = changes[0]
    path = one.path.partition("].")[2]
    if max(len(one.value_before), len(one.value_after)) > _BRIEF:
        return (*head, ": ", Foreign(path), " changes")
    return (*head, ": ", Foreign(path), " ", Foreign(one.value_before), " -> ", Foreign(one.value_after))


def _order(change: PolicyChange) -> Sentence:
    """`on-demand now comes before spot`: of the first place at which both orders differ."""
    sides = [text.split(", ") for text in (change.value_before, change.value_after)]
    for old, new in zip(*sides, strict=False):
        if old != new:
            what = (("tier ",), ()) if change.ordered == "tiers" else ((), (f" in {change.ordered}",))
            return (*what[0], Foreign(new), " now comes before ", Foreign(old), *what[1])
    return (f"the order of {change.ordered} changes",)


def _moved_tier(preview: Preview) -> Sentence:
    for pair in () if preview.comparison is None else preview.comparison.groups:
        old, new = pair.before, pair.after
        if old is not None and new is not None and old.tier != new.tier:
            where = (" moves to tier ", Foreign(new.tier)) if new.tier else (" leaves tier ", Foreign(old.tier or ""))
            return (Foreign(new.name), *where)
    return ()


def _in_words(change: PolicyChange, path: str, groups: tuple[str, ...], *, briefly: bool) -> Sentence:
    """`budget drained lets only 0 nodes leave at a time (was 1)`: of a value that does not become looser."""
    before, after = (_DEFAULT.sub(r"\1", value) for value in (change.value_before, change.value_after))
    before, after = (UNSET if value.startswith(UNSET) else value for value in (before, after))
    if UNSET in (before, after) and not path.startswith(_FROM_UNSET):
        return ()
    if path == "hold":
        after = _HOLD.sub(r"\1", after).replace(", until: ", ", until ")
    one = Loosened(path=path, before=before, after=after, certain=True, groups=groups)
    return looser_words(one, stricter=True, briefly=briefly)


def repriced(preview: Preview) -> list[Pair[GroupLine]]:
    """Groups of both policies with another price, whatever is decided."""
    pairs = () if preview.comparison is None else preview.comparison.groups
    return [
        pair for pair in pairs
        if pair.before is not None and pair.after is not None and pair.before.price_per_hour != pair.after.price_per_hour
    ]  # fmt: skip


def price_words(pairs: Sequence[Pair[GroupLine]]) -> list[Sentence]:
    """`price of spot corrected from 0.058 to 0.58`, the longest wording first."""
    if len(pairs) > 1:
        return [(f"prices of {len(pairs)} groups corrected",)]
    old, new = (None if line is None else line.price_per_hour for line in (pairs[0].before, pairs[0].after))
    name = Foreign(pairs[0].either.name)
    if old is None or new is None:
        return [
            (name, " now has a price: ", Foreign(new))
            if new is not None
            else (name, " has no price (was ", Foreign(old or ""), ")")
        ]
    return [("price of ", name, " corrected from ", Foreign(old), " to ", Foreign(new)), ("price of ", name, " corrected")]
