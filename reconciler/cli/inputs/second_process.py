"""Work on a second core. Python runs one thread at a time, so that takes a second process."""

import os
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from reconciler.values.later import Later

if TYPE_CHECKING:
    import pickle
else:
    pickle = Later("pickle")

_Result = TypeVar("_Result")
_LEAST_CORES = 2


def in_second_process(work: Callable[[], _Result]) -> Callable[[], _Result | None]:
    """Start `work` in a copy of this process. What is returned waits for the result.

    The result is None if the work was not done or failed. It is done only on Linux, with a second core and no other thread.
    A failure prints nothing.
    """
    # A copy has only the thread that forked. A lock that another thread held would stay locked in the copy for ever.
    if sys.platform != "linux" or threading.active_count() > 1 or len(os.sched_getaffinity(0)) < _LEAST_CORES:
        return lambda: None
    reading, writing = os.pipe()
    try:
        child = os.fork()
    except OSError:
        os.close(reading)
        os.close(writing)
        return lambda: None
    if child == 0:
        _work(work, reading, writing)
    os.close(writing)

    def result() -> _Result | None:
        with os.fdopen(reading, "rb") as pipe:
            packed = pipe.read()
        _, status = os.waitpid(child, 0)
        if status:
            return None
        made: _Result = pickle.loads(packed)
        return made

    return result


def _work(work: Callable[[], object], reading: int, writing: int) -> None:
    failed = 1
    try:
        os.close(reading)
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump(work(), pipe)
        failed = 0
    finally:
        os._exit(failed)
