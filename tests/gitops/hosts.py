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
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

from tests.gitops.servers import served

TOKEN = "t0ken"
READ_ONLY = "r3ad"
LIMIT = 65_536
_COMMENTS = re.compile(r"/repos/team/policies/issues/(\d+)/comments")
_NOTES = re.compile(r"/api/v4/projects/42/merge_requests/(\d+)/notes")


class Host:
    """State of one pull request. `failures` are (status, headers, message) that the next requests get instead of an answer."""

    def __init__(self) -> None:
        self.url = ""
        self.kind = ""
        self.comments: list[dict[str, Any]] = []
        self.failures: list[tuple[int, dict[str, str], str]] = []
        self.requests: list[str] = []
        self.login: str | None = "reconciler-bot"
        self.page_size = 30
        self.pulls: list[dict[str, Any]] = []
        self.quota: tuple[int, int, int] | None = None
        self.reviews: list[dict[str, Any]] = []
        self.pushes: list[tuple[str, str]] = []
        self.opener = "mallory"
        self.teams: dict[str, list[str]] = {}
        self._more: dict[int, list[dict[str, Any]]] = {7: self.comments}
        self._ids = 0

    def add(self, author: str, text: str | None, pull: int = 7) -> int:
        """A comment that is there already; its id. No author: somebody whose account was deleted."""
        self._ids += 1
        self.of(pull).append({"id": self._ids, "author": author, "body": text})
        return self._ids

    def of(self, pull: int) -> list[dict[str, Any]]:
        """The comments of one pull request."""
        return self._more.setdefault(pull, [])

    def holder(self, comment: int) -> list[dict[str, Any]]:
        """Those among which a comment is."""
        return next(found for found in self._more.values() if any(one["id"] == comment for one in found))

    def open(self, number: int, head: str, *, branch: str = "main", fork: bool = False, labels: tuple[str, ...] = ()) -> None:
        """A pull request that is open, or the next commit of one."""
        self.close(number)
        self.pulls.append({"number": number, "head": head, "branch": branch, "fork": fork, "labels": labels})

    def close(self, number: int) -> None:
        """It is no longer open."""
        self.pulls[:] = [pull for pull in self.pulls if pull["number"] != number]

    def push(self, commit: str) -> None:
        """Another head of pull request 7."""
        self.pushes.append((commit, self._instant()))

    def review(self, who: str, state: str = "approved", commit: str = "") -> None:
        """Somebody looks at the head, or at another commit: approved, changes, comment, dismissed."""
        seen = commit or self.pushes[-1][0]
        self.reviews.append({"who": who, "state": state, "commit": seen, "at": self._instant(), "id": len(self.reviews) + 1})

    def approving(self) -> dict[str, dict[str, Any]]:
        """For hosts that keep one state of each person: the approvals that were not taken back."""
        latest = {review["who"]: review for review in self.reviews if review["state"] != "comment"}
        return {who: review for who, review in latest.items() if review["state"] == "approved"}

    def _instant(self) -> str:
        passed = len(self.reviews) + len(self.pushes)
        return f"2026-11-21T10:{passed // 60:02}:{passed % 60:02}.500+00:00"

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
        for name, value in {**self._quota(), **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _quota(self) -> dict[str, str]:
        """What is left of the rate limit, as both hosts tell it."""
        if self.host.quota is None:
            return {}
        values = zip(("Remaining", "Limit", "Reset"), self.host.quota, strict=True)
        return {f"{prefix}RateLimit-{name}": str(value) for name, value in values for prefix in ("X-", "")}

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
        following = urlencode(query | {"per_page": [str(size)], "page": [str(page + 1)]}, doseq=True)
        return here, {"Link": f'<{self.host.url}{path}?{following}>; rel="next"'}

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
        elif path == "/repos/team/policies/pulls" and self.command == "GET":
            query = parse_qs(urlsplit(self.path).query)
            wanted = [pull for pull in host.pulls if query.get("base", [pull["branch"]])[0] == pull["branch"]]
            assert (query.get("sort"), query.get("direction")) == (["updated"], ["desc"])
            here, headers = self._page([self._pull(pull) for pull in reversed(wanted)])
            self._answer(200, here, headers)
        elif found := re.fullmatch(r"/repos/team/policies/issues/(\d+)", path):
            self._answer(200, {"number": int(found[1]), "url": f"{host.url}{path}", "title": "change"})
        elif (found := _COMMENTS.fullmatch(path)) and self.command == "GET":
            here, headers = self._page([self._shown(comment) for comment in host.of(int(found[1]))])
            self._answer(200, here, headers)
        elif path == "/repos/team/policies/pulls/7":
            self._answer(200, {"number": 7, "url": f"{host.url}{path}", "user": {"login": host.opener}})
        elif path == "/repos/team/policies/pulls/7/reviews":
            here, headers = self._page([self._review(review) for review in host.reviews])
            self._answer(200, here, headers)
        elif (found := re.fullmatch(r"/orgs/(\w+)/teams/(\w+)/members", path)) and f"{found[1]}/{found[2]}" in host.teams:
            here, headers = self._page([{"login": name} for name in host.teams[f"{found[1]}/{found[2]}"]])
            self._answer(200, here, headers)
        elif path.startswith("/repos/team/policies/statuses/") and token == TOKEN:
            host.pulls.append(body)
            self._answer(201, {**body, "url": f"{host.url}{path}"})
        elif not path.startswith(("/repos/team/policies/issues/", "/repos/team/policies/statuses/")):
            self._answer(404, {"message": "Not Found"})
        elif token == READ_ONLY:
            self._answer(403, {"message": "Resource not accessible by integration"})
        elif self.command != "DELETE" and len(body["body"]) > LIMIT:
            self._answer(422, {"message": "Validation Failed", "errors": [f"body is too long (maximum is {LIMIT} characters)"]})
        elif found := _COMMENTS.fullmatch(path):
            host.add(host.login or "github-actions[bot]", body["body"], int(found[1]))
            self._answer(201, self._shown(host.of(int(found[1]))[-1]))
        else:
            self._change(int(path.rpartition("/")[2]), body)

    def _change(self, number: int, body: dict[str, Any]) -> None:
        holder = self.host.holder(number)
        found = next(comment for comment in holder if comment["id"] == number)
        if self.command == "DELETE":
            holder.remove(found)
            self._answer(204)
        else:
            found["body"] = body["body"]
            self._answer(200, self._shown(found))

    def _review(self, review: dict[str, Any]) -> dict[str, Any]:
        state = {"approved": "APPROVED", "changes": "CHANGES_REQUESTED", "comment": "COMMENTED", "dismissed": "DISMISSED"}
        user = {"login": review["who"]} if review["who"] else None
        return {
            "id": review["id"],
            "user": user,
            "state": state[review["state"]],
            "commit_id": review["commit"],
            "body": "APPROVED",
        }

    def _pull(self, pull: dict[str, Any]) -> dict[str, Any]:
        """As a list shows it; a fork that was deleted has no repository."""
        source = None if pull["fork"] else {"full_name": "team/policies", "url": f"{self.host.url}/repos/team/policies"}
        return {
            "number": pull["number"], "url": f"{self.host.url}/repos/team/policies/pulls/{pull['number']}",
            "head": {"sha": pull["head"], "ref": "change", "repo": source}, "base": {"ref": pull["branch"], "sha": "0" * 40},
            "labels": [{"name": name, "url": f"{self.host.url}/repos/team/policies/labels/{name}"} for name in pull["labels"]],
        }  # fmt: skip

    def _shown(self, comment: dict[str, Any]) -> dict[str, Any]:
        return {
            "id": comment["id"], "body": comment["body"], "user": {"login": comment["author"]} if comment["author"] else None,
            "url": f"{self.host.url}/repos/team/policies/issues/comments/{comment['id']}",
            "html_url": f"https://github.example.org/team/policies/pull/7#issuecomment-{comment['id']}",
        }  # fmt: skip


class _GitLab(_Handler):
    def respond(self, body: dict[str, Any]) -> None:
        host, path = self.host, self.path.partition("?")[0]
        token = self.headers.get("PRIVATE-TOKEN", "")
        named = _NOTES.match(path)
        pull = int(named[1]) if named else 0
        if token not in (TOKEN, READ_ONLY):
            self._answer(401, {"message": "401 Unauthorized"})
        elif path == "/api/v4/user":
            self._answer(200, {"username": host.login})
        elif path == "/api/v4/projects/42/merge_requests":
            query = parse_qs(urlsplit(self.path).query)
            wanted = [one for one in host.pulls if query["target_branch"] == [one["branch"]] and query["state"] == ["opened"]]
            assert (query["order_by"], query["sort"]) == (["updated_at"], ["desc"])
            here, headers = self._page([self._request(one) for one in reversed(wanted)])
            self._answer(200, here, headers)
        elif _NOTES.fullmatch(path) and self.command == "GET":
            here, headers = self._page([self._shown(comment) for comment in host.of(pull)])
            self._answer(200, here, headers)
        elif path == "/api/v4/projects/42/merge_requests/7":
            self._answer(200, {"iid": 7, "author": {"username": host.opener}})
        elif path == "/api/v4/projects/42/merge_requests/7/versions":
            here, headers = self._page([{"head_commit_sha": sha, "created_at": at} for sha, at in reversed(host.pushes)])
            self._answer(200, here, headers)
        elif path == "/api/v4/projects/42/merge_requests/7/approvals":
            given = [{"user": {"username": who}, "approved_at": one["at"]} for who, one in host.approving().items()]
            self._answer(200, {"approved_by": given})
        elif (group := unquote(path.removeprefix("/api/v4/groups/").removesuffix("/members/all"))) in host.teams:
            gone = {"username": "gone", "state": "blocked"}
            here, headers = self._page([gone, *({"username": name, "state": "active"} for name in host.teams[group])])
            self._answer(200, here, headers)
        elif path.startswith("/api/v4/projects/42/statuses/"):
            if token == TOKEN:
                host.pulls.append(body)
            self._answer(201 if token == TOKEN else 403, body)
        elif not named:
            self._answer(404, {"message": "404 Not found"})
        elif token == READ_ONLY:
            self._answer(403, {"message": "403 Forbidden"})
        elif self.command == "POST":
            host.add(host.login or "", body["body"], pull)
            self._answer(201, self._shown(host.of(pull)[-1]))
        else:
            number = int(re.search(r"/(\d+)$", path)[1])  # type: ignore[index]
            found = next(comment for comment in host.of(pull) if comment["id"] == number)
            if self.command == "DELETE":
                host.of(pull).remove(found)
                self._answer(204)
            else:
                found["body"] = body["body"]
                self._answer(200, self._shown(found))

    def _shown(self, comment: dict[str, Any]) -> dict[str, Any]:
        system = comment["author"] == "ghost"
        author = {"username": comment["author"]} if comment["author"] else None
        return {"id": comment["id"], "body": comment["body"], "author": author, "system": system}

    @staticmethod
    def _request(pull: dict[str, Any]) -> dict[str, Any]:
        return {
            "iid": pull["number"], "sha": pull["head"], "target_branch": pull["branch"], "target_project_id": 42,
            "source_project_id": None if pull["fork"] else 42, "labels": list(pull["labels"]),
            "web_url": f"https://gitlab.example.org/team/policies/-/merge_requests/{pull['number']}",
        }  # fmt: skip


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
