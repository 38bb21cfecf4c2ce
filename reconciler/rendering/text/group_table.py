"""The table of groups as lines: those that change or are held, and the others as far as there is room."""

from reconciler.plan.plan import GroupLine, Plan
from reconciler.rendering.fold import Fold
from reconciler.rendering.group_why import group_whys, why_words
from reconciler.rendering.plain import listed
from reconciler.rendering.text.paragraph import paragraph
from reconciler.rendering.text.style import TONES, Style, Tone
from reconciler.rendering.text.table import Column, Row, table
from reconciler.rendering.wording import LEGEND, NO_GROUPS, SAME, count, group_mark, groups_with_other_actions

_FEW = 12  # as many groups are all shown, whatever becomes of them


def group_table(plan: Plan, style: Style, width: int, fold: Fold) -> list[str]:
    """A heading with a legend, and a row a group. Of many groups those that stay as they are are counted; where even the others
    are too many, those that change most are shown, in the order of the plan."""
    groups = plan.groups
    if not groups:
        return [style.paint("Node groups: none", Tone.HEADING), *paragraph(NO_GROUPS, width, 2)]
    others = groups_with_other_actions(plan.actions)
    marks = {group.name: group_mark(group, others) for group in groups}
    staying = tuple(group for group in groups if _stays(group, marks[group.name]))
    folds = len(groups) > _FEW and fold.rows > 0
    moving = tuple(group for group in groups if not (folds and _stays(group, marks[group.name])))
    chosen = {group.name for group in sorted(moving, key=_moves, reverse=True)[: fold.shown(len(moving), fold.rows)]}
    shown = [group for group in moving if group.name in chosen]
    legend = "   ".join(
        style.paint(mark, TONES[mark]) + f" {LEGEND[mark]}"
        for mark in LEGEND
        if any(marks[group.name] == mark for group in groups)
    )
    lines = [style.paint(f"Node groups: {len(groups)}", Tone.HEADING) + (f"   {legend}" if legend else "")]
    if shown:
        lines += _rows(plan, shown, marks, style, width)
    rest = [group for group in moving if group.name not in chosen]
    if rest:
        change = sum(group.desired - group.current for group in rest)
        lines += paragraph(f"and {count(len(rest), 'group')} more that change or are held ({change:+} nodes)", width, 4)
    if len(moving) < len(groups):
        names = listed(tuple(group.name for group in staying), fold.names)
        lines += paragraph(f"{count(len(staying), 'group')} {_stay(len(staying))}: {names}", width, 4)
    return lines


def _stays(group: GroupLine, mark: str) -> bool:
    return mark == SAME and group.settled in (None, group.current)


def _stay(number: int) -> str:
    return "stays as it is" if number == 1 else "stay as they are"


def _moves(group: GroupLine) -> tuple[int, int, bool]:
    rest = group.desired if group.settled is None else group.settled
    return abs(group.desired - group.current), abs(rest - group.current), group.held


def _rows(plan: Plan, groups: list[GroupLine], marks: dict[str, str], style: Style, width: int) -> list[str]:
    settled = any(group.settled is not None for group in groups)
    tiers, priced = any(group.tier for group in groups), any(group.price_per_hour for group in groups)
    columns = [
        Column(heading="group", shrinks=True),
        Column(heading="now", right=True),
        Column(heading="desired", right=True),
    ]
    columns += [Column(heading="settled", right=True)] if settled else []
    columns += [Column(heading="min..max", right=True)]
    columns += [Column(heading="tier", shrinks=True)] if tiers else []
    columns += [Column(heading=f"{plan.cost.currency}/h", right=True)] if priced else []
    columns += [Column(heading="why", wraps=True)]
    whys = group_whys(plan)
    rows = []
    for group in groups:
        cells = [group.name, str(group.current), _arrow(group.current, group.desired)]
        cells += ["" if group.settled is None else _arrow(group.desired, group.settled)] if settled else []
        cells += [f"{group.min}..{group.max}"]
        cells += [group.tier or "-"] if tiers else []
        cells += [group.price_per_hour or "-"] if priced else []
        cells += [why_words(group, whys)]
        rows.append(Row(marks[group.name], tuple(cells), TONES.get(marks[group.name])))
    return table(columns, rows, width, style)


def _arrow(before: int, after: int) -> str:
    return str(after) if before == after else f"-> {after}"
