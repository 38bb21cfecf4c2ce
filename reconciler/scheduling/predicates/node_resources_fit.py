"""NodeResourcesFit: what the pod requests must be free in full."""

from array import array
from collections.abc import Sequence

from reconciler.cluster.values.resources import PODS
from reconciler.scheduling.columns import NOWHERE_COLUMN, amount_text
from reconciler.scheduling.verdict import Rejection

_MOST_NAMED = 10


def resources_rejection(
    names: Sequence[str],
    columns: "array[int]",
    amounts: "array[int]",
    free: "array[int]",
    room: "array[int]",
    unknown: Sequence[tuple[str, int]] = (),
) -> Rejection | None:
    """What NodeResourcesFit says, naming every resource that is short, and of those that no node has the first few.

    `columns` and `amounts` are the requests above zero; `free` and `room` (allocatable) are rows of the node. `unknown` are
    requests without a column of their own.
    Source: plugin NodeResourcesFit, `fitsRequest`, 1.36: one more pod than the node takes is too many; every other
    resource counts only when the pod requests some of it, so that a node whose cpu is overcommitted still takes a pod
    that requests none; a resource that the node does not list is 0 there.
    """
    short = [
        _text(names[column], amount, free[column], room[column])
        for column, amount in zip(columns, amounts, strict=True)
        if amount > free[column] and column != NOWHERE_COLUMN
    ]
    short.extend(_text(name, amount, 0, 0) for name, amount in unknown[:_MOST_NAMED])
    if len(unknown) > _MOST_NAMED:
        short.append(f"{len(unknown) - _MOST_NAMED} other resources that no node has")
    return Rejection("NodeResourcesFit", " and ".join(short)) if short else None


def _text(name: str, amount: int, free: int, room: int) -> str:
    unit = "pod" if name == PODS else name
    return f"needs {amount_text(name, amount, up=True)} {unit}; {amount_text(name, free)} of {amount_text(name, room)} free"
