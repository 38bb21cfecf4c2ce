"""A child process that works on content from others, within bounds of the kernel: it takes nobody else's time, memory or lock.

Python's threads share one lock, and some functions keep it for as long as they run. Work in another process stops no thread here.
"""

import os
import pickle
import signal
import subprocess
import sys
import tempfile
from enum import StrEnum

import msgspec

from reconciler.gitops.child_answer import OUT_OF_MEMORY, OUT_OF_ROOM

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
