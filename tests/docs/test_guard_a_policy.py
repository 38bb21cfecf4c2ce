"""The tutorial about policy tests is true: its commands run in one shell, and print what the page shows."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "tutorials" / "guard-a-policy.md"
_PART = re.compile(r"^```sh\n(.*?)^```\n\n```text\n(.*?)^```$", re.M | re.S)
_MARK = "@@@ part"


def parts() -> list[tuple[str, str]]:
    """The commands of each part, and what they print."""
    return _PART.findall(PAGE.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What each part printed, after all have run."""
    folder = tmp_path_factory.mktemp("guard")
    command = folder / "bin" / "reconciler"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m reconciler "$@"\n')
    command.chmod(0o755)
    script = "set -euo pipefail\n" + "".join(f"echo '{_MARK}'\n{commands}" for commands, _ in parts())
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


def test_every_command_is_followed_by_what_it_prints() -> None:
    """No block of commands is left out."""
    assert len(parts()) == PAGE.read_text(encoding="utf-8").count("```sh\n") == 7


@pytest.mark.parametrize("number", range(7))
def test_a_part_prints_what_the_page_shows(printed: list[str], number: int) -> None:
    """Line by line, in this order; `…` stands for any number of lines, or for the rest of one."""
    shown = parts()[number][1].splitlines()
    pattern = "".join(r"(?:.*\n)*?" if line == "…" else re.escape(line).replace("…", ".*") + r"\n" for line in shown)
    assert re.search(f"^{pattern}", printed[number], re.M), printed[number]
