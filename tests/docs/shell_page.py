"""Pages whose commands run in one shell, one part after the other, and print what the page shows."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_PART = re.compile(r"^```sh\n(.*?)^```\n\n```text\n(.*?)^```$", re.M | re.S)
_MARK = "@@@ part"


def parts(page: Path) -> list[tuple[str, str]]:
    """The commands of each part, and what they print."""
    return _PART.findall(page.read_text(encoding="utf-8"))


def printed(page: Path, folder: Path) -> list[str]:
    """What each part printed in the folder, after all have run."""
    command = folder / "bin" / "reconciler"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m reconciler "$@"\n')
    command.chmod(0o755)
    script = "set -euo pipefail\n" + "".join(f"echo '{_MARK}'\n{commands}" for commands, _ in parts(page))
    environment = os.environ | {
        "PATH": f"{command.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "NO_COLOR": "1", "COLUMNS": "100",
        "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null",
    }  # fmt: skip
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout.split(f"{_MARK}\n")[1:]


def expected(shown: str) -> str:
    """A pattern for what the page shows: `…` stands for any number of lines, or for the rest of one."""
    lines = shown.splitlines()
    return "^" + "".join(r"(?:.*\n)*?" if line == "…" else re.escape(line).replace("…", ".*") + r"\n" for line in lines)
