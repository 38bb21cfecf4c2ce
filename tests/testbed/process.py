"""Processes that never outlive the tests."""

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

_FIRST_PORT = 10_000

# Asks the kernel for SIGKILL when the parent dies (prctl PR_SET_PDEATHSIG, kept over exec), then becomes the program. A
# process of its own, because a hook between fork and exec is not safe in a process with threads.
_DIE_WITH_PARENT = "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 9); os.execv(sys.argv[1], sys.argv[1:])"


class Process:
    """A running program with its output in a file. It gets SIGKILL when this process dies, however that happens."""

    def __init__(self, name: str, arguments: Sequence[str], directory: Path) -> None:
        self.name = name
        self.log = directory / f"{name}.log"
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-S", "-E", "-c", _DIE_WITH_PARENT, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=directory,
            )

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def running(self) -> bool:
        """Whether the program has not ended."""
        return self._process.poll() is None

    def processor_seconds(self) -> float:
        """How long all its threads together have had a processor; 0 when it has ended."""
        try:
            fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def wait_until(self, ready: Callable[[], bool], what: str, seconds: float = 300) -> None:
        """Return when `ready` holds. Raises RuntimeError with the end of the log when the program ends or time is up."""
        deadline = time.monotonic() + seconds
        while not ready():
            if self._process.poll() is not None:
                raise RuntimeError(f"{self.name} ended with {self._process.returncode}:\n{self.tail()}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"{self.name}: {what} did not happen in {seconds:.0f} s:\n{self.tail()}")
            time.sleep(0.02)

    def pause(self) -> None:
        """Freeze the program: it keeps its sockets and answers nothing (SIGSTOP). Returns when all its threads stand still."""
        self._process.send_signal(signal.SIGSTOP)
        tasks = Path(f"/proc/{self._process.pid}/task")
        self.wait_until(lambda: all(_stopped(task) for task in tasks.iterdir()), "standing still")

    def resume(self) -> None:
        """Let a frozen program go on (SIGCONT)."""
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """End the program at once, as a crash does (SIGKILL); returns when it is gone."""
        self._process.kill()
        self._process.wait()

    def stop(self, patience_seconds: float) -> None:
        """SIGTERM, and SIGKILL when that did not end it in time."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(patience_seconds)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._process.wait()

    def tail(self) -> str:
        """The last lines of the log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody listens on now, all different.

    They lie outside of the range from which outgoing connections get theirs, where it leaves room: a client that tries again and
    again to reach a server that is away is given that server's port in the end, meets itself there, and keeps the port.
    """
    first_of_clients = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    end = first_of_clients if first_of_clients >= 2 * _FIRST_PORT else 65_536
    found: list[int] = []
    for port in random.SystemRandom().sample(range(_FIRST_PORT, end), end - _FIRST_PORT):
        with socket.socket() as one, suppress(OSError):
            one.bind(("127.0.0.1", port))
            found.append(port)
        if len(found) == count:
            return found
    raise OSError(f"fewer than {count} ports from {_FIRST_PORT} to {end} are free")


def _stopped(task: Path) -> bool:
    """Whether a thread is stopped (state T after the name, which may hold anything but is in brackets), or gone."""
    try:
        return (task / "stat").read_text().rpartition(")")[2].split()[0] in ("T", "t")
    except (FileNotFoundError, ProcessLookupError):
        return True
