"""Options that say which repository a policy is followed from. What they mean is in source_choice.py."""

from collections.abc import Callable
from typing import TypeVar

import click

from reconciler.cli.inputs.named_path import NAMED_PATH
from reconciler.cli.inputs.signer import signer_option

_FILE = NAMED_PATH
_Command = TypeVar("_Command", bound=Callable[..., object])
_PROTOCOLS = ("https", "ssh", "http", "git", "file")
DEFAULT_CACHE = "~/.cache/reconciler"

_ACCESS = (
    click.option("--git-username", metavar="NAME", default="x-access-token", show_default=True, help="User for https."),
    click.option("--git-password-file", metavar="FILE", type=_FILE, help="File with the token or password for https."),
    click.option("--git-ca-file", metavar="FILE", type=_FILE, help="Certificates to trust for https instead of the system's."),
    click.option("--git-ssh-key", metavar="FILE", type=_FILE, help="Private key for ssh."),
    click.option("--known-hosts", metavar="FILE", type=_FILE, help="Host keys for ssh, which requires them."),
    click.option(
        "--git-protocol",
        "protocols",
        multiple=True,
        type=click.Choice(_PROTOCOLS),
        help="Allow only these [default: https, ssh].",
    ),
    click.option(
        "--git-timeout",
        metavar="S",
        type=click.IntRange(1, 3600),
        default=60,
        show_default=True,
        help="Seconds that a fetch may take.",
    ),
)
_APPROVALS = (
    click.option(
        "--approvers",
        metavar="FILE",
        type=_FILE,
        help="Take approvals of removals from commits that one of these SSH keys signed.",
    ),
    click.option("--approver-gpg-keys", metavar="FILE", type=_FILE, help="The same with exported GPG keys."),
)
_OPTIONS = (
    click.option("--git", "git_url", metavar="URL", help="Follow the policy in this repository: https://…, ssh://…."),
    click.option(
        "--custom-resources", is_flag=True, help="Follow the NodeGroupPolicy and NodeGroup objects of the management cluster."
    ),
    click.option(
        "--flux-source",
        metavar="[KIND/]NAMESPACE/NAME",
        help="Follow the artifact of this source of Flux in the management cluster [default kind: GitRepository].",
    ),
    click.option("--flux-verified", is_flag=True, help="Refuse an artifact whose signature Flux has not checked."),
    click.option("--ref", "git_ref", metavar="REF", default="main", show_default=True, help="Branch, refs/… or whole commit id."),
    click.option("--path", "git_path", metavar="PATH", default="", help="Where the policies are in it [default: its top]."),
    click.option("--name", "policy_name", metavar="NAME", help="Which NodeGroupPolicy, where the files hold several."),
    click.option("--allowed-signers", metavar="FILE", type=_FILE, help="Refuse commits that none of these SSH keys signed."),
    click.option("--gpg-keys", metavar="FILE", type=_FILE, help="Refuse commits that none of these exported GPG keys signed."),
    signer_option,
    *_ACCESS,
    click.option(
        "--git-cache", metavar="DIR", type=_FILE, help=f"Where fetched objects are kept [default: below {DEFAULT_CACHE}]."
    ),
    click.option(
        "--git-max-mib",
        metavar="N",
        type=click.IntRange(1, 65_536),
        default=256,
        show_default=True,
        help="Most that a fetch may bring.",
    ),
    click.option("--last-good", metavar="FILE", type=_FILE, help="Keep the last good policy there, and start from it."),
    click.option("--allow-rewind", is_flag=True, help="Take a branch that was rewritten."),
    click.option("--allow-no-groups", is_flag=True, help="Take a policy without groups where there were some."),
)


def source_options(command: _Command) -> _Command:
    """Add the options to a command, which takes them as `**source` and gives them to `source_choice`; among them those that say
    whose approvals count."""
    for option in reversed(_APPROVALS):
        command = option(command)
    return policy_source_options(command)


def policy_source_options(command: _Command) -> _Command:
    """The same for a command to which nobody approves anything."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def access_options(command: _Command) -> _Command:
    """Add only those that say how a remote repository is reached; the command gives them to `remote_access`."""
    for option in reversed(_ACCESS):
        command = option(command)
    return command
