"""Several calls to a server under way at once, where one after the other each would wait for the answer to the one before.

SOURCE: a managed control plane answers in 10 to 50 ms, and a hundred empty nodes take more than a thousand requests."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

AT_ONCE = 8

_Item = TypeVar("_Item")
_Answer = TypeVar("_Answer")


def side_by_side(call: Callable[[_Item], _Answer], items: Sequence[_Item]) -> list[_Answer]:
    """What `call` gives for each item, in their order. Raises the first error in that order, when all calls that began have
    ended; calls that had not begun by then are not made."""
    if len(items) < 2:
        return [call(item) for item in items]
    with ThreadPoolExecutor(max_workers=min(AT_ONCE, len(items))) as pool:
        return list(pool.map(call, items))
