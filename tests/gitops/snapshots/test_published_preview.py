"""Previews against what `snapshot --publish` leaves: a branch of the repository, or one file."""

import io
import json
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler.cli.inputs.cluster_files import load_world
from reconciler.cli.main import cli
from reconciler.cli.outputs.failure import InputError, guarded
from reconciler.gitops.git.remote import PROTOCOLS, checked_remote
from reconciler.gitops.git.remote_access import Access
from reconciler.gitops.snapshots.publish import SnapshotBranch
from reconciler.gitops.snapshots.snapshot_archive import read_archive, write_archive
from tests.gitops.conftest import Result
from tests.gitops.repositories import GitRepo, group
from tests.gitops.servers import http_host

CAPTURED = 1_795_284_000
Call = Callable[..., Result]


def documents(cluster: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(cluster.iterdir())}


@pytest.fixture
def call(repo: GitRepo, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    """`reconciler preview …` of a branch with another minimum, inside the repository."""
    repo.branch("change")
    repo.commit({"policies/general.yaml": group("general").replace("min: 1", "min: 4")})
    monkeypatch.chdir(repo.root)

    def run(*words: object) -> Result:
        code = guarded(cli, ["preview", "--base", "main", "-o", "json", *(str(word) for word in words)])
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return run


@pytest.fixture
def published(repo: GitRepo, cluster: Path, tmp_path: Path, call: Call) -> GitRepo:
    """The repository with the cluster as `prod` on the branch `snapshots`, pushed over HTTP."""
    repo.git("config", "http.receivepack", "true")
    with http_host(tmp_path) as host:
        remote = checked_remote(f"{host.url}/repo/.git", PROTOCOLS)
        SnapshotBranch(remote, "snapshots", Access()).publish("prod", documents(cluster), CAPTURED)
    return repo


def test_the_same_preview(published: GitRepo, cluster: Path, call: Call, tmp_path: Path):
    """From the directory, from the branch and from one file: the same but for the name and where it was read."""

    def told(*words: object) -> dict[str, object]:
        document: dict[str, object] = json.loads(call(*words).out)
        seen = document["snapshot"]
        assert isinstance(seen, dict)
        assert seen.pop("source")
        assert (seen.pop("revision") is None) == ("--cluster" in words)
        return document

    expected = told("--cluster", cluster, "--cluster-name", "prod")
    assert told("--cluster-ref", "snapshots", "--cluster-name", "prod") == expected
    write_archive(tmp_path / "prod.tar.gz", documents(cluster), CAPTURED)
    assert told("--cluster", tmp_path / "prod.tar.gz", "--cluster-name", "prod") == expected
    assert told("--cluster-ref", "snapshots") == told("--cluster", cluster)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--cluster-ref", "snapshots", "--cluster-name", "stage"), "no snapshot of stage, but of prod"),
        (("--cluster-ref", "main"), "policies at"),
        (("--cluster-ref", "nowhere"), "unknown commit 'nowhere'"),
        (("--cluster-ref", "--upload-pack=x"), "begins with '-'"),
        (("--cluster-ref", "snapshots", "--cluster", "."), "give one"),
        (("--cluster-ref", "snapshots", "--context", "prod"), "give one"),
    ],
)
def test_what_is_not_there(published: GitRepo, call: Call, words: tuple[str, ...], told: str):
    """A sentence that names what there is."""
    result = call(*words)
    assert (result.code, result.out) == (1, "")
    assert told in result.err


def test_archive_is_the_same_bytes(tmp_path: Path, cluster: Path):
    """Two writes of one snapshot; nothing is left beside the file."""
    first = write_archive(tmp_path / "a.tar.gz", documents(cluster), CAPTURED)
    write_archive(tmp_path / "b.tar.gz", documents(cluster), CAPTURED)
    assert (tmp_path / "a.tar.gz").read_bytes() == (tmp_path / "b.tar.gz").read_bytes()
    assert (tmp_path / "a.tar.gz").stat().st_size == first
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["a.tar.gz", "b.tar.gz"]
    assert read_archive(tmp_path / "a.tar.gz") == documents(cluster)


def test_archive_takes_the_place_of_the_old_one(tmp_path: Path, cluster: Path):
    """Who has the old file open goes on reading it; who opens it now reads the new one."""
    path = tmp_path / "a.tar"
    write_archive(path, {"a.json": b"1"}, CAPTURED)
    with path.open("rb") as old:
        write_archive(path, {"a.json": b"2"}, CAPTURED)
        assert b"1" in old.read()
    assert read_archive(path) == {"a.json": b"2"}


def packed(*entries: tuple[tarfile.TarInfo, bytes]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for entry, data in entries:
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return stream.getvalue()


def entry(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    found = tarfile.TarInfo(name)
    found.type, found.linkname = kind, target
    return found


def test_hostile_archive(tmp_path: Path, cluster: Path):
    """Links, devices and paths out of it are no documents; nothing is written anywhere."""
    inner = tmp_path / "in"
    inner.mkdir()
    (inner / "x.tar.gz").write_bytes(
        packed(
            (entry("link.json", tarfile.SYMTYPE, "/etc/passwd"), b""),
            (entry("hard.json", tarfile.LNKTYPE, "all.json"), b""),
            (entry("pipe.json", tarfile.FIFOTYPE), b""),
            (entry(".hidden/a.json"), b"no JSON"),
            (entry("all.json"), documents(cluster)["all.json"]),
            (entry("snapshot.yaml"), documents(cluster)["snapshot.yaml"]),
        )
    )
    assert load_world(inner / "x.tar.gz") == load_world(cluster)
    assert os.listdir(inner) == ["x.tar.gz"]  # noqa: PTH208


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "damaged or cut-off archive"),
        (b"no tar at all" * 100, "damaged or cut-off archive"),
        (packed((entry("a.json"), os.urandom(9000)))[:4000], "damaged or cut-off archive"),
        (packed((entry("a.json"), b"{}"), (entry("./a.json"), b"{}")), "the archive has 'a.json' twice"),
        (packed((entry("a.json.gz"), b"no gzip")), "damaged or cut-off archive"),
        (packed((entry("README"), b"words")), "has no documents"),
        (packed((entry("a.json"), bytes(20_000))), "is this a snapshot?"),
    ],
    ids=["empty", "no-tar", "cut-off", "twice", "no-gzip", "no-documents", "too-large"],
)
def test_damaged_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, told: str):
    """A sentence with the file's name."""
    monkeypatch.setattr("reconciler.gitops.snapshots.snapshot_archive.MOST_BYTES", 16_384)
    (tmp_path / "x.tar.gz").write_bytes(content)
    with pytest.raises(InputError, match=told.replace("?", r"\?")) as refused:
        load_world(tmp_path / "x.tar.gz")
    assert "x.tar.gz" in refused.value.message
