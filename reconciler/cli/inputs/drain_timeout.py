"""The option that bounds a drain, for the commands that drain nodes."""

import click

drain_timeout_option = click.option(
    "--drain-timeout",
    "drain_timeout_seconds",
    metavar="S",
    type=click.IntRange(1, 86_400),
    default=600,
    show_default=True,
    help="Give a drain up, and undo it, after so many seconds.",
)
