"""`--verbose`: what was passed over is named."""

from collections.abc import Callable
from typing import TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., object])


def verbose_option(command: Command) -> Command:
    """Add `--verbose`, as `verbose`."""
    return click.option("--verbose", is_flag=True, help="Name the skipped files on stderr.")(command)
