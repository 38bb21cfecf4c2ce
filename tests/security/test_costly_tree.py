"""A commit that is costly to read: it takes a child process to its bounds, and no thread, no memory and no time of the loop."""

import hashlib
import io
import tarfile
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from reconciler.control.policy.policy_source import FollowedPolicy
from reconciler.gitops.bounded_child import Bound, ChildError, ChildTooDearError
from reconciler.gitops.git.fault import FaultCode, SourceError
from reconciler.gitops.git.tree_bounds import MAX_TREE_BYTES
from reconciler.gitops.sources import archive as archives
from reconciler.gitops.sources import bounded_tree, flux_source
from reconciler.gitops.sources.archive import ArchiveError, ArchiveTooDearError, unpacked
from reconciler.gitops.sources.bounded_archive import ARCHIVE_BOUNDS, bounded_unpacked
from reconciler.gitops.sources.bounded_tree import AGAIN_SECONDS, TREE_BOUNDS, BoundedTreeReader
from reconciler.gitops.sources.last_good import MemoryLastGoodStore
from reconciler.gitops.sources.source import Fetched
from reconciler.policy import tree
from reconciler.policy.tree import read_tree
from tests.deploy.rendered import deployment, overlay
from tests.gitops.sources.test_flux_source import archive, member, source
from tests.gitops.sources.test_source_bounds import CLAIM
from tests.live.reconciler_process import policy_text
from tests.policy.costly_texts import HEAD, TEXTS
from tests.policy.texts import NOW

ROOT = Path(__file__).resolve().parents[2]
GOOD = {path.name: path.read_bytes() for path in (ROOT / "policies").glob("*.yaml")}
COSTLY = {"p.yaml": (HEAD + TEXTS["windows of every minute"]).encode()}
BAD = {"p.yaml": (HEAD + "  mode: Perhaps\n").encode()}


def test_a_tree_reads_as_it_does_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same values, problems and places, and nothing of it is read in this process."""
    expected = [read_tree(files, now_seconds=NOW, revision="r") for files in (GOOD, BAD)]
    for name in ("read_source", "compose_documents", "check_drafts"):
        monkeypatch.setattr(tree, name, lambda *_, **__: pytest.fail("read here"))
    reader = BoundedTreeReader()
    assert [reader(files, NOW, "r") for files in (GOOD, BAD)] == expected
    assert ([len(one.sets) for one in expected], [len(one.problems) for one in expected]) == ([1, 0], [0, 1])


@pytest.mark.parametrize(("bounds", "said"), [
    ({"cpu_seconds": 1}, "took more than 1 s of a processor"),
    ({"seconds": 0.01}, "or 0.01 s in all"),
    ({"memory_bytes": 1 << 20}, "more than 1 MiB of memory"),
    ({"output_bytes": 10}, "more than 0 MiB of output"),
], ids=str)  # fmt: skip
def test_reading_ends_at_its_bounds(bounds: dict[str, float], said: str) -> None:
    """Time of a processor, of the clock, memory and length of the answer, each by the kernel, whatever the text is."""
    reader = BoundedTreeReader(msgspec.structs.replace(TREE_BOUNDS, **bounds))
    with pytest.raises(SourceError, match=said) as refused:
        reader(COSTLY if {"cpu_seconds", "memory_bytes"} & bounds.keys() else GOOD, NOW, "c" * 40)
    assert (refused.value.fault.code, refused.value.fault.revision) == (FaultCode.TOO_COSTLY, "c" * 40)


def test_a_tree_that_is_too_large_is_not_written_down(asked: list[str]) -> None:
    """Not for a child either: the temporary directory of a pod is bounded, and beyond it the pod is put off its node."""
    files = {f"{number}.yaml": bytes(1 << 20) for number in range(17)}
    with pytest.raises(SourceError, match="17825792 bytes together, the limit is 16777216") as refused:
        BoundedTreeReader()(files, NOW, "c" * 40)
    assert (refused.value.fault.code, asked) == (FaultCode.TOO_COSTLY, [])
    limit = overlay("enforce")
    (tmp,) = (one for one in deployment(limit)["spec"]["template"]["spec"]["volumes"] if one["name"] == "tmp")
    assert tmp["emptyDir"]["sizeLimit"] == "64Mi"
    assert MAX_TREE_BYTES + TREE_BOUNDS.output_bytes < 64 << 20


def test_a_line_of_a_megabyte_is_not_quoted_two_hundred_times() -> None:
    """Each problem has its line: what is told about a text stays within bounds that its reading kept."""
    problems = BoundedTreeReader()({"p.yaml": (HEAD + TEXTS["labels"]).encode()}, NOW, None).problems
    assert len(problems) > 200
    assert {problem.source for problem in problems} == {""}


def heads(size: int) -> bytes:
    """An archive with one file whose head has a comment of so many bytes: packed a thousandth of it."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz", format=tarfile.PAX_FORMAT) as tar:
        head = tarfile.TarInfo("a.yaml")
        head.pax_headers = {"comment": "x" * size}
        tar.addfile(head)
    return made.getvalue()


def test_an_archive_is_unpacked_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same files, problems and errors, names of any bytes included, and nothing of it is unpacked in this process."""
    made = [
        archive(member("a/x.yaml", b"x: 1"), member("a/b\udcff.yaml"), member(".hidden.yaml")),
        archive(member("a/x.yaml", b"x: 1")),
    ]  # fmt: skip
    expected = [unpacked(data, "a") for data in made]
    monkeypatch.setattr(tarfile, "open", lambda *_, **__: pytest.fail("unpacked here"))
    assert [bounded_unpacked(data, "a") for data in made] == expected
    assert ([len(one.problems) for one in expected], expected[1].files) == ([1, 0], {"x.yaml": b"x: 1"})
    with pytest.raises(ArchiveError, match="invalid gzip data"):
        bounded_unpacked(b"no gzip", "")


def test_unpacking_ends_at_its_bounds() -> None:
    """200 kB that are 200 MB of head took 24 s and a gigabyte, and kept the lock of the interpreter for 18 s of them."""
    data = heads(60 << 20)
    assert len(data) < 100_000
    for bounds in (replace(ARCHIVE_BOUNDS, memory_bytes=128 << 20), replace(ARCHIVE_BOUNDS, seconds=0.01)):
        with pytest.raises(ArchiveError, match=r"unpacking the archive took too much (memory|time), and was stopped"):
            bounded_unpacked(data, "", bounds)


def test_a_costly_artifact_is_not_unpacked_at_each_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its digest says that it is the same; the next one is looked at."""
    tried: list[int] = []

    def unpacking(data: bytes, *_: object) -> None:
        tried.append(len(data))
        raise ArchiveTooDearError("unpacking the archive took too much time, and was stopped")

    monkeypatch.setattr(flux_source, "bounded_unpacked", unpacking)
    claim = {**CLAIM, "digest": f"sha256:{hashlib.sha256(b'x').hexdigest()}"}
    found, _ = source({"artifact": claim}, download=lambda *_: b"x")
    for _ in range(3):
        with pytest.raises(SourceError, match="took too much time"):
            found.fetch(None)
    assert tried == [1]


def test_files_that_are_passed_over_take_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hidden ones and those of other endings, before and after those that count."""
    monkeypatch.setattr(archives, "MAX_TREE_BYTES", 8)
    many = [member(name, b"12345678") for name in (".a.yaml", "b.txt", ".c/d.yaml")]
    assert unpacked(archive(*many, member("x.yaml", b"x: 1"), *many, member("y.yaml", b"y: 1")), "").files == {
        "x.yaml": b"x: 1", "y.yaml": b"y: 1",
    }  # fmt: skip


class Tree:
    """A source whose files the test sets."""

    name = "tree"

    def __init__(self) -> None:
        self.files = {"p.yaml": policy_text("prod", "shop", {"general": (0, 5)}).encode()}
        self.revision = "a" * 40

    def fetch(self, last_revision: str | None, last_seconds: int = 0) -> Fetched:
        return Fetched(revision=self.revision, root="clusters/prod", files=self.files)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What children were asked about; those of "b…" take too much time, those of "d…" break."""
    found: list[str] = []
    real = bounded_tree.child_answer

    def answered(module: str, task: bounded_tree.TreeTask, bounds: bounded_tree.ChildBounds) -> bytes:
        found.append(task.revision or "")
        if found[-1].startswith("b"):
            raise ChildTooDearError(Bound.TIME)
        if found[-1].startswith("d"):
            raise ChildError("the child ended with 1")
        return real(module, task, bounds)

    monkeypatch.setattr(bounded_tree, "child_answer", answered)
    return found


def test_a_costly_commit_changes_nothing(asked: list[str]) -> None:
    """The last good policy stays in force, why is told, and the commit is not read again at each look; the next one is."""
    source, now = Tree(), [NOW]
    policy = FollowedPolicy(source, MemoryLastGoodStore(), lambda: now[0])
    assert policy.poll()
    before = policy.current()
    source.revision, source.files = "b" * 40, dict(source.files)
    for _ in range(3):
        assert not policy.poll()
        now[0] += 60
        assert policy.standing.fault is not None
        assert policy.standing.fault.code is FaultCode.TOO_COSTLY
    assert policy.current() is before
    assert asked == ["a" * 40, "b" * 40]
    now[0] += AGAIN_SECONDS
    policy.poll()
    assert asked[2:] == ["b" * 40]
    source.revision, source.files = "c" * 40, {"p.yaml": policy_text("prod", "shop", {"general": (0, 6)}).encode()}
    assert policy.poll()
    assert policy.standing.fault is None


def test_a_child_that_breaks_is_asked_again(asked: list[str]) -> None:
    """No fault of the tree: the policy in force stays, and the next look tries anew."""
    source = Tree()
    policy = FollowedPolicy(source, MemoryLastGoodStore(), lambda: NOW)
    source.revision = "d" * 40
    for _ in range(2):
        assert not policy.poll()
        assert policy.standing.fault is not None
        assert policy.standing.fault.code is FaultCode.DAMAGED
    assert asked == ["d" * 40] * 2


def test_an_invalid_commit_is_read_once_in_a_while(asked: list[str]) -> None:
    """Its problems are told with their places at the source at every look; twice read, since it stands below a directory."""
    source, now = Tree(), [NOW]
    policy = FollowedPolicy(source, MemoryLastGoodStore(), lambda: now[0])
    source.files = BAD
    for _ in range(3):
        now[0] += 60
        policy.poll()
        fault = policy.standing.fault
        assert fault is not None
        assert (fault.code, str(fault.place)) == (FaultCode.INVALID_POLICY, "clusters/prod/p.yaml:5:9")
    assert len(asked) == 2
