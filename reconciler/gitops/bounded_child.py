"""A child process that works on content from others, within bounds of the kernel: it takes nobody else's time, memory or lock.

Python's threads share one lock, and some functions keep it for as long as they run. Work in another process stops no thread here.
"""

import errno
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec

# The other side of `bounded_child`: a program that reads one task, works on it within its bounds, and answers.
#
# The parent process writes the task to standard input, as a pickle. The bounds are three arguments: seconds of processor time,
# bytes of memory and bytes of output. The answer goes to standard output.

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


_KEPT_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "CAPI_GROUP", "TMPDIR")
_WORDS_BYTES = 2_000


class Bound(StrEnum):
    """The resource that a child may exceed."""

    TIME = "time"
    MEMORY = "memory"
    OUTPUT = "output"


class ChildBounds(msgspec.Struct, frozen=True, kw_only=True):
    """`seconds` by the wall clock, `cpu_seconds` of a processor."""

    seconds: float
    cpu_seconds: int
    memory_bytes: int
    output_bytes: int


class ChildTooDearError(Exception):
    """A bound was exceeded; `bound` names it."""

    def __init__(self, bound: Bound) -> None:
        super().__init__(f"the child took too much {bound}")
        self.bound = bound


class ChildError(Exception):
    """The child ended in a way that no bound explains; the message has its last output."""


def child_answer(module: str, task: object, bounds: ChildBounds) -> bytes:
    """The answer of the module, started as a program, to a task. Raises `ChildTooDearError` and `ChildError`.

    The child has an almost empty environment, so no token. It uses files instead of pipes: the kernel bounds its output.
    """
    environment = {name: os.environ[name] for name in _KEPT_ENVIRONMENT if name in os.environ}
    limits = (str(bounds.cpu_seconds), str(bounds.memory_bytes), str(bounds.output_bytes))
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as made, tempfile.TemporaryFile() as words:
        pickle.dump(task, given, protocol=pickle.HIGHEST_PROTOCOL)
        given.seek(0)
        with subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-I", "-m", module, *limits],
            stdin=given, stdout=made, stderr=words, env=environment, start_new_session=True,
        ) as child:  # fmt: skip
            try:
                code = child.wait(bounds.seconds)
            except subprocess.TimeoutExpired:
                child.kill()
                raise ChildTooDearError(Bound.TIME) from None
            except BaseException:
                child.kill()
                raise
        met = _met(code)
        if met is not None:
            raise ChildTooDearError(met)
        if code != 0:
            words.seek(max(words.seek(0, os.SEEK_END) - _WORDS_BYTES, 0))
            raise ChildError(f"the child ended with {code}: {words.read().decode('utf-8', 'replace')}")
        made.seek(0)
        return made.read()


def _met(code: int) -> Bound | None:
    ended_by = signal.Signals(-code).name if code < 0 else ""
    if ended_by == "SIGXCPU":
        return Bound.TIME
    if code == OUT_OF_MEMORY or ended_by == "SIGKILL":
        return Bound.MEMORY
    return Bound.OUTPUT if code == OUT_OF_ROOM or ended_by == "SIGXFSZ" else None
