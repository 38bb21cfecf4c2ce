"""How commands end that somebody stops, and what a wrong command line is told with."""

import click
import pytest

from reconciler.cli.outputs.failure import guarded


@click.command()
@click.option("--how", type=click.Choice(["ctrl-c", "no"]))
def command(how: str) -> None:
    if how == "ctrl-c":
        raise KeyboardInterrupt
    raise click.Abort


def test_ctrl_c_is_told_apart_from_no(capsys: pytest.CaptureFixture[str]) -> None:
    """130, as shells have it for a process that SIGINT ended."""
    assert guarded(command, ["--how", "ctrl-c"]) == 130
    assert capsys.readouterr().err.strip() == "interrupted"
    assert guarded(command, ["--how", "no"]) == 1
    assert capsys.readouterr().err.strip() == "aborted"


def test_wrong_usage_begins_as_other_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert guarded(command, ["--wrong"]) == 1
    told = capsys.readouterr().err
    assert "\nerror: No such option '--wrong'" in told
    assert "Error:" not in told
