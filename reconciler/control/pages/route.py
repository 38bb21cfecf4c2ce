"""What is asked over HTTP, what goes back, and which page answers what."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from reconciler.kube.connection.token_review import Refusal

TEXT = "text/plain; charset=utf-8"
JSON = "application/json"
HTML = "text/html; charset=utf-8"


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One request: `path` without query, unescaped; `query` as it was sent; header names in lower case. `peer` is the other
    side's address, `local` the one of ours that it reached. `secure`: over TLS. `body` is empty while nobody has judged the
    request."""

    method: str
    path: str
    headers: Mapping[str, str]
    query: str = ""
    body: bytes = b""
    peer: str = ""
    local: str = ""
    secure: bool = False


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What goes back."""

    status: int = 200
    content_type: str = TEXT
    body: bytes = b""


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """Answers requests to `path`, or below it when it ends with `/`. `details`: shows objects of the cluster, so the
    asker must be known. A body is read up to `max_body_bytes`, after all other checks. If the function raises, the answer is 500
    without the message; the server's `broken` gets the message."""

    method: str
    path: str
    answer: Callable[[Request], Answer]
    details: bool = False
    max_body_bytes: int = 0


Admission = Callable[[Request], Refusal | None]
"""Why a request may not see details; None: it may. Given the request without its body."""

Broken = Callable[[Route, Request, Exception], None]
"""Told of a page that could not be made."""


def routed(routes: Sequence[Route], method: str, path: str) -> Route | Answer:
    """The route of a request, or the answer where there is none."""
    at_path = [route for route in routes if _matches(route, path)]
    if not at_path:
        return Answer(status=404, body=b"no such page\n")
    match = next((route for route in at_path if route.method == method), None)
    return match or Answer(status=405, body=b"no such method here\n")


def _matches(route: Route, path: str) -> bool:
    return path.startswith(route.path) if route.path.endswith("/") and route.path != "/" else path == route.path
