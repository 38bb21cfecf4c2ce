"""Is a commit signed by somebody who may? Keys come from the operator's files, never from what was fetched.

SOURCE: git's pretty formats (`%G?` G good, B bad, U good with unknown validity, X and Y expired, R revoked, E cannot be
checked, N none; `%GF` and `%GP` fingerprints of key and primary key, `%GS` signer), `gpg.ssh.allowedSignersFile` and
ssh-keygen(1) ALLOWED SIGNERS. A commit that the host of the repository merged by button is signed by the host's key.
"""

import shutil
import subprocess
import tempfile
from pathlib import Path

import msgspec

from reconciler.gitops.git.git_process import GitError, run_git
from reconciler.gitops.git.signer_name import SSH_KEY_PREFIX, SignerName, names_of_signature
from reconciler.gitops.sources.fault import FaultCode, SourceError, failed
from reconciler.rendering.plain import plain, shortened

_FORMAT = "--format=%H%x00%G?%x00%GF%x00%GP%x00%GS"
_WORDS = {
    "B": "the signature is bad: the commit is not what was signed",
    "U": "the key is not among the allowed signers",
    "X": "the signature has expired",
    "Y": "the key has expired",
    "R": "the key was revoked",
    "E": "the key is not among the allowed signers, or the signature cannot be checked",
}
_GPG_SECONDS = 30
_SHOWN_CHARACTERS = 120


class Signers(msgspec.Struct, frozen=True, kw_only=True):
    """Who may sign. `allowed_signers_file` is ssh's format, `gpg_keys_file` exported public keys; at least one is given.

    `names` narrows both, each name by its kind; empty: everybody in the files.
    """

    allowed_signers_file: Path | None = None
    gpg_keys_file: Path | None = None
    names: frozenset[SignerName] = frozenset()


class Signature(msgspec.Struct, frozen=True, kw_only=True):
    """A good signature: the commit, the fingerprint of its key, and the signer's name: for SSH the principal, for GPG a user ID,
    which whoever made the key has chosen."""

    commit: str
    fingerprint: str
    signer: str

    @property
    def who(self) -> str:
        """Who it is to be said to be of: the principal, else the fingerprint."""
        return self.signer if self.signer and self.fingerprint.startswith(SSH_KEY_PREFIX) else self.fingerprint


def verified(git_dir: Path, commit: str, signers: Signers, executable: str = "git") -> Signature:
    """The signature of a commit (a whole id). Raises `SourceError` with CommitUnsigned or SignatureRefused."""
    with tempfile.TemporaryDirectory(prefix="reconciler-keys-") as home:
        settings, environment = _keys(signers, Path(home))
        arguments = ["log", "-1", "--no-show-signature", "--no-color", "--no-mailmap", _FORMAT, "--end-of-options", commit]
        try:
            printed = run_git(git_dir, arguments, executable=executable, settings=settings, environment=environment)
        except GitError as error:
            raise failed(FaultCode.SIGNATURE_REFUSED, f"the signature cannot be checked: {error}", revision=commit) from None
    facts = printed.out.decode("utf-8", "replace").strip("\n").split("\0")
    if printed.code or len(facts) != len(("commit", "state", "key", "primary", "signer")) or facts[0] != commit:
        raise failed(FaultCode.SIGNATURE_REFUSED, "the signature cannot be checked: git gives no answer", revision=commit)
    _, state, key, primary, signer = facts
    if state == "N":
        hint = "sign commits (git commit -S), also those that merge"
        raise failed(FaultCode.UNSIGNED, f"commit {commit[:12]} is not signed", hint, commit)
    if state != "G":
        raise _refused(commit, _WORDS.get(state, f"git calls the signature {state!r}"), key, signer)
    if signers.names and not names_of_signature(key, primary, signer) & signers.names:
        raise _refused(commit, "the signer is not one of those that are named", key, signer)
    return Signature(commit=commit, fingerprint=key, signer=signer)


def _refused(commit: str, why: str, key: str, signer: str) -> SourceError:
    who = shortened(plain(", ".join(part for part in (signer, key) if part)), _SHOWN_CHARACTERS)
    return failed(
        FaultCode.SIGNATURE_REFUSED, f"commit {commit[:12]}: {why}" + (f" ({who})" if who else ""),
        "the allowed signers are configured where the reconciler runs, not in the repository", commit,
    )  # fmt: skip


def _keys(signers: Signers, home: Path) -> tuple[tuple[str, ...], dict[str, str]]:
    """Settings and environment that know just the configured keys. Without a file of a kind, its signatures are unknown."""
    # ssh-keygen takes an empty file for nobody; without any file git would report no signature at all.
    allowed = home / "allowed_signers"
    allowed.write_bytes(_read(signers.allowed_signers_file))
    gpg_home = home / "gpg"
    gpg_home.mkdir(mode=0o700)
    (gpg_home / "gpg.conf").write_text("no-autostart\ntrust-model always\nno-auto-key-retrieve\nno-auto-key-locate\n")
    if signers.gpg_keys_file is not None:
        _import(gpg_home, _read(signers.gpg_keys_file))
    settings = (
        f"gpg.ssh.allowedSignersFile={allowed}",
        "gpg.ssh.revocationFile=",
        "gpg.ssh.program=ssh-keygen",
        "gpg.ssh.defaultKeyCommand=",
        "gpg.program=gpg",
        "gpg.openpgp.program=gpg",
        "gpg.x509.program=false",
        "log.showSignature=false",
    )
    return settings, {"GNUPGHOME": str(gpg_home), "HOME": str(home)}


def _import(gpg_home: Path, keys: bytes) -> None:
    program = shutil.which("gpg")
    if program is None:
        raise failed(FaultCode.SIGNATURE_REFUSED, "there is no gpg on the PATH to check signatures with", "install gnupg")
    command = [program, "--homedir", str(gpg_home), "--batch", "--quiet", "--import"]
    try:
        done = subprocess.run(command, input=keys, capture_output=True, timeout=_GPG_SECONDS, check=False)  # noqa: S603 - our words
    except subprocess.TimeoutExpired:
        raise failed(FaultCode.SIGNATURE_REFUSED, f"gpg did not read the keys within {_GPG_SECONDS} s") from None
    if done.returncode:
        raise failed(
            FaultCode.SIGNATURE_REFUSED, "gpg cannot read the keys that are configured", "export them: gpg --export KEY…"
        )


def _read(file: Path | None) -> bytes:
    if file is None:
        return b""
    try:
        return file.read_bytes()
    except OSError as error:
        raise failed(
            FaultCode.SIGNATURE_REFUSED, f"{file}: {error.strerror or error}", "check --allowed-signers, --gpg-keys"
        ) from None
