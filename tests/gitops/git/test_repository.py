"""Reading trees at a commit from repositories of every form."""

import ast
import subprocess
from pathlib import Path

import pytest

import reconciler
from reconciler.gitops.git.repository import Repository, RepositoryError
from tests.gitops.repositories import BASE, POLICY, GitRepo

POLICY_FILES = {name.removeprefix("policies/"): text.encode() for name, text in BASE.items()}


def test_tree_at_a_commit_and_not_the_work_tree(repo: GitRepo):
    """What is on disk, staged or untracked does not count; order, hidden files and other suffixes are as in a directory."""
    repo.commit({"policies/README.md": "words", "policies/.hidden.yaml": "x: 1", "policies/sub/a.YML": POLICY, "other.yaml": "x"})
    (repo.root / "policies" / "prod.yaml").write_text("changed")
    (repo.root / "policies" / "untracked.yaml").write_text("new")
    found = Repository.at(repo.root)
    files = found.policy_files(found.commit("HEAD"), "policies/")
    assert files.files == POLICY_FILES | {"sub/a.YML": POLICY.encode()}
    assert (files.problems, files.root, files.exists, files.alone) == ((), "policies", True, False)


def test_one_file_and_nothing(repo: GitRepo):
    """A file is itself; what is not there is said to be absent."""
    found = Repository.at(repo.root)
    commit = found.commit("main")
    assert found.policy_files(commit, "policies/prod.yaml").files == {"prod.yaml": POLICY.encode()}
    assert found.policy_files(commit, "policies/prod.yaml").alone
    assert not found.policy_files(commit, "polic").exists
    assert not found.policy_files(commit, "policies/prod.yaml/x").exists
    assert sorted(found.policy_files(commit, ".").files) == sorted(BASE)


@pytest.mark.parametrize(
    "name",
    [
        "HEAD",
        "main",
        "refs/heads/main",
        "refs/heads/main@{0}",
        "refs/tags/annotated",
        "v1",
        "annotated",
        "HEAD~1^{commit}",
        "main@{0}",
    ],
)
def test_revisions(repo: GitRepo, name: str):
    """Branches, tags (also such that are objects of their own), ids and relatives become whole ids of commits."""
    first = repo.git("rev-parse", "HEAD")
    head = repo.commit({"README.md": "x"})
    repo.git("tag", "v1")
    repo.git("tag", "--annotate", "--message", "x", "annotated")
    found = Repository.at(repo.root)
    assert found.commit(name) == (first if "~1" in name else head)
    assert found.commit(head[:9]) == found.commit(head) == head


def test_a_whole_name_means_just_that(repo: GitRepo):
    """Tags and branches that are called like a remote branch, a whole ref, a commit or HEAD change nothing; short names that two
    have are still refused, and so is a whole ref that is not there, whatever tag has its name."""
    head = repo.git("rev-parse", "HEAD")
    other = repo.commit({"README.md": "x"})
    repo.git("update-ref", "refs/remotes/origin/main", head)
    for name in ("origin/main", "refs/remotes/origin/main", "refs/remotes/origin/gone", "HEAD", head):
        repo.git("update-ref", f"refs/tags/{name}", other)
        repo.git("update-ref", f"refs/heads/{name}", other)
    found = Repository.at(repo.root)
    assert found.commit("refs/remotes/origin/main") == head
    assert found.commit("refs/remotes/origin/main^{commit}") == head
    assert found.commit("refs/tags/origin/main~1") == head
    assert found.commit(head) == head
    assert found.commit("HEAD") == other
    with pytest.raises(RepositoryError, match="names a branch and a tag"):
        found.commit("origin/main")
    with pytest.raises(RepositoryError, match="unknown commit"):
        found.commit("refs/remotes/origin/gone")


def test_tree_and_blob_are_no_commits(repo: GitRepo):
    """An id of something else is refused."""
    found = Repository.at(repo.root)
    for name in ("HEAD^{tree}", repo.git("rev-parse", "HEAD:policies/prod.yaml")[:12]):
        with pytest.raises(RepositoryError, match=r"unknown commit|names a file"):
            found.commit(name)


def test_merge_base(repo: GitRepo):
    """Where two branches went apart; unrelated histories have none, and the message says what to do."""
    fork = repo.git("rev-parse", "main")
    repo.branch("change")
    head = repo.commit({"a": "1"})
    repo.git("switch", "--quiet", "main")
    tip = repo.commit({"b": "1"})
    repo.git("switch", "--quiet", "--orphan", "other")
    other = repo.commit({"c": "1"})
    found = Repository.at(repo.root)
    assert found.merge_base(tip, head) == fork
    with pytest.raises(RepositoryError, match=r"have no common commit here.*fetch-depth: 0.*--base-tip"):
        found.merge_base(tip, other)


def test_sha256_repository(tmp_path: Path):
    """Ids of 64 digits are as good as those of 40."""
    repo = GitRepo(tmp_path / "sha256", object_format="sha256")
    head = repo.commit(BASE)
    found = Repository.at(repo.root)
    assert len(head) == 64
    assert found.policy_files(found.commit("main"), "policies").files == POLICY_FILES


def test_wherever_one_stands(repo: GitRepo, tmp_path: Path):
    """A directory inside, a linked work tree, a bare clone, packed objects, the `.git` directory itself."""
    head = repo.commit({"README.md": "x"})
    repo.git("worktree", "add", "--quiet", str(tmp_path / "linked"), "-b", "linked")
    repo.git("clone", "--quiet", "--bare", "--no-local", str(repo.root), str(tmp_path / "bare.git"))
    repo.git("gc", "--quiet")
    places = (repo.root / "policies", tmp_path / "linked" / "policies", tmp_path / "bare.git", repo.root / ".git")
    for place in places:
        found = Repository.at(place)
        assert found.policy_files(found.commit("main"), "policies").files == POLICY_FILES, place
        assert found.commit("main") == head


def test_a_directory_with_the_name_of_a_variable(repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A name is a name: what the environment says is not put in its place."""
    monkeypatch.setenv("ELSEWHERE", "nowhere")
    place = repo.root.rename(tmp_path / "$ELSEWHERE")
    assert Repository.at(place).policy_files(Repository.at(place).commit("main"), "policies").files == POLICY_FILES


def test_shallow_clone(repo: GitRepo, tmp_path: Path):
    """What is below its depth is not there, and the message names the way out."""
    first = repo.git("rev-parse", "HEAD")
    repo.commit({"a": "1"})
    repo.git("clone", "--quiet", "--depth=1", f"file://{repo.root}", str(tmp_path / "shallow"))
    found = Repository.at(tmp_path / "shallow")
    assert found.policy_files(found.commit("HEAD"), "policies").files == POLICY_FILES
    with pytest.raises(RepositoryError, match="git fetch --unshallow"):
        found.commit(first)


def test_bytes_come_out_as_committed(repo: GitRepo):
    """Carriage returns, no line break at the end, an empty file, non-ASCII names and contents."""
    contents = {
        "a.yaml": b"a: 1\r\nb: 2",
        "empty.yaml": b"",
        "\u00fcber.yaml": "\u00fc: \U0001f600\n".encode(),
        "b c.json": b"{}\n",
    }
    repo.commit({f"odd/{name}": data for name, data in contents.items()})
    found = Repository.at(repo.root)
    assert found.policy_files(found.commit("HEAD"), "odd").files == contents


def test_no_repository(tmp_path: Path):
    """A directory outside of any, and one that is not there."""
    with pytest.raises(RepositoryError, match=r"is not in a git repository\. Name one with --repo DIR"):
        Repository.at(Path("/"))
    with pytest.raises(RepositoryError, match="no such directory"):
        Repository.at(tmp_path / "nowhere")


def test_git_client_is_imported_in_one_file():
    """GitPython stands behind one door, and nothing that only prints help pays for it."""
    root = Path(reconciler.__file__).parent
    importers = set()
    for path in root.rglob("*.py"):
        for statement in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in statement.names] if isinstance(statement, ast.Import) else []
            names += [statement.module or ""] if isinstance(statement, ast.ImportFrom) and not statement.level else []
            if any(name.split(".")[0] in ("git", "gitdb") for name in names):
                importers.add(path.relative_to(root).as_posix())
    assert importers == {"gitops/git/repository.py"}


def test_nothing_is_written_to_the_repository(repo: GitRepo):
    """No index, no lock, no log: the files of the repository are the same before and after."""
    found = Repository.at(repo.root)
    before = subprocess.run(["find", repo.root, "-printf", "%p %s %T@ %m\n"], capture_output=True, check=True).stdout
    commit = found.commit("main")
    found.merge_base(commit, commit)
    assert found.policy_files(commit, "policies").files
    assert subprocess.run(["find", repo.root, "-printf", "%p %s %T@ %m\n"], capture_output=True, check=True).stdout == before
