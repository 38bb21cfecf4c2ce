"""The address of a remote repository, checked before any of it reaches a command line, and the one ref that is followed."""

import re
from urllib.parse import urlsplit

import msgspec

from reconciler.gitops.git.tree_names import RefusedNameError, checked_ref, object_id

DEFAULT_PROTOCOLS = ("https", "ssh")
PROTOCOLS = ("https", "ssh", "http", "git", "file")
"""All but the first two neither encrypt the content nor prove its sender. Each must be allowed explicitly."""

_MOST_CHARACTERS = 2048
# SOURCE: gitremote-helpers (`transport::address` runs git-remote-transport; `ext` and `fd` are such), git-clone "GIT URLS"
# (scp-like `user@host:path`: no slash before the first colon).
_HELPER = re.compile(r"[^/:@]*::")
_SCP_LIKE = re.compile(r"(?:(?P<user>[A-Za-z0-9._][A-Za-z0-9._-]*)@)?(?P<host>[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):(?P<path>[^:]+)")
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*")
_USER = re.compile(r"[A-Za-z0-9._][A-Za-z0-9._-]*")
_ALLOWED = re.compile(r"[!-~]+")
_NOT_IN_A_REF = re.compile(r"[~^@]\{|[~^:?*\[\\]|\.lock$|/$|^/|//|\.$")


class Remote(msgspec.Struct, frozen=True, kw_only=True):
    """`url` in git's form, without any secret. `origin` is `scheme://host[:port]`: only it receives credentials."""

    url: str
    protocol: str
    origin: str


def checked_remote(text: str, protocols: tuple[str, ...] = DEFAULT_PROTOCOLS) -> Remote:
    """The remote in `text`. Raises `RefusedNameError`, whose sentence does not repeat the text: it may have a secret."""
    if len(text) > _MOST_CHARACTERS or not _ALLOWED.fullmatch(text):
        raise RefusedNameError(f"is empty, longer than {_MOST_CHARACTERS} characters, or has blanks or unprintable characters")
    if text.startswith("-"):
        raise RefusedNameError("begins with '-', which is an option")
    if _HELPER.match(text):
        raise RefusedNameError("names a remote helper ('::'), which is a program to run. Give an https:// or ssh:// address")
    if "://" not in text:
        return _scp_like(text, protocols)
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise RefusedNameError("is not a valid address") from None
    protocol = parts.scheme.lower()
    _check_protocol(protocol, protocols)
    if parts.query or parts.fragment:
        raise RefusedNameError("has a query or a fragment, which often has secrets. Leave it out")
    if "%" in text:
        raise RefusedNameError("has percent signs. Write the address without them")
    if parts.password is not None or (parts.username and protocol != "ssh"):
        raise RefusedNameError("has a user or a password. Put the secret into a file and name it with --git-password-file")
    if parts.username and not _USER.fullmatch(parts.username):
        raise RefusedNameError("has an invalid user name")
    host = parts.hostname or ""
    if protocol == "file":
        if host or not parts.path.startswith("/") or ".." in parts.path.split("/"):
            raise RefusedNameError("is not an absolute path: write file:///srv/policies.git")
        return Remote(url=text, protocol=protocol, origin="file://")
    if not _HOST.fullmatch(host):
        raise RefusedNameError("has an invalid host name")
    if parts.path in ("", "/"):
        raise RefusedNameError("has no path: name a repository of that host")
    shown = f"[{host}]" if ":" in host else host
    return Remote(url=text, protocol=protocol, origin=f"{protocol}://{shown}" + (f":{port}" if port else ""))


def remote_ref(name: str) -> str:
    """The full name of the followed ref, or a whole commit id. `main` is a branch. Raises `RefusedNameError`."""
    checked = checked_ref(name)
    if object_id(checked):
        return checked
    if checked == "HEAD":
        raise RefusedNameError("means the first branch that the server shows. Name the branch")
    full = checked if checked.startswith("refs/") else f"refs/heads/{checked}"
    if _NOT_IN_A_REF.search(full) or any(part.startswith(".") or part.endswith(".lock") for part in full.split("/")):
        raise RefusedNameError("is neither a branch name, nor refs/…, nor a whole commit id")
    return full


def _scp_like(text: str, protocols: tuple[str, ...]) -> Remote:
    match = _SCP_LIKE.fullmatch(text)
    if match is None or match["host"].startswith("-") or match["path"].startswith("-"):
        raise RefusedNameError("is not a repository address: write https://host/path, ssh://host/path or user@host:path")
    _check_protocol("ssh", protocols)
    return Remote(url=text, protocol="ssh", origin=f"ssh://{match['host']}")


def _check_protocol(protocol: str, protocols: tuple[str, ...]) -> None:
    if protocol not in PROTOCOLS:
        raise RefusedNameError(f"has an unsupported protocol. Use one of {', '.join(PROTOCOLS)}")
    if protocol not in protocols:
        raise RefusedNameError(f"uses {protocol}://, which is not allowed. Allow it with --git-protocol {protocol}")
