"""What a source may hold at most, each bound exactly; and what is said of an artifact, a download and a directory."""

import gzip
import hashlib
import io
import os
import tarfile
import zlib
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from reconciler.gitops.git.fault import Fault, FaultCode, SourceError
from reconciler.gitops.snapshots import snapshot_archive
from reconciler.gitops.snapshots.snapshot_archive import is_archive, read_archive, write_archive
from reconciler.gitops.sources import archive as archives
from reconciler.gitops.sources import directory_source, download
from reconciler.gitops.sources.archive import ArchiveError, unpacked
from reconciler.gitops.sources.directory_source import DirectorySource
from reconciler.gitops.sources.download import DownloadError, downloaded
from reconciler.gitops.sources.file_source import FileSource
from reconciler.gitops.sources.webhook import Verdict, judged
from tests.gitops.repositories import POLICY
from tests.gitops.servers import served
from tests.gitops.sources.test_flux_source import archive, member, source

COMMIT = "a" * 40
DATA = archive(member("prod/prod.yaml"))
SHA256 = f"sha256:{hashlib.sha256(DATA).hexdigest()}"
CLAIM = {"url": "http://x/y", "digest": SHA256, "revision": f"main@sha1:{COMMIT}"}


def fault(run: Callable[[], object]) -> Fault:
    with pytest.raises(SourceError) as found:
        run()
    return found.value.fault


@pytest.mark.parametrize(("revision", "told"), [
    (f"main@sha1:{COMMIT}", COMMIT), (f"sha1:{COMMIT}", COMMIT), (f"v1@sha256:{'b' * 64}", "b" * 64), ("main", "main"),
    pytest.param("", SHA256, id="what came"),  # the archive's digest hangs on the clock
])  # fmt: skip
@pytest.mark.parametrize("algorithm", ["sha256", "sha384", "sha512"])
def test_revision_of_an_artifact(revision: str, told: str, algorithm: str) -> None:
    """The commit in it, else what it says, else its digest; at most 50 MiB are asked for, once for each digest."""
    asked: list[tuple[str, int]] = []
    digest = f"{algorithm}:{hashlib.new(algorithm, DATA).hexdigest()}"
    load = lambda url, most: (asked.append((url, most)), DATA)[1]  # noqa: E731
    found, objects = source({"artifact": CLAIM | {"revision": revision, "digest": digest}}, download=load)
    fetched = found.fetch(None)
    assert fetched.revision == (told if told != SHA256 else digest)
    assert dict(fetched.files) == {"prod.yaml": POLICY.encode()}
    assert found.fetch(None) is fetched
    assert asked == [("http://x/y", 52_428_800)]
    objects.status = {"artifact": CLAIM | {"digest": "sha256:" + "0" * 64}}
    assert fault(lambda: found.fetch(None)).code is FaultCode.DAMAGED


@pytest.mark.parametrize(("artifact", "code"), [
    (CLAIM | {"digest": "sha256:"}, FaultCode.DAMAGED), (CLAIM | {"digest": "sha256"}, FaultCode.DAMAGED),
    (CLAIM | {"digest": ""}, FaultCode.DAMAGED), (CLAIM | {"digest": "sha1:00"}, FaultCode.DAMAGED),
])  # fmt: skip
def test_digests_that_say_nothing(artifact: dict[str, str], code: FaultCode) -> None:
    """Nothing is downloaded for them."""
    found, _ = source({"artifact": artifact}, download=lambda *_: pytest.fail("it was asked for"))
    told = fault(lambda: found.fetch(None))
    assert (told.code, told.revision) == (code, CLAIM["revision"])
    assert "has no known digest" in told.message


@pytest.mark.parametrize(("error", "code"), [
    (DownloadError("no"), FaultCode.UNREACHABLE), (DownloadError("no", too_large=True), FaultCode.TOO_LARGE),
    (DownloadError("no", timed_out=True), FaultCode.TIMED_OUT),
])  # fmt: skip
def test_artifacts_that_cannot_be_had(error: DownloadError, code: FaultCode) -> None:
    """Each for its own reason."""

    def fail(*_: object) -> bytes:
        raise error

    told = fault(lambda: source({"artifact": CLAIM}, download=fail)[0].fetch(None))
    assert (told.code, told.message) == (code, "the artifact of GitRepository flux-system/policies:prod: no")


@pytest.mark.parametrize(("status", "taken"), [("True", True), ("False", False), ("", False)])
def test_artifacts_that_flux_has_verified(status: str, taken: bool) -> None:
    """Only where the condition is true; nobody asks for it unless that is required."""
    seen = {"artifact": CLAIM, "conditions": [{"type": "Ready", "status": "True"}, {"type": "SourceVerified", "status": status}]}
    found, _ = source(seen, require_verified=True, download=lambda *_: DATA)
    if taken:
        assert found.fetch(None).revision == COMMIT
    else:
        assert fault(lambda: found.fetch(None)).code is FaultCode.UNSIGNED
    assert source({"artifact": CLAIM}, download=lambda *_: DATA)[0].fetch(None).revision == COMMIT


def test_a_place_that_is_not_in_the_artifact() -> None:
    """Or an artifact that is no archive."""
    other = archive(member("test/prod.yaml"))
    claim = CLAIM | {"digest": f"sha256:{hashlib.sha256(other).hexdigest()}"}
    told = fault(lambda: source({"artifact": claim}, download=lambda *_: other)[0].fetch(None))
    assert (told.code, told.hint, told.revision) == (FaultCode.PATH_NOT_FOUND, "check --path", CLAIM["revision"])
    claim = CLAIM | {"digest": f"sha256:{hashlib.sha256(b'x').hexdigest()}"}
    assert fault(lambda: source({"artifact": claim}, download=lambda *_: b"x")[0].fetch(None)).code is FaultCode.DAMAGED


def test_entries_of_an_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    """100,000 at most, 256 MiB unpacked; here three."""
    assert (archives.MAX_MEMBERS, archives.MAX_UNPACKED_BYTES, archives.MAX_ARCHIVE_BYTES) == (100_000, 268_435_456, 52_428_800)
    monkeypatch.setattr(archives, "MAX_MEMBERS", 3)
    three = [member(f"{number}.yaml") for number in range(3)]
    assert len(unpacked(archive(*three), "").files) == 3
    with pytest.raises(ArchiveError, match="more than 3 entries"):
        unpacked(archive(*three, member("4.yaml")), "")


def test_an_archive_unpacks_to_its_bound() -> None:
    """Exactly so many bytes, and not one more; in steps, however well it is packed."""
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(DATA))) as tar:
        assert tar.getnames() == ["prod/prod.yaml"]
    size = len(gzip.decompress(DATA))
    assert unpacked(DATA, "", size).files
    with pytest.raises(ArchiveError, match="more than 0 MiB unpacked"):
        unpacked(DATA, "", size - 1)
    with pytest.raises(ArchiveError, match="invalid gzip data"):
        unpacked(zlib.compress(gzip.decompress(DATA)), "")
    large = archive(member("a.txt", b"\0" * (3 << 20)), member("b.yaml"))
    assert list(unpacked(large, "").files) == ["b.yaml"]


@pytest.mark.parametrize(("root", "files", "found"), [
    ("", ["a/x.yaml", "a/y.yaml"], True), ("a", ["x.yaml", "y.yaml"], True), ("b", [], True), ("c", [], False),
    ("a/x.yaml", [], True),
])  # fmt: skip
def test_places_in_an_archive(root: str, files: list[str], found: bool) -> None:
    """A directory with files, an empty one, none; what lies elsewhere is not judged."""
    made = archive(
        member("./", kind=tarfile.DIRTYPE), member("./a", kind=tarfile.DIRTYPE), member("./a/x.yaml"), member("a/y.yaml"),
        member("b/", kind=tarfile.DIRTYPE), member(".hidden.yaml"),
    )  # fmt: skip
    whole = unpacked(made, root)
    assert (sorted(whole.files), whole.exists, whole.problems) == (files, found, ())


def test_an_empty_archive() -> None:
    """Its top is there; what is asked for below it is not."""
    assert unpacked(archive(), "").exists is True
    assert not unpacked(archive(), "a").exists


def test_directories_with_names_that_lead_out() -> None:
    """Told as those of files are; a link is only not read."""
    made = archive(member("b/../x", kind=tarfile.DIRTYPE), member("z.yaml", kind=tarfile.SYMTYPE, link="y"), member("a.yaml"))
    whole = unpacked(made, "")
    assert [(one.path, one.code) for one in whole.problems] == [("b/../x", "UnsafePath")]
    assert [(one.path, one.code) for one in whole.unread] == [("z.yaml", "SymbolicLink")]
    assert whole.problems[0].hint == "rename it"
    assert whole.files == {}


@pytest.mark.parametrize(("files", "size", "codes"), [
    (3, 10, []), (4, 1, [("", "TreeTooLarge")]), (3, 11, [("", "TreeTooLarge")]), (1, 20, []),
])  # fmt: skip
def test_bounds_of_a_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: int, size: int, codes: list[tuple[str, str]]
) -> None:
    """So many files, so many bytes in one and in all; here 3, 20 and 30."""
    for name, bound in (("MAX_FILES", 3), ("MAX_FILE_BYTES", 20), ("MAX_TREE_BYTES", 30)):
        monkeypatch.setattr(directory_source, name, bound)
    for number in range(files):
        (tmp_path / f"{number}.yaml").write_bytes(b"#" * size)
    fetched = DirectorySource(tmp_path).fetch(None)
    assert [("" if problem.place.path == "." else problem.place.path, problem.code) for problem in fetched.problems] == codes
    assert len(fetched.files) == (0 if codes else files)
    assert all(problem.place.line == problem.place.column == 1 for problem in fetched.problems)


def test_a_directory_that_never_rests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five readings, each overtaken by a swap; four are overcome."""
    swaps = [0]

    def published(left: int) -> Callable[[], tuple[Path, str]]:
        def now() -> tuple[Path, str]:
            swaps[0] += 1
            return tmp_path.resolve(), str(min(swaps[0], left))

        return now

    (tmp_path / "a.yaml").write_text(POLICY)
    source = DirectorySource(tmp_path)
    monkeypatch.setattr(source, "_published", published(99))
    told = fault(lambda: source.fetch(None))
    assert (told.code, swaps[0]) == (FaultCode.UNREACHABLE, 10)
    assert told.message == f"{tmp_path} was swapped 5 times while it was read"
    swaps[0] = 0
    monkeypatch.setattr(source, "_published", published(9))
    assert list(source.fetch(None).files) == ["a.yaml"]


def test_a_directory_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Told in the system's words, unless it was swapped meanwhile: then it is read again."""
    (tmp_path / "a.yaml").write_text(POLICY)

    def fail(path: Path) -> bytes:
        raise OSError(13, "Permission denied")

    monkeypatch.setattr(directory_source, "_content", fail)
    told = fault(lambda: DirectorySource(tmp_path).fetch(None))
    assert (told.code, told.message) == (FaultCode.UNREACHABLE, f"{tmp_path}: Permission denied")


def test_a_pipe_in_the_place_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put there after the directory was listed: nobody waits for a writer."""
    os.mkfifo(tmp_path / "a.yaml")
    monkeypatch.setattr(directory_source, "_walk", lambda root, *_: [root / "a.yaml"])
    told = fault(lambda: DirectorySource(tmp_path).fetch(None))
    assert (told.code, told.message) == (FaultCode.UNREACHABLE, f"{tmp_path}: not a regular file")


@pytest.mark.parametrize(("size", "taken"), [(1_048_576, True), (1_048_577, False)])
def test_one_file(tmp_path: Path, size: int, taken: bool) -> None:
    """1 MiB."""
    file = tmp_path / "p.yaml"
    file.write_bytes(b"#" * size)
    if taken:
        assert len(FileSource(file).fetch(None).files["p.yaml"]) == size
        assert FileSource(file).fetch(None).revision.startswith("sha256:")
    else:
        assert fault(lambda: FileSource(file).fetch(None)).message.endswith("it has more than 1048576 bytes, the limit")
    assert fault(lambda: FileSource(tmp_path / "none").fetch(None)).message.endswith("none: No such file or directory")


class Whole(BaseHTTPRequestHandler):
    """As many bytes as the path says, with a head that says so."""

    def do_GET(self) -> None:
        asked.append(self.path)
        content = b"x" * int(self.path.partition("?")[0].strip("/") or 0)
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        return


asked: list[str] = []


def test_a_download_at_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many bytes, not one more; the query goes with the path; a minute is the longest that it may take."""
    assert download.TIMEOUT_SECONDS == 60
    with served(Whole) as url:
        asked.clear()
        assert downloaded(f"{url}/100?a=b", 100) == b"x" * 100
        assert downloaded(url, 0) == b""
        assert downloaded(f"{url}?c=d", 0) == b""
        assert asked == ["/100?a=b", "/", "/?c=d"]
        with pytest.raises(DownloadError, match="more than 0 MiB") as found:
            downloaded(f"{url}/101", 100)
        assert (found.value.too_large, found.value.timed_out) == (True, False)
        with pytest.raises(DownloadError, match="more than 2 MiB"):
            downloaded(f"{url}/{(2 << 20) + 1}", 2 << 20)
        clock = iter([0.0, 5.1])
        monkeypatch.setattr(download.time, "monotonic", lambda: next(clock))
        with pytest.raises(DownloadError, match="did not arrive within 5 s") as found:
            downloaded(f"{url}/1", 100, timeout_seconds=5)
        assert (found.value.too_large, found.value.timed_out) == (False, True)


@pytest.mark.parametrize(
    "url", ["http://\u00e9/x", "http://x/\u00e9", "x/y", "http://@x/y", "http://[x/y", "http://x/\x7f", "ftp://x/y"]
)
def test_addresses_that_are_none(url: str) -> None:
    """Not plain, not printable, with a user, without a host, not of the web."""
    with pytest.raises(DownloadError, match="invalid address") as found:
        downloaded(url, 1)
    assert (found.value.too_large, found.value.timed_out) == (False, False)


def test_the_shortest_secret() -> None:
    """16 bytes."""
    assert judged({"x-gitlab-token": "s" * 16}, b"", b"s" * 16) is Verdict.ACCEPTED
    with pytest.raises(ValueError, match="at least 16 bytes"):
        judged({"x-gitlab-token": "s" * 15}, b"", b"s" * 15)


@pytest.mark.parametrize("name", ["s.tar.gz", "s.tgz", "s.tar"])
def test_snapshot_in_one_file(tmp_path: Path, name: str) -> None:
    """The same bytes for the same snapshot, packed unless it is a plain tar; read as documents."""
    files = {"b.json": b"2", "a/a.yaml": b"1", "a/c.yml": b"3"}
    path = tmp_path / name
    assert is_archive(path)
    assert not is_archive(tmp_path / "s.zip")
    size = write_archive(path, files, 7)
    data = path.read_bytes()
    assert (size, data[:2] == b"\x1f\x8b") == (len(data), name != "s.tar")
    assert name == "s.tar" or data[4:8] == b"\0" * 4  # RFC 1952: no time
    assert read_archive(path) == files
    assert write_archive(path, dict(reversed(files.items())), 7) == size
    assert path.read_bytes() == data
    with tarfile.open(path) as tar:
        assert [(entry.name, entry.mtime, entry.mode) for entry in tar] == [
            ("a/a.yaml", 7, 0o644), ("a/c.yml", 7, 0o644), ("b.json", 7, 0o644)
        ]  # fmt: skip


def packed(tmp_path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    path = tmp_path / "s.tar.gz"
    path.write_bytes(archive(*members))
    return path


def test_what_is_no_document_in_an_archive(tmp_path: Path) -> None:
    """Hidden, of another ending, no file: passed over; packed ones are unpacked."""
    path = packed(
        tmp_path, member("./a.json", b"1"), member(".b.json", b"2"), member(".h/c.json", b"3"), member("d.txt", b"4"),
        member("e.json", kind=tarfile.SYMTYPE, link="a.json"), member("f.json.gz", gzip.compress(b"6")), member("g.gz", b"7"),
    )  # fmt: skip
    assert read_archive(path) == {"a.json": b"1", "f.json": b"6"}


@pytest.mark.parametrize(("members", "told"), [
    ((member("a.json", b"1"), member("a.json.gz", gzip.compress(b"2"))), "the archive has 'a.json' twice"),
    ((member("a.json.gz", gzip.compress(b"2" * 999)[:-9]),), "'a.json.gz' is cut off, or larger than"),
    ((member("a.json.gz", b"no gzip"),), "damaged or cut-off archive"),
    ((member("a.json.gz", zlib.compress(b"1")),), "damaged or cut-off archive"),
])  # fmt: skip
def test_archives_of_snapshots_that_are_none(
    tmp_path: Path, members: tuple[tuple[tarfile.TarInfo, bytes], ...], told: str
) -> None:
    """Told by the entry."""
    with pytest.raises(snapshot_archive.SnapshotArchiveError, match=told):
        read_archive(packed(tmp_path, *members))


@pytest.mark.parametrize(("content", "left", "taken"), [
    (b"x" * 50, 50, True), (b"x" * 50, 49, False), (b"x" * 50, 0, False), (b"", 0, True), (b"x", 0, False),
])  # fmt: skip
def test_what_a_document_in_an_archive_unpacks_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, left: int, taken: bool
) -> None:
    """What is left of the bound after what it takes packed, which may be nothing."""
    document = gzip.compress(content)
    path = packed(tmp_path, member("a.json.gz", document))
    monkeypatch.setattr(snapshot_archive, "MOST_BYTES", len(document) + left)
    if taken:
        assert read_archive(path) == {"a.json": content}
    else:
        with pytest.raises(snapshot_archive.SnapshotArchiveError, match=r"'a\.json\.gz' is cut off, or larger than 0 MiB"):
            read_archive(path)


def test_documents_in_an_archive_share_its_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a packed one became is taken from what the next may be; 3 MiB are said as such."""
    first, second = gzip.compress(b"x" * 100), gzip.compress(b"y" * (3 << 20))
    path = packed(tmp_path, member("a.json.gz", first), member("b.json.gz", second))
    whole = len(first) + 100 + len(second) + (3 << 20)
    monkeypatch.setattr(snapshot_archive, "MOST_BYTES", whole)
    assert [len(content) for content in read_archive(path).values()] == [100, 3 << 20]
    monkeypatch.setattr(snapshot_archive, "MOST_BYTES", whole - 1)
    with pytest.raises(snapshot_archive.SnapshotArchiveError, match=r"'b\.json\.gz' is cut off, or larger than 3 MiB"):
        read_archive(path)


def test_so_many_files_in_an_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """10,000 documents, here three, among 200,000 entries, here four; and so many bytes."""
    assert (snapshot_archive.MOST_FILES, snapshot_archive.MOST_BYTES) == (10_000, 4_294_967_296)
    monkeypatch.setattr(snapshot_archive, "MOST_FILES", 3)
    three = [member(f"{number}.json", b"12345") for number in range(3)]
    assert len(read_archive(packed(tmp_path, *three))) == 3
    with pytest.raises(snapshot_archive.SnapshotArchiveError, match="more than 3 files"):
        read_archive(packed(tmp_path, *three, member("x.json", b"")))
    assert snapshot_archive.MOST_ENTRIES == 200_000
    monkeypatch.setattr(snapshot_archive, "MOST_ENTRIES", 4)
    logs = [member(f"{number}.txt", b"") for number in range(2)]
    assert len(read_archive(packed(tmp_path, *three, logs[0]))) == 3
    with pytest.raises(snapshot_archive.SnapshotArchiveError, match="is this a snapshot"):
        read_archive(packed(tmp_path, *three, *logs))
    monkeypatch.setattr(snapshot_archive, "most_unpacked", lambda size, most: 15)
    assert len(read_archive(packed(tmp_path, *three))) == 3
    monkeypatch.setattr(snapshot_archive, "most_unpacked", lambda size, most: 14)
    with pytest.raises(snapshot_archive.SnapshotArchiveError, match="or 0 MiB: is this a snapshot"):
        read_archive(packed(tmp_path, *three))
