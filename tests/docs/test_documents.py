"""What the documentation shows is what the commands print, and what it links to is there."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.policy.tree import read_tree

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted((*ROOT.glob("*.md"), *ROOT.glob("examples/**/*.md"), *ROOT.glob("docs/**/*.md")))
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
_LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(#[^)\s]*)?\)")
_ELLIPSIS = "…"


def _blocks(language: str) -> Iterator[tuple[str, str]]:
    for path in DOCUMENTS:
        for number, (found, body) in enumerate(_BLOCK.findall(path.read_text(encoding="utf-8"))):
            if found == language:
                yield f"{path.relative_to(ROOT)}#{number}", body


_SESSIONS = dict(_blocks("console"))
_POLICIES = {name: body for name, body in _blocks("yaml") if "apiVersion: reconciler.dev/" in body}


def _commands(body: str) -> list[tuple[str, str]]:
    """`$ command` lines with what is shown below each."""
    parts = re.split(r"^\$ (.*)\n", body, flags=re.M)
    return list(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("name", _SESSIONS)
def test_a_shown_session_is_what_the_commands_print(name: str) -> None:
    """Every `$ reconciler …` block: the output follows line by line; a line `…` stands for any number of lines."""
    for command, shown in _commands(_SESSIONS[name]):
        words = shlex.split(command)
        assert words[0] == "reconciler", f"only reconciler commands can be checked: {command}"
        done = subprocess.run(
            [sys.executable, "-m", "reconciler", *words[1:]],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,  # ends a command that hangs, and no command on a busy machine
            env={**os.environ, "NO_COLOR": "1", "COLUMNS": "100"},
        )
        pattern = "".join(r"(?:.*\n)*?" if line.strip() == _ELLIPSIS else re.escape(line) + r"\n" for line in shown.splitlines())
        assert re.fullmatch(pattern, done.stdout), f"$ {command}\n{done.stdout}\n--- stderr\n{done.stderr}"


@pytest.mark.parametrize("name", _POLICIES)
def test_shown_policies_are_valid(name: str) -> None:
    """Every YAML block with documents of ours reads without an error."""
    tree = read_tree({"shown.yaml": _POLICIES[name].encode()}, now_seconds=1_795_219_200)
    errors = [problem for problem in tree.problems if problem.severity == "error"]
    assert not errors


@pytest.mark.parametrize("path", DOCUMENTS, ids=str)
def test_links_lead_somewhere(path: Path) -> None:
    """Every relative link names a file of the repository."""
    text = _BLOCK.sub("", path.read_text(encoding="utf-8"))
    missing = [
        target
        for target, _ in _LINK.findall(text)
        if "://" not in target and not target.startswith("mailto:") and not (path.parent / target).exists()
    ]
    assert not missing


def test_the_readme_begins_with_its_two_commands() -> None:
    """A stranger's first two commands are `make run` and `make test`."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^(make [a-z]+)", text, flags=re.M)
    assert commands[:2] == ["make run", "make test"]
