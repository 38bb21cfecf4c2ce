"""Nodes that a plan does not remove, as lines: what keeps them, group by group, or over all groups where these are many."""

from collections.abc import Iterator, Sequence

from reconciler.plan.plan import ActionKind, NodeLine, NodeState, Plan
from reconciler.rendering.alike import AlikeNodes, alike_nodes
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
        lines += [line for told in _over_groups(lots) for line in paragraph(told, width, 2)]
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


def _over_groups(lots: Sequence[AlikeNodes]) -> Iterator[str]:
    """`empty: 92 nodes of 11 groups, used 0%: PendingPods (92 nodes)`: a line for each state and what keeps its nodes."""
    found: dict[tuple[bool, NodeState, tuple[str, ...]], list[AlikeNodes]] = {}
    for lot in lots:
        codes = tuple(sorted({blocker.code for blocker in lot.blockers}))
        found.setdefault((not lot.candidate, lot.state, codes), []).append(lot)
    for (_, state, codes), alike in sorted(found.items(), key=lambda item: (item[0][0], -_size(item[1]), item[0][1:])):
        nodes: list[NodeLine] = [node for lot in alike for node in lot.nodes]
        groups = {lot.group for lot in alike}
        where = (next(iter(groups)) or "no group") if len(groups) == 1 else count(len(groups), "group")
        facts = (f"{count(len(nodes), 'node')} of {where}", utilization_words(nodes), removable_words(nodes))
        told = ", ".join(fact for fact in facts if fact)
        yield f"{state_words(state)}: {told}" + (f": {', '.join(codes)}" if codes else "")


def _size(lots: Sequence[AlikeNodes]) -> int:
    return sum(len(lot.nodes) for lot in lots)
