"""A snapshot as one archive."""

import io
import tarfile
import threading

from reconciler.control.pages.route import Answer, Request
from reconciler.control.pages.snapshot_page import archive, snapshot_route
from reconciler.kube.connection.api import UnreachableError

REQUEST = Request(method="GET", path="/snapshot", headers={}, body=b"", peer="127.0.0.1")


def test_the_archive_holds_the_files() -> None:
    """By name, whole, in order."""
    with tarfile.open(fileobj=io.BytesIO(archive({"b.json": b"22", "a.json": b"1"})), mode="r:gz") as tar:
        assert [(item.name, tar.extractfile(item).read()) for item in tar] == [("a.json", b"1"), ("b.json", b"22")]


def test_one_capture_at_a_time() -> None:
    """Who asks while another capture is being made is told to ask again; afterwards there is one for him too."""
    begun, go_on = threading.Event(), threading.Event()

    def files() -> dict[str, bytes]:
        begun.set()
        assert go_on.wait(10)
        return {}

    route = snapshot_route(files)
    answers: list[Answer] = []
    first = threading.Thread(target=lambda: answers.append(route.answer(REQUEST)))
    first.start()
    assert begun.wait(10)
    assert route.answer(REQUEST).status == 503
    go_on.set()
    first.join()
    assert (answers[0].status, route.answer(REQUEST).status) == (200, 200)


def test_a_cluster_that_does_not_answer() -> None:
    """The message of the failed read."""

    def files() -> dict[str, bytes]:
        raise UnreachableError("connection refused")

    answer = snapshot_route(files).answer(REQUEST)
    assert (answer.status, answer.body) == (502, b"the cluster could not be read: connection refused\n")


def test_the_same_files_are_the_same_bytes() -> None:
    """Whenever and by whomever: no time and no name of a file on this machine (RFC 1952: MTIME at 4, FLG at 3)."""
    packed = archive({"a.json": b"1"})
    assert packed == archive({"a.json": b"1"})
    assert (packed[:3], packed[3], packed[4:8]) == (b"\x1f\x8b\x08", 0, b"\0" * 4)
    with tarfile.open(fileobj=io.BytesIO(packed), mode="r:gz") as tar:
        assert [(item.mtime, item.uid, item.gid, item.uname) for item in tar] == [(0, 0, 0, "")]


def test_objects_of_the_cluster_are_for_those_who_may_read_them() -> None:
    route = snapshot_route(lambda: {"a.json": b"1"})
    answer = route.answer(REQUEST)
    assert (route.details, answer.content_type) == (True, "application/gzip")
    with tarfile.open(fileobj=io.BytesIO(answer.body), mode="r:gz") as tar:
        assert tar.getnames() == ["a.json"]
