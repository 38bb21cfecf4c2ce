"""`--help`: commands and options in groups, on two screens at most, and no line wider than a terminal of 80 columns."""

import re

import click
import pytest
from click.testing import CliRunner

from reconciler.cli.main import COMMAND_GROUPS, COMMANDS, cli
from reconciler.cli.outputs.grouped_help import GROUPS, MOST_OPTIONS, SELDOM


def command(name: str) -> click.Command:
    found = cli.get_command(click.Context(cli), name)
    assert found is not None
    return found


def options(name: str) -> set[str]:
    """Long names of what a command takes."""
    return {max(one.opts, key=len) for one in command(name).params if isinstance(one, click.Option)}


def told(*words: str) -> str:
    result = CliRunner().invoke(cli, list(words), prog_name="reconciler", terminal_width=80)
    assert result.exit_code == 0, result.output
    return result.output


def section(text: str, heading: str) -> set[str]:
    """The longest name of each entry below a heading."""
    body = text.partition(f"\n{heading}:\n")[2].partition("\n\n")[0]
    return {max(found.split(", "), key=len) for found in re.findall(r"^  ((?:-\w, )?[a-z-]+(?:, --[a-z-]+)*)", body, re.M)}


def test_every_command_is_in_one_group() -> None:
    """Under what somebody wants, each with its line on one line."""
    text = told("--help")
    assert list(COMMAND_GROUPS) == ["Try", "Review", "Operate", "Migrate"]
    assert sorted(name for names in COMMAND_GROUPS.values() for name in names) == sorted(COMMANDS)
    for heading, names in COMMAND_GROUPS.items():
        assert section(text, heading) == set(names)
    assert all(f"{line}\n" in text for _, line in COMMANDS.values())


@pytest.mark.parametrize("words", [(), *((name,) for name in COMMANDS)], ids=lambda words: " ".join(words) or "reconciler")
def test_no_line_is_wider_than_80_columns(words: tuple[str, ...]) -> None:
    """Examples too, which are never broken for the reader."""
    assert [line for line in told(*words, "--help").splitlines() if len(line) > 80] == []


def test_run_fits_two_screens_of_forty_lines() -> None:
    """The rest is behind --help-all, and the help says how much that is."""
    text = told("run", "--help")
    assert len(text.splitlines()) <= 80
    left = options("run") & SELDOM
    assert f"{len(left)} more options: `reconciler run --help-all`." in text
    assert {"--git", "--ref", "--path", "--allowed-signers"} == section(text, "Git")
    assert {"--log-format", "--color", "--help-all", "--help", "--output"} == section(text, "Output")
    assert {"--cluster", "--context", "--kubeconfig", "--namespace"} == section(text, "Cluster")
    assert {"--policy", "--name", "--custom-resources", "--flux-source"} == section(text, "Policy")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_told_once(name: str) -> None:
    """By --help, or by --help-all where there are many."""
    many = len(options(name) - {"--help-all"}) > MOST_OPTIONS
    assert ("--help-all" in options(name)) is many
    text = told(name, "--help-all" if many else "--help")
    sections = [section(text, heading) for heading in GROUPS]
    assert sorted(one for those in sections for one in those) == sorted({*options(name), "--help"})
    assert "more options" not in text


def test_groups_name_options_that_exist() -> None:
    """Nothing stale in the tables."""
    there = {option for name in COMMANDS for option in options(name)} | {"--help", "--version"}
    listed = [option for names in GROUPS.values() for option in names]
    assert (set(listed) | SELDOM) - there == set()
    assert len(listed) == len(set(listed))
