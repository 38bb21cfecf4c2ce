"""The short form of a plan: one line per group that changes, is held or has another steady state."""

from collections.abc import Sequence
from functools import reduce

from reconciler.plan.plan import Action, ActionKind, GroupLine, Plan
from reconciler.rendering.words.fold import NAMES_SHOWN
from reconciler.rendering.words.group_whys import GroupWhy, further_reasons, group_whys, removal_words, why_words
from reconciler.rendering.words.plain import plain
from reconciler.rendering.words.wording import (
    HELD,
    OTHER,
    SAME,
    group_mark,
    groups_with_other_actions,
)
from reconciler.values.two_sentences import two_sentences

_IN_COLUMN_0 = {OTHER: "!"}  # GitHub colours lines that start with + - ! in a diff block, and no others


def change_lines(plan: Plan) -> list[str]:
    """Lines for a `diff` block, the mark in column 0; changes first, then held groups, then those that settle elsewhere."""
    others = groups_with_other_actions(plan.actions)
    actions: dict[str, list[Action]] = {}
    for action in plan.actions:
        actions.setdefault(action.group, []).append(action)
    whys = group_whys(plan)
    rows: list[tuple[int, str, str, str, str]] = []
    named = {group.name for group in plan.groups}
    for group in plan.groups:
        mark = group_mark(group, others)
        if mark == SAME and group.settled in (None, group.desired):
            continue
        why = (
            why_words(group, whys)
            if mark == HELD
            else _reasons(
                actions.get(group.name, ()), group if group.name in actions or mark == SAME else None, whys.get(group.name)
            )
        )
        rank = 1 if mark == HELD else 2 if mark == SAME else 0
        rows.append((rank, _IN_COLUMN_0.get(mark, mark), plain(group.name), _sizes(group), why))
    # A released group is in no list of groups any more.
    rows += [(0, "!", plain(name), str(of[0].to), _reasons(of)) for name, of in actions.items() if name not in named]
    rows.sort(key=lambda row: row[0])
    name_width = max((len(row[2]) for row in rows), default=0)
    size_width = max((len(row[3]) for row in rows), default=0)
    return [
        f"{mark} {name.ljust(name_width)}  {sizes.ljust(size_width)}  {plain(why)}".rstrip() for _, mark, name, sizes, why in rows
    ]


def _sizes(group: GroupLine) -> str:
    size = str(group.current) if group.desired == group.current else f"{group.current} -> {group.desired}"
    return size if group.settled in (None, group.desired) else f"{size}, settled {group.settled}"


def _reasons(actions: Sequence[Action], group: GroupLine | None = None, why: GroupWhy | None = None) -> str:
    """Why it is done, or what will come without an action; the group's first other note; the bounds."""
    parts = [removals] if (removals := removal_words(actions, NAMES_SHOWN)) else []
    parts += [action.reason.message for action in actions if action.kind is not ActionKind.REMOVE_NODE]
    if why is not None:
        parts += () if actions else why.causes
    further = further_reasons(group, actions) if group is not None else ()
    parts += [reason.message for reason in further if reason.code != "MixGap"][:1]
    text = reduce(two_sentences, parts, "")
    return f"{text} ({', '.join(why.bounds)})" if why is not None and why.bounds else text
