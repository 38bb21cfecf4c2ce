"""Artifacts of Flux: archives in memory, digests, downloads from a real server."""

import gzip
import hashlib
import io
import tarfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler

import msgspec
import pytest

from reconciler.gitops.git.fault import FaultCode, SourceError
from reconciler.gitops.sources.archive import ArchiveError, unpacked
from reconciler.gitops.sources.download import DownloadError, downloaded
from reconciler.gitops.sources.flux_source import FluxSource
from reconciler.kube.connection.api import ApiError, ContentType
from tests.gitops.repositories import POLICY, GitRepo
from tests.gitops.servers import served

COMMIT = "a" * 40


def member(
    name: str, content: bytes = POLICY.encode(), kind: bytes = tarfile.REGTYPE, link: str = ""
) -> tuple[tarfile.TarInfo, bytes]:
    """One entry of an archive."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    info.size = len(content) if kind == tarfile.REGTYPE else 0
    return info, content


def archive(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    """A tar.gz of them."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", format=tarfile.PAX_FORMAT) as tar:
        for info, content in members:
            tar.addfile(info, io.BytesIO(content) if info.size else None)
    return buffer.getvalue()


def codes(*members: tuple[tarfile.TarInfo, bytes]) -> list[tuple[str, str]]:
    """Problems by path and code; nothing is given out with them."""
    found = unpacked(archive(*members), "")
    assert found.files == {}
    return [(problem.path, problem.code) for problem in found.problems]


def test_archive_that_git_makes(repo: GitRepo):
    """The tree of a commit, whole and below a place."""
    repo.git("archive", "--format=tar.gz", "--output=out.tar.gz", "HEAD")
    data = (repo.root / "out.tar.gz").read_bytes()
    assert sorted(unpacked(data, "").files) == ["policies/general.yaml", "policies/prod.yaml", "policies/quiet.yaml"]
    assert unpacked(data, "policies").files["prod.yaml"] == POLICY.encode()
    assert (unpacked(data, "polic").exists, unpacked(data, "policies").exists) == (False, True)


@pytest.mark.parametrize(("name", "code"), [
    ("../x.yaml", "UnsafePath"), ("a/../../x.yaml", "UnsafePath"), ("/etc/x.yaml", "UnsafePath"), (".git/x.yaml", "UnsafePath"),
    ("x\n::error::.yaml", "UnsafePath"), ("a\\b.yaml", "UnsafePath"), ("d/" * 40 + "x.yaml", "TooDeep"),
])  # fmt: skip
def test_names_that_leave_the_tree(name: str, code: str):
    """Refused as in a git tree."""
    assert codes(member(name)) == [(name, code)]


@pytest.mark.parametrize("kind", [tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_entries_that_are_no_files(kind: bytes):
    """Pipes, devices."""
    assert codes(member("x.yaml", kind=kind)) == [("x.yaml", "NoFile")]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
def test_links_are_not_followed(kind: bytes):
    """Of both kinds; what else is there is read."""
    found = unpacked(archive(member("x.yaml", kind=kind, link="/etc/passwd"), member("a.yaml")), "")
    assert ([one.code for one in found.unread], list(found.files), found.problems) == (["SymbolicLink"], ["a.yaml"], ())


def test_sizes_in_an_archive():
    """A large file is looked through for what may be ours; names that collide are refused."""
    for content, ours in ((b"#" * (2 << 20), False), (b"#" * (2 << 20) + POLICY.encode(), True)):
        (unread,) = unpacked(archive(member("x.yaml", content)), "").unread
        assert (unread.path, unread.code, unread.ours) == ("x.yaml", "FileTooLarge", ours)
    assert codes(member("a.yaml"), member("A.yaml")) == [("A.yaml", "NameCollision")]
    assert codes(member("a.yaml"), member("a.yaml")) == [("a.yaml", "NameCollision")]


@pytest.mark.parametrize(("data", "told"), [
    (b"", "is cut off"), (b"no gzip", "invalid gzip data"), (archive(member("x.yaml"))[:-20], "is cut off"),
    (gzip.compress(b"\0" * (3 << 20)), "more than 2 MiB unpacked"), (gzip.compress(b"x" * 2000), "damaged"),
], ids=["empty", "something else", "cut off", "much in little", "no tar"])  # fmt: skip
def test_archives_that_are_none(data: bytes, told: str):
    """Empty, something else, cut off, much in little, no tar."""
    with pytest.raises(ArchiveError, match=told):
        unpacked(data, "", most_bytes=2 << 20)


class Objects:
    """An API server with one GitRepository."""

    def __init__(self, status: object) -> None:
        self.status = status
        self.asked: list[str] = []

    def get(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        self.asked.append(path)
        if isinstance(self.status, Exception):
            raise self.status
        return msgspec.json.encode({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "status": self.status})

    def write(
        self, method: str, path: str, body: object = None, *, content_type: ContentType = ContentType.JSON,
        query: Mapping[str, str] | None = None,
    ) -> bytes:  # fmt: skip
        raise AssertionError(method)

    def stream(self, path: str, query: Mapping[str, str], *, silence_seconds: float) -> AbstractContextManager[Iterator[bytes]]:
        raise AssertionError(path)


def source(status: object, **options: object) -> tuple[FluxSource, Objects]:
    """A source over that status."""
    objects = Objects(status)
    return FluxSource(objects, "GitRepository", "flux-system", "policies", "prod", **options), objects  # type: ignore[arg-type]


def test_artifact_of_the_status():
    """Fetched from its address, checked against its digest, read again only when that changes."""
    data = archive(member("prod/prod.yaml"))
    asked = []

    class Storage(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            return

    with served(Storage) as url:
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        artifact = {"url": f"{url}/x.tar.gz", "digest": digest, "revision": f"main@sha1:{COMMIT}"}
        found, objects = source({"artifact": artifact})
        fetched = found.fetch(None)
        assert (fetched.revision, fetched.root, dict(fetched.files)) == (COMMIT, "prod", {"prod.yaml": POLICY.encode()})
        assert found.fetch(COMMIT) is fetched
        assert (asked, objects.asked[0]) == (
            ["/x.tar.gz"],
            "/apis/source.toolkit.fluxcd.io/v1/namespaces/flux-system/gitrepositories/policies",
        )
        wrong, _ = source({"artifact": artifact | {"digest": "sha256:" + "0" * 64}})
        with pytest.raises(SourceError, match="does not match its digest"):
            wrong.fetch(None)


@pytest.mark.parametrize(("status", "code"), [
    ({}, FaultCode.UNREACHABLE), ({"artifact": {"url": "http://x/y"}}, FaultCode.DAMAGED), ({"artifact": 7}, FaultCode.DAMAGED),
    ({"artifact": {"url": "http://x/y", "digest": "md5:00"}}, FaultCode.DAMAGED),
    ({"artifact": {"url": "file:///etc/passwd", "digest": "sha256:00"}}, FaultCode.UNREACHABLE),
    (ApiError(404, "NotFound", "gitrepositories \"policies\" not found"), FaultCode.UNREACHABLE),
])  # fmt: skip
def test_status_without_a_usable_artifact(status: object, code: FaultCode):
    """Nothing yet, no digest, another form, an address that is no HTTP, no such object."""
    with pytest.raises(SourceError) as failed:
        source(status)[0].fetch(None)
    assert failed.value.fault.code is code


def test_verification_by_flux_may_be_required():
    """Without the condition the artifact is not even fetched."""
    found, _ = source({"artifact": {"url": "http://x/y", "digest": "sha256:00"}, "conditions": []}, require_verified=True)
    with pytest.raises(SourceError) as failed:
        found.fetch(None)
    assert failed.value.fault.code is FaultCode.UNSIGNED


@pytest.mark.parametrize(("kind", "namespace", "name"), [
    ("Secret", "a", "b"), ("GitRepository", "../x", "b"), ("GitRepository", "a", "b/../../secrets/c"), ("GitRepository", "a", ""),
])  # fmt: skip
def test_names_of_other_objects(kind: str, namespace: str, name: str):
    """Nothing but a source of Flux can be asked for."""
    with pytest.raises(ValueError, match="source"):
        FluxSource(Objects({}), kind, namespace, name)


class Hostile(BaseHTTPRequestHandler):
    """By path: a redirect, endless bytes, silence, an end in the middle, an error."""

    def do_GET(self) -> None:
        match self.path:
            case "/redirect":
                self.send_response(302)
                self.send_header("Location", "file:///etc/passwd")
                self.end_headers()
            case "/endless":
                self.send_response(200)
                self.end_headers()
                while True:
                    self.wfile.write(b"\0" * 65536)
            case "/silent":
                threading.Event().wait(5)
            case "/short":
                self.send_response(200)
                self.send_header("Content-Length", "100")
                self.end_headers()
                self.wfile.write(b"x")
            case _:
                self.send_error(503)

    def log_message(self, *_: object) -> None:
        return


@pytest.mark.parametrize(("path", "told"), [
    ("/redirect", "answers 302"), ("/endless", "more than 1 MiB"), ("/silent", "no answer within"), ("/short", "ended early"),
    ("/gone", "answers 503"),
])  # fmt: skip
def test_downloads_from_hostile_servers(path: str, told: str):
    """Bounded in size and time, nothing followed."""
    with served(Hostile) as url, pytest.raises(DownloadError, match=told) as found:
        downloaded(url + path, 1 << 20, timeout_seconds=0.5)
    assert (found.value.too_large, found.value.timed_out) == (path == "/endless", path == "/silent")


@pytest.mark.parametrize("url", ["ftp://x/y", "http://u:p@x/y", "http:///y", "http://x:y/", "http://x/\r\ny"])
def test_addresses_that_are_not_asked(url: str):
    """Only plain HTTP addresses."""
    with pytest.raises(DownloadError):
        downloaded(url, 1)
