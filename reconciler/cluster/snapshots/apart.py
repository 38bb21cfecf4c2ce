"""Work that may run elsewhere at the same time. This layer is pure, so its callers decide where it runs."""

from collections.abc import Callable
from typing import Protocol, TypeVar

_Result = TypeVar("_Result")


class Apart(Protocol):
    """Starts work elsewhere, if that is possible."""

    def __call__(self, work: Callable[[], _Result]) -> Callable[[], _Result | None]:
        """A function that waits for the result. None: the work was not done or failed, so the caller does it."""
