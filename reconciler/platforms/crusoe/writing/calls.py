"""Calls of Crusoe as this program sees them, whoever makes them."""

from collections.abc import Mapping
from typing import Any, Protocol

from reconciler.platforms.crusoe.facts.failures import failure_kind
from reconciler.providers.contract import WriteCode, WriteResult

Object = dict[str, Any]
_PAGE = "100"


class CrusoeError(Exception):
    """A call that was refused or never answered. `sent`: Crusoe may have done it nevertheless. `status` is the HTTP status (0: no
    answer). `code` is the platform's own, or `Unreachable` and `NoCredentials`."""

    def __init__(self, code: str, message: str, *, status: int = 0, sent: bool = False, retry_after_seconds: float = 0) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status
        self.sent = sent
        self.retry_after_seconds = retry_after_seconds

    @property
    def throttled(self) -> bool:
        """Whether Crusoe refused because of too many calls."""
        return self.status == 429

    @property
    def denied(self) -> bool:
        """Whether the caller lacks the right, or could not authenticate."""
        return self.status in (401, 403) or self.code == "NoCredentials"


class Crusoe(Protocol):
    """The API as one user. Every call is one attempt; the caller decides about another."""

    def call(self, method: str, path: str, query: Mapping[str, str] | None = None, body: Object | None = None) -> Object:
        """Raises `CrusoeError`. `path` is below the endpoint."""


def paged(crusoe: Crusoe, path: str, query: Mapping[str, str] | None = None) -> list[Object]:
    """All items of every page. Raises `CrusoeError`.

    SOURCE: lists of a pool's machines use `next_token`; other lists have no pages.
    """
    items: list[Object] = []
    token = ""
    while True:
        answer = crusoe.call("GET", path, {**(query or {}), "limit": _PAGE, **({"next_token": token} if token else {})})
        items.extend(answer.get("items") or ())
        token = answer.get("next_token") or ""
        if not token:
            return items


def listed(crusoe: Crusoe, path: str, query: Mapping[str, str] | None = None) -> list[Object]:
    """The items of a list without pages. Raises `CrusoeError`."""
    return crusoe.call("GET", path, query).get("items") or []


# What Crusoe's answer to one write means for the caller.


def failed(error: CrusoeError, what: str) -> WriteResult:
    """The result of a write that was refused or never answered."""
    message = f"{what}: {error.message or error.code}"
    if error.sent:
        return WriteResult(code=WriteCode.UNKNOWN, message=message)
    if error.throttled or error.code in ("Unreachable", "NoCredentials") or error.status == 401:
        return WriteResult(code=WriteCode.UNAVAILABLE, message=message)
    if error.status == 403:
        return WriteResult(code=WriteCode.DENIED, message=f"{message} (`reconciler doctor` lists the missing rights)")
    if error.status == 404:
        return WriteResult(code=WriteCode.NOT_FOUND, message=message)
    kind = failure_kind(error.message)
    if kind == "Configuration":
        return WriteResult(code=WriteCode.REFUSED, message=message)
    # A quota is a bound that the platform sets. Stock is what it happens to have.
    code = WriteCode.REFUSED if kind == "Quota" else WriteCode.FAILED
    return WriteResult(code=code, message=f"{what}: {kind}: {error.message}")


def unread(error: CrusoeError, what: str) -> WriteResult:
    """The result of a write that was not tried, because the state to judge it by could not be read."""
    if error.status in (403, 404):
        return failed(error, what)
    return WriteResult(code=WriteCode.UNAVAILABLE, message=f"{what} could not be read: {error}")
