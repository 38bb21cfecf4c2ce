"""Completion in the shells themselves: the script is sourced, a word is begun, and Tab is pressed."""

import os
import pty
import re
import select
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
INPUTS = "--cluster examples/quickstart --policy policies"
PATIENCE_SECONDS, TRIES = 10, 6
PROMPT = "READY> "
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\(B)")
START = {
    "bash": (["--norc", "--noprofile", "-i"], "source <(reconciler completion bash)"),
    "zsh": (["-f", "-i"], "autoload -Uz compinit && compinit -u -D && bindkey -e && source <(reconciler completion zsh)"),
    "fish": (["--no-config", "-i"], "function fish_prompt; echo -n 'READY> '; end; reconciler completion fish | source"),
}
LINES = {
    "reconciler expl": "reconciler explain",
    "reconciler run --custom-": "reconciler run --custom-resources",
    "reconciler schema crd": "reconciler schema crds",
    f"reconciler explain {INPUTS} node big-cvpqs-7": f"reconciler explain {INPUTS} node big-cvpqs-75zr8",
    f"reconciler plan {INPUTS} --group fi": f"reconciler plan {INPUTS} --group fixed",
}


class Terminal:
    """A shell with a keyboard."""

    def __init__(self, program: str, arguments: list[str], environment: dict[str, str]) -> None:
        self.seen = ""
        self._pid, self._screen = pty.fork()
        if not self._pid:
            os.chdir(ROOT)
            os.execve(program, [program, *arguments], environment)

    def type(self, keys: str) -> None:
        os.write(self._screen, keys.encode())

    def shows(self, pattern: str, seconds: float) -> bool:
        """Read until the screen shows it, for so long at most."""
        end = time.monotonic() + seconds
        while re.search(pattern, self.seen) is None:
            ready, _, _ = select.select([self._screen], [], [], max(0, end - time.monotonic()))
            if not ready:
                return False
            self.seen = _ESCAPES.sub("", self.seen + os.read(self._screen, 65536).decode(errors="replace"))
        return True

    def close(self) -> None:
        os.kill(self._pid, signal.SIGKILL)
        os.close(self._screen)
        os.waitpid(self._pid, 0)


@pytest.fixture(params=list(START))
def terminal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Terminal]:
    """A shell that knows the script, with `reconciler` on its PATH."""
    shell: str = request.param
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed: apt-get install {shell}")
    folder = tmp_path
    wrapper = folder / "reconciler"
    wrapper.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m reconciler "$@"\n')
    wrapper.chmod(0o755)
    environment = {
        **os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "PS1": PROMPT, "TERM": "xterm", "HOME": str(folder),
        "COLUMNS": "400",
    }  # fmt: skip
    arguments, script = START[shell]
    found = Terminal(program, arguments, environment)
    if shell != "fish":
        assert found.shows(PROMPT, TRIES * PATIENCE_SECONDS), found.seen
    found.type(f"{script}\r")
    found.type("echo it is r''eady\r")
    assert found.shows("it is ready", TRIES * PATIENCE_SECONDS), found.seen
    yield found
    found.close()


@pytest.mark.parametrize(("begun", "whole"), LINES.items(), ids=["command", "option", "choice", "node", "group"])
def test_tab_completes(terminal: Terminal, begun: str, whole: str) -> None:
    """Commands, options, choices and names of the snapshot that the line names. A machine that is busy finds no names within the
    three seconds that a person waits: Tab is pressed again then, as that person would."""
    terminal.type(begun)
    for _ in range(TRIES):
        terminal.type("\t")
        if terminal.shows(re.escape(whole), PATIENCE_SECONDS):
            return
    pytest.fail(f"{whole!r} did not come: {terminal.seen!r}")
