"""The Status object of a refused request, as an error."""

from collections.abc import Mapping

import msgspec

from reconciler.kube.connection.api import ApiError, Cause
from reconciler.values.decoding import decoder
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
