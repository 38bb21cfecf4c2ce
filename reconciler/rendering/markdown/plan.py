"""A whole plan as markdown for a pull request, within the length that GitHub accepts."""

from collections.abc import Sequence

import msgspec

from reconciler.plan.money import HOURS_PER_MONTH
from reconciler.plan.plan import Action, ActionKind, GroupLine, Plan
from reconciler.rendering.fold import NAMES_SHOWN, Fold
from reconciler.rendering.group_notes import GroupWhy, further_reasons, group_whys, removal_words, why_words
from reconciler.rendering.markdown.document import GITHUB_LIMIT, code, fenced, folded, left_out, length, table
from reconciler.rendering.plain import plain
from reconciler.rendering.text.layout import Style
from reconciler.rendering.text.plan import Page
from reconciler.rendering.wording import (
    HELD,
    NO_GROUPS,
    OTHER,
    SAME,
    STAY_PENDING,
    cost_rows,
    count,
    group_mark,
    groups_with_other_actions,
    header_words,
    rest_words,
)

# The short of a plan: one line a group that changes, is held or would come to rest elsewhere.

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
    """Why it is done, or what is to come without an action; the first thing that is said of the group besides; the bounds."""
    parts = [told] if (told := removal_words(actions, NAMES_SHOWN)) else []
    parts += [action.reason.message for action in actions if action.kind is not ActionKind.REMOVE_NODE]
    if why is not None:
        parts += () if actions else why.causes
    parts += [reason.message for reason in further_reasons(group, actions)][:1] if group is not None else []
    return "; ".join((*parts, *(why.bounds if why is not None else ())))


_WIDTH = 120


class _Part(msgspec.Struct, frozen=True):
    """One fold. Parts with a higher `drop` go first when the whole is too long; `name` says then what is missing."""

    drop: int
    name: str
    lines: list[str]


def plan_markdown(plan: Plan, *, limit: int = GITHUB_LIMIT) -> str:
    """The plan in at most `limit` UTF-16 units, ends with a newline.

    What does not fit is left out in this order, and named: nodes that stay, reasons of pods, actions one by one, the table
    of groups, notes about groups, evidence for held groups, the cost, problems; then lines of the diff block from its end.
    """
    parts, changes = _parts(plan), change_lines(plan)
    missing: list[str] = []
    while True:
        text = _assembled(plan, parts, missing, changes)
        if length(text) <= limit or not parts:
            break
        first = max(parts, key=lambda part: part.drop)
        parts = [part for part in parts if part is not first]
        missing.append(first.name)
    return text if length(text) <= limit else _cut(plan, missing, changes, limit)


def _parts(plan: Plan) -> list[_Part]:
    page = Page(plan, Style(colour=False), _WIDTH, Fold())
    staying = sum(pod.outcome in STAY_PENDING for pod in plan.pods)
    held = sum(group.held for group in plan.groups)
    found = [
        _Part(1, "problems", _text_fold(f"Problems and what was not captured ({_warnings(plan)})", page.warnings())),
        _Part(3, "evidence for held groups", _text_fold(f"Held groups and their owners ({held})", page.held())),
        _Part(6, "actions one by one", _text_fold(f"Actions in order ({len(plan.actions)})", page.actions())),
        _Part(7, "reasons of pending pods", _text_fold(f"Pending pods ({len(plan.pods)}, of which {staying} stay)", page.pods())),
        _Part(5, "the table of groups", folded(f"All groups ({len(plan.groups)})", _group_table(plan))),
        _Part(4, "notes about groups", _text_fold("About groups", page.notes())),
        _Part(8, "nodes that stay", _text_fold(f"Nodes ({len(plan.nodes)})", page.nodes())),
        _Part(2, "the cost", folded("Cost", _cost_table(plan)) if cost_rows(plan.cost) else []),
    ]
    return [part for part in found if part.lines]


def _text_fold(title: str, lines: Sequence[str]) -> list[str]:
    return folded(title, fenced(lines, "text")) if lines else []


def _warnings(plan: Plan) -> int:
    return len(plan.problems) + len(plan.not_captured)


def _group_table(plan: Plan) -> list[str]:
    headings = ("group", ">now", ">desired", ">settled", ">min..max", "tier", f">{code(plan.cost.currency + '/h')}", "why")
    whys = group_whys(plan)
    rows = [
        (
            code(group.name),
            str(group.current),
            str(group.desired),
            "" if group.settled is None else str(group.settled),
            f"{group.min}..{group.max}",
            code(group.tier),
            code(group.price_per_hour or ""),
            code(why_words(group, whys)),
        )
        for group in plan.groups
    ]
    return table(headings, rows)


def _cost_table(plan: Plan) -> list[str]:
    rows = [(name, *(code(amount) for amount in amounts)) for name, *amounts in cost_rows(plan.cost)]
    unpriced = plan.cost.unpriced_groups
    note = [] if not unpriced else ["", f"{count(len(unpriced), 'group')} without a price not counted."]
    return table(("", ">per hour", f">per month ({HOURS_PER_MONTH} h)", ">change"), rows) + note


def _assembled(plan: Plan, parts: Sequence[_Part], missing: Sequence[str], changes: Sequence[str]) -> str:
    words = " · ".join(f"{name} {code(value)}" for name, value in header_words(plan))
    blocks = [["## Node group plan"], [words], [f"**{code(plan.summary)}**"]]
    blocks += [] if plan.groups else [[f"No node groups: {NO_GROUPS}."]]
    if rest := rest_words(plan):
        blocks.append([rest])
    if changes:
        blocks.append(fenced(changes, "diff"))
    if _warnings(plan):
        blocks.append([f"> [!WARNING]\n> {_cautions(plan)}"])
    blocks += [part.lines for part in parts]
    if missing:
        blocks.append([left_out(missing)])
    loops = "" if plan.settled_loops is None else f" · settled after {count(plan.settled_loops, 'loop')}"
    blocks.append([f"<sub>{code(plan.digest)}{loops}</sub>"])
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def _cautions(plan: Plan) -> str:
    parts = [f"{count(len(plan.problems), 'problem')} to look at."] if plan.problems else []
    if plan.not_captured:
        parts.append(f"Not captured, so not taken into account: {', '.join(code(kind) for kind in plan.not_captured)}.")
    return " ".join(parts)


def _cut(plan: Plan, missing: Sequence[str], changes: Sequence[str], limit: int) -> str:
    """As many lines of the diff block as fit."""
    low, high = 0, len(changes)
    while low < high:
        middle = (low + high + 1) // 2
        if length(_shortened(plan, missing, changes, middle)) <= limit:
            low = middle
        else:
            high = middle - 1
    return _shortened(plan, missing, changes, low)


def _shortened(plan: Plan, missing: Sequence[str], changes: Sequence[str], kept: int) -> str:
    left_out = (*missing, f"{count(len(changes) - kept, 'line')} of changes")
    return _assembled(plan, (), left_out, changes[:kept])
