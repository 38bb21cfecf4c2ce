"""How one remote is reached: settings and environment of the fetch.

Secrets stay in files, where git and ssh read them. SOURCE: gitcredentials (`credential.<url>.helper`: an empty value removes
earlier helpers; a value that begins with `!` is a shell command), git's `GIT_SSH_COMMAND`, ssh_config(5). So addresses,
arguments and log lines never have a secret.
"""

import shlex
from pathlib import Path

import msgspec

from reconciler.gitops.git.remote import Remote

_ACCESS_HELPER = (
    '!f() { test "$1" = get || exit 0; printf "username=%s\\npassword=" "$RECONCILER_GIT_USERNAME"; '
    'head -n 1 -- "$RECONCILER_GIT_PASSWORD_FILE"; echo; }; f'
)
_STALL_BYTES_PER_SECOND = 1000
_STALL_SECONDS = 15


class AccessError(ValueError):
    """The configuration cannot reach such a remote safely; the sentence states what is missing."""


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """Files with credentials for a remote. They are read again at each fetch, so rotated secrets take effect.

    `password_file`: its first line is a token or password, for https, sent as `username`. `ssh_key_file` and `known_hosts_file`
    are for ssh; a host with an unknown key is refused. `ca_file`: certificates to trust for https instead of the system's.
    """

    username: str = "x-access-token"
    password_file: Path | None = None
    ssh_key_file: Path | None = None
    known_hosts_file: Path | None = None
    ca_file: Path | None = None


def check_access(remote: Remote, access: Access) -> None:
    """Raises `AccessError` for what would fail, or be unsafe, at each fetch."""
    if remote.protocol == "ssh" and access.known_hosts_file is None:
        raise AccessError("ssh needs the host's key: give a known_hosts file with --known-hosts (`ssh-keyscan HOST` prints one)")
    if remote.protocol in ("http", "git") and access.password_file is not None:
        raise AccessError(f"{remote.protocol}:// would send the password in the clear: use https")
    if "\n" in access.username or "\0" in access.username:
        raise AccessError("the user name has a line break")
    named = (access.password_file, access.ssh_key_file, access.known_hosts_file, access.ca_file)
    for file in named:
        if file is not None and not file.is_file():
            raise AccessError(f"{file}: no such file")


def fetch_settings(remote: Remote, access: Access) -> tuple[str, ...]:
    """`name=value` of git's configuration."""
    settings = [
        "credential.helper=",
        "http.followRedirects=false",
        "http.sslVerify=true",
        f"http.lowSpeedLimit={_STALL_BYTES_PER_SECOND}",
        f"http.lowSpeedTime={_STALL_SECONDS}",
    ]
    if access.password_file is not None and remote.protocol == "https":
        # Only this origin gets the secret: if a server sends git elsewhere, that place gets none.
        settings.append(f"credential.{remote.origin}.helper={_ACCESS_HELPER}")
    if access.ca_file is not None:
        settings.append(f"http.sslCAInfo={access.ca_file.absolute()}")
    return tuple(settings)


def fetch_environment(remote: Remote, access: Access) -> dict[str, str]:
    """Variables of the child: the one allowed transport, and the paths of secrets."""
    environment = {"GIT_ALLOW_PROTOCOL": remote.protocol, "GIT_PROTOCOL_FROM_USER": "0"}
    if access.password_file is not None and remote.protocol == "https":
        environment["RECONCILER_GIT_USERNAME"] = access.username
        environment["RECONCILER_GIT_PASSWORD_FILE"] = str(access.password_file.absolute())
    if remote.protocol == "ssh":
        environment["GIT_SSH_COMMAND"] = shlex.join(ssh_command(access))
        environment["GIT_SSH_VARIANT"] = "ssh"
    return environment


def ssh_command(access: Access) -> list[str]:
    """ssh with only this configuration: it asks nobody, starts nothing and trusts only the listed hosts."""
    if access.known_hosts_file is None:
        raise AccessError("ssh needs a known_hosts file")
    options = {
        "BatchMode": "yes",
        "StrictHostKeyChecking": "yes",
        "UserKnownHostsFile": f'"{access.known_hosts_file.absolute()}"',
        "GlobalKnownHostsFile": "/dev/null",
        "UpdateHostKeys": "no",
        "VerifyHostKeyDNS": "no",
        "IdentitiesOnly": "yes",
        "IdentityAgent": "none",
        "ForwardAgent": "no",
        "ForwardX11": "no",
        "ClearAllForwardings": "yes",
        "PermitLocalCommand": "no",
        "ProxyCommand": "none",
        "ControlMaster": "no",
        "ControlPath": "none",
        "ConnectTimeout": "10",
        "ServerAliveInterval": "5",
        "ServerAliveCountMax": "3",
    }
    command = ["ssh", "-F", "/dev/null"]
    for name, value in options.items():
        command += ["-o", f"{name}={value}"]
    if access.ssh_key_file is not None:
        command += ["-i", str(access.ssh_key_file.absolute())]
    return command
