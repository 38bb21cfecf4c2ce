"""Work that somebody else may do meanwhile. This layer is pure, so its callers know where."""

from collections.abc import Callable
from typing import Protocol, TypeVar

_Result = TypeVar("_Result")


class Apart(Protocol):
    """Starts some work elsewhere, if there is room for it."""

    def __call__(self, work: Callable[[], _Result]) -> Callable[[], _Result | None]:
        """What waits for the result of the work. None: it was not done, or it failed, and the caller does it."""
