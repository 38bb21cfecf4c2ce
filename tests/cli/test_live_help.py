"""Commands for live clusters answer for help, and for wrong words, without what they need to run."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from reconciler.cli.main import cli

COMMANDS = ("init", "import", "snapshot", "hold", "status", "doctor", "apply", "fit", "drain-report", "explain", "plan")
HEAVY = ("msgspec", "yaml", "kubernetes", "urllib3", "reconciler.decisions", "reconciler.control", "reconciler.kube")


def test_help_loads_nothing_heavy() -> None:
    """One process for all of them: none may have loaded what costs time."""
    program = (
        "import sys; from reconciler.cli.outputs.failure import guarded; from reconciler.cli.main import cli\n"
        f"codes = [guarded(cli, [name, '--help']) for name in {COMMANDS!r}]\n"
        f"print('LOADED', [m for m in {HEAVY!r} if m in sys.modules], codes)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert f"LOADED [] {[0] * len(COMMANDS)}" in done.stdout
    assert done.stdout.count("Examples:") == len(COMMANDS)


@pytest.mark.parametrize("name", ["snapshot", "hold", "status", "fit", "plan"])
def test_a_kubeconfig_that_is_not_there(name: str, tmp_path: Path) -> None:
    """The message names the file and what to do; nothing is written."""
    more = {"snapshot": ["--out", str(tmp_path / "s")], "hold": ["--all", "--reason", "x"]}.get(name, [])
    result = CliRunner().invoke(cli, [name, *more, "--kubeconfig", str(tmp_path / "none")], standalone_mode=False)
    assert "no such file" in str(result.exception)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("url", "said"), [("ftp://x", "an address such as"), ("http://127.0.0.1:1", "does not answer")])
def test_a_loop_that_does_not_answer(url: str, said: str) -> None:
    """`explain --live` says which address was asked."""
    result = CliRunner().invoke(cli, ["explain", "pod", "a/b", "--live", url], standalone_mode=False)
    assert said in str(result.exception)
