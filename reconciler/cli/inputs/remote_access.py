"""A remote repository that options name, and how it is reached."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from reconciler.cli.outputs.failure import InputError

if TYPE_CHECKING:
    from reconciler.gitops.git.remote import Remote
    from reconciler.gitops.git.remote_access import Access


class RemoteAccess(msgspec.Struct, frozen=True, kw_only=True):
    """The options as given; names are those of the options."""

    git_username: str
    git_password_file: Path | None
    git_ca_file: Path | None
    git_ssh_key: Path | None
    known_hosts: Path | None
    protocols: tuple[str, ...]
    git_timeout: int


def remote_access(given: Mapping[str, Any]) -> tuple[RemoteAccess, dict[str, Any]]:
    """Of the values that click hands over, those of `access_options`, and the others."""
    others = {name: value for name, value in given.items() if name not in RemoteAccess.__struct_fields__}
    return RemoteAccess(**{name: given[name] for name in RemoteAccess.__struct_fields__}), others


def reached(option: str, url: str, access: RemoteAccess) -> "tuple[Remote, Access]":
    """The remote that `option` names. Raises `InputError`, which does not repeat an address that may hold a secret."""
    from reconciler.gitops.git.remote import DEFAULT_PROTOCOLS, checked_remote
    from reconciler.gitops.git.remote_access import Access, AccessError, check_access
    from reconciler.gitops.git.tree_names import RefusedNameError

    credentials = Access(
        username=access.git_username,
        password_file=access.git_password_file,
        ssh_key_file=access.git_ssh_key,
        known_hosts_file=access.known_hosts,
        ca_file=access.git_ca_file,
    )
    try:
        remote = checked_remote(url, access.protocols or DEFAULT_PROTOCOLS)
        check_access(remote, credentials)
    except RefusedNameError as error:
        raise InputError(f"{option}: the address {error}") from None
    except AccessError as error:
        raise InputError(f"{option}: {error}") from None
    return remote, credentials
