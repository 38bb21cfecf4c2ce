"""A repository with a policy on `main`, a cluster beside it, and the command."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from reconciler.cli.main import cli
from reconciler.cli.outputs.failure import guarded
from tests.gitops.repositories import BASE, GitRepo, write_cluster


class Result(NamedTuple):
    code: int
    out: str
    err: str


Preview = Callable[..., Result]


@pytest.fixture(scope="session")
def first_commit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository to copy: copying is cheaper than five git processes."""
    found = GitRepo(tmp_path_factory.mktemp("template") / "repo")
    found.commit(BASE, "policies of prod")
    return found.root


@pytest.fixture
def repo(tmp_path: Path, first_commit: Path) -> GitRepo:
    """`main` with one commit."""
    shutil.copytree(first_commit, tmp_path / "repo")
    return GitRepo(tmp_path / "repo")


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small cluster."""
    return write_cluster(tmp_path_factory.mktemp("cluster"))


@pytest.fixture
def preview(repo: GitRepo, cluster: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Preview:
    """Run `reconciler preview …` inside the repository, on the small cluster."""
    monkeypatch.chdir(repo.root)

    def call(*argv: object) -> Result:
        code = guarded(cli, ["preview", "--cluster", str(cluster), *(str(word) for word in argv)])
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return call
