"""Writes to a cloud that cannot refuse a write because its object has changed since it was read.

Each write follows its own read, in the same moment, and is judged on that. What a later process must know is recorded before the
write. The next read confirms it. A cloud fills in how it reads a target and what its errors mean.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from reconciler.cluster.target import TargetRef
from reconciler.providers.contract import WriteCode, WriteResult

R = TypeVar("R")
E = TypeVar("E", bound=Exception)


class CloudErrors(msgspec.Struct, Generic[E], frozen=True):
    """Errors of a cloud's calls. `failed` is the result of a write that was refused or never answered. `unread` is that of one
    whose target could not be read. Both take the error and the name of the target."""

    kind: type[E]
    failed: Callable[[E, str], WriteResult]
    unread: Callable[[E, str], WriteResult]


class CloudWrites(Generic[R, E]):
    """`read` returns the target at this moment, or None if it does not exist. It raises errors of the cloud, and
    `msgspec.ValidationError`."""

    def __init__(self, read: Callable[[TargetRef], R | None], errors: CloudErrors[E]) -> None:
        self._read = read
        self._errors = errors

    def reading(self, target: TargetRef) -> R | WriteResult:
        """The target now, or why no write to it can be judged."""
        try:
            reading = self._read(target)
        except self._errors.kind as error:
            return self._errors.unread(error, str(target))
        except msgspec.ValidationError as error:
            return WriteResult(code=WriteCode.REFUSED, message=f"{target} cannot be understood: {error}")
        return WriteResult(code=WriteCode.NOT_FOUND, message=f"{target} does not exist") if reading is None else reading

    def judged(self, target: TargetRef, write: Callable[[R], WriteResult], tried: Callable[[R], None]) -> WriteResult:
        """The result of `write`, which gets the target as it is now. `tried` is called after it, whatever became of it."""
        reading = self.reading(target)
        if isinstance(reading, WriteResult):
            return reading
        try:
            return write(reading)
        except self._errors.kind as error:
            return self._errors.failed(error, str(target))
        finally:
            tried(reading)
