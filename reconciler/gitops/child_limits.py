"""The other side of `bounded_child`: a program that reads one task, works on it within its bounds, and answers.

The task comes on standard input as a pickle of the process that started this one, bounds as three arguments (seconds of a
processor, bytes of memory, bytes of output); the answer goes to standard output.
"""

import errno
import os
import pickle
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

if sys.platform != "win32":
    import resource

OUT_OF_MEMORY = 3
OUT_OF_ROOM = 4
_NICE = 10


def answer(arguments: list[str], make: Callable[[Any], bytes]) -> int:
    """Make the answer within the bounds; the exit code says which of them was met."""
    _limit(*map(int, arguments))
    with suppress(OSError):
        # The process that waits goes first wherever there is too little of something for both.
        os.nice(_NICE)
        Path("/proc/self/oom_score_adj").write_text("1000")
    try:
        left = memoryview(make(pickle.load(sys.stdin.buffer)))  # noqa: S301 - written by the process that started this one
        while left:
            # Not through a buffer, which would be tried again at the end.
            left = left[os.write(sys.stdout.fileno(), left) :]
    except (MemoryError, ImportError):
        # A module that could not be mapped says no more than that it could not be imported.
        return OUT_OF_MEMORY
    except OSError as error:
        return OUT_OF_ROOM if error.errno == errno.EFBIG else OUT_OF_MEMORY
    return 0


def _limit(cpu_seconds: int, memory_bytes: int, output_bytes: int) -> None:
    """Where the system knows such limits; the process that waits has one of time everywhere."""
    if sys.platform != "win32":
        # Beyond the first figure the kernel asks, beyond the second it kills: nothing here is there to answer.
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
        resource.setrlimit(resource.RLIMIT_FSIZE, (output_bytes, output_bytes))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        # Others refuse it, or count more than a process uses.
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
