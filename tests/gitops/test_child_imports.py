"""Programs that work within bounds import little before the bounds hold: what was mapped by then stays."""

import pickle
import subprocess
import sys

import pytest

from reconciler.gitops.child_answer import OUT_OF_MEMORY

_MOST_KIB = 400 * 1024
_PEAK = "next(int(line.split()[1]) for line in open('/proc/self/status') if line.startswith('VmPeak'))"


@pytest.mark.skipif(sys.platform != "linux", reason="what a process has mapped is told by Linux")
@pytest.mark.parametrize(
    "module",
    ["reconciler.cli.processes.preview_child", "reconciler.gitops.sources.archive_child", "reconciler.gitops.sources.tree_child"],
)
def test_little_is_mapped_before_the_bounds_hold(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import {module}; print({_PEAK})"], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < _MOST_KIB


@pytest.mark.skipif(sys.platform != "linux", reason="the texts are those of glibc")
@pytest.mark.parametrize(
    ("kind", "text", "code"),
    [
        ("ImportError", "libx.so: failed to map segment from shared object", OUT_OF_MEMORY),
        ("ImportError", "libx.so: cannot allocate memory in static TLS block", OUT_OF_MEMORY),
        ("ImportError", "No module named 'highspy'", 1),
        ("ImportError", "cannot import name 'Plan' from 'reconciler.plan'", 1),
        ("SystemError", "error return without exception set", OUT_OF_MEMORY),
        ("SystemError", "bad argument to internal function", 1),
    ],
)
def test_only_what_found_no_memory_is_out_of_memory(kind: str, text: str, code: int) -> None:
    """A broken installation ends with its traceback, which the parent passes on, and is never taken for a costly tree."""
    program = (
        "import pickle, sys\n"
        "from reconciler.gitops.child_answer import answer\n"
        "def make(task):\n"
        f"    raise {kind}(task)\n"
        "sys.exit(answer(['60', str(1 << 33), '1000'], make))\n"
    )
    done = subprocess.run([sys.executable, "-I", "-c", program], input=pickle.dumps(text), capture_output=True, check=False)
    assert done.returncode == code
    assert (text in done.stderr.decode()) is (code == 1)
