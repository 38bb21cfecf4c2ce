"""Snapshots on a branch of a real git server, and read back from a clone of it."""

import gzip
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.gitops.git.fault import FaultCode, SourceError
from reconciler.gitops.git.remote import PROTOCOLS, checked_remote
from reconciler.gitops.git.remote_access import Access
from reconciler.gitops.git.repository import Repository, RepositoryError
from reconciler.gitops.git.tree_names import RefusedNameError
from reconciler.gitops.snapshots.committed_snapshot import checked_place, snapshot_files
from reconciler.gitops.snapshots.publish import PublishCode, Published, PublishError, SnapshotBranch
from tests.gitops.repositories import GitRepo
from tests.gitops.servers import GitHost, http_host

FILES = {"snapshot.yaml": b'formatVersion: "1.0"\n', "nodes.json": b'{"kind":"NodeList","items":[]}', "management/m.json": b"{}"}
NOON = 1_795_000_000


class Server:
    """A bare repository `snapshots.git` with one commit of people on `main`."""

    def __init__(self, root: Path, host: GitHost) -> None:
        self.bare = root / "snapshots.git"
        self.host = host
        work = GitRepo(root / "work")
        work.commit({"README.md": "of people\n"})
        work.git("clone", "--quiet", "--bare", str(work.root), str(self.bare))
        self.git("config", "http.receivepack", "true")
        self.git("config", "uploadpack.allowFilter", "true")

    def git(self, *arguments: str) -> str:
        command = ["git", f"--git-dir={self.bare}", *arguments]
        environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
        return subprocess.run(command, capture_output=True, check=True, env=environment).stdout.decode().strip()

    def branch(self, branch: str = "snapshots", **access: Path) -> SnapshotBranch:
        return SnapshotBranch(checked_remote(f"{self.host.url}/snapshots.git", PROTOCOLS), branch, Access(**access))

    def publish(self, place: str = "prod", seconds: int = NOON, branch: str = "snapshots") -> Published:
        return self.branch(branch).publish(place, FILES | {"at.json": b"%d" % seconds}, seconds)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with http_host(tmp_path) as host:
        yield Server(tmp_path, host)


def test_a_new_branch(server: Server):
    """One commit without parent, packed documents below the name of the cluster; the time is that of the capture."""
    done = server.publish()
    assert done.before == ""
    assert server.git("rev-parse", "snapshots") == done.commit
    assert server.git("rev-list", "--count", "snapshots") == "1"
    names = server.git("ls-tree", "-r", "--name-only", "snapshots").splitlines()
    assert names == ["prod/at.json.gz", "prod/management/m.json.gz", "prod/nodes.json.gz", "prod/snapshot.yaml"]
    packed = subprocess.run(
        ["git", f"--git-dir={server.bare}", "cat-file", "blob", "snapshots:prod/nodes.json.gz"], capture_output=True, check=True
    ).stdout
    assert (gzip.decompress(packed), packed[4:8]) == (FILES["nodes.json"], b"\0" * 4)  # RFC 1952: no time
    assert server.git("show", "-s", "--format=%an %at %cn", "snapshots") == f"nodegroup-reconciler {NOON} nodegroup-reconciler"


def test_the_next_one_takes_its_place(server: Server):
    """The branch stays one commit long; what was there before is named; other branches do not move."""
    people = server.git("rev-parse", "main")
    first = server.publish()
    second = server.publish(seconds=NOON + 60)
    assert second.before == first.commit
    assert server.git("rev-list", "--count", "snapshots") == "1"
    assert server.git("for-each-ref", "--format=%(refname)").splitlines() == ["refs/heads/main", "refs/heads/snapshots"]
    assert server.git("rev-parse", "main") == people


@pytest.mark.parametrize("filters", ["true", "false"])
def test_clusters_share_a_branch(server: Server, filters: str):
    """Each at its own place, also where the server sends what nobody asked for."""
    server.git("config", "uploadpack.allowFilter", filters)
    server.publish("prod")
    server.publish("stage")
    server.publish("prod", NOON + 60)
    tree = dict(line.split("\t")[::-1] for line in server.git("ls-tree", "snapshots").splitlines())
    assert sorted(tree) == ["prod", "stage"]
    assert server.git("fsck", "--full", "--strict", "--no-dangling") == ""
    read = Repository(server.bare)
    commit = read.commit("snapshots")
    assert snapshot_files(read, commit, "prod")["at.json"] == b"%d" % (NOON + 60)
    assert snapshot_files(read, commit, "stage")["at.json"] == b"%d" % NOON


def test_equal_content_is_sent_once(server: Server):
    """The same snapshot is the same commit, and nothing is pushed for it."""
    assert server.publish().commit == server.publish().commit


def test_a_branch_of_people_is_left_alone(server: Server):
    """`main` holds no snapshot: it is refused and does not move."""
    before = server.git("rev-parse", "main")
    with pytest.raises(PublishError, match="not a published snapshot") as refused:
        server.publish(branch="main")
    assert refused.value.code is PublishCode.NOT_OURS
    assert server.git("rev-parse", "main") == before


def test_somebody_else_was_faster(tmp_path: Path):
    """Between reading and pushing another cluster publishes: its place is kept, and ours is there."""
    other: list[Server] = []

    def interfere(request: object) -> bool:
        line = getattr(request, "requestline", "")
        if other and "git-receive-pack" in line and line.startswith("GET"):
            other.pop().publish("stage")
        return False

    with http_host(tmp_path, misbehave=interfere) as host:
        server = Server(tmp_path, host)
        server.publish("prod")
        other.append(server)
        server.publish("prod", NOON + 60)
        assert not other
        read = Repository(server.bare)
        assert snapshot_files(read, read.commit("snapshots"), "prod")["at.json"] == b"%d" % (NOON + 60)
        assert "at.json" in snapshot_files(read, read.commit("snapshots"), "stage")


def test_moved_again_and_again(tmp_path: Path):
    """Three times is enough: the newest of the other stays, and the message says what to do."""
    servers: list[Server] = []
    count = [0]

    def interfere(request: object) -> bool:
        line = getattr(request, "requestline", "")
        if servers and "git-receive-pack" in line and line.startswith("GET"):
            count[0] += 1
            server, servers[:] = servers[0], []
            server.publish("stage", NOON + count[0])
            servers.append(server)
        return False

    with http_host(tmp_path, misbehave=interfere) as host:
        server = Server(tmp_path, host)
        server.publish("prod")
        servers.append(server)
        with pytest.raises(PublishError, match=r"somebody else moved .* 3 times") as moved:
            server.publish("prod", NOON + 60)
        assert (moved.value.code, count[0]) == (PublishCode.MOVED, 3)


def test_protected_branch(server: Server):
    """A server that takes new branches but no forced push says so, and so do we."""
    server.publish()
    server.git("config", "receive.denyNonFastForwards", "true")
    with pytest.raises(PublishError, match="must allow forced pushes") as refused:
        server.publish(seconds=NOON + 60)
    assert refused.value.code is PublishCode.REFUSED


def test_server_that_takes_no_push(server: Server):
    """A fault of the remote, not of the branch."""
    server.git("config", "http.receivepack", "false")
    with pytest.raises(SourceError) as failed:
        server.publish()
    assert failed.value.fault.code is FaultCode.AUTHENTICATION_FAILED


def test_nobody_answers(tmp_path: Path):
    """An address where nothing listens."""
    with pytest.raises(SourceError) as failed:
        SnapshotBranch(checked_remote("http://127.0.0.1:1/x", PROTOCOLS), "snapshots", Access()).publish("prod", FILES, NOON)
    assert failed.value.fault.code is FaultCode.UNREACHABLE


@pytest.mark.parametrize("name", ["", "..", "../x", "a/b", "-x", ".git", "a\nb", "x" * 101, "a b", "\u202ea", "x.lock", "\u00fc"])
def test_names_that_are_no_place(name: str):
    """Nothing but a plain name becomes a directory of the tree."""
    with pytest.raises(RefusedNameError):
        checked_place(name)
    for plain in ("prod", "eu-1.prod_2", "x" * 100, "7"):
        assert checked_place(plain) == plain


def test_read_back(server: Server):
    """Unpacked, without `.gz`; the only place needs no name, of two one is asked for, another is not found."""
    server.publish("prod")
    read = Repository(server.bare)
    assert snapshot_files(read, read.commit("snapshots"), None) == FILES | {"at.json": b"%d" % NOON}
    server.publish("stage")
    with pytest.raises(RepositoryError, match=r"choose one with --cluster-name \(prod, stage\)"):
        snapshot_files(read, read.commit("snapshots"), None)
    with pytest.raises(RepositoryError, match="no snapshot of test, but of prod, stage"):
        snapshot_files(read, read.commit("snapshots"), "test")
    with pytest.raises(RepositoryError, match="has no published snapshot"):
        snapshot_files(read, read.commit("main"), None)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"no gzip", "damaged gzip data"),
        (gzip.compress(b"x" * 100)[:-9], "cut-off gzip data"),
        (gzip.compress(bytes(5000)), "its unpacked content exceeds the size limit"),
    ],
    ids=["damaged", "cut-off", "bomb"],
)
def test_hostile_packed_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, told: str):
    """Damaged, cut off, or a bomb: a sentence, and bounded memory."""
    monkeypatch.setattr("reconciler.gitops.snapshots.packed_documents.MOST_BYTES", 4096)
    repo = GitRepo(tmp_path / "repo")
    repo.commit({"prod/nodes.json.gz": content, "prod/snapshot.yaml": b""})
    read = Repository.at(repo.root)
    with pytest.raises(RepositoryError, match=told):
        snapshot_files(read, read.commit("HEAD"), "prod")


def test_links_are_not_documents(tmp_path: Path):
    """A link and a submodule in the tree are passed over."""
    repo = GitRepo(tmp_path / "repo")
    repo.commit({"x": "1"})
    inner = repo.tree(("120000", b"secret.json", repo.blob(b"/etc/passwd")), ("100644", b"snapshot.yaml", repo.blob(b"{}")))
    commit = repo.commit_tree(repo.tree(("40000", b"prod", inner)))
    assert snapshot_files(Repository.at(repo.root), commit, "prod") == {"snapshot.yaml": b"{}"}
