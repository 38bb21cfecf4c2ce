"""The options of commands that run for long: how their log is written, and how much of it."""

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import click
import msgspec

if TYPE_CHECKING:
    from reconciler.control.log import Log

Command = TypeVar("Command", bound=Callable[..., object])


class LogChoice(msgspec.Struct, frozen=True, kw_only=True):
    """The options as given."""

    form: str = "auto"
    level: str = "info"

    def opened(self) -> "Log":
        """The log, on stderr."""
        from reconciler.control.log import Log, LogForm, LogLevel

        form = ("text" if sys.stderr.isatty() else "json") if self.form == "auto" else self.form
        return Log(sys.stderr, lambda: int(time.time()), LogForm(form), LogLevel(self.level))


def log_options(command: Command) -> Command:
    """Add `--log-format` and `--log-level`; the command takes them as `log_format` and `log_level`."""
    options = (
        click.option(
            "--log-format",
            type=click.Choice(["auto", "json", "text"]),
            default="auto",
            show_default=True,
            help="Lines of the log on stderr: JSON for machines, text for people. With auto, text on a terminal.",
        ),
        click.option(
            "--log-level",
            type=click.Choice(["info", "warning", "error"]),
            default="info",
            show_default=True,
            help="Leave out lines that are of less weight.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command
