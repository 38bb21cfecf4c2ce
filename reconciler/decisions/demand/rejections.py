"""Counts how often each plugin rejects pods of one shape over many nodes."""

from collections.abc import Sequence

from reconciler.decisions.draft import Draft

CLOSED = "leaving or not usable"


def rejections(draft: Draft, shape: int, nodes: Sequence[int]) -> tuple[str, ...]:
    """`8 NodeResourcesFit`, by falling number then name. A node that several plugins reject counts for each of them; one that
    takes no pods counts as such, whatever the plugins would say."""
    counts = draft.state.refusals(shape, nodes)
    if closed := len(nodes) - len(draft.state.open_among(nodes)):
        counts[CLOSED] = closed
    return tuple(f"{count} {name}" for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])))
