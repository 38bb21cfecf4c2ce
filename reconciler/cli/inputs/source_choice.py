"""The repository that options name, as a source to follow."""

import hashlib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from reconciler.cli.inputs.source import DEFAULT_CACHE
from reconciler.cli.outputs.failure import InputError
from reconciler.cli.outputs.telling import tell
from reconciler.cli.outputs.terminal import wants_colour
from reconciler.rendering.printers.problem_lines import render_text
from reconciler.values.two_sentences import two_sentences

if TYPE_CHECKING:
    from reconciler.control.policy.policy_source import FollowedPolicy
    from reconciler.gitops.sources.flux_source import FluxSource
    from reconciler.gitops.sources.git_source import GitSource
    from reconciler.gitops.sources.standing import SourceEvent
    from reconciler.kube.connection.api import Api
    from reconciler.policy.documents import PolicySet


class SourceChoice(msgspec.Struct, frozen=True, kw_only=True):
    """The options as given; `git_url` None: no repository is followed. Names are those of the options."""

    git_url: str | None
    custom_resources: bool
    flux_source: str | None
    flux_verified: bool
    git_ref: str
    git_path: str
    policy_name: str | None
    allowed_signers: Path | None
    gpg_keys: Path | None
    signers: tuple[str, ...]
    git_username: str
    git_password_file: Path | None
    git_ca_file: Path | None
    git_ssh_key: Path | None
    known_hosts: Path | None
    protocols: tuple[str, ...]
    git_cache: Path | None
    git_max_mib: int
    git_timeout: int
    last_good: Path | None
    allow_rewind: bool
    allow_no_groups: bool
    approvers: Path | None = None
    approver_gpg_keys: Path | None = None

    @property
    def in_cluster(self) -> bool:
        """Whether the policy is read from the management cluster."""
        return self.custom_resources or self.flux_source is not None


def source_choice(given: Mapping[str, Any]) -> SourceChoice:
    """The values that click hands over, by the names of the options; others are passed over."""
    return SourceChoice(**{name: given[name] for name in SourceChoice.__struct_fields__ if name in given})


def only_source(choice: SourceChoice, policy: Path | None) -> None:
    """Raises `InputError` when the options name several sources: which one wins must not be a guess."""
    given = [
        option
        for option, there in (
            ("--git", choice.git_url is not None),
            ("--policy", policy is not None),
            ("--custom-resources", choice.custom_resources),
            ("--flux-source", choice.flux_source is not None),
        )
        if there
    ]
    if len(given) > 1:
        raise InputError(
            f"{', '.join(given[:-1])} and {given[-1]} are {'two' if len(given) == 2 else len(given)} sources: give one"
        )


def flux_source(choice: SourceChoice, api: "Api") -> "FluxSource":
    """The artifact that is meant. Raises `InputError`; nothing is fetched yet."""
    from reconciler.gitops.git.tree_names import RefusedNameError, checked_root
    from reconciler.gitops.sources.flux_source import FluxSource

    parts = (choice.flux_source or "").split("/")
    if len(parts) not in (2, 3):
        raise InputError(f"--flux-source {choice.flux_source}: write NAMESPACE/NAME, or KIND/NAMESPACE/NAME")
    kind = parts[0] if len(parts) == 3 else "GitRepository"
    try:
        path = checked_root(choice.git_path)
        return FluxSource(api, kind, parts[-2], parts[-1], path, require_verified=choice.flux_verified)
    except RefusedNameError as error:
        raise InputError(f"--path {error}") from None
    except ValueError as error:
        raise InputError(f"--flux-source {choice.flux_source}: {error}") from None


def git_source(choice: SourceChoice) -> "GitSource":
    """The repository that is meant. Raises `InputError`; nothing is fetched yet."""
    from reconciler.gitops.git.cache import Bounds
    from reconciler.gitops.git.remote import DEFAULT_PROTOCOLS, checked_remote
    from reconciler.gitops.git.remote_access import Access, AccessError
    from reconciler.gitops.git.signature import Signers
    from reconciler.gitops.git.signer_name import SignerNameError, signer_names
    from reconciler.gitops.git.tree_names import RefusedNameError

    try:
        from reconciler.gitops.sources.git_source import GitAddress, GitSource
    except ImportError:
        raise InputError("git is not on the PATH, and --git needs it. Follow a directory with --policy DIR instead") from None
    try:
        remote = checked_remote(choice.git_url or "", choice.protocols or DEFAULT_PROTOCOLS)
    except RefusedNameError as error:
        raise InputError(f"--git: the address {error}") from None
    signed = choice.allowed_signers is not None or choice.gpg_keys is not None
    if choice.signers and not signed:
        raise InputError("--signer narrows --allowed-signers or --gpg-keys: give one of them")
    for file in (choice.allowed_signers, choice.gpg_keys, choice.approvers, choice.approver_gpg_keys):
        if file is not None and not file.is_file():
            raise InputError(f"{file}: no such file")
    try:
        names = signer_names(choice.signers, ssh=choice.allowed_signers is not None, gpg=choice.gpg_keys is not None)
    except SignerNameError as error:
        raise InputError(f"--signer: {error}") from None
    address = GitAddress(
        remote=remote,
        ref=choice.git_ref,
        path=choice.git_path,
        access=Access(
            username=choice.git_username, password_file=choice.git_password_file, ssh_key_file=choice.git_ssh_key,
            known_hosts_file=choice.known_hosts, ca_file=choice.git_ca_file,
        ),
        signers=Signers(allowed_signers_file=choice.allowed_signers, gpg_keys_file=choice.gpg_keys, names=names)
        if signed
        else None,
        approvers=Signers(allowed_signers_file=choice.approvers, gpg_keys_file=choice.approver_gpg_keys)
        if choice.approvers is not None or choice.approver_gpg_keys is not None
        else None,
        allow_rewind=choice.allow_rewind,
    )  # fmt: skip
    bounds = Bounds(pack_bytes=choice.git_max_mib << 20, timeout_seconds=float(choice.git_timeout))
    try:
        return GitSource(address, cache_directory(choice.git_cache, remote.url), bounds)
    except RefusedNameError as error:
        named = "--path" if "leave" in str(error) or "absolute" in str(error) else "--ref"
        raise InputError(f"{named} {error}") from None
    except AccessError as error:
        raise InputError(f"--git {remote.url}: {error}") from None


def followed_policy(choice: SourceChoice, clock: Callable[[], int], tell: "Callable[[SourceEvent], None]") -> "FollowedPolicy":
    """A policy source over the repository, not yet read. Raises `InputError`."""
    from reconciler.control.policy.policy_source import FollowedPolicy
    from reconciler.gitops.sources.last_good import FileLastGoodStore, MemoryLastGoodStore

    store = FileLastGoodStore(choice.last_good) if choice.last_good is not None else MemoryLastGoodStore()
    return FollowedPolicy(
        git_source(choice), store, clock, name=choice.policy_name, allow_no_groups=choice.allow_no_groups, tell=tell
    )


def read_once(choice: SourceChoice, now_seconds: int) -> "PolicySet":
    """The policy in force after one look at the repository; what happens is reported on stderr. Raises `InputError`.

    With a file of the last good policy, an unreadable repository or a bad commit is not an error.
    """
    policy = followed_policy(choice, lambda: now_seconds, _say)
    policy.poll()
    if policy.ready:
        return policy.current()
    fault = policy.standing.fault
    if fault is not None and fault.problems:
        click.echo(render_text(fault.problems, color=wants_colour(sys.stderr)), err=True)
    message = f"{policy.standing.source}: {fault.message if fault else 'not read'}"
    raise InputError(two_sentences(message, fault.hint if fault else ""))


def _say(event: "SourceEvent") -> None:
    if event.type == "Warning":
        tell(f"{event.type.lower()}: {event.message} [{event.reason}]")


def cache_directory(given: Path | None, url: str) -> Path:
    """Where objects of a remote are kept: as given, else a directory of its own below the user's cache."""
    if given is not None:
        return given
    return Path(DEFAULT_CACHE).expanduser() / f"git-{hashlib.sha256(url.encode()).hexdigest()[:16]}"
