"""What commands report on stderr, next to their data: lines of ours that contain text of others, each made plain here."""

import click

from reconciler.rendering.words.plain import plain_lines


def tell(text: str) -> None:
    """Print lines to stderr."""
    click.echo(plain_lines(text), err=True)
