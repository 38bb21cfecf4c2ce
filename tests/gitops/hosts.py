"""Local servers that behave as the comment APIs of GitHub and GitLab do: pages, rights, limits of length and of rate.

SOURCE: GitHub's REST reference (issues, comments, pagination by Link headers, 403 "Resource not accessible by integration",
422 "Body is too long", secondary rate limits with Retry-After) and GitLab's (notes of merge requests, 401, 429).
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.gitops.servers import served

TOKEN = "t0ken"
READ_ONLY = "r3ad"
LIMIT = 65_536


class Host:
    """State of one pull request. `failures` are (status, headers, message) that the next requests get instead of an answer."""

    def __init__(self) -> None:
        self.url = ""
        self.comments: list[dict[str, Any]] = []
        self.failures: list[tuple[int, dict[str, str], str]] = []
        self.requests: list[str] = []
        self.login: str | None = "reconciler-bot"
        self.page_size = 30

    def add(self, author: str, text: str) -> int:
        """A comment that is there already; its id."""
        number = len(self.comments) + 1
        self.comments.append({"id": number, "author": author, "body": text})
        return number

    def writes(self) -> list[str]:
        """Requests that change something."""
        return [line for line in self.requests if not line.startswith("GET")]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    host: Host

    def log_message(self, *_: object) -> None:
        return

    def _body(self) -> dict[str, Any]:
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return json.loads(data) if data else {}

    def _answer(self, status: int, document: object = None, headers: dict[str, str] | None = None) -> None:
        data = b"" if document is None else json.dumps(document).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _fails(self) -> bool:
        self.host.requests.append(f"{self.command} {self.path.partition('?')[0]}")
        if not self.host.failures:
            return False
        status, headers, message = self.host.failures.pop(0)
        self._answer(status, {"message": message}, headers)
        return True

    def _page(self, shown: list[object]) -> tuple[list[object], dict[str, str]]:
        """One page, never more than the server allows, and the address of the next."""
        query = parse_qs(urlsplit(self.path).query)
        size, page = min(int(query.get("per_page", ["30"])[0]), self.host.page_size), int(query.get("page", ["1"])[0])
        here = shown[(page - 1) * size : page * size]
        if page * size >= len(shown):
            return here, {}
        path = self.path.partition("?")[0]
        return here, {"Link": f'<{self.host.url}{path}?per_page={size}&page={page + 1}>; rel="next"'}

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_PATCH(self) -> None:
        self._serve()

    def do_PUT(self) -> None:
        self._serve()

    def do_DELETE(self) -> None:
        self._serve()

    def _serve(self) -> None:
        body = self._body()
        if not self._fails():
            self.respond(body)

    def respond(self, body: dict[str, Any]) -> None:
        raise NotImplementedError


class _GitHub(_Handler):
    def respond(self, body: dict[str, Any]) -> None:
        host, path = self.host, self.path.partition("?")[0]
        token = self.headers.get("Authorization", "").split(" ")[-1]
        if token not in (TOKEN, READ_ONLY):
            self._answer(401, {"message": "Bad credentials"})
        elif path == "/user":
            if host.login is None:
                self._answer(403, {"message": "Resource not accessible by integration"})
            else:
                self._answer(200, {"login": host.login, "url": f"{host.url}/user"})
        elif path == "/repos/team/policies/issues/7":
            self._answer(200, {"number": 7, "url": f"{host.url}{path}", "title": "change"})
        elif path == "/repos/team/policies/issues/7/comments" and self.command == "GET":
            here, headers = self._page([self._shown(comment) for comment in host.comments])
            self._answer(200, here, headers)
        elif not path.startswith("/repos/team/policies/issues/"):
            self._answer(404, {"message": "Not Found"})
        elif token == READ_ONLY:
            self._answer(403, {"message": "Resource not accessible by integration"})
        elif self.command != "DELETE" and len(body["body"]) > LIMIT:
            self._answer(422, {"message": "Validation Failed", "errors": [f"body is too long (maximum is {LIMIT} characters)"]})
        elif path.endswith("/7/comments"):
            host.add(host.login or "github-actions[bot]", body["body"])
            self._answer(201, self._shown(host.comments[-1]))
        else:
            self._change(int(path.rpartition("/")[2]), body)

    def _change(self, number: int, body: dict[str, Any]) -> None:
        found = next(comment for comment in self.host.comments if comment["id"] == number)
        if self.command == "DELETE":
            self.host.comments.remove(found)
            self._answer(204)
        else:
            found["body"] = body["body"]
            self._answer(200, self._shown(found))

    def _shown(self, comment: dict[str, Any]) -> dict[str, Any]:
        return {
            "id": comment["id"], "body": comment["body"], "user": {"login": comment["author"]},
            "url": f"{self.host.url}/repos/team/policies/issues/comments/{comment['id']}",
            "html_url": f"https://github.example.org/team/policies/pull/7#issuecomment-{comment['id']}",
        }  # fmt: skip


class _GitLab(_Handler):
    def respond(self, body: dict[str, Any]) -> None:
        host, path = self.host, self.path.partition("?")[0]
        token = self.headers.get("PRIVATE-TOKEN", "")
        notes = "/api/v4/projects/42/merge_requests/7/notes"
        if token not in (TOKEN, READ_ONLY):
            self._answer(401, {"message": "401 Unauthorized"})
        elif path == "/api/v4/user":
            self._answer(200, {"username": host.login})
        elif path == notes and self.command == "GET":
            here, headers = self._page([self._shown(comment) for comment in host.comments])
            self._answer(200, here, headers)
        elif not path.startswith(notes):
            self._answer(404, {"message": "404 Not found"})
        elif token == READ_ONLY:
            self._answer(403, {"message": "403 Forbidden"})
        elif self.command == "POST":
            host.add(host.login or "", body["body"])
            self._answer(201, self._shown(host.comments[-1]))
        else:
            number = int(re.search(r"/(\d+)$", path)[1])  # type: ignore[index]
            found = next(comment for comment in host.comments if comment["id"] == number)
            if self.command == "DELETE":
                host.comments.remove(found)
                self._answer(204)
            else:
                found["body"] = body["body"]
                self._answer(200, self._shown(found))

    def _shown(self, comment: dict[str, Any]) -> dict[str, Any]:
        system = comment["author"] == "ghost"
        return {"id": comment["id"], "body": comment["body"], "author": {"username": comment["author"]}, "system": system}


@contextmanager
def github_host() -> Iterator[Host]:
    """GitHub's API with pull request 7 of team/policies."""
    yield from _run(_GitHub)


@contextmanager
def gitlab_host() -> Iterator[Host]:
    """GitLab's API with merge request 7 of project 42."""
    yield from _run(_GitLab)


def _run(handler: type[_Handler]) -> Iterator[Host]:
    host = Host()
    bound = type("Bound", (handler,), {"host": host})
    with served(bound) as url:
        host.url = url
        yield host
