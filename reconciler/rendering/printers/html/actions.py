"""The actions of a plan in order. Similar removals of a group are one entry."""

from collections.abc import Mapping

from reconciler.plan.plan import Plan
from reconciler.rendering.documents.plan.actions import together
from reconciler.rendering.printers.html.element import Content, Html, arrows, joined, tag
from reconciler.rendering.printers.html.page import CLASSES, Section, counted, fold, mark, slots
from reconciler.rendering.words.alike_actions import AlikeActions, GroupActions, alike_actions
from reconciler.rendering.words.fold import Fold
from reconciler.rendering.words.group_notes import folded_notes, group_notes
from reconciler.rendering.words.wording import action_mark, action_words

MOST_ACTIONS = 400
"""Lots, and names of nodes in one of them, that are written down."""
_MOST_LINES = 200


def action_section(plan: Plan) -> Section | None:
    """What is done, in order, with the reason of each; notes about groups below."""
    known = slots([group.name for group in plan.groups])
    lots = alike_actions(plan.actions)
    items = [_one(lot, known) if lot.only else _several(lot, known) for lot in lots[:MOST_ACTIONS]]
    left = len(lots) - len(items)
    parts: list[Content] = [tag("ol", joined(items), class_="list sheet")] if items else []
    if left:
        parts.append(tag("p", f"{counted(left, 'action')} left out. All are in -o json.", class_="soft"))
    if notes := list(folded_notes(group_notes(plan), Fold())):
        entries = joined(
            tag("li", tag("span", "·", class_="m", aria_hidden="true"), tag("span", note)) for note in notes[:_MOST_LINES]
        )
        parts += [tag("h3", "About groups"), tag("ul", entries, class_="list sheet")]
    if not parts:
        return None
    number = f"{counted(len(plan.actions), 'action')}, in this order{together(plan, lots)}"
    return Section("actions", "What is done", joined(parts), number)


def _one(lot: AlikeActions, known: Mapping[str, str]) -> Html:
    sign = action_mark(lot.first)
    return tag(
        "li",
        tag("span", mark(sign)),
        tag("span", tag("b", arrows(action_words(lot.first))), ": ", lot.sentence),
        class_=CLASSES.get(sign), data_item=True, data_counted=True, data_moves=True, data_groups=known.get(lot.first.group),
    )  # fmt: skip


def _several(lot: AlikeActions, known: Mapping[str, str]) -> Html:
    sign = action_mark(lot.first)
    where = lot.groups[0].group if len(lot.groups) == 1 else counted(len(lot.groups), "group")
    summary = joined((tag("b", f"remove {counted(lot.nodes, 'node')} of {where}"), f": {lot.sentence}"))
    lines = joined(_group(entry, known) for entry in lot.groups)
    body = tag("div", fold(summary, tag("ul", lines)))
    return tag("li", tag("span", mark(sign)), body, class_=CLASSES.get(sign), data_block=True)


def _group(entry: GroupActions, known: Mapping[str, str]) -> Html:
    nodes = counted(len(entry.nodes), "node")
    # Name by name: one text is cut where it is long.
    names = joined(part for name in entry.nodes[:MOST_ACTIONS] for part in (name, " "))
    left = len(entry.nodes) - MOST_ACTIONS
    return tag(
        "li", tag("b", entry.group), f": {nodes}: ", names, f"and {left} more" if left > 0 else None,
        data_item=True, data_counted=True, data_moves=True, data_groups=known.get(entry.group),
    )  # fmt: skip
