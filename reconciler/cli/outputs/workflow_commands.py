"""Workflow commands under GitHub Actions: off while anything of others is printed, on for ours alone.

SOURCE: GitHub's workflow commands: `::stop-commands::TOKEN` until `::TOKEN::`, for the step that prints it, whichever of its two
outputs it prints it to; what came on stderr is read before what came on stdout meanwhile. They are printed to stderr, so that
data on stdout stays what it is, and are not switched on again at the end: what is left in the pipe of stdout would still be read.
"""

import os
import secrets

import click


class WorkflowCommands:
    """One run of a command."""

    def __init__(self) -> None:
        self._token = ""

    def stop(self) -> None:
        """From here on nothing that is printed is a command; nothing where no runner reads."""
        if os.environ.get("GITHUB_ACTIONS") == "true":
            self._token = secrets.token_hex(32)
            click.echo(f"::stop-commands::{self._token}", err=True)

    def print(self, commands: str) -> None:
        """Commands of ours, whole lines, in which text of others is escaped already; to be printed before anything on stdout."""
        if not commands:
            return
        before = f"::{self._token}::\n" if self._token else ""
        self._token = secrets.token_hex(32)
        click.echo(f"{before}{commands}::stop-commands::{self._token}", err=True)


WORKFLOW_COMMANDS = WorkflowCommands()
