"""Every command as `--help` prints it."""

from copy import copy

import click

from reconciler.cli.main import COMMANDS, cli
from reconciler.cli.outputs.grouped_help import ALL

_WIDTH = 100


def commands() -> dict[str, click.Command]:
    """Name -> command, in the order of `--help`."""
    top = click.Context(cli, info_name="reconciler")
    return {name: found for name in COMMANDS if (found := cli.get_command(top, name)) is not None}


def commands_page() -> str:
    """One chapter per command."""
    text = "# Commands\n\nData goes to stdout, progress and diagnostics to stderr; [exit codes](exit-codes.md).\n"
    for name, found in commands().items():
        # Without the line of --help: click keeps its spelling from the first call of a command.
        command = copy(found)
        command.add_help_option = False
        top = click.Context(cli, info_name="reconciler")
        context = click.Context(command, info_name=name, parent=top, terminal_width=_WIDTH, max_content_width=_WIDTH)
        context.meta[ALL] = True
        text += f"\n## {name}\n\n{COMMANDS[name][1]}\n\n```text\n{command.get_help(context)}\n```\n"
    return text
