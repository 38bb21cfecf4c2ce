"""Keys of people who sign commits: ssh and GPG, each in a directory of its own."""

import os
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from tests.gitops.repositories import GitRepo


class SshKey(NamedTuple):
    """A private key file, the public key's text, its fingerprint."""

    file: Path
    public: str
    fingerprint: str


def ssh_key(directory: Path, name: str) -> SshKey:
    """A new Ed25519 key."""
    file = directory / name
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", file], check=True, capture_output=True)
    public = file.with_suffix(".pub").read_text().strip()
    shown = subprocess.run(["ssh-keygen", "-l", "-f", file], check=True, capture_output=True, text=True).stdout
    return SshKey(file, public, shown.split()[1])


def sign_with_ssh(repo: GitRepo, key: SshKey) -> None:
    """Commits made from now on are signed with that key."""
    for name, value in (("gpg.format", "ssh"), ("user.signingKey", str(key.file)), ("commit.gpgSign", "true")):
        repo.git("config", name, value)


class GpgKey(NamedTuple):
    """A home with one key, its fingerprint, the exported public key."""

    home: Path
    fingerprint: str
    public: bytes


def gpg_key(name: str, *, user_id: str = "", expires: str = "never", made: str = "") -> GpgKey:
    """A new key, with any user ID and end (as `--quick-generate-key` takes it), made and signing at an instant
    (`20260101T000000`; empty: now). The home is short: sockets have short paths."""
    home = Path(tempfile.mkdtemp(prefix="k", dir="/tmp"))
    (home / "gpg.conf").write_text(f"faked-system-time {made}!\n" if made else "")
    user_id = user_id or f"{name} <{name}@example.org>"
    _gpg(home, "--allow-freeform-uid", "--quick-generate-key", user_id, "ed25519", "sign", expires)
    fingerprint = _fingerprints(home)[0]
    return GpgKey(home, fingerprint, _gpg(home, "--armor", "--export", fingerprint))


def gpg_subkey(key: GpgKey) -> tuple[GpgKey, str]:
    """The key with one more subkey that signs, exported anew, and the fingerprint of that subkey."""
    _gpg(key.home, "--quick-add-key", key.fingerprint, "ed25519", "sign", "never")
    return key._replace(public=_gpg(key.home, "--armor", "--export", key.fingerprint)), _fingerprints(key.home)[-1]


def _gpg(home: Path, *words: str) -> bytes:
    environment = {"PATH": os.environ["PATH"], "GNUPGHOME": str(home), "HOME": str(home)}
    command = ["gpg", "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", "", *words]
    return subprocess.run(command, env=environment, check=True, capture_output=True).stdout


def _fingerprints(home: Path) -> list[str]:
    listed = _gpg(home, "--list-keys", "--with-colons").decode().splitlines()
    return [line.split(":")[9] for line in listed if line.startswith("fpr:")]


def sign_with_gpg(repo: GitRepo, key: GpgKey) -> None:
    """Commits made from now on are signed with that key."""
    wrapper = key.home / "sign"
    wrapper.write_text(
        f'#!/bin/sh\nexport GNUPGHOME={key.home}\nexec gpg --batch --pinentry-mode loopback --passphrase "" "$@"\n'
    )
    wrapper.chmod(0o755)
    for name, value in (("gpg.format", "openpgp"), ("gpg.program", str(wrapper)), ("user.signingKey", key.fingerprint)):
        repo.git("config", name, value)
    repo.git("config", "commit.gpgSign", "true")


def end_gpg(key: GpgKey) -> None:
    """End the agent that the key's home has started."""
    subprocess.run(["gpgconf", "--homedir", key.home, "--kill", "all"], check=False, capture_output=True)
