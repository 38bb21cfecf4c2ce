"""The child's side of `bounded_child`: reads one task, works within its bounds, and answers.

The parent process writes the task to standard input, as a pickle. The bounds are three arguments: seconds of processor time,
bytes of memory and bytes of output. The answer goes to standard output.
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
_NOT_MAPPED = ("failed to map segment", "annot allocate memory", "cannot create shared object descriptor")
"""What the loader of glibc says when it finds no memory (elf/dl-load.c)."""
_FORGOTTEN = "error return without exception set"


def answer(arguments: list[str], make: Callable[[Any], bytes]) -> int:
    """Make the answer within the bounds; the exit code tells which one was exceeded."""
    hold_to_bounds(*map(int, arguments))
    with suppress(OSError):
        # The process that waits goes first wherever there is too little of something for both.
        os.nice(_NICE)
        Path("/proc/self/oom_score_adj").write_text("1000")
    try:
        left = memoryview(make(pickle.load(sys.stdin.buffer)))  # noqa: S301 - written by the process that started this one
        while left:
            # Not through a buffer, which would be tried again at the end.
            left = left[os.write(sys.stdout.fileno(), left) :]
    except MemoryError:
        return OUT_OF_MEMORY
    except SystemError as error:
        # CPython 3.11 forgets to set the exception in some places that find no memory, such as the lock of an import.
        if _FORGOTTEN in str(error):
            return OUT_OF_MEMORY
        raise
    except ImportError as error:
        # The loader has only a text for a library that found no memory. A module that is missing is a fault of the installation.
        if any(text in str(error) for text in _NOT_MAPPED):
            return OUT_OF_MEMORY
        raise
    except OSError as error:
        return OUT_OF_ROOM if error.errno == errno.EFBIG else OUT_OF_MEMORY
    return 0


def hold_to_bounds(cpu_seconds: int, memory_bytes: int, output_bytes: int, data_bytes: int | None = None) -> None:
    """Set these limits if the system has them. The waiting process has a time limit everywhere. `memory_bytes` is address space,
    and `data_bytes` is what can be filled of it."""
    if sys.platform != "win32":
        # At the first figure the kernel sends a signal, at the second it kills. Nothing here could answer.
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
        resource.setrlimit(resource.RLIMIT_FSIZE, (output_bytes, output_bytes))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        # Others refuse it, or count more than a process uses.
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
        if data_bytes is not None:
            resource.setrlimit(resource.RLIMIT_DATA, (data_bytes, data_bytes))
