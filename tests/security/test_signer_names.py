"""Somebody whose key is among the allowed ones passes for another one by a name: attacks, with the real gpg and ssh-keygen."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.commands.test_apply_signed import Removal, removal, repo  # noqa: F401 - fixtures
from tests.gitops.repositories import GitRepo
from tests.gitops.signers import GpgKey, SshKey, end_gpg, gpg_key, sign_with_gpg, sign_with_ssh


@pytest.fixture(scope="module")
def alice() -> Iterator[GpgKey]:
    """The key that the operator names."""
    yield from _kept(gpg_key("alice"))


def _kept(key: GpgKey) -> Iterator[GpgKey]:
    yield key
    end_gpg(key)
    shutil.rmtree(key.home, ignore_errors=True)


def told(removal: Removal, repo: GitRepo, *options: object) -> str:  # noqa: F811
    """What `apply` prints, or why it did not begin."""
    result = removal.apply(removal.commit(repo), *options)
    return " ".join(f"{result.stdout} {result.exception or ''}".split())


@pytest.mark.parametrize("claims", ["fingerprint", "address", "whole"])
def test_a_user_id_names_nobody(removal: Removal, repo: GitRepo, alice: GpgKey, tmp_path: Path, claims: str) -> None:  # noqa: F811
    """Mallory's key calls itself by Alice's fingerprint, address or user ID; `--signer` names Alice."""
    names = {"fingerprint": alice.fingerprint, "address": "alice@example.org", "whole": "alice <alice@example.org>"}
    for mallory in _kept(gpg_key("mallory", user_id=names[claims])):
        (tmp_path / "keys.asc").write_bytes(alice.public + mallory.public)
        sign_with_gpg(repo, mallory)
        said = told(removal, repo, "--gpg-keys", tmp_path / "keys.asc", "--signer", names[claims])
    assert "replicas 2 -> 1" not in said
    assert ("[ApprovalNotSigned]" in said) == (claims == "fingerprint")
    assert ("--signer: " in said) == (claims != "fingerprint")


def test_who_is_named_counts(removal: Removal, repo: GitRepo, alice: GpgKey, tmp_path: Path) -> None:  # noqa: F811
    """Alice herself, however her fingerprint is written."""
    (tmp_path / "keys.asc").write_bytes(alice.public)
    sign_with_gpg(repo, alice)
    spaced = " ".join(alice.fingerprint[start : start + 4] for start in range(0, 40, 4)).lower()
    for name in (alice.fingerprint, spaced):
        assert "replicas 2 -> 1" in told(removal, repo, "--gpg-keys", tmp_path / "keys.asc", "--signer", name)


def test_a_principal_is_no_fingerprint(removal: Removal, repo: GitRepo, alice: GpgKey, tmp_path: Path) -> None:  # noqa: F811
    """A line of allowed signers whose principal reads like the fingerprint of another key, of either kind."""
    ada: SshKey = removal.ada
    for name in (alice.fingerprint, ada.fingerprint):
        (tmp_path / "allowed").write_text(f"{name} {removal.mallory.public}\nada@example.org {ada.public}\n")
        (tmp_path / "keys.asc").write_bytes(alice.public)
        sign_with_ssh(repo, removal.mallory)
        keys = ("--allowed-signers", tmp_path / "allowed", "--gpg-keys", tmp_path / "keys.asc")
        said = told(removal, repo, *keys, "--signer", name)
        assert "replicas 2 -> 1" not in said
        assert "[ApprovalNotSigned]" in said
