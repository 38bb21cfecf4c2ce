"""`reconciler run --simulate --git`: the policy of a repository decides; what keeps it away is said."""

from pathlib import Path

import pytest

from reconciler.cli.main import cli
from reconciler.cli.outputs.failure import guarded
from tests.gitops.conftest import Result
from tests.gitops.repositories import GitRepo, group
from tests.gitops.signers import sign_with_ssh, ssh_key


@pytest.fixture
def run(repo: GitRepo, cluster: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Run the simulated loop for ten minutes on the policy of the repository."""

    def call(*options: object, url: str = "") -> Result:
        words = ["run", "--simulate", "--cluster", cluster, "--until", "10m", "--git", url or f"file://{repo.root}", "--path",
                 "policies", "--git-protocol", "file", "--git-cache", tmp_path / "cache", *options]  # fmt: skip
        code = guarded(cli, [str(word) for word in words])
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return call


def test_policy_of_the_repository_decides(repo: GitRepo, run):
    """A minimum of four in git gives two nodes more than there are."""
    repo.commit({"policies/general.yaml": group("general").replace("min: 1", "min: 4")})
    result = run()
    assert result.code == 0
    assert "2 joined" in result.out
    assert result.err == ""


def test_bad_commit_keeps_the_last_good_one(repo: GitRepo, run, tmp_path: Path):
    """With a file of the last good policy a bad commit is a warning with its place."""
    assert run("--last-good", tmp_path / "good").code == 0
    repo.commit({"policies/general.yaml": group("general").replace("max: 5", "max: 0")})
    result = run("--last-good", tmp_path / "good")
    assert result.code == 0
    assert result.err.startswith("warning: commit ")
    assert "policies/general.yaml:8:10: " in result.err
    assert "stays in force [InvalidPolicy]" in result.err


def test_first_commit_is_bad(repo: GitRepo, run):
    """Without one nothing runs; problems are printed as `validate` does."""
    repo.commit({"policies/general.yaml": group("general").replace("max: 5", "max: 0")})
    result = run()
    assert (result.code, result.out) == (1, "")
    assert "policies/general.yaml:8:10: error: " in result.err
    assert result.err.splitlines()[-1].startswith("error: file://")


def test_signed_commits_only(repo: GitRepo, run, tmp_path: Path):
    """Unsigned is an error that says what to do; signed runs."""
    key = ssh_key(tmp_path, "ada")
    (tmp_path / "allowed").write_text(f"ada@example.org {key.public}\n")
    options = ("--allowed-signers", tmp_path / "allowed", "--signer", "ada@example.org")
    refused = run(*options)
    assert refused.code == 1
    assert "is not signed. Sign commits" in refused.err.splitlines()[-1]
    sign_with_ssh(repo, key)
    repo.commit({"policies/general.yaml": group("general") + "# signed\n"})
    assert run(*options).code == 0


@pytest.mark.parametrize(("options", "url", "told"), [
    ((), "ext::touch", "remote helper"), (("--git-protocol", "https"), "https://u:s3cr3t@host/x", "--git-password-file"),
    ((), "ssh://host/x", "ssh://, which is not allowed"), (("--git-protocol", "ssh"), "ssh://host/x", "--known-hosts"),
    (("--ref", "--upload-pack=x"), "", "--ref begins with '-'"), (("--path", "../x"), "", "--path contains '..'"),
    (("--signer", "ada"), "", "--allowed-signers"), (("--allowed-signers", "/nonexistent"), "", "/nonexistent: no such file"),
    (("--policy", "policies"), "", "two sources"), (("--ref", "nowhere"), "", "has no refs/heads/nowhere"),
    (("--name", "other"), "", "It has prod"),
])  # fmt: skip
def test_wrong_options(run, options: tuple[str, ...], url: str, told: str):
    """One sentence, exit code 1, no secret repeated."""
    result = run(*options, url=url)
    assert (result.code, result.out) == (1, "")
    assert told in result.err
    assert "s3cr3t" not in result.err
    assert result.err.splitlines()[-1].startswith("error: ")
