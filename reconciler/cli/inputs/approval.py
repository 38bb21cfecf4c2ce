"""Options that say how many nodes may go without an approval, and which commit approves more. What they mean is in
approval_terms.py."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from reconciler.cli.inputs.named_path import NAMED_PATH
from reconciler.cli.inputs.signer import signer_option

_FILE = NAMED_PATH
_Command = TypeVar("_Command", bound=Callable[..., object])

_OPTIONS = (
    click.option(
        "--require-plan",
        "limit",
        metavar="N",
        type=click.IntRange(min=0),
        help="Remove more than N nodes only with an approval of the policy.",
    ),
    click.option("--approved-by", metavar="REF", help="Commit whose trailers approve."),
    click.option("--repo", metavar="DIR", type=_FILE, default=Path(), help="Its repository [default: this directory]."),
    click.option("--allowed-signers", metavar="FILE", type=_FILE, help="Valid only if one of these SSH keys signed it."),
    click.option("--gpg-keys", metavar="FILE", type=_FILE, help="Valid only if one of these exported GPG keys signed it."),
    click.option(
        "--any-author", is_flag=True, help="Accept an approval by any author, signed or not: anyone who can commit can approve."
    ),
    signer_option,
)


def approval_options(command: _Command) -> _Command:
    """Add the options to a command, which gives them to `approval_choice`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
