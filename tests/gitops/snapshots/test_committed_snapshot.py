"""A snapshot that lies in a repository: read as one commit has it, plain files alone, within bounds."""

import gzip
import zlib
from pathlib import Path

import pytest

from reconciler.gitops.git.repository import Repository, RepositoryError
from reconciler.gitops.snapshots import packed_documents
from reconciler.gitops.snapshots.committed_snapshot import changes_between, committed_files, snapshot_files
from tests.gitops.repositories import GitRepo

FILES = {
    "snapshots/prod/nodes.json": "{}",
    "snapshots/prod/deep/pods.yaml": "[]",
    "snapshots/prod/pods.json.gz": gzip.compress(b'{"items":[]}', mtime=0),
    "snapshots/prod/README.md": "words",
    "snapshots/one.yml.gz": gzip.compress(b"kind: List", mtime=0),
    "other.txt": "x",
}


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> GitRepo:
    made = GitRepo(tmp_path_factory.mktemp("snapshots"))
    made.commit(FILES)
    return made


def _repository(repo: GitRepo) -> Repository:
    return Repository(repo.root / ".git")


@pytest.mark.parametrize(
    ("path", "files"),
    [
        ("snapshots/prod", {"nodes.json": b"{}", "deep/pods.yaml": b"[]", "pods.json": b'{"items":[]}'}),
        ("snapshots/prod/", {"nodes.json": b"{}", "deep/pods.yaml": b"[]", "pods.json": b'{"items":[]}'}),
        ("snapshots/prod/nodes.json", {"nodes.json": b"{}"}),
        ("snapshots/one.yml.gz", {"one.yml": b"kind: List"}),
    ],
)
def test_a_directory_or_one_document(repo: GitRepo, path: str, files: dict[str, bytes]) -> None:
    """Names are those below the place; what was packed is unpacked, and what is no document is left out."""
    assert committed_files(_repository(repo), repo.git("rev-parse", "HEAD"), path) == files


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("snapshots/dev", "cannot find 'snapshots/dev' at "),
        ("snapshots/pro", "cannot find 'snapshots/pro' at "),
        ("", "not at the top of the repository"),
        (".", "not at the top of the repository"),
        ("../snapshots", "the place '../snapshots' "),
        ("other.txt", "has no .json, .yaml or .yml file"),
    ],
)
def test_what_is_not_there(repo: GitRepo, path: str, told: str) -> None:
    with pytest.raises(RepositoryError) as caught:
        committed_files(_repository(repo), repo.git("rev-parse", "HEAD"), path)
    assert told in str(caught.value)


@pytest.mark.parametrize(("mode", "what"), [("120000", "a symbolic link"), ("160000", "of mode 160000")])
@pytest.mark.parametrize("alone", [False, True])
def test_what_leads_elsewhere_is_not_followed(tmp_path: Path, mode: str, what: str, *, alone: bool) -> None:
    """A link or another repository in the place of a document, also beside plain ones."""
    repo = GitRepo(tmp_path)
    repo.commit({"a": "1"})
    target = repo.git("rev-parse", "HEAD") if mode == "160000" else repo.blob(b"/etc/passwd")
    entries = [(mode, b"pods.json", target)]
    if not alone:
        entries.insert(0, ("100755", b"nodes.json", repo.blob(b"{}")))
    commit = repo.commit_tree(repo.tree(("40000", b"snap", repo.tree(*entries))))
    with pytest.raises(RepositoryError) as caught:
        committed_files(_repository(repo), commit, "snap/pods.json" if alone else "snap")
    assert f"{what} and is not followed: a snapshot is plain files" in str(caught.value)


def test_a_plain_file_may_be_executable(tmp_path: Path) -> None:
    repo = GitRepo(tmp_path)
    repo.commit({"a": "1"})
    commit = repo.commit_tree(repo.tree(("40000", b"snap", repo.tree(("100755", b"nodes.json", repo.blob(b"{}"))))))
    assert committed_files(_repository(repo), commit, "snap") == {"nodes.json": b"{}"}


def test_whether_a_snapshot_has_changed(tmp_path: Path) -> None:
    """Its content, its kind of file, that it came and that it went; nothing else of the commits."""
    repo = GitRepo(tmp_path)
    none = repo.commit({"a": "1"})
    first = repo.commit({"snap/nodes.json": "{}"})
    beside = repo.commit({"a": "2", "snapshot.json": "{}"})
    second = repo.commit({"snap/nodes.json": "[]"})
    found = _repository(repo)
    pairs = {(none, none): False, (none, first): True, (first, beside): False, (beside, second): True, (second, none): True}
    assert {pair: changes_between(found, *pair, "snap") for pair in pairs} == pairs
    file, link = (
        repo.commit_tree(repo.tree((mode, b"snap", repo.blob(b"x"))), branch=f"m{mode}") for mode in ("100644", "120000")
    )
    assert changes_between(found, file, link, "snap")


def test_bounds_of_what_is_read(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    """So many documents, so many bytes as they lie there, and so many unpacked: at the bound it is read, above it is not."""
    commit, found = repo.git("rev-parse", "HEAD"), _repository(repo)
    assert (packed_documents.MOST_FILES, packed_documents.MOST_PACKED_BYTES, packed_documents.MOST_BYTES) == (
        2000,
        256 << 20,
        2 << 30,
    )
    monkeypatch.setattr(packed_documents, "MOST_FILES", 3)
    assert len(committed_files(found, commit, "snapshots/prod")) == 3
    monkeypatch.setattr(packed_documents, "MOST_FILES", 2)
    with pytest.raises(RepositoryError, match=r": 3 files, and a snapshot may have 2"):
        committed_files(found, commit, "snapshots/prod")
    monkeypatch.setattr(packed_documents, "MOST_FILES", 3)
    whole = sum(len(content) for name, content in FILES.items() if name.startswith("snapshots/prod/") and "README" not in name)
    monkeypatch.setattr(packed_documents, "MOST_PACKED_BYTES", whole)
    assert len(committed_files(found, commit, "snapshots/prod")) == 3
    monkeypatch.setattr(packed_documents, "MOST_PACKED_BYTES", whole - 1)
    with pytest.raises(RepositoryError):
        committed_files(found, commit, "snapshots/prod")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"no gzip", "damaged gzip data"),
        (zlib.compress(b"{}"), "damaged gzip data"),
        (gzip.compress(b"{}" * 100)[:-4], "cut-off gzip data"),
        (gzip.compress(b"\0" * (40 << 20)), "its unpacked content exceeds the size limit"),
    ],
)
def test_packed_documents_that_are_none(tmp_path: Path, content: bytes, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_documents, "MOST_BYTES", 1 << 20)
    repo = GitRepo(tmp_path)
    commit = repo.commit({"snap/nodes.json.gz": content})
    with pytest.raises(RepositoryError, match=f"'nodes.json.gz': {told}"):
        committed_files(_repository(repo), commit, "snap")


@pytest.mark.parametrize(
    ("first", "content", "bound", "taken"),
    [
        ("a.json.gz", b"x" * 100, 150, True),
        ("a.json.gz", b"x" * 100, 149, False),
        ("a.json.gz", b"x" * 100, 100, False),
        ("a.json", b"x" * 100, 150, True),
        ("a.json", b"x" * 100, 100, False),
    ],
)
def test_what_all_documents_unpack_to_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str, content: bytes, bound: int, taken: bool
) -> None:
    """A second document of fifty bytes has what the first one left, which may be nothing at all."""
    monkeypatch.setattr(packed_documents, "MOST_BYTES", bound)
    repo = GitRepo(tmp_path)
    packed = gzip.compress(b"y" * 50)
    commit = repo.commit(
        {f"snap/{first}": gzip.compress(content) if first.endswith(".gz") else content, "snap/b.json.gz": packed}
    )
    if taken:
        assert committed_files(_repository(repo), commit, "snap") == {"a.json": content, "b.json": b"y" * 50}
    else:
        with pytest.raises(RepositoryError, match=r"'b\.json\.gz': its unpacked content exceeds the size limit"):
            committed_files(_repository(repo), commit, "snap")


def test_plain_documents_count_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = GitRepo(tmp_path)
    commit = repo.commit({"snap/a.json": "{}", "snap/b.json": "[1]"})
    monkeypatch.setattr(packed_documents, "MOST_BYTES", 5)
    assert committed_files(_repository(repo), commit, "snap") == {"a.json": b"{}", "b.json": b"[1]"}
    monkeypatch.setattr(packed_documents, "MOST_BYTES", 4)
    with pytest.raises(RepositoryError, match=r"'b\.json': the snapshot exceeds the size limit"):
        committed_files(_repository(repo), commit, "snap")


def test_the_snapshot_of_a_cluster_on_a_branch_of_its_own(tmp_path: Path) -> None:
    """The only one there is need not be named; of several one is chosen, and a directory without a manifest is none."""
    repo = GitRepo(tmp_path)
    one = repo.commit({"prod/snapshot.yaml": "a: 1", "prod/nodes.json": "{}", "README.md": "x"})
    found = _repository(repo)
    expected = {"snapshot.yaml": b"a: 1", "nodes.json": b"{}"}
    assert snapshot_files(found, one, None) == snapshot_files(found, one, "prod") == expected
    two = repo.commit({"dev/nodes.json": "{}"})
    assert snapshot_files(found, two, "prod") == expected
    for commit, place, told in (
        (two, None, r"has several snapshots: choose one with --cluster-name \(dev, prod\)"),
        (two, "stage", "has no snapshot of stage, but of dev, prod"),
        (two, "dev", "dev at .* is not a published snapshot: snapshot.yaml is missing"),
        (two, "README.md", "has no snapshot of README.md, but of dev, prod"),
        (one, "stage", "has no snapshot of stage, but of prod$"),
    ):
        with pytest.raises(RepositoryError, match=told):
            snapshot_files(found, commit, place)
    many = repo.commit({f"eu-{number:02d}/nodes.json": "{}" for number in range(11)})
    shown = ", ".join(["dev", *(f"eu-{number:02d}" for number in range(9))])
    with pytest.raises(RepositoryError, match=rf"--cluster-name \({shown}\)$"):  # ten of thirteen
        snapshot_files(found, many, None)
    repo.git("rm", "-r", "--quiet", "prod", "dev", *(f"eu-{number:02d}" for number in range(11)))
    empty = repo.commit({})
    for place, told in ((None, "has no published snapshot$"), ("prod", "has no snapshot of prod$")):
        with pytest.raises(RepositoryError, match=told):
            snapshot_files(found, empty, place)
