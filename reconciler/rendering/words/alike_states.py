"""Nodes of all groups by their state and what keeps them, a line each: what is told where groups are too many."""

from collections.abc import Iterator, Sequence

from reconciler.plan.plan import NodeLine, NodeState
from reconciler.rendering.words.alike import AlikeNodes
from reconciler.rendering.words.wording import count, removable_words, state_words, utilization_words


def over_groups(lots: Sequence[AlikeNodes]) -> Iterator[str]:
    """`empty: 92 nodes of 11 groups, used 0%: PendingPods (92 nodes)`: a line for each state and what keeps its nodes."""
    lots_by_state: dict[tuple[bool, NodeState, tuple[str, ...]], list[AlikeNodes]] = {}
    for lot in lots:
        codes = tuple(sorted({blocker.code for blocker in lot.blockers}))
        lots_by_state.setdefault((not lot.candidate, lot.state, codes), []).append(lot)
    for (_, state, codes), alike in sorted(lots_by_state.items(), key=lambda item: (item[0][0], -_size(item[1]), item[0][1:])):
        nodes: list[NodeLine] = [node for lot in alike for node in lot.nodes]
        groups = {lot.group for lot in alike}
        where = (next(iter(groups)) or "no group") if len(groups) == 1 else count(len(groups), "group")
        facts = (f"{count(len(nodes), 'node')} of {where}", utilization_words(nodes), removable_words(nodes))
        text = ", ".join(fact for fact in facts if fact)
        yield f"{state_words(state)}: {text}" + (f": {', '.join(codes)}" if codes else "")


def _size(lots: Sequence[AlikeNodes]) -> int:
    return sum(len(lot.nodes) for lot in lots)
