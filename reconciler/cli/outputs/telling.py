"""What commands tell beside their data, on stderr: lines of ours with text of others in them, each made plain here."""

import click

from reconciler.rendering.plain import plain_lines


def tell(text: str) -> None:
    """Print lines to stderr."""
    click.echo(plain_lines(text), err=True)
