"""Is a commit signed by somebody who may sign? Keys come from the operator's files, never from what was fetched.

SOURCE: git's pretty formats. `%G?` is G good, B bad, U good with unknown validity, X and Y expired, R revoked, E cannot be
checked, or N none. `%GF` and `%GP` are fingerprints of key and primary key, `%GS` is the signer. If the host of the repository
merges by button, the host's key signs the commit.
"""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path

import msgspec

from reconciler.gitops.git.fault import FaultCode, SourceError, failed
from reconciler.gitops.git.repository import GitError, run_git
from reconciler.rendering.words.plain import plain, shortened
from reconciler.values.two_sentences import two_sentences

# The signer that an option names: a principal, or the key itself by its fingerprint. A name is compared only with names of its
# kind.
#
# Principals are in the operator's file, and fingerprints follow from keys. But the person who creates a GPG key chooses its user
# ID. So a user ID proves nothing: it may look like another fingerprint or address.
#
# SOURCE: ssh-keygen(1) (`SHA256:` and 43 characters of base64; ALLOWED SIGNERS: principals), RFC 4880 and RFC 9580 (fingerprints
# of 20 and of 32 bytes).

SSH_KEY_PREFIX = "SHA256:"
_SSH_KEY = re.compile(rf"{SSH_KEY_PREFIX}[A-Za-z0-9+/]{{43}}")
_GPG_KEY = re.compile(r"(?:[0-9A-F]{40}|[0-9A-F]{64})")
_HEXADECIMAL = re.compile(r"(?:0X)?[0-9A-F]{8,}")
_NO_PRINCIPAL = re.compile(r"[\s<>,\"#]")


class SignerKind(StrEnum):
    """What a name identifies; the last two are keys."""

    PRINCIPAL = "principal"
    SSH_KEY = "fingerprint of an SSH key"
    GPG_KEY = "fingerprint of a GPG key"


class SignerName(msgspec.Struct, frozen=True, order=True):
    """One name: `value` is whole, and fingerprints of GPG keys are in capitals without spaces."""

    kind: SignerKind
    value: str


class SignerNameError(ValueError):
    """A text is not a valid name; the sentence states why and what to write."""


def signer_names(texts: Iterable[str], *, ssh: bool, gpg: bool) -> frozenset[SignerName]:
    """The names in options. `ssh` and `gpg` tell which key files exist: a name that none of them can match is a mistake. Raises
    `SignerNameError`."""
    names = frozenset(signer_name(text) for text in texts)
    for name in sorted(names):
        if not (gpg if name.kind is SignerKind.GPG_KEY else ssh):
            files = "GPG keys, which are named by their fingerprints" if gpg else "SSH keys"
            raise SignerNameError(f"{name.value!r} is a {name.kind}, and the only keys given are {files}")
    return names


def signer_name(text: str) -> SignerName:
    """One name, told by its form. Raises `SignerNameError` for what is cut short, and for what is a user ID."""
    digits = text.replace(" ", "").upper()
    if _SSH_KEY.fullmatch(text):
        return SignerName(SignerKind.SSH_KEY, text)
    if _GPG_KEY.fullmatch(digits):
        return SignerName(SignerKind.GPG_KEY, digits)
    if text.startswith(SSH_KEY_PREFIX) or _HEXADECIMAL.fullmatch(digits):
        raise SignerNameError(f"incomplete fingerprint {text!r}: write SHA256: and 43 characters, or 40 hexadecimal digits")
    if not text or _NO_PRINCIPAL.search(text):
        hint = "write the principal of --allowed-signers, or a fingerprint: anybody can give a key any user ID"
        raise SignerNameError(two_sentences(f"invalid principal {text!r}", hint))
    return SignerName(SignerKind.PRINCIPAL, text)


def names_of_signature(key: str, primary: str, signer: str) -> frozenset[SignerName]:
    """The names of a good signature, from git's output: fingerprints of key and primary key, and git's name for the signer.

    That is the principal for SSH. For GPG it is the user ID, which counts for nothing.
    """
    if _SSH_KEY.fullmatch(key):
        principal = [SignerName(SignerKind.PRINCIPAL, signer)] if signer else []
        return frozenset([SignerName(SignerKind.SSH_KEY, key), *principal])
    return frozenset(SignerName(SignerKind.GPG_KEY, one) for one in (key, primary) if _GPG_KEY.fullmatch(one))


# The operator's keys for git's programs: only these, and as they were at one instant.
#
# git gives ssh-keygen the commit's own time, which the author chooses. So the owner of an expired key could still sign, with an
# earlier date. Both programs therefore get the instant at which the commit was first seen here.
#
# SOURCE: git-config(1) (`gpg.ssh.program` is started as `ssh-keygen` would be), ssh-keygen(1) (`-O verify-time`: a local time,
# and ALLOWED SIGNERS: valid-after, valid-before), gpg(1) (`--faked-system-time`; `!` stops the clock).

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
_KEPT = ("TZ",)


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
    zone = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return settings, {"GNUPGHOME": str(gpg_home), "HOME": str(home)} | zone


def _ssh_program(home: Path, seen_seconds: int) -> Path:
    program = home / "ssh-keygen-then"
    program.write_text(_SSH_PROGRAM.format(time.strftime("%Y%m%d%H%M%S", time.localtime(seen_seconds))))
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


_FORMAT = "--format=%H%x00%G?%x00%GF%x00%GP%x00%GS"
_WORDS = {
    "B": "the signature is bad: the commit differs from the signed one",
    "U": "the key is not among the allowed signers, or no longer was when the commit came",
    "X": "the signature has expired",
    "Y": "the key has expired",
    "R": "the key was revoked",
    "E": "the key is not among the allowed signers, or the signature cannot be checked",
}
_SHOWN_CHARACTERS = 120


class Signers(msgspec.Struct, frozen=True, kw_only=True):
    """Who may sign. `allowed_signers_file` is ssh's format, `gpg_keys_file` exported public keys; at least one is given.

    `names` narrows both, each name by its kind; empty: everybody in the files.
    """

    allowed_signers_file: Path | None = None
    gpg_keys_file: Path | None = None
    names: frozenset[SignerName] = frozenset()


class Signature(msgspec.Struct, frozen=True, kw_only=True):
    """A good signature: the commit, the fingerprint of its key, and the signer's name. For SSH that is the principal. For GPG it
    is a user ID, which the person who made the key chose."""

    commit: str
    fingerprint: str
    signer: str

    @property
    def who(self) -> str:
        """The name to show: the principal, else the fingerprint."""
        return self.signer if self.signer and self.fingerprint.startswith(SSH_KEY_PREFIX) else self.fingerprint


def verified(git_dir: Path, commit: str, signers: Signers, seen_seconds: int, executable: str = "git") -> Signature:
    """The signature of a commit (a whole id), by keys as they were at `seen_seconds` (Unix time), when the commit was first seen
    here. The commit's own time does not count. Raises `SourceError` with CommitUnsigned or SignatureRefused.
    """
    keys = key_files(signers.allowed_signers_file, signers.gpg_keys_file)
    with tempfile.TemporaryDirectory(prefix="reconciler-keys-") as home:
        settings, environment = programs(keys, Path(home), seen_seconds)
        arguments = ["log", "-1", "--no-show-signature", "--no-color", "--no-mailmap", _FORMAT, "--end-of-options", commit]
        try:
            printed = run_git(git_dir, arguments, executable=executable, settings=settings, environment=environment)
        except GitError as error:
            raise failed(FaultCode.SIGNATURE_REFUSED, f"cannot check the signature: {error}", revision=commit) from None
    facts = printed.out.decode("utf-8", "replace").strip("\n").split("\0")
    if printed.code or len(facts) != len(("commit", "state", "key", "primary", "signer")) or facts[0] != commit:
        raise failed(FaultCode.SIGNATURE_REFUSED, "cannot check the signature: git gives no answer", revision=commit)
    _, state, key, primary, signer = facts
    if state == "N":
        hint = "sign commits (git commit -S), including merge commits"
        raise failed(FaultCode.UNSIGNED, f"commit {commit[:12]} is not signed", hint, commit)
    if state != "G":
        raise _refused(commit, _WORDS.get(state, f"git calls the signature {state!r}"), key, signer)
    if signers.names and not names_of_signature(key, primary, signer) & signers.names:
        raise _refused(commit, "the signer is not one of the named signers", key, signer)
    return Signature(commit=commit, fingerprint=key, signer=signer)


def _refused(commit: str, why: str, key: str, signer: str) -> SourceError:
    who = shortened(plain(", ".join(part for part in (signer, key) if part)), _SHOWN_CHARACTERS)
    return failed(
        FaultCode.SIGNATURE_REFUSED, f"commit {commit[:12]}: {why}" + (f" ({who})" if who else ""),
        "the allowed signers are configured where the reconciler runs, not in the repository", commit,
    )  # fmt: skip
