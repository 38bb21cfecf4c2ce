"""The demo of the preview, as `make demo-preview` runs it."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_demo(tmp_path: Path):
    """Prints the history and both forms of the preview, applies the plan of what was merged, and leaves only the page behind."""
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
    assert "@@ on-demand.yaml:28 @@ NodeGroup auto\n" in done.stdout
    assert "@@ prod.yaml:28 @@ NodeGroupPolicy prod, reaches auto, big, fixed\n" in done.stdout
    assert "```diff\n" in done.stdout
    assert "@@ NodeGroup spot" not in done.stdout
    report = scratch / "reconciler-preview.html"
    assert f"The same as a page, with the nodes before and after: {report}\n" in done.stdout
    assert list(scratch.iterdir()) == [report]
    assert report.read_text().endswith("</html>\n")
    stale, _, fresh = done.stdout.partition("Made again after the merge")
    assert "[PolicyMoved]" in stale
    assert "MachineDeployment capi/c1-auto-45vz8: replicas 2 -> 7, written by nodegroup-reconciler" in fresh
    assert "Applied: 1 of 1 actions." in fresh
