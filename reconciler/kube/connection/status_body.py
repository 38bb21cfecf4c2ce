"""What an API server says when it refuses: the Status object of an answer, as the error that callers see."""

from collections.abc import Mapping

import msgspec

from reconciler.kube.connection.api import ApiError, Cause
from reconciler.values.retry_after import bounded_seconds, retry_after_seconds

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


_decoder = msgspec.json.Decoder(_Status)


def api_error(status: int, body: bytes, headers: Mapping[str, str] | None = None) -> ApiError:
    """The error behind an answer of `status` (HTTP code, or the code of an ERROR event).

    A body that is no Status (a proxy's page, cut JSON) becomes the message, in one line and cut. The header Retry-After
    counts before the Status' own field; a date in it is not read. Both count for ten minutes at most.
    """
    try:
        found = _decoder.decode(body)
    except _DECODING_ERRORS:
        text = " ".join(body.decode(errors="replace").split())
        return ApiError(status, "", text[:_LONGEST_TEXT] or "no message", (), _header_seconds(headers))
    details = found.details or _Details()
    seconds = _header_seconds(headers) or bounded_seconds(details.retry_after_seconds or 0)
    message = found.message or found.reason or "no message"
    return ApiError(found.code or status, found.reason or "", message, tuple(details.causes or ()), seconds)


def _header_seconds(headers: Mapping[str, str] | None) -> int:
    return retry_after_seconds((headers or {}).get("Retry-After", ""))
