"""The table of node groups."""

from collections.abc import Mapping, Sequence

from reconciler.plan.plan import Action, ActionKind, GroupLine, Plan
from reconciler.rendering.printers.html.element import DASH, NOTHING, Content, Html, joined, tag, text_lines
from reconciler.rendering.printers.html.page import CLASSES, Section, counted, fold, mark, scrolling, slots
from reconciler.rendering.words.fold import NAMES_SHOWN
from reconciler.rendering.words.group_whys import GroupWhy, further_reasons, group_whys, removal_words
from reconciler.rendering.words.next_step import next_block
from reconciler.rendering.words.wording import NO_GROUPS, SAME, group_mark, groups_with_other_actions, held_words, owner_words

MOST_GROUPS = 300
_MOST_REASONS = 6
_FEW, _SHOWN = 12, 3
_WIDTH, _PAD = 108, 7


def group_section(plan: Plan, history: Mapping[str, Html] = {}) -> Section:
    """All groups, those first that change or are held; more than `MOST_GROUPS` are counted and named as left out. `history` has
    the line of sizes of some targets."""
    others = groups_with_other_actions(plan.actions)
    actions: dict[str, list[Action]] = {}
    for action in plan.actions:
        actions.setdefault(action.group, []).append(action)
    shown = tuple(sorted(plan.groups, key=lambda group: not _moves(group, others)))[:MOST_GROUPS]
    whys = group_whys(plan)
    known = slots([group.name for group in plan.groups])
    settled = any(group.settled is not None for group in plan.groups)
    tiers = any(group.tier for group in plan.groups)
    priced = any(group.price_per_hour for group in plan.groups)
    currency = plan.cost.currency if priced else ""
    heads: list[Content] = [tag("th", "Group", scope="col"), tag("th", "Now", scope="col", class_="r")]
    heads.append(tag("th", "Desired", scope="col", class_="r"))
    heads += [tag("th", "Steady state", scope="col", class_="r")] if settled else []
    heads.append(tag("th", "Range", scope="col"))
    heads += [tag("th", "Tier", scope="col")] if tiers else []
    heads += [tag("th", "Owner", scope="col")]
    heads += [tag("th", f"{currency}/h", scope="col", class_="r")] if priced else []
    heads.append(tag("th", "Why", scope="col"))

    def table(label: str, groups: Sequence[GroupLine]) -> Html:
        rows = (
            _row(
                group,
                actions.get(group.name, ()),
                whys.get(group.name),
                others,
                known,
                currency,
                history.get(group.target),
                settled=settled,
                tiers=tiers,
            )
            for group in groups
        )
        body = tag("tbody", joined(rows))
        return scrolling(label, tag("table", tag("thead", tag("tr", joined(heads))), body, class_="stack"))

    first = _first(shown, others)
    rest = tuple(group for group in shown if group not in first)
    tables = [table("Table of node groups", first)] if first else []
    if rest:
        change = sum(_moves(group, others) for group in rest)
        summary = f"{counted(len(rest), 'more group')}, of which {change:,} change or are held"
        tables.append(fold(summary, table("Table of further node groups", rest)))
    left = len(plan.groups) - len(shown)
    note = (
        tag("p", f"{counted(left, 'group')} left out that do not change. All are in -o json.", class_="soft") if left else NOTHING
    )
    body = joined((*tables, note)) if shown else tag("p", f"There are none: {NO_GROUPS}.")
    return Section("groups", "Node groups", body, f"{len(plan.groups):,}")


def _first(groups: Sequence[GroupLine], others: frozenset[str]) -> tuple[GroupLine, ...]:
    """All of few groups; of many those that change most, in their order."""
    if len(groups) <= _FEW:
        return tuple(groups)
    ranked = sorted(groups, key=lambda group: (-abs(group.desired - group.current), not _moves(group, others)))
    chosen = {group.name for group in ranked[:_SHOWN]}
    return tuple(group for group in groups if group.name in chosen)


def _moves(group: GroupLine, others: frozenset[str]) -> bool:
    return group_mark(group, others) != SAME or group.settled not in (None, group.current)


def _row(
    group: GroupLine,
    actions: Sequence[Action],
    why: GroupWhy | None,
    others: frozenset[str],
    known: Mapping[str, str],
    currency: str,
    history: Html | None,
    *,
    settled: bool,
    tiers: bool,
) -> Html:
    sign = group_mark(group, others)
    name = tag("th", mark(sign), " " if sign in CLASSES else None, group.name, _target(group), scope="row", class_="name")
    cells: list[Content] = [name, tag("td", group.current, class_="r", data_as="Now")]
    cells.append(_size(group.current, group.desired, "Desired"))
    cells += [_size(group.current, group.settled, "Steady state")] if settled else []
    bounds = tag("div", f"{group.min} to {group.max}", class_="small soft")
    recent = tag("div", history, class_="small soft") if history is not None else None
    cells.append(tag("td", _meter(group), bounds, recent, data_as="Range"))
    cells += [tag("td", group.tier or DASH, data_as="Tier")] if tiers else []
    cells += [tag("td", owner_words(group), class_="hold" if group.held else None, data_as="Owner")]
    cells += [tag("td", group.price_per_hour or DASH, class_="r", data_as=f"{currency}/h")] if currency else []
    cells.append(tag("td", _why(group, actions, why), class_="why", data_as="Why"))
    moves = _moves(group, others)
    return tag(
        "tr", joined(cells), class_=CLASSES.get(sign), data_item=True, data_counted=True, data_moves=moves,
        data_groups=known[group.name],
    )  # fmt: skip


def _target(group: GroupLine) -> Html:
    return tag("div", group.target, class_="small soft")


def _size(before: int, after: int | None, heading: str) -> Html:
    if after is None:
        return tag("td", "unknown", class_="r soft", data_as=heading)
    size: Content = after if after == before else tag("b", after, class_="moves")
    return tag("td", size, class_="r", data_as=heading)


def _meter(group: GroupLine) -> Html:
    """A line for the range with the sizes on it; the same figures stand in the row, so that nobody needs the picture."""
    most = max(group.max, group.current, group.desired, group.settled or 0, 1)

    def at(value: int) -> int:
        return _PAD + (_WIDTH - 2 * _PAD) * value // most

    parts = [
        tag("path", class_="axis", d=f"M{_PAD} 9H{_WIDTH - _PAD}"),
        tag("path", class_="reach", d=f"M{at(min(group.min, most))} 9H{at(min(group.max, most))}"),
        tag("circle", class_="was", cx=at(group.current), cy=9, r=4),
    ]
    if group.settled is not None and group.settled != group.desired:
        parts.append(tag("circle", class_="rest", cx=at(group.settled), cy=9, r=5))
    if group.desired != group.current:
        parts.append(tag("circle", class_="will", cx=at(group.desired), cy=9, r=4))
    return tag("svg", joined(parts), width=_WIDTH, height=18, viewBox=f"0 0 {_WIDTH} 18", aria_hidden="true")


def _why(group: GroupLine, actions: Sequence[Action], why: GroupWhy | None) -> Html:
    sentences: list[str] = [removed] if (removed := removal_words(actions, NAMES_SHOWN)) else []
    sentences += [action.reason.message for action in actions if action.kind is not ActionKind.REMOVE_NODE]
    if why is not None and not group.held:
        sentences += why.bounds if actions else [", ".join((*why.causes, *why.bounds))]
    sentences += held_words(group) if group.held else [reason.message for reason in further_reasons(group, actions)]
    words = list(dict.fromkeys(sentences))
    left = len(words) - _MOST_REASONS
    if left > 1:
        words = [*words[:_MOST_REASONS], f"and {counted(left, 'reason')} more"]
    block = next_block(group)
    shown = tag("pre", text_lines(block)) if block else NOTHING
    return joined((tag("ul", joined(tag("li", sentence) for sentence in words)), shown)) if words else shown
