"""Work in a copy of the process. Each case has a process of its own: the workers of pytest have other threads."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
_HEAD = """
import os, sys, threading
from reconciler.cli.inputs.second_process import in_second_process
os.sched_getaffinity = lambda _: {0, 1}
print("once")
"""


def printed(program: str) -> tuple[str, str]:
    done = subprocess.run(
        [sys.executable, "-c", _HEAD + program], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout, done.stderr


@pytest.mark.parametrize(
    ("program", "found"),
    [
        ("wait = in_second_process(os.getpid)\nprint(wait() != os.getpid())", "True"),
        ("wait = in_second_process(lambda: 'x' * 1_000_000)\nprint(len(wait()))", "1000000"),
        ("wait = in_second_process(lambda: 1 // 0)\nprint(wait())", "None"),
        ("wait = in_second_process(lambda: os.abort())\nprint(wait())", "None"),
        ("wait = in_second_process(lambda: threading.Lock())\nprint(wait())", "None"),
        ("os.sched_getaffinity = lambda _: {0}\nwait = in_second_process(os.getpid)\nprint(wait())", "None"),
        ("def fork(): raise OSError\nos.fork = fork\nwait = in_second_process(os.getpid)\nprint(wait())", "None"),
        (
            "stop = threading.Event()\nthread = threading.Thread(target=stop.wait)\nthread.start()\n"
            "wait = in_second_process(os.getpid)\nprint(wait())\nstop.set()",
            "None",
        ),
    ],
    ids=["another process", "much", "failure", "killed", "no value", "one core", "no process", "a thread"],
)
def test_the_result_or_none(program: str, found: str) -> None:
    """Whatever happens there, nothing of it is printed, and what waited for output is printed once."""
    assert printed(program) == (f"once\n{found}\n", "")


def test_a_snapshot_is_the_same_on_one_core() -> None:
    """Pods and digests come from two processes, or from one."""
    program = """
from reconciler.cli.inputs.cluster_files import load_snapshot
from reconciler.cluster.snapshots import digest, intake
intake.MANY_PODS, digest._LARGE_BYTES = 10, 1000
forks = []
fork = os.fork
def counted():
    forks.append(1)
    return fork()
os.fork = counted
on_two = load_snapshot("examples/quickstart")
count = len(forks)
os.sched_getaffinity = lambda _: {0}
print(count > 20, load_snapshot("examples/quickstart") == on_two, len(forks) == count)
"""
    assert printed(program) == ("once\nTrue True True\n", "")
