"""What an API server's answer to one write means for whoever asked for it."""

import re
from collections.abc import Iterable

import msgspec

from reconciler.cluster.snapshots.document import Document
from reconciler.kube.connection.api import ApiError, Cause, UnreachableError
from reconciler.policy.documents import PolicySet
from reconciler.providers.contract import WriteCode, WriteResult

_FIELD_CONFLICT = "FieldManagerConflict"
_MANAGER = re.compile(r'conflict with "([^"]+)"')
# An admission plugin that says no answers 403 as well: only the authorizer's own words tell of a right.
_NO_RIGHT = re.compile(r'is forbidden: User "[^"]*" cannot ')
_DENIED = re.compile(r"ValidatingAdmissionPolicy '(?P<policy>[^']+)' with binding '[^']+' denied request: (?P<why>.+)", re.DOTALL)


def failed(error: ApiError | UnreachableError, what: str) -> WriteResult:
    """The result of a write that raised.

    SOURCE: measured on kube-apiserver 1.36. A 409 with a FieldManagerConflict cause names the manager; one without causes
    is a resourceVersion that moved (an apply with the uid of an object that has gone since answers so too). A 429 or 503 was
    turned away before it did anything; another 5xx may come after the write, as may a connection that broke.
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
    """What the server said; of an admission policy's refusal the policy and its sentence."""
    denied = _DENIED.search(error.message)
    if denied is None:
        return error.message or str(error)
    return f"admission policy {denied['policy']} refuses it: {denied['why']}"


def unread(error: ApiError | UnreachableError, what: str) -> WriteResult:
    """The result of a write that was not tried, because what it is judged on could not be read."""
    if isinstance(error, ApiError) and error.status in (403, 404):
        return failed(error, what)
    return WriteResult(code=WriteCode.UNAVAILABLE, message=f"{what} could not be read: {error}")


def conflicting(causes: Iterable[Cause]) -> tuple[str, ...]:
    """The managers that an apply met, sorted."""
    named = (match for cause in causes if cause.reason == _FIELD_CONFLICT for match in _MANAGER.findall(cause.message))
    return tuple(sorted(set(named)))


# What clouds are asked once, beside one reading of a cluster, and what they say.


class CloudQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """The targets that `policies` name or discover and, with `own`, those that belong to the cluster by what it is made of: its
    nodes, called by their `provider_ids`. Neither: nothing is asked."""

    policies: tuple[PolicySet, ...] = ()
    own: bool = False
    provider_ids: tuple[str, ...] = ()


class CloudAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Whole lists, one a kind. `unread` are sentences about what could not be read though the targets could, or about targets
    that no policy asks for."""

    documents: tuple[Document, ...] = ()
    unread: tuple[str, ...] = ()


class CloudError(Exception):
    """Targets that a policy asks for could not be read; the message says where and why."""


def together(answers: Iterable[CloudAnswer]) -> CloudAnswer:
    """Several clouds as one."""
    found = tuple(answers)
    return CloudAnswer(
        documents=tuple(document for answer in found for document in answer.documents),
        unread=tuple(text for answer in found for text in answer.unread),
    )
