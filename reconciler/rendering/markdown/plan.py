"""A whole plan as markdown for a pull request, within the length that GitHub accepts."""

from collections.abc import Sequence

import msgspec

from reconciler.plan.money import HOURS_PER_MONTH
from reconciler.plan.plan import Plan
from reconciler.rendering.consequences import rest_words
from reconciler.rendering.fold import Fold
from reconciler.rendering.group_why import group_whys, why_words
from reconciler.rendering.markdown.changes import change_lines
from reconciler.rendering.markdown.length import GITHUB_LIMIT, length
from reconciler.rendering.markdown_code import code, fenced, folded, table
from reconciler.rendering.text.page import Page
from reconciler.rendering.text.style import Style
from reconciler.rendering.wording import NO_GROUPS, STAY_PENDING, cost_rows, count, header_words

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
        blocks.append([f"Left out, since a comment has a limited length: {', '.join(missing)}. `-o json` has everything."])
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
