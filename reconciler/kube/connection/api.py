"""What the product asks of an API server: bytes in, bytes out, and errors in the server's own words."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from enum import StrEnum
from typing import Protocol

import msgspec

from reconciler.values.decoding import decoder
from reconciler.values.retry_after import bounded_seconds, retry_after_seconds

# Why a server does not answer, in words. Client libraries wrap the system's message in names of their own classes.

_OBJECT = re.compile(r"<[^<>]*>:? ?|\b\w+Connection(?:Pool)?\([^()]*\):? ?|\b[A-Za-z]\w*(?:Error|Exception)\(|\[Errno -?\d+\] ?")
_CALLER = re.compile(r"Max retries exceeded with url: .*?\(Caused by (.*)\)$", re.DOTALL)


def cause(error: BaseException) -> str:
    """The message of the system or of the other side."""
    if isinstance(error, OSError) and error.strerror:
        return str(error.strerror)
    text = str(error)
    inner = _CALLER.search(text)
    words = _OBJECT.sub("", inner[1] if inner else text)
    while words.endswith((" ", "'", '"')) or (words.endswith(")") and words.count(")") > words.count("(")):
        words = words[:-1]
    words = words.lstrip(" '\"")
    return words or "the connection ended"


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


# The Status object of a refusal, as the error that callers see.

_DECODING_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_LONGEST_TEXT = 300


class _Details(msgspec.Struct, rename="camel"):
    causes: list[Cause] | None = None
    retry_after_seconds: int | None = None


class _Status(msgspec.Struct):
    code: int | None = None
    reason: str | None = None
    message: str | None = None
    details: _Details | None = None


_decoder = decoder(_Status)


def api_error(status: int, body: bytes, headers: Mapping[str, str] | None = None) -> ApiError:
    """The error behind an answer of `status` (HTTP code, or the code of an ERROR event).

    If the body is not a Status (a proxy's page, cut JSON), its text becomes the message, on one line and shortened. The header
    Retry-After wins over the Status' own field; a date in the header is ignored. Both are limited to ten minutes.
    """
    try:
        status_object = _decoder.decode(body)
    except _DECODING_ERRORS:
        text = " ".join(body.decode(errors="replace").split())
        return ApiError(status, "", text[:_LONGEST_TEXT] or "no message", (), _header_seconds(headers))
    details = status_object.details or _Details()
    seconds = _header_seconds(headers) or bounded_seconds(details.retry_after_seconds or 0)
    message = status_object.message or status_object.reason or "no message"
    return ApiError(status_object.code or status, status_object.reason or "", message, tuple(details.causes or ()), seconds)


def _header_seconds(headers: Mapping[str, str] | None) -> int:
    return retry_after_seconds((headers or {}).get("Retry-After", ""))
