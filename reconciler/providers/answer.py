"""What an API server's answer to one write means for the caller."""

import re
from collections.abc import Iterable

from reconciler.kube.connection.api import ApiError, Cause, UnreachableError
from reconciler.providers.contract import WriteCode, WriteResult

_FIELD_CONFLICT = "FieldManagerConflict"
_MANAGER = re.compile(r'conflict with "([^"]+)"')
# An admission plugin that refuses a write answers 403 as well. Only the authorizer's own words show a missing right.
_NO_RIGHT = re.compile(r'is forbidden: User "[^"]*" cannot ')
_DENIED = re.compile(r"ValidatingAdmissionPolicy '(?P<policy>[^']+)' with binding '[^']+' denied request: (?P<why>.+)", re.DOTALL)


def failed(error: ApiError | UnreachableError, what: str) -> WriteResult:
    """The result of a write that raised.

    SOURCE: measured on kube-apiserver 1.36. A 409 with a FieldManagerConflict cause names the manager. A 409 without causes means
    that the resourceVersion has changed, or that the object with this uid no longer exists. The server rejects a 429 or 503
    before it does anything. Any other 5xx may come after the write, and so may a broken connection.
    """
    if isinstance(error, UnreachableError):
        code = WriteCode.UNKNOWN if error.sent else WriteCode.UNAVAILABLE
        return WriteResult(code=code, message=f"{what}: {error}")
    message = f"{what}: {_words(error)}"
    if error.status == 409:
        managers = conflicting(error.causes)
        return WriteResult(code=WriteCode.CONFLICT if managers else WriteCode.STALE, message=message)
    if error.status == 404:
        return WriteResult(code=WriteCode.NOT_FOUND, message=message)
    if error.status == 403 and _NO_RIGHT.search(error.message):
        return WriteResult(code=WriteCode.DENIED, message=message)
    if error.status in (401, 429, 503):
        return WriteResult(code=WriteCode.UNAVAILABLE, message=message)
    return WriteResult(code=WriteCode.UNKNOWN if error.status >= 500 else WriteCode.REFUSED, message=message)


def _words(error: ApiError) -> str:
    """The server's message; for an admission policy's refusal, the policy and its message."""
    denied = _DENIED.search(error.message)
    if denied is None:
        return error.message or str(error)
    return f"admission policy {denied['policy']} refuses it: {denied['why']}"


def unread(error: ApiError | UnreachableError, what: str) -> WriteResult:
    """The result of a write that was not tried, because the state to judge it by could not be read."""
    if isinstance(error, ApiError) and error.status in (403, 404):
        return failed(error, what)
    return WriteResult(code=WriteCode.UNAVAILABLE, message=f"{what} could not be read: {error}")


def conflicting(causes: Iterable[Cause]) -> tuple[str, ...]:
    """The managers with which an apply conflicted, sorted."""
    named = (match for cause in causes if cause.reason == _FIELD_CONFLICT for match in _MANAGER.findall(cause.message))
    return tuple(sorted(set(named)))
