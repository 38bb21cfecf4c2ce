"""The demo of the preview, as `make demo-preview` runs it."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_demo(tmp_path: Path):
    """Prints the history and both forms of the preview, and leaves nothing behind."""
    command = tmp_path / "reconciler"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m reconciler "$@"\n')
    command.chmod(0o755)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    done = subprocess.run(
        ["sh", "examples/preview/demo.sh", str(command)],
        cwd=ROOT, env={"PATH": os.environ["PATH"], "TMPDIR": str(scratch), "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stderr == ""
    assert "NodeGroup auto: size.max 10 -> 7 (on-demand.yaml:28:18 -> on-demand.yaml:28:18)" in done.stdout
    assert "tiers[on-demand].defaults" in done.stdout
    assert "```diff\n" in done.stdout
    assert "NodeGroup spot: size.max" not in done.stdout
    assert list(scratch.iterdir()) == []
