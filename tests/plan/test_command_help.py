"""Help and completion."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from reconciler.cli.commands.completion import command as completion
from reconciler.cli.main import cli

HEAVY = ("msgspec", "yaml", "jsonschema", "reconciler.decisions", "reconciler.rendering", "reconciler.policy.tree")


@pytest.mark.parametrize("name", ["plan", "explain", "schema", "completion"])
def test_help_has_examples_and_loads_nothing_heavy(name: str):
    """`--help` answers without the modules that the command itself needs: those cost most of its time."""
    program = (
        "import sys; from reconciler.cli.outputs.failure import guarded; from reconciler.cli.main import cli\n"
        f"code = guarded(cli, [{name!r}, '--help']); loaded = [m for m in {HEAVY!r} if m in sys.modules]\n"
        "print('LOADED', loaded); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert "LOADED []" in done.stdout
    assert "Examples:" in done.stdout


@pytest.mark.parametrize(
    ("shell", "needle"), [("bash", "complete -o nosort"), ("zsh", "#compdef reconciler"), ("fish", "complete --no-files")]
)
def test_completion_scripts(shell: str, needle: str):
    """Each shell gets its own script, for the program's name."""
    script = CliRunner().invoke(completion, [shell]).stdout
    assert needle in script
    assert "_RECONCILER_COMPLETE" in script


def test_completion_answers(tmp_path: Path):
    """What the script asks for: options and choices of a command."""
    result = CliRunner().invoke(
        cli, [], prog_name="reconciler",
        env={"_RECONCILER_COMPLETE": "bash_complete", "COMP_WORDS": "reconciler plan -o ", "COMP_CWORD": "3"},
    )  # fmt: skip
    assert result.stdout.split() == ["plain,text", "plain,markdown", "plain,json", "plain,html"]
