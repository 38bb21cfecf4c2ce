"""Local servers that behave as the comment and status APIs of Gitea, Bitbucket (Cloud and Data Center) and Azure DevOps do.

SOURCE: their API references. They differ in how a token is sent, in pages, in who an author is, and in their limits of length.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.gitops.hosts import READ_ONLY, TOKEN, Host, _Handler, _run

GITEA = "/api/v1/repos/team/policies"
CLOUD = "/2.0/repositories/team/policies"
SERVER = "/rest/api/latest/projects/TEAM/repos/policies"
AZURE = "/org/team/_apis/git/repositories/policies"
_WHO = ("/api/v1/user", "/2.0/user", "/org/_apis/connectionData")


class _Rest(_Handler):
    """What all four do: rights, one list of comments, changes by number, statuses by key."""

    base = ""
    scheme = "Bearer"
    comments = ""
    change = ""
    statuses = ""
    limit = 65_536

    def respond(self, body: dict[str, Any]) -> None:
        host, path = self.host, self.path.partition("?")[0]
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        if token not in (TOKEN, READ_ONLY) or scheme != self.scheme:
            self._answer(401, {"message": "unauthorized"})
        elif path in _WHO:
            self._answer(200, {"login": host.login, "uuid": host.login, "authenticatedUser": {"id": host.login}})
        elif self.command == "GET" and path.startswith(self.base):
            self.listed(path)
        elif self.command == "GET" and (found := self.elsewhere(path)) is not None:
            self._answer(200, found)
        elif not path.startswith(self.base):
            self._answer(404, {"message": "not found"})
        elif token == READ_ONLY:
            self._answer(403, {"message": "forbidden"})
        elif re.fullmatch(self.base + self.statuses, path):
            host.pulls.append(body)
            self._answer(201, body)
        elif len(self.text(body)) > self.limit:
            self._answer(400, {"message": "the comment is too long"})
        elif path == self.base + self.comments:
            host.add(host.login or "", self.text(body))
            self._answer(201, self.created(host.comments[-1]))
        elif found := re.fullmatch(self.base + self.change, path):
            one = next(comment for comment in host.comments if comment["id"] == int(found[1]))
            if not self.current(one, body):
                self._answer(409, {"message": "somebody else changed it"})
            elif self.command == "DELETE":
                host.comments.remove(one)
                self._answer(204)
            else:
                one["body"], one["version"] = self.text(body), one.get("version", 0) + 1
                self._answer(200, self.shown(one))
        else:
            self._answer(404, {"message": "not found"})

    def current(self, comment: dict[str, Any], body: dict[str, Any]) -> bool:
        return True

    def elsewhere(self, path: str) -> object:
        """What is not below the repository; None: nothing."""
        return None

    def created(self, comment: dict[str, Any]) -> dict[str, Any]:
        return self.shown(comment)

    def listed(self, path: str) -> None:
        raise NotImplementedError

    def text(self, body: dict[str, Any]) -> str:
        raise NotImplementedError

    def shown(self, comment: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError


class _Gitea(_Rest):
    base, scheme = GITEA, "token"
    comments, change, statuses = "/issues/7/comments", r"/issues/comments/(\d+)", "/statuses/[a-f0-9]+"

    def listed(self, path: str) -> None:
        if path.endswith("/pulls/7"):
            self._answer(200, {"user": {"login": self.host.opener}})
        elif path.endswith("/reviews"):
            self._answer(200, self.numbered([self.review(one) for one in reversed(self.host.reviews)]))
        else:
            self._answer(200, [self.shown(one) for one in self.host.comments])

    def review(self, one: dict[str, Any]) -> dict[str, Any]:
        state = {"approved": "APPROVED", "changes": "REQUEST_CHANGES", "comment": "COMMENT", "dismissed": "APPROVED"}[
            one["state"]
        ]
        user = {"login": one["who"]} if one["who"] else None
        dismissed = one["state"] == "dismissed"
        return {
            "id": one["id"],
            "user": user,
            "state": state,
            "commit_id": one["commit"],
            "dismissed": dismissed,
            "body": "APPROVED",
        }

    def elsewhere(self, path: str) -> object:
        teams = sorted(self.host.teams)
        if found := re.fullmatch(r"/api/v1/orgs/(\w+)/teams", path):
            mine = [team for team in teams if team.startswith(f"{found[1]}/")]
            return self.numbered([{"id": teams.index(team), "name": team.partition("/")[2]} for team in mine])
        if found := re.fullmatch(r"/api/v1/teams/(\d+)/members", path):
            return self.numbered([{"login": name} for name in self.host.teams[teams[int(found[1])]]])
        return None

    def numbered(self, items: list[Any]) -> list[Any]:
        """A page, never more than this server allows."""
        query = parse_qs(urlsplit(self.path).query)
        size, page = min(int(query["limit"][0]), self.host.page_size), int(query["page"][0])
        return items[(page - 1) * size : page * size]

    def text(self, body: dict[str, Any]) -> str:
        return str(body.get("body", ""))

    def shown(self, comment: dict[str, Any]) -> dict[str, Any]:
        user = {"login": comment["author"]} if comment["author"] else None
        url = f"https://gitea.example.org/team/policies/pulls/7#issuecomment-{comment['id']}"
        return {"id": comment["id"], "body": comment["body"], "user": user, "html_url": url}


class _Cloud(_Rest):
    base, limit = CLOUD, 32_768
    comments, change = "/pullrequests/7/comments", r"/pullrequests/7/comments/(\d+)"
    statuses = "/commit/[a-f0-9]+/statuses/build"

    def listed(self, path: str) -> None:
        page = int(parse_qs(urlsplit(self.path).query).get("page", ["1"])[0])
        if path.endswith("/pullrequests/7"):
            self._answer(200, {"author": {"uuid": self.host.opener}, "participants": self.participants()})
            return
        items = self.activity() if path.endswith("/activity") else [self.shown(one) for one in self.host.comments]
        document: dict[str, Any] = {"values": items[(page - 1) * 50 : page * 50]}
        if page * 50 < len(items):
            document["next"] = f"{self.host.url}{path}?page={page + 1}"
        self._answer(200, document)

    def participants(self) -> list[dict[str, Any]]:
        approving = self.host.approving()
        people = dict.fromkeys(review["who"] for review in self.host.reviews if review["who"])
        return [
            {
                # Everybody can take the nickname of somebody else.
                "user": {"uuid": who, "account_id": f"id-{who}", "nickname": "alice"},
                "role": "REVIEWER", "approved": who in approving,
                "participated_on": approving[who]["at"] if who in approving else None,
            }
            for who in people
        ]  # fmt: skip

    def activity(self) -> list[dict[str, Any]]:
        """The latest first: pushes, approvals and comments."""
        updates = [(at, {"update": {"date": at, "source": {"commit": {"hash": sha[:12]}}}}) for sha, at in self.host.pushes]
        reviews = [(one["at"], {one["state"]: {"date": one["at"]}}) for one in self.host.reviews]
        return [item for _, item in sorted([*updates, *reviews], key=lambda pair: pair[0], reverse=True)]

    def text(self, body: dict[str, Any]) -> str:
        return str(body.get("content", {}).get("raw", ""))

    def shown(self, comment: dict[str, Any]) -> dict[str, Any]:
        user = {"uuid": comment["author"]} if comment["author"] else None
        url = f"https://bitbucket.example.org/team/policies/pull-requests/7#comment-{comment['id']}"
        content = {"raw": comment["body"]}
        return {"id": comment["id"], "content": content, "user": user, "links": {"html": {"href": url}}}


class _Server(_Rest):
    base, limit = SERVER, 32_768
    comments, change = "/pull-requests/7/comments", r"/pull-requests/7/comments/(\d+)"
    statuses = "/commits/[a-f0-9]+/builds"

    def listed(self, path: str) -> None:
        if path.endswith("/pull-requests/7"):
            status = {"approved": "APPROVED", "changes": "NEEDS_WORK", "dismissed": "UNAPPROVED"}
            latest = {one["who"]: one for one in self.host.reviews if one["state"] in status and one["who"]}
            reviewers = [
                {"user": {"name": who}, "status": status[one["state"]], "lastReviewedCommit": one["commit"]}
                for who, one in latest.items()
            ]
            document = {"author": {"user": {"name": self.host.opener}}, "reviewers": reviewers}
            self._answer(200, document, {"X-AUSERNAME": self.host.login or ""})
            return
        start = int(parse_qs(urlsplit(self.path).query).get("start", ["0"])[0])
        activities: list[dict[str, Any]] = [
            {"action": "COMMENTED", "comment": self.shown(one)} for one in reversed(self.host.comments)
        ]
        activities.append({"action": "OPENED"})
        document = {"values": activities[start : start + 25], "isLastPage": start + 25 >= len(activities)}
        self._answer(200, {**document, "nextPageStart": start + 25}, {"X-AUSERNAME": self.host.login or ""})

    def current(self, comment: dict[str, Any], body: dict[str, Any]) -> bool:
        given = parse_qs(urlsplit(self.path).query).get("version", [str(body.get("version"))])[0]
        return given == str(comment.get("version", 0))

    def text(self, body: dict[str, Any]) -> str:
        return str(body.get("text", ""))

    def shown(self, comment: dict[str, Any]) -> dict[str, Any]:
        author = {"name": comment["author"]}
        return {"id": comment["id"], "text": comment["body"], "author": author, "version": comment.get("version", 0)}


class _Azure(_Rest):
    base, limit = AZURE, 150_000
    comments, change = "/pullRequests/7/threads", r"/pullRequests/7/threads/(\d+)/comments/1"
    statuses = "/pullRequests/7/statuses"

    def listed(self, path: str) -> None:
        if path.endswith("/pullRequests/7"):
            teams, approving = self.host.teams, self.host.approving()
            reviewers: list[dict[str, Any]] = [
                {
                    "id": f"id-{who}", "uniqueName": who, "vote": 10 if who in approving else -5,
                    "votedFor": [{"displayName": f"[{name.replace('/', ']' + chr(92))}"} for name in teams if who in teams[name]],
                }
                for who in dict.fromkeys(one["who"] for one in self.host.reviews if one["who"])
            ]  # fmt: skip
            reviewers += [{"id": name, "uniqueName": name, "isContainer": True, "vote": 10} for name in teams]
            author, head = {"id": f"id-{self.host.opener}"}, {"commitId": self.host.pushes[-1][0]}
            self._answer(200, {"createdBy": author, "lastMergeSourceCommit": head, "reviewers": reviewers})
            return
        self._answer(200, {"value": [self.created(one) for one in reversed(self.host.comments)]})

    def text(self, body: dict[str, Any]) -> str:
        return str(body["comments"][0]["content"] if "comments" in body else body.get("content", ""))

    def created(self, comment: dict[str, Any]) -> dict[str, Any]:
        return {"id": comment["id"], "comments": [self.shown(comment), {"id": 2, "content": "thanks", "author": {"id": "ada"}}]}

    def shown(self, comment: dict[str, Any]) -> dict[str, Any]:
        author = {"id": comment["author"]} if comment["author"] else None
        return {"id": 1, "content": comment["body"], "author": author}


@contextmanager
def rest_host(name: str) -> Iterator[Host]:
    """A server with pull request 7. Statuses that were set are in `pulls`."""
    yield from _run({"gitea": _Gitea, "cloud": _Cloud, "server": _Server, "azure": _Azure}[name])
