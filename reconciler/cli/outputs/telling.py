"""What commands tell beside their data, on stderr: lines of ours with text of others in them, each made plain here."""

import click

from reconciler.policy.tree import PolicyTree
from reconciler.rendering.plain import plain_lines


def tell(text: str) -> None:
    """Print lines to stderr."""
    click.echo(plain_lines(text), err=True)


# Files beside policies that were passed over, named for who asks.


def tell_neighbours(tree: PolicyTree) -> None:
    """A line on stderr for each."""
    for one in tree.neighbours:
        what = f"document of another kind: {one.message}" if one.code == "OtherKind" else f"{one.message} [{one.code}]"
        tell(f"skipped: {one.path}: {what}")
