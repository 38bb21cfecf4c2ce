"""Calls of Crusoe as this program sees them, whoever makes them."""

from collections.abc import Mapping
from typing import Any, Protocol

Object = dict[str, Any]
_PAGE = "100"
NO_NOTE = "NoNote"


class CrusoeError(Exception):
    """A call that was refused or never answered. `sent`: Crusoe may have done it nevertheless. `status` is the HTTP status (0: no
    answer). `code` is the platform's own, or `Unreachable`, `NoCredentials` and `NoNote`."""

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
