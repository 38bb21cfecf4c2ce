"""Workflow commands under GitHub Actions: off while anything of others is printed, on for ours alone.

SOURCE: GitHub's workflow commands: `::stop-commands::TOKEN` until `::TOKEN::`. They count for the step that prints them, on both
of its outputs. The runner reads what came on stderr before what came on stdout meanwhile. They are printed to stderr, so that
data on stdout stays what it is. They are not switched on again at the end, because the runner would still read what is left in
the pipe of stdout.
"""

import os

import click


class WorkflowCommands:
    """One run of a command."""

    def __init__(self) -> None:
        self._token = ""

    def stop(self) -> None:
        """From here on nothing that is printed is a command; nothing where no runner reads."""
        if os.environ.get("GITHUB_ACTIONS") == "true":
            self._token = os.urandom(32).hex()
            click.echo(f"::stop-commands::{self._token}", err=True)

    def print(self, commands: str) -> None:
        """Commands of ours, whole lines, in which text of others is escaped already; to be printed before anything on stdout."""
        if not commands:
            return
        before = f"::{self._token}::\n" if self._token else ""
        self._token = os.urandom(32).hex()
        click.echo(f"{before}{commands}::stop-commands::{self._token}", err=True)


WORKFLOW_COMMANDS = WorkflowCommands()
