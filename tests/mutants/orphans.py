"""What tests start in sessions of their own outlives them where they are killed; on Linux it is found again."""

import ctypes
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

_SET_CHILD_SUBREAPER = 36  # prctl(2)


def adopt_orphans() -> None:
    """Processes whose parent ends become children of this one, however deep they were."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_children() -> None:
    """Kill every child of this process, and those that become its children by that."""
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    while children.exists() and (found := children.read_text().split()):
        for child in map(int, found):
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(child, 0)
