"""What the product asks of an API server: bytes in, bytes out, and errors in the server's own words."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from enum import StrEnum
from typing import Protocol

import msgspec


class ContentType(StrEnum):
    """The format of a write's body."""

    JSON = "application/json"
    APPLY = "application/apply-patch+yaml"
    MERGE_PATCH = "application/merge-patch+json"
    JSON_PATCH = "application/json-patch+json"


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """One cause that an error status names, such as `FieldManagerConflict` on `.spec.replicas`."""

    reason: str = ""
    message: str = ""
    field: str = ""


class ApiError(Exception):
    """The server answered with an error. `status` is the HTTP code. `reason`, `message` and `causes` are those of the Status
    object. `retry_after_seconds` is the wait that the server asked for (0: none)."""

    def __init__(
        self, status: int, reason: str, message: str, causes: tuple[Cause, ...] = (), retry_after_seconds: int = 0
    ) -> None:
        super().__init__(f"{status} {reason}: {message}" if reason else f"{status}: {message}")
        self.status = status
        self.reason = reason
        self.message = message
        self.causes = causes
        self.retry_after_seconds = retry_after_seconds


class UnreachableError(Exception):
    """No answer: nobody listens, the connection broke or the time ran out. Whether a write was done is unknown, unless `sent` is
    False: then nothing had left this process."""

    def __init__(self, message: str, *, sent: bool = True) -> None:
        super().__init__(message)
        self.sent = sent


class QuietError(UnreachableError):
    """A watch brought nothing for the agreed time, not even a part. There may be no news, or the other end may be gone."""


class Api(Protocol):
    """One user's connection to one API server. Paths are absolute (`/api/v1/pods`), queries are unescaped."""

    def get(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        """The body of a read. Raises `ApiError` or `UnreachableError`."""

    def write(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content_type: ContentType = ContentType.JSON,
        query: Mapping[str, str] | None = None,
    ) -> bytes:
        """The body of the answer to POST, PUT, PATCH or DELETE. `body` is encoded as JSON (bytes go as they are).

        `guard`, given at construction, is called when the request is built and only has to be sent. What it raises comes out
        here, and nothing was sent. Raises `ApiError` or `UnreachableError`.
        """

    def stream(self, path: str, query: Mapping[str, str], *, silence_seconds: float) -> AbstractContextManager[Iterator[bytes]]:
        """The lines of a watch. Raises `QuietError` if nothing comes within `silence_seconds`, `UnreachableError` for a break."""


Guard = Callable[[], None]
