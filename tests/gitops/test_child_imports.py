"""Programs that work within bounds import little before the bounds hold: what was mapped by then stays."""

import subprocess
import sys

import pytest

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
