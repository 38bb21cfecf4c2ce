"""A whole plan as text."""

from collections.abc import Iterable, Iterator, Sequence

from reconciler.plan.plan import ActionKind, Cost, GroupLine, Plan
from reconciler.rendering.documents import blocks as tree
from reconciler.rendering.documents.blocks import Column, Foreign, Sentence, names_listed
from reconciler.rendering.printers.lines import TONES, Row, Style, Tone, one_line, paragraph, table
from reconciler.rendering.words.alike import alike_nodes, alike_pods
from reconciler.rendering.words.alike_actions import AlikeActions, alike_actions, group_words, lot_words, single_actions
from reconciler.rendering.words.alike_states import over_groups
from reconciler.rendering.words.fold import EVERYTHING, Fold
from reconciler.rendering.words.group_notes import alike_held, folded_notes, group_notes, group_whys, single_held, why_words
from reconciler.rendering.words.plain import listed, plain
from reconciler.rendering.words.wording import (
    LEGEND,
    NO_GROUPS,
    SAME,
    STAY_PENDING,
    AskedRoom,
    action_mark,
    blocker_counts,
    blockers_words,
    cost_rows,
    count,
    folded_reasons,
    group_mark,
    groups_with_other_actions,
    header_words,
    loops_words,
    placed_words,
    pods_words,
    removable_words,
    rest_words,
    rooms_of_buffers,
    rooms_of_requests,
    state_words,
    utilization_words,
)
from reconciler.values.money import HOURS_PER_MONTH

# Actions as lines: what is done, in order, with the reason of each; alike ones once.


def action_lines(plan: Plan, style: Style, width: int, fold: Fold) -> list[str]:
    """A heading and the lots; no line without actions. Removals for one reason are told group by group below one sentence."""
    if not plan.actions:
        return []
    lots = alike_actions(plan.actions) if fold.lots else single_actions(plan.actions)
    together = "" if len(lots) == len(plan.actions) else ", alike ones together"
    lines = [style.paint(f"Actions, in this order: {len(plan.actions)}{together}", Tone.HEADING)]
    shown = fold.shown(len(lots), 2 * fold.lots)
    for number, lot in enumerate(lots[:shown], 1):
        mark = action_mark(lot.first)
        bullet = f"{number}. {mark} "
        words = lot_words(lot, fold) if len(lot.groups) == 1 else _over_groups(lot)
        lines += [style.paint(line, TONES.get(mark)) for line in paragraph(words, width, 2, bullet)]
        lines += paragraph(lot.sentence, width, 2 + len(bullet))
        if len(lot.groups) > 1:
            lines += _group_lines(lot, width, fold, 4 + len(bullet))
    if shown < len(lots):
        lines.append(f"  and {count(len(lots) - shown, 'action')} more: `--wide` lists all")
    return lines


def _over_groups(lot: AlikeActions) -> str:
    return f"remove {count(lot.nodes, 'node')} of {count(len(lot.groups), 'group')}"


def _group_lines(lot: AlikeActions, width: int, fold: Fold, indent: int) -> Iterator[str]:
    shown = fold.shown(len(lot.groups), fold.lots)
    for entry in lot.groups[:shown]:
        yield one_line([group_words(entry, names) for names in range(fold.names, 0, -1)], width, indent)
    rest = lot.groups[shown:]
    if rest:
        nodes = sum(len(entry.nodes) for entry in rest)
        yield f"{' ' * indent}and {count(nodes, 'node')} of {len(rest)} more groups"


# The table of groups as lines: those that change or are held, and the others as far as there is room.

_FEW = 12  # as many groups are all shown, whatever becomes of them


def group_table(plan: Plan, style: Style, width: int, fold: Fold) -> list[str]:
    """A heading with a legend, and one row per group. If there are many, groups that do not change are only counted. If even the
    others are too many, those that change most are shown, in the order of the plan."""
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


# Nodes that a plan does not remove, as lines: what keeps them, group by group, or over all groups where these are many.


def node_lines(plan: Plan, style: Style, width: int, fold: Fold) -> list[str]:
    """A heading and the lots; nothing where no node stays."""
    leaving = {
        node for action in plan.actions if action.kind in (ActionKind.REMOVE_NODE, ActionKind.REPLACE) for node in action.nodes
    }
    staying = [node for node in plan.nodes if node.node not in leaving]
    if not staying:
        return []
    lines = [style.paint(f"Nodes that stay: {len(staying)} of {len(plan.nodes)}", Tone.HEADING)]
    lots = alike_nodes(staying)
    if fold.shown(len(lots), fold.lots) < len(lots):
        lines += [line for text in over_groups(lots) for line in paragraph(text, width, 2)]
        return [*lines, "  `--wide` lists all, `reconciler explain node NAME` tells one"]
    for lot in lots:
        names = listed(tuple(node.node for node in lot.nodes), fold.names)
        facts = (count(len(lot.nodes), "node"), state_words(lot.state), utilization_words(lot.nodes), removable_words(lot.nodes))
        text = ", ".join(fact for fact in facts if fact)
        lines += paragraph(f"{lot.group or 'no group'}: {text}: {names}", width, 2)
        if lot.candidate or not width:
            for sentence in blockers_words(lot.blockers, fold.names):
                lines += paragraph(sentence, width, 4, "- ")
        elif lot.blockers:
            lines += paragraph(blocker_counts(lot.blockers), width, 4, "- ")
    return lines


# What text, pages and pull requests show alike.


def cost_table(cost: Cost) -> tree.Table | None:
    """Per hour and per month; None where nothing has a price."""
    headings = ("per hour", f"per month ({HOURS_PER_MONTH} h)", "change")
    columns = (tree.Column(heading=""), *(tree.Column(heading=heading, right=True) for heading in headings))
    rows = tuple((name, *map(Foreign, amounts)) for name, *amounts in cost_rows(cost))
    unpriced = cost.unpriced_groups
    note = f"{count(len(unpriced), 'group')} without a price not counted." if unpriced else ""
    return tree.Table(columns=columns, rows=rows, note=note) if rows else None


def cautions(plan: Plan) -> Sentence:
    """What a reader must know before all else; empty without any."""
    problems = (f"{count(len(plan.problems), 'problem')} to look at.",) if plan.problems else ()
    if not plan.not_captured:
        return problems
    kinds = names_listed(plan.not_captured, 0)
    return (*problems, *((" ",) if problems else ()), "Not captured, so not taken into account: ", *kinds, ".")


# The sections of a plan as lines of text; pull requests show the same lines in folds. Each output has its own order. A terminal
# ends with the summary, and a comment begins with it. A page has a row for each group, pod and node to search in.


class Page:
    """One plan being written: every method gives the lines of one section, or none at all.

    `width` 0 neither wraps nor shortens; `fold` says how much is shown before it is counted.
    """

    def __init__(self, plan: Plan, style: Style, width: int, fold: Fold) -> None:
        self._plan = plan
        self._style = style
        self._width = width
        self._fold = fold

    def head(self) -> list[str]:
        """Where, by what policy, when."""
        words = [f"{name} {value}" for name, value in header_words(self._plan)]
        return [*paragraph(" · ".join(words[:-1]), self._width, 0), *paragraph(words[-1], self._width, 0)]

    def groups(self) -> list[str]:
        """The table of groups."""
        return group_table(self._plan, self._style, self._width, self._fold)

    def actions(self) -> list[str]:
        """What is done, in order, with the reason of each."""
        return action_lines(self._plan, self._style, self._width, self._fold)

    def notes(self) -> list[str]:
        """Further notes about groups that are not held."""
        notes = group_notes(self._plan)
        if not notes:
            return []
        lines = [self._heading("About groups")]
        for note in folded_notes(notes, self._fold):
            lines += paragraph(note, self._width, 2)
        return lines

    def pods(self) -> list[str]:
        """Pending pods without a place and why; then where the others go."""
        staying = [pod for pod in self._plan.pods if pod.outcome in STAY_PENDING]
        placed = placed_words(self._plan, self._fold)
        lines = []
        if staying:
            lines.append(self._heading(f"Pods that stay pending: {len(staying)} of {len(self._plan.pods)}"))
            lots = alike_pods(staying)
            shown = self._fold.shown(len(lots), self._fold.lots)
            reasoned = self._fold.shown(shown, self._fold.reasoned)
            for number, lot in enumerate(lots[:shown]):
                lines += self._painted(paragraph(pods_words(lot), self._width, 2), Tone.HELD)
                for sentence in folded_reasons(lot.reasons, self._fold) if number < reasoned else ():
                    lines += paragraph(sentence, self._width, 4, "- ")
            lines += self._more(sum(len(lot.pods) for lot in lots[shown:]), "pod")
        if placed:
            lines += paragraph(f"Pending pods with a place: {placed}", self._width, 0)
        return lines

    def buffers(self) -> list[str]:
        """CapacityBuffers: how much of their room is there, and why not all of it."""
        return self._rooms("Room for CapacityBuffers", "buffer", rooms_of_buffers(self._plan.buffer_lines))

    def requests(self) -> list[str]:
        """ProvisioningRequests: whether their room is there, and why not."""
        return self._rooms("Room for ProvisioningRequests", "request", rooms_of_requests(self._plan.request_lines))

    def _rooms(self, heading: str, noun: str, rooms: Sequence[AskedRoom]) -> list[str]:
        if not rooms:
            return []
        lines = [self._heading(f"{heading}: {len(rooms)}")]
        shown = self._fold.shown(len(rooms), 2 * self._fold.lots)
        for number, room in enumerate(rooms[:shown]):
            tone = Tone.HELD if room.lacking else None
            lines += [self._style.paint(text, tone) for text in paragraph(room.words, self._width, 2)]
            for sentence in (
                folded_reasons(room.reasons, self._fold) if number < self._fold.shown(shown, self._fold.reasoned) else ()
            ):
                lines += paragraph(sentence, self._width, 4, "- ")
        return lines + ([f"  and {count(len(rooms) - shown, noun)} more: `--wide` lists all"] if shown < len(rooms) else [])

    def nodes(self) -> list[str]:
        """Nodes that are not removed by this plan, and what keeps them."""
        return node_lines(self._plan, self._style, self._width, self._fold)

    def held(self) -> list[str]:
        """Groups that are not ours to write: whose, by what evidence, and what they would do; alike ones once."""
        held = [group for group in self._plan.groups if group.held]
        if not held:
            return []
        lines = [self._heading(f"Held, so nothing is written: {count(len(held), 'group')}")]
        lots = alike_held(held) if self._fold.lots else single_held(held)
        shown = self._fold.shown(len(lots), self._fold.lots)
        for lot in lots[:shown]:
            names = listed(lot.groups, self._fold.names)
            title = f"{names} ({lot.target})" if lot.target else f"{names} ({count(len(lot.groups), 'group')})"
            lines += self._painted(paragraph(f"{title}: {lot.owner}", self._width, 2, "! "), Tone.HELD)
            for sentence in lot.sentences:
                lines += paragraph(sentence, self._width, 4, "- ")
            if lot.block and len(lot.groups) > 1:
                lines += paragraph(f"for {lot.groups[0]}, and likewise for the others:", self._width, 4)
            lines += [f"      {line}" for line in lot.block]
        return lines + self._more(sum(len(lot.groups) for lot in lots[shown:]), "group")

    def cost(self) -> list[str]:
        """Per hour and per month."""
        lines = []
        if costs := cost_table(self._plan.cost):
            rows = [Row("", row) for row in costs.rows]
            lines = [self._heading("Cost"), *table(costs.columns, rows, self._width, self._style)]
        if self._plan.cost.unpriced_groups:
            names = listed(self._plan.cost.unpriced_groups, self._fold.names)
            lines += paragraph(f"No price, so not in the cost: {names}", self._width, 0)
        return lines

    def warnings(self) -> list[str]:
        """What could not be seen or read."""
        lines = []
        if self._plan.not_captured:
            text = f"Not captured, so not taken into account: {', '.join(self._plan.not_captured)}"
            lines += self._painted(paragraph(text, self._width, 0), Tone.HELD)
        if self._plan.problems:
            lines.append(self._heading(f"Problems: {len(self._plan.problems)}"))
            shown = self._fold.shown(len(self._plan.problems), self._fold.lots)
            for problem in self._plan.problems[:shown]:
                about = f"{problem.object}: " if problem.object else ""
                lines += paragraph(f"{about}{problem.message} [{problem.code}]", self._width, 2, "! ")
            if shown < len(self._plan.problems):
                lines.append(f"  and {count(len(self._plan.problems) - shown, 'problem')} more: `--wide` lists all")
        return lines

    def foot(self) -> list[str]:
        """The summary line and the digest."""
        lines = [line for line in paragraph(rest_words(self._plan), self._width, 0) if line]
        lines += self._painted(paragraph(self._plan.summary, self._width, 0), Tone.HEADING)
        foot = plain(self._plan.digest) + loops_words(self._plan)
        return [*lines, self._style.paint(foot, Tone.FAINT)] if self._plan.digest else lines

    def _more(self, number: int, noun: str) -> list[str]:
        return (
            [f"  and {count(number, noun)} more: `--wide` lists all, `reconciler explain {noun} NAME` tells one"]
            if number
            else []
        )

    def _heading(self, text: str) -> str:
        return self._style.paint(text, Tone.HEADING)

    def _painted(self, lines: Iterable[str], tone: Tone) -> list[str]:
        return [self._style.paint(line, tone) for line in lines]


WIDTH = 100


def plan_text(plan: Plan, *, colour: bool = False, wide: bool = False, width: int = WIDTH) -> str:
    """The plan for a terminal of `width` columns, all names and no breaks if `wide`; ends with the summary, the digest and a
    newline."""
    page = Page(plan, Style(colour=colour), 0 if wide else width, EVERYTHING if wide else Fold())
    sections = (
        page.head(),
        page.groups(),
        page.actions(),
        page.notes(),
        page.pods(),
        page.requests(),
        page.buffers(),
        page.nodes(),
        page.held(),
        page.cost(),
        page.warnings(),
        page.foot(),
    )
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"
