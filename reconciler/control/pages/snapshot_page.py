"""The page that captures the cluster: the files of a redacted snapshot as one archive, which `--cluster NAME.tar.gz` reads."""

import gzip
import io
import tarfile
import threading
from collections.abc import Callable, Mapping

from reconciler.control.pages.route import Answer, Request, Route
from reconciler.kube.connection.api import ApiError, UnreachableError

PATH = "/snapshot"
GZIP = "application/gzip"


def snapshot_route(files: Callable[[], Mapping[str, bytes]]) -> Route:
    """`files` reads the whole cluster, which is dear: one capture at a time. It may raise `ApiError` and `UnreachableError`."""
    busy = threading.Lock()

    def answer(_: Request) -> Answer:
        if not busy.acquire(blocking=False):
            return Answer(status=503, body=b"a capture is being made for somebody else: ask again\n")
        try:
            return Answer(content_type=GZIP, body=archive(files()))
        except (ApiError, UnreachableError) as error:
            return Answer(status=502, body=f"the cluster could not be read: {error}\n".encode())
        finally:
            busy.release()

    return Route(method="GET", path=PATH, answer=answer, details=True)


def archive(files: Mapping[str, bytes]) -> bytes:
    """A tar.gz of these files in the order of their names; the same files give the same bytes."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", filename="", mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for name in sorted(files):
            entry = tarfile.TarInfo(name)
            entry.size = len(files[name])
            tar.addfile(entry, io.BytesIO(files[name]))
    return packed.getvalue()
