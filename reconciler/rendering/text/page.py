"""The sections of a plan as lines of text; pull requests show the same lines in folds."""

from collections.abc import Iterable

from reconciler.plan.money import HOURS_PER_MONTH
from reconciler.plan.plan import ActionKind, Plan
from reconciler.rendering.alike import alike_nodes, alike_pods
from reconciler.rendering.plain import listed, plain
from reconciler.rendering.text.paragraph import paragraph
from reconciler.rendering.text.style import Style, Tone
from reconciler.rendering.text.table import Column, Row, table
from reconciler.rendering.wording import (
    GROWS,
    HELD,
    LEGEND,
    OTHER,
    SHRINKS,
    STAY_PENDING,
    action_mark,
    action_words,
    blocker_counts,
    blockers_words,
    cost_rows,
    count,
    group_mark,
    group_notes,
    groups_with_other_actions,
    header_words,
    held_words,
    owner_words,
    placed_words,
    pods_words,
    removable_words,
    state_words,
    utilization_words,
)

_TONES = {GROWS: Tone.GROWS, SHRINKS: Tone.SHRINKS, HELD: Tone.HELD, OTHER: Tone.OTHER}
NAMES_SHOWN = 3
_LOTS_SHOWN = 40


class Page:
    """One plan being written: every method gives the lines of one section, or none at all.

    `width` 0 neither wraps nor shortens; `names` is how many names of a list are shown, 0 for all of them.
    """

    def __init__(self, plan: Plan, style: Style, width: int, names: int) -> None:
        self._plan = plan
        self._style = style
        self._width = width
        self._shown = names
        self._lots = _LOTS_SHOWN if names else None
        self._others = groups_with_other_actions(plan.actions)

    def head(self) -> list[str]:
        """Where, by what policy, when."""
        words = [f"{name} {value}" for name, value in header_words(self._plan)]
        return [*paragraph(" · ".join(words[:-1]), self._width, 0), *paragraph(words[-1], self._width, 0)]

    def groups(self) -> list[str]:
        """The table of all groups."""
        groups = self._plan.groups
        if not groups:
            return [self._heading("Node groups: none")]
        settled = any(group.settled is not None for group in groups)
        tiers = any(group.tier for group in groups)
        columns = [
            Column(heading="group", shrinks=True),
            Column(heading="now", right=True),
            Column(heading="desired", right=True),
        ]
        columns += [Column(heading="settled", right=True)] if settled else []
        columns += [Column(heading="min..max", right=True)]
        columns += [Column(heading="tier", shrinks=True)] if tiers else []
        columns += [Column(heading="owner", shrinks=True), Column(heading=f"{self._plan.cost.currency}/h", right=True)]
        rows = []
        for group in groups:
            mark = group_mark(group, self._others)
            cells = [group.name, str(group.current), _arrow(group.current, group.desired)]
            cells += ["" if group.settled is None else _arrow(group.desired, group.settled)] if settled else []
            cells += [f"{group.min}..{group.max}"]
            cells += [group.tier or "-"] if tiers else []
            cells += [owner_words(group), group.price_per_hour or "-"]
            rows.append(Row(mark, tuple(cells), _TONES.get(mark)))
        present = [mark for mark in LEGEND if any(row.mark == mark for row in rows)]
        legend = "   ".join(self._style.paint(mark, _TONES[mark]) + f" {LEGEND[mark]}" for mark in present)
        heading = self._heading(f"Node groups: {len(groups)}") + (f"   {legend}" if legend else "")
        return [heading, *table(columns, rows, self._width, self._style)]

    def actions(self) -> list[str]:
        """What is done, in order, with the reason of each."""
        if not self._plan.actions:
            return []
        lines = [self._heading(f"Actions, in this order: {len(self._plan.actions)}")]
        for number, action in enumerate(self._plan.actions, 1):
            mark = action_mark(action)
            bullet = f"{number}. {mark} "
            lines += self._painted(paragraph(action_words(action), self._width, 2, bullet), _TONES[mark])
            lines += paragraph(action.reason.message, self._width, 2 + len(bullet))
        return lines

    def notes(self) -> list[str]:
        """What else is to be said of groups that are not held."""
        notes = group_notes(self._plan)
        if not notes:
            return []
        lines = [self._heading("About groups")]
        for sentence, groups in notes:
            lines += paragraph(f"{listed(groups, self._shown)}: {sentence}", self._width, 2)
        return lines

    def pods(self) -> list[str]:
        """Pending pods without a place and every reason; then where the others go."""
        staying = [pod for pod in self._plan.pods if pod.outcome in STAY_PENDING]
        placed = placed_words(self._plan)
        lines = []
        if staying:
            lines.append(self._heading(f"Pods that stay pending: {len(staying)} of {len(self._plan.pods)}"))
            lots = alike_pods(staying)
            for lot in lots[: self._lots]:
                lines += self._painted(paragraph(pods_words(lot), self._width, 2), Tone.HELD)
                for reason in lot.reasons:
                    lines += paragraph(reason.message, self._width, 4, "- ")
            lines += self._more(sum(len(lot.pods) for lot in lots[self._lots :]), "pod")
        if placed:
            lines += paragraph(f"Pending pods with a place: {placed}", self._width, 0)
        return lines

    def nodes(self) -> list[str]:
        """Nodes that are not removed by this plan, and what keeps them."""
        leaving = {
            node
            for action in self._plan.actions
            if action.kind in (ActionKind.REMOVE_NODE, ActionKind.REPLACE)
            for node in action.nodes
        }
        staying = [node for node in self._plan.nodes if node.node not in leaving]
        if not staying:
            return []
        lines = [self._heading(f"Nodes that stay: {len(staying)} of {len(self._plan.nodes)}")]
        lots = alike_nodes(staying)
        for lot in lots[: self._lots]:
            names = listed(tuple(node.node for node in lot.nodes), self._shown)
            facts = [
                count(len(lot.nodes), "node"),
                state_words(lot.state),
                utilization_words(lot.nodes),
                removable_words(lot.nodes),
            ]
            told = ", ".join(fact for fact in facts if fact)
            lines += paragraph(f"{lot.group or 'no group'}: {told}: {names}", self._width, 2)
            if lot.candidate or not self._width:
                for sentence in blockers_words(lot.blockers, self._shown):
                    lines += paragraph(sentence, self._width, 4, "- ")
            elif lot.blockers:
                lines += paragraph(blocker_counts(lot.blockers), self._width, 4, "- ")
        return lines + self._more(sum(len(lot.nodes) for lot in lots[self._lots :]), "node")

    def held(self) -> list[str]:
        """Groups that are not ours to write: whose, by what evidence, and what they would do."""
        held = [group for group in self._plan.groups if group.held]
        if not held:
            return []
        lines = [self._heading(f"Held, so nothing is written: {count(len(held), 'group')}")]
        for group in held:
            lines += self._painted(
                paragraph(f"{group.name} ({group.target}): {owner_words(group)}", self._width, 2, "! "), Tone.HELD
            )
            for sentence in held_words(group):
                lines += paragraph(sentence, self._width, 4, "- ")
        return lines

    def cost(self) -> list[str]:
        """Per hour and per month."""
        rows = cost_rows(self._plan.cost)
        lines = []
        if rows:
            lines.append(self._heading("Cost"))
            figures = ("per hour", f"per month ({HOURS_PER_MONTH} h)", "change")
            columns = [Column(heading=""), *(Column(heading=heading, right=True) for heading in figures)]
            lines += table(columns, [Row("", row) for row in rows], self._width, self._style)
        if self._plan.cost.unpriced_groups:
            names = listed(self._plan.cost.unpriced_groups, self._shown)
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
            for problem in self._plan.problems:
                about = f"{problem.object}: " if problem.object else ""
                lines += paragraph(f"{problem.code}: {about}{problem.message}", self._width, 2, "! ")
        return lines

    def foot(self) -> list[str]:
        """The summary line and the digest."""
        loops = self._plan.settled_loops
        settled = "" if loops is None else f" · settled after {count(loops, 'loop')}"
        lines = self._painted(paragraph(self._plan.summary, self._width, 0), Tone.HEADING)
        return [*lines, self._style.paint(plain(self._plan.digest) + settled, Tone.FAINT)]

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


def _arrow(before: int, after: int) -> str:
    return str(after) if before == after else f"-> {after}"
