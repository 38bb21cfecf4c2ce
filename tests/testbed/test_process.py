import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.testbed.process import Process, free_ports

_PARENT = """
import sys
from pathlib import Path
from tests.testbed.process import Process
directory = Path(sys.argv[1])
Process("sleeper", ["/bin/sh", "-c", "echo $$ > pid; exec cat never"], directory)
sys.stdin.read()
"""


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_program_dies_with_its_parent(tmp_path: Path) -> None:
    """When the process that started it is killed, a program that waits for ever ends too."""
    os.mkfifo(tmp_path / "never")
    os.mkfifo(tmp_path / "pid")
    top = Path(__file__).parents[2]
    with subprocess.Popen([sys.executable, "-c", _PARENT, str(tmp_path)], stdin=subprocess.PIPE, cwd=top) as parent:
        pid = int((tmp_path / "pid").read_text())
        assert _runs(pid)
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    deadline = time.monotonic() + 120
    while _runs(pid):
        assert time.monotonic() < deadline, "the program outlived its parent"
        time.sleep(0.01)


def test_a_program_that_ends_early_shows_its_log(tmp_path: Path) -> None:
    """Waiting for a program that has ended raises with what it printed."""
    process = Process("broken", [sys.executable, "-c", "raise SystemExit('no such flag')"], tmp_path)
    with pytest.raises(RuntimeError, match="no such flag"):
        process.wait_until(lambda: False, "being ready")
    process.stop(patience_seconds=1)


def test_ports_are_all_different() -> None:
    """Ports asked for together never repeat."""
    assert len(set(free_ports(50))) == 50


def test_ports_are_not_those_of_clients() -> None:
    """A connection to somewhere else cannot have one of them while its server is away."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        clients = [socket.create_connection(listener.getsockname()) for _ in range(20)]
        lowest = min(client.getsockname()[1] for client in clients)
        for client in clients:
            client.close()
    first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    assert lowest >= first
    assert first < 20_000 or max(free_ports(50)) < first
