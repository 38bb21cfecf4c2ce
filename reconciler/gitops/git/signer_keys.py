"""The operator's keys for git's programs: only these, and as they were at one instant.

git gives ssh-keygen the commit's own time, which the author chooses. So the owner of an expired key could still sign, with an
earlier date. Both programs therefore get the instant at which the commit was first seen here.

SOURCE: git-config(1): `gpg.ssh.program` is started as `ssh-keygen` would be. ssh-keygen(1): `-O verify-time` is a local time;
ALLOWED SIGNERS have valid-after and valid-before. gpg(1): `!` after `--faked-system-time` stops the clock.
"""

import hashlib
import os
import shutil
import subprocess
import time
from pathlib import Path

import msgspec

from reconciler.gitops.git.fault import FaultCode, failed

_GPG_SECONDS = 30
_GPG_SETTINGS = "no-autostart\ntrust-model always\nno-auto-key-retrieve\nno-auto-key-locate\nfaked-system-time {}!\n"
_SSH_PROGRAM = """\
#!/bin/sh
for word do
  shift
  case $word in -Overify-time=*) word=-Overify-time={} ;; esac
  set -- "$@" "$word"
done
exec ssh-keygen "$@"
"""
KEPT = ("TZ",)
"""Variables of the environment that the programs get too."""


class KeyFiles(msgspec.Struct, frozen=True, kw_only=True):
    """`allowed_signers` is ssh's format, `gpg_keys` exported public keys; None: nobody of that kind."""

    allowed_signers: bytes | None = None
    gpg_keys: bytes | None = None

    @property
    def digest(self) -> bytes:
        """Equal for equal keys."""
        return hashlib.sha256(msgspec.msgpack.encode(self)).digest()


def key_files(allowed_signers_file: Path | None, gpg_keys_file: Path | None) -> KeyFiles:
    """The current content of the files. Raises `SourceError`."""
    return KeyFiles(allowed_signers=_read(allowed_signers_file), gpg_keys=_read(gpg_keys_file))


def programs(keys: KeyFiles, home: Path, seen_seconds: int) -> tuple[tuple[str, ...], dict[str, str]]:
    """Settings and environment for git that know only these keys, as they were at `seen_seconds` (Unix time). `home` is an empty
    directory. Without keys of a kind, its signatures are unknown. Raises `SourceError`."""
    # ssh-keygen takes an empty file for nobody; without any file git would report no signature at all.
    allowed = home / "allowed_signers"
    allowed.write_bytes(keys.allowed_signers or b"")
    gpg_home = home / "gpg"
    gpg_home.mkdir(mode=0o700)
    (gpg_home / "gpg.conf").write_text(_GPG_SETTINGS.format(seen_seconds))
    if keys.gpg_keys is not None:
        _import(gpg_home, keys.gpg_keys)
    settings = (
        f"gpg.ssh.allowedSignersFile={allowed}",
        "gpg.ssh.revocationFile=",
        f"gpg.ssh.program={_ssh_program(home, seen_seconds)}",
        "gpg.ssh.defaultKeyCommand=",
        "gpg.program=gpg",
        "gpg.openpgp.program=gpg",
        "gpg.x509.program=false",
        "log.showSignature=false",
    )
    # Instants without a zone in the signers' file are local times, and so is the instant that we pass.
    zone = {name: os.environ[name] for name in KEPT if name in os.environ}
    return settings, {"GNUPGHOME": str(gpg_home), "HOME": str(home)} | zone


def local_time(seconds: int) -> str:
    """A Unix time as `-O verify-time` takes it."""
    return time.strftime("%Y%m%d%H%M%S", time.localtime(seconds))


def _ssh_program(home: Path, seen_seconds: int) -> Path:
    program = home / "ssh-keygen-then"
    program.write_text(_SSH_PROGRAM.format(local_time(seen_seconds)))
    program.chmod(0o700)
    if not os.access(program, os.X_OK):
        why = f"cannot check signatures: programs must not be started from {home.parent}"
        raise failed(FaultCode.SIGNATURE_REFUSED, why, "set TMPDIR to a directory that is not mounted noexec")
    return program


def _import(gpg_home: Path, keys: bytes) -> None:
    program = shutil.which("gpg")
    if program is None:
        raise failed(FaultCode.SIGNATURE_REFUSED, "cannot find gpg on the PATH to check signatures", "install gnupg")
    command = [program, "--homedir", str(gpg_home), "--batch", "--quiet", "--import"]
    try:
        done = subprocess.run(command, input=keys, capture_output=True, timeout=_GPG_SECONDS, check=False)  # noqa: S603 - our words
    except subprocess.TimeoutExpired:
        raise failed(FaultCode.SIGNATURE_REFUSED, f"gpg did not read the keys within {_GPG_SECONDS} s") from None
    if done.returncode:
        raise failed(FaultCode.SIGNATURE_REFUSED, "gpg cannot read the configured keys", "export them: gpg --export KEY…")


def _read(file: Path | None) -> bytes | None:
    if file is None:
        return None
    try:
        return file.read_bytes()
    except OSError as error:
        raise failed(
            FaultCode.SIGNATURE_REFUSED, f"{file}: {error.strerror or error}", "check --allowed-signers, --gpg-keys"
        ) from None
