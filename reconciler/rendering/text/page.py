"""The sections of a plan as lines of text; pull requests show the same lines in folds."""

from collections.abc import Iterable

from reconciler.plan.money import HOURS_PER_MONTH
from reconciler.plan.plan import Plan
from reconciler.rendering.alike import alike_pods
from reconciler.rendering.consequences import rest_words
from reconciler.rendering.fold import Fold
from reconciler.rendering.group_notes import alike_held, folded_notes, group_notes, single_held
from reconciler.rendering.plain import listed, plain
from reconciler.rendering.pod_reasons import folded_reasons
from reconciler.rendering.text.action_lines import action_lines
from reconciler.rendering.text.group_table import group_table
from reconciler.rendering.text.node_lines import node_lines
from reconciler.rendering.text.paragraph import paragraph
from reconciler.rendering.text.style import Style, Tone
from reconciler.rendering.text.table import Column, Row, table
from reconciler.rendering.wording import (
    STAY_PENDING,
    cost_rows,
    count,
    header_words,
    placed_words,
    pods_words,
)


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
        """What else is to be said of groups that are not held."""
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
            told = f"{names} ({lot.target})" if lot.target else f"{names} ({count(len(lot.groups), 'group')})"
            lines += self._painted(paragraph(f"{told}: {lot.owner}", self._width, 2, "! "), Tone.HELD)
            for sentence in lot.sentences:
                lines += paragraph(sentence, self._width, 4, "- ")
        return lines + self._more(sum(len(lot.groups) for lot in lots[shown:]), "group")

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
                lines += paragraph(f"{problem.code}: {about}{problem.message}", self._width, 2, "! ")
            if shown < len(self._plan.problems):
                lines.append(f"  and {count(len(self._plan.problems) - shown, 'problem')} more: `--wide` lists all")
        return lines

    def foot(self) -> list[str]:
        """The summary line and the digest."""
        loops = self._plan.settled_loops
        settled = "" if loops is None else f" · settled after {count(loops, 'loop')}"
        lines = [line for line in paragraph(rest_words(self._plan), self._width, 0) if line]
        lines += self._painted(paragraph(self._plan.summary, self._width, 0), Tone.HEADING)
        foot = plain(self._plan.digest) + settled
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
