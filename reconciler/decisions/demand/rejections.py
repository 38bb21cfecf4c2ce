"""Counts the nodes that reject pods of one shape, by the plugins that do."""

from collections.abc import Sequence

from reconciler.decisions.draft import Draft

CLOSED = "leaving or not usable"


def rejections(draft: Draft, shape: int, nodes: Sequence[int]) -> tuple[str, ...]:
    """`8 NodeResourcesFit and TaintToleration`, by falling number then name. Each node counts once, so that the numbers add up.
    One that takes no pods counts as such, whatever the plugins would say."""
    counts = draft.state.refusals(shape, nodes)
    if closed := len(nodes) - len(draft.state.open_among(nodes)):
        counts[(CLOSED,)] = closed
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return tuple(f"{count} {' and '.join(names)}" for names, count in ordered)
