"""NodeResourcesFit: the requests of a pod must be free in full."""

from array import array
from collections.abc import Sequence

from reconciler.scheduling.columns import NOWHERE_COLUMN
from reconciler.scheduling.verdict import Rejection, Shortage, shortages_text

_MOST_NAMED = 10


def resources_rejection(
    names: Sequence[str],
    columns: "array[int]",
    amounts: "array[int]",
    free: "array[int]",
    room: "array[int]",
    unknown: Sequence[tuple[str, int]] = (),
) -> Rejection | None:
    """The answer of NodeResourcesFit: every resource that is short, and the first few of those that no node has.

    `columns` and `amounts` are the requests above zero; `free` and `room` (allocatable) are rows of the node. `unknown` are
    requests without a column of their own. Source: plugin NodeResourcesFit, `fitsRequest`, 1.36. The number of pods always
    counts. Every other resource counts only if the pod requests some of it. So a node with overcommitted cpu still takes a pod
    without a cpu request. A resource that the node does not list is 0.
    """
    short = [
        Shortage(names[column], amount, free[column], room[column])
        for column, amount in zip(columns, amounts, strict=True)
        if amount > free[column] and column != NOWHERE_COLUMN
    ]
    short.extend(Shortage(name, amount, 0, 0) for name, amount in unknown[:_MOST_NAMED])
    if not short:
        return None
    return Rejection("NodeResourcesFit", shortages_text(short, max(0, len(unknown) - _MOST_NAMED)))
