"""Nodes that a plan does not remove, as lines: what keeps them, group by group, or over all groups where these are many."""

from reconciler.plan.plan import ActionKind, Plan
from reconciler.rendering.alike import alike_nodes
from reconciler.rendering.alike_states import over_groups
from reconciler.rendering.fold import Fold
from reconciler.rendering.plain import listed
from reconciler.rendering.text.paragraph import paragraph
from reconciler.rendering.text.style import Style, Tone
from reconciler.rendering.wording import (
    blocker_counts,
    blockers_words,
    count,
    removable_words,
    state_words,
    utilization_words,
)


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
        lines += [line for told in over_groups(lots) for line in paragraph(told, width, 2)]
        return [*lines, "  `--wide` lists all, `reconciler explain node NAME` tells one"]
    for lot in lots:
        names = listed(tuple(node.node for node in lot.nodes), fold.names)
        facts = (count(len(lot.nodes), "node"), state_words(lot.state), utilization_words(lot.nodes), removable_words(lot.nodes))
        told = ", ".join(fact for fact in facts if fact)
        lines += paragraph(f"{lot.group or 'no group'}: {told}: {names}", width, 2)
        if lot.candidate or not width:
            for sentence in blockers_words(lot.blockers, fold.names):
                lines += paragraph(sentence, width, 4, "- ")
        elif lot.blockers:
            lines += paragraph(blocker_counts(lot.blockers), width, 4, "- ")
    return lines
