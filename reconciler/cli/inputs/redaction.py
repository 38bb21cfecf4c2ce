"""Options that say what a redacted snapshot keeps readable, and the secret that its pseudonyms are made with."""

import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from reconciler.cli.inputs.named_path import NAMED_PATH
from reconciler.cli.outputs.failure import InputError

if TYPE_CHECKING:
    from reconciler.cluster.snapshots.pseudonyms import Pseudonyms

LEAST_SALT_BYTES = 16
_Command = TypeVar("_Command", bound=Callable[..., object])


class RedactionChoice(NamedTuple):
    """The options as given; names are those of the options. No struct: it is made before anything heavy is loaded."""

    salt_file: Path | None = None
    readable_policy: Path | None = None
    readable_keys: tuple[str, ...] = ()
    hide_names: bool = False


def redaction_options(command: _Command) -> _Command:
    """Add `--salt-file`, `--readable-policy`, `--readable-key` and `--hide-names`."""
    options = (
        click.option(
            "--salt-file",
            metavar="FILE",
            type=NAMED_PATH,
            help="Secret of this cluster that pseudonyms are made with [default: another one each time].",
        ),
        click.option(
            "--readable-policy",
            metavar="PATH",
            type=NAMED_PATH,
            help="Words of this policy, and values of labels and taints that it names, stay readable when redacted.",
        ),
        click.option("--readable-key", "readable_keys", metavar="KEY", multiple=True, help="And values of this label or taint."),
        click.option(
            "--hide-names",
            is_flag=True,
            help="Names of nodes, namespaces, targets, machines and classes become pseudonyms as well when redacted.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def redaction_choice(given: Mapping[str, Any]) -> tuple[RedactionChoice, dict[str, Any]]:
    """Of the values that click hands over, those of `redaction_options`, and the others."""
    others = {name: value for name, value in given.items() if name not in RedactionChoice._fields}
    return RedactionChoice(**{name: given[name] for name in RedactionChoice._fields}), others


def pseudonyms(choice: RedactionChoice) -> "Pseudonyms":
    """Raises `InputError` for a file that holds no secret, and for a policy that cannot be read."""
    from reconciler.cli.inputs.policy_files import read_policy_tree
    from reconciler.cluster.snapshots.pseudonyms import Pseudonyms, words_in

    words: set[str] = set()
    if choice.readable_policy is not None:
        for text in read_policy_tree([choice.readable_policy]).files.values():
            words |= words_in(text.decode("utf-8", "replace"))
    return Pseudonyms(_salt(choice.salt_file), words, {*words, *choice.readable_keys}, hides_names=choice.hide_names)


def _salt(file: Path | None) -> bytes:
    if file is None:
        return secrets.token_bytes(32)
    try:
        salt = file.read_bytes().strip()
    except OSError as error:
        raise InputError(f"--salt-file {file}: {error.strerror or error}") from None
    if len(salt) < LEAST_SALT_BYTES:
        raise InputError(
            f"--salt-file {file}: {len(salt)} bytes could be guessed, {LEAST_SALT_BYTES} are the least: openssl rand -hex 32"
        )
    return salt
