"""`reconciler apply --allowed-signers`: only what a named key signed approves. Keys and signatures are real."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner, Result

from reconciler.cli.main import cli
from tests.cli.commands.test_apply import about
from tests.gitops.repositories import BASE, GitRepo, write_cluster
from tests.gitops.signers import GpgKey, SshKey, end_gpg, gpg_key, sign_with_gpg, sign_with_ssh, ssh_key


class Removal(NamedTuple):
    """A plan that drains one node with two pods, and two keys of which `allowed` knows the first."""

    directory: Path
    trailer: str
    ada: SshKey
    mallory: SshKey
    allowed: Path

    def commit(self, repo: GitRepo) -> GitRepo:
        """The approval, signed as the repository is set up."""
        repo.commit({}, f"Fewer nodes\n\n{self.trailer}\n")
        return repo

    def apply(self, repo: GitRepo, *arguments: object) -> Result:
        words = (
            "apply", self.directory / "plan.json", "--policy", self.directory / "policies",
            "--cluster", self.directory / "cluster", "--simulate", "--require-plan", 0, "--approved-by", "HEAD",
            "--repo", repo.root, *arguments,
        )  # fmt: skip
        return run(*words)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in arguments], prog_name="reconciler", standalone_mode=False)


@pytest.fixture(scope="module")
def removal(tmp_path_factory: pytest.TempPathFactory) -> Removal:
    """`general` has two nodes that are 25% full, and one may go at first sight."""
    directory = tmp_path_factory.mktemp("signed")
    policies = directory / "policies"
    policies.mkdir()
    for name, text in BASE.items():
        changed = text.replace("{utilizationThresholdPercent: 20}", "{utilizationThresholdPercent: 50, unneededTime: 0s}")
        (directory / name).write_text(changed)
    cluster = write_cluster(directory / "cluster")
    run("plan", "--policy", policies, "--cluster", cluster, "--no-settled", "--out", directory / "plan.json")
    saved = json.loads((directory / "plan.json").read_text())
    assert [(action["kind"], action["nodes"]) for action in saved["actions"]] == [("RemoveNode", ["general-1"])]
    ada, mallory = ssh_key(directory, "ada"), ssh_key(directory, "mallory")
    allowed = directory / "approvers"
    allowed.write_text(f"ada@example.org {ada.public}\n")
    trailer = f"Reconciler-Approve: {about(saved)} nodes<=1 evictions<=2"
    return Removal(directory, trailer, ada, mallory, allowed)


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    """An empty repository."""
    return GitRepo(tmp_path / "repo")


def test_an_approval_that_an_allowed_key_signed(removal: Removal, repo: GitRepo):
    """The node goes."""
    sign_with_ssh(repo, removal.ada)
    result = removal.apply(removal.commit(repo), "--allowed-signers", removal.allowed)
    assert (result.exception, result.return_value) == (None, 0)
    assert "replicas 2 -> 1" in result.stdout


@pytest.mark.parametrize(("who", "words"), [
    ("nobody", "is not signed. Sign commits"), ("mallory", "the key is not among the allowed signers"),
    ("another name", "the signer is not one of the named signers (ada@example.org, SHA256:"),
])  # fmt: skip
def test_an_approval_that_does_not_count(removal: Removal, repo: GitRepo, who: str, words: str):
    """Unsigned, signed with another key, signed by an allowed one that is not named: refused by name, and nothing goes."""
    if who != "nobody":
        sign_with_ssh(repo, removal.mallory if who == "mallory" else removal.ada)
    narrowed = ("--signer", "grace@example.org") if who == "another name" else ()
    result = removal.apply(removal.commit(repo), "--allowed-signers", removal.allowed, *narrowed)
    told = " ".join(result.stdout.split())
    assert result.return_value == 1
    assert words in told
    assert "[ApprovalNotSigned]" in told
    assert "replicas 2 -> 1" not in told


def test_a_signer_by_fingerprint(removal: Removal, repo: GitRepo):
    """The fingerprint of the key names it as well as its principal does."""
    sign_with_ssh(repo, removal.ada)
    options = ("--allowed-signers", removal.allowed, "--signer", removal.ada.fingerprint)
    assert removal.apply(removal.commit(repo), *options).return_value == 0


def test_a_trailer_beside_a_signed_commit(removal: Removal, repo: GitRepo):
    """Only the commit that holds the trailer counts: a signed one below it signs nothing of it."""
    sign_with_ssh(repo, removal.ada)
    repo.commit({}, "signed, and approves nothing")
    repo.git("config", "commit.gpgSign", "false")
    result = removal.apply(removal.commit(repo), "--allowed-signers", removal.allowed)
    assert "[ApprovalNotSigned]" in result.stdout


@pytest.fixture(scope="module")
def grace() -> Iterator[GpgKey]:
    """A GPG key."""
    key = gpg_key("grace")
    yield key
    end_gpg(key)
    shutil.rmtree(key.home, ignore_errors=True)


def test_an_approval_signed_with_gpg(removal: Removal, repo: GitRepo, grace: GpgKey, tmp_path: Path):
    """Exported public keys are as good; without the key of who signed, the approval does not count."""
    sign_with_gpg(repo, grace)
    keys = tmp_path / "keys.asc"
    keys.write_bytes(grace.public)
    removal.commit(repo)
    assert removal.apply(repo, "--gpg-keys", keys).return_value == 0
    assert "[ApprovalNotSigned]" in removal.apply(repo, "--allowed-signers", removal.allowed).stdout


def test_no_file_of_keys(removal: Removal, repo: GitRepo):
    """A wrong path is an error of the command, not an approval that was refused."""
    result = removal.apply(removal.commit(repo), "--allowed-signers", "/nonexistent")
    assert "/nonexistent: no such file" in str(result.exception)
