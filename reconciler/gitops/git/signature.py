"""Is a commit signed by somebody who may sign? Keys come from the operator's files, never from what was fetched.

SOURCE: git's pretty formats. `%G?` is G good, B bad, U good with unknown validity, X and Y expired, R revoked, E cannot be
checked, or N none. `%GF` and `%GP` are fingerprints of key and primary key, `%GS` is the signer. If the host of the repository
merges by button, the host's key signs the commit.
"""

import tempfile
from pathlib import Path

import msgspec

from reconciler.gitops.git.fault import FaultCode, SourceError, failed
from reconciler.gitops.git.git_command import GitError, run_git
from reconciler.gitops.git.signer_keys import key_files, programs
from reconciler.gitops.git.signer_name import SSH_KEY_PREFIX, SignerName, names_of_signature
from reconciler.rendering.words.plain import plain, shortened

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
