"""The node groups of a plan: a table of those that change, and what is to be known of the others."""

from reconciler.plan.plan import GroupLine, Plan
from reconciler.rendering.documents.blocks import Column, Foreign, Item, Items, Section, Table
from reconciler.rendering.words.fold import Fold
from reconciler.rendering.words.group_notes import alike_held, folded_notes, group_notes, single_held
from reconciler.rendering.words.group_whys import group_whys, why_words
from reconciler.rendering.words.plain import listed
from reconciler.rendering.words.wording import LEGEND, NO_GROUPS, SAME, count, group_mark, groups_with_other_actions

_FEW = 12  # as many groups are all shown, whatever becomes of them


def group_section(plan: Plan, fold: Fold) -> Section:
    """One row per group. If there are many, groups that do not change are only counted. If even the others are too many, those
    that change most are shown, in the order of the plan."""
    groups = plan.groups
    if not groups:
        return Section("Node groups: none", None, blocks=(Items((Item(text=NO_GROUPS),)),))
    others = groups_with_other_actions(plan.actions)
    marks = {group.name: group_mark(group, others) for group in groups}
    staying = tuple(group for group in groups if _stays(group, marks[group.name]))
    folds = len(groups) > _FEW and fold.rows > 0
    moving = tuple(group for group in groups if not (folds and _stays(group, marks[group.name])))
    chosen = {group.name for group in sorted(moving, key=_moves, reverse=True)[: fold.shown(len(moving), fold.rows)]}
    shown = [group for group in moving if group.name in chosen]
    items = []
    if rest := [group for group in moving if group.name not in chosen]:
        change = sum(group.desired - group.current for group in rest)
        items.append(Item(text=f"and {count(len(rest), 'group')} more that change or are held ({change:+} nodes)"))
    if len(moving) < len(groups):
        names = listed(tuple(group.name for group in staying), fold.names)
        stay = "stays as it is" if len(staying) == 1 else "stay as they are"
        items.append(Item(text=f"{count(len(staying), 'group')} {stay}: {names}"))
    blocks = (*((_table(plan, shown, marks),) if shown else ()), Items(tuple(items), 2))
    legend = tuple(mark for mark in LEGEND if mark in marks.values())
    return Section(f"Node groups: {len(groups)}", None, blocks=blocks, legend=legend)


def _stays(group: GroupLine, mark: str) -> bool:
    return mark == SAME and group.settled in (None, group.current)


def _moves(group: GroupLine) -> tuple[int, int, bool]:
    rest = group.desired if group.settled is None else group.settled
    return abs(group.desired - group.current), abs(rest - group.current), group.held


def _table(plan: Plan, groups: list[GroupLine], marks: dict[str, str]) -> Table:
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
        rows.append((*cells, why_words(group, whys)))
    return Table(columns=tuple(columns), rows=tuple(rows), marks=tuple(marks[group.name] for group in groups))


def _arrow(before: int, after: int) -> str:
    return str(after) if before == after else f"-> {after}"


def all_groups(plan: Plan) -> Table:
    """Every group with every column."""
    whys = group_whys(plan)
    currency = Foreign(f"{plan.cost.currency}/h")
    columns = tuple(
        Column(heading=heading, right=heading not in ("group", "tier", "why"))
        for heading in ("group", "now", "desired", "settled", "min..max", "tier", currency, "why")
    )
    rows = tuple(
        (
            Foreign(group.name),
            str(group.current),
            str(group.desired),
            "" if group.settled is None else str(group.settled),
            f"{group.min}..{group.max}",
            Foreign(group.tier),
            Foreign(group.price_per_hour or ""),
            Foreign(why_words(group, whys)),
        )
        for group in plan.groups
    )
    return Table(columns=columns, rows=rows)


def note_section(plan: Plan, fold: Fold) -> Section | None:
    """Further notes about groups that are not held; None without any."""
    notes = tuple(Item(text=note) for note in folded_notes(group_notes(plan), fold))
    return Section("About groups", None, blocks=(Items(notes),)) if notes else None


def held_section(plan: Plan, fold: Fold) -> Section | None:
    """Groups that are not ours to write: whose, by what evidence, and what they would do; alike ones once."""
    held = [group for group in plan.groups if group.held]
    if not held:
        return None
    lots = alike_held(held) if fold.lots else single_held(held)
    shown = fold.shown(len(lots), fold.lots)
    items = []
    for lot in lots[:shown]:
        about = lot.target or count(len(lot.groups), "group")
        sentences = [Item(text=sentence, bullet="- ") for sentence in lot.sentences]
        if lot.block and len(lot.groups) > 1:
            sentences.append(Item(text=f"for {lot.groups[0]}, and likewise for the others:"))
        words = f"{listed(lot.groups, fold.names)} ({about}): {lot.owner}"
        items.append(Item(text=words, bullet="! ", mark="!", items=tuple(sentences), block=lot.block))
    items += more(sum(len(lot.groups) for lot in lots[shown:]), "group")
    return Section(f"Held, so nothing is written: {count(len(held), 'group')}", None, blocks=(Items(tuple(items)),))


def more(number: int, noun: str) -> tuple[Item, ...]:
    """How many are not shown, and how to see them; nothing where all are."""
    return (
        (Item(text=f"and {count(number, noun)} more: `--wide` lists all, `reconciler explain {noun} NAME` tells one"),)
        if number
        else ()
    )
