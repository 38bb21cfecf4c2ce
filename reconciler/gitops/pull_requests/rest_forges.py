"""Pull requests of Gitea, Forgejo, Bitbucket (Cloud and Data Center) and Azure DevOps, through their REST APIs.

One class does what all have in common. A subclass says where things are and what they look like.

A comment of Azure DevOps may have 150,000 characters, and Gitea has no limit: there it is as long as on GitHub.

SOURCE: the API references. Gitea and Forgejo: `/api/v1`, and all comments of an issue in one answer. Bitbucket Cloud 2.0: `next`
of a page is an address, a comment has at most 32,768 characters, the key of a status 40. Bitbucket Data Center: comments are
activities, the latest first, and a change names the version. On Cloud, activities have an update for each push, on its clock.
Azure DevOps 7.1: threads of comments, and a status belongs to the pull request. All answer 429 with `Retry-After` above their
rate limit.
"""

import hashlib
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from datetime import datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

import requests

from reconciler.gitops.pull_requests.comment import (
    Approvals,
    Comment,
    CommitStatus,
    HostCode,
    HostError,
    as_is,
    silence_words,
    with_teams,
)
from reconciler.rendering.printers.markdown.host_length import GITHUB_LIMIT
from reconciler.values.whole_number import whole_number

_TIMEOUT_SECONDS = 15.0
_TRIES, _MOST_PAGES = 4, 100
_MOST_ANSWER_BYTES = 32 << 20
_FORBIDDEN, _NOT_FOUND, _TOO_LARGE = (401, 403), (404, 410), 413
_HIDDEN = re.compile(r"<!-- ([^\n]*) -->")
_HIDDEN_LINK = re.compile(r"\[//\]: # \(([^\n]*)\)")
_HIDDEN_LINES = 2
_BITBUCKET_LIMIT = 32_768 - 2 * _HIDDEN_LINES
_MOST_DESCRIPTION, _MOST_KEY = 140, 40
_GITEA_OPINIONS = ("APPROVED", "REQUEST_CHANGES")
_AZURE_APPROVED = 10
_AZURE_CAVEAT = "Azure DevOps does not say which commit a vote was for: let a branch policy reset votes after each push"


class RestForge(ABC):
    """A `CommentHost` over REST. It waits at most `most_wait_seconds` for a rate limit, and tries three more times if a server
    fails. `_kept` is what a subclass must know of a comment to change it."""

    name = ""
    limit = GITHUB_LIMIT
    shown = staticmethod(as_is)

    def __init__(
        self, token: str, base: str, number: int, *, web_url: str = "", collection: str = "",
        most_wait_seconds: float = 60.0, pause_seconds: float = 1.0,
    ) -> None:  # fmt: skip
        """`base` is the address of the repository in the API, `web_url` the page of the pull request. `collection` is Azure's
        address above the project."""
        self._base, self._number, self._web_url, self._collection = base.rstrip("/"), number, web_url, collection
        self._author = ""
        self._kept: dict[int, int] = {}
        self._most_wait_seconds, self._pause_seconds = most_wait_seconds, pause_seconds
        self._session = requests.Session()
        self._session.headers.update({"Authorization": self._authorization(token), "User-Agent": "nodegroup-reconciler"})

    def _authorization(self, token: str) -> str:
        return f"Bearer {token}"

    def author(self) -> str:
        """That of the token, asked for once."""
        if not self._author:
            self._author = self._me()
        return self._author

    @abstractmethod
    def _me(self) -> str:
        """The login of the token, as comments name it."""

    @abstractmethod
    def comments(self) -> Iterator[Comment]:
        """See `CommentHost`, also for the other five."""

    @abstractmethod
    def create(self, body: str) -> Comment:
        """See there."""

    @abstractmethod
    def update(self, comment: Comment, body: str) -> Comment:
        """See there."""

    @abstractmethod
    def delete(self, comment: Comment) -> None:
        """See there."""

    @abstractmethod
    def set_status(self, status: CommitStatus) -> None:
        """See there."""

    @abstractmethod
    def approvals(self, head: str, teams: Sequence[str]) -> Approvals:
        """See there."""

    def _members(self, team: str) -> Iterator[str]:
        """Of a team. Most of these hosts tell only administrators."""
        raise HostError(HostCode.REFUSED, f"{self.name} does not say who is in the team @{team}: name people")

    def _call(self, verb: str, path: str, body: dict[str, Any] | None = None) -> Any:  # noqa: ANN401 - JSON of others
        """The document of an answer. Redirects are not followed: they would take the token elsewhere."""
        return self._answer(verb, path, body)[0]

    def _answer(self, verb: str, path: str, body: dict[str, Any] | None = None) -> tuple[Any, requests.Response]:
        address = path if "://" in path else f"{self._base}{path}"
        if urlsplit(address)[:2] != urlsplit(self._base)[:2]:
            raise HostError(HostCode.REFUSED, f"{self.name} names a page on another server")
        left_seconds = self._most_wait_seconds
        for tries in range(_TRIES):
            try:
                response = self._session.request(
                    verb, address, json=body, timeout=_TIMEOUT_SECONDS, allow_redirects=False, stream=True
                )
                content = response.raw.read(_MOST_ANSWER_BYTES + 1, decode_content=True)
                if len(content) > _MOST_ANSWER_BYTES:
                    raise HostError(HostCode.UNREACHABLE, f"{self.name} answers with more than {_MOST_ANSWER_BYTES >> 20} MiB")
                response._content = content  # `json` decodes what was read within the bound
                document = response.json() if content and response.ok else None
            except (requests.RequestException, ValueError, OSError) as error:
                failure = HostError(HostCode.UNREACHABLE, f"{self.name} does not answer ({silence_words(error)})")
                wait_seconds = self._pause_seconds
            else:
                if response.ok and not response.is_redirect:
                    return document, response
                failure = self._failure(response)
                wait_seconds = float(whole_number(response.headers.get("Retry-After", "")) or self._pause_seconds)
                if response.status_code < HTTPStatus.INTERNAL_SERVER_ERROR and failure.code is not HostCode.RATE_LIMITED:
                    raise failure
            if wait_seconds > left_seconds or tries == _TRIES - 1:
                raise failure
            left_seconds -= wait_seconds
            time.sleep(wait_seconds)
        raise HostError(HostCode.UNREACHABLE, f"{self.name} does not answer")

    def _failure(self, response: requests.Response) -> HostError:
        """An answer as a code, without the request, which has the token."""
        message = " ".join(response.text.split())[:200]
        if response.status_code == HTTPStatus.TOO_MANY_REQUESTS:
            return HostError(HostCode.RATE_LIMITED, f"the rate limit of {self.name} is used up ({message})")
        if response.status_code in _FORBIDDEN:
            return HostError(HostCode.FORBIDDEN, f"the token may not do this ({message})")
        if response.status_code in _NOT_FOUND:
            return HostError(HostCode.NOT_FOUND, f"no such pull request, or the token does not see it ({message})")
        if response.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return HostError(HostCode.UNREACHABLE, f"{self.name} answers {response.status_code} ({message})")
        long = response.status_code == _TOO_LARGE or "too long" in message.lower()
        return HostError(HostCode.TOO_LONG if long else HostCode.REFUSED, f"{self.name} refuses it ({message})")


class GiteaPullRequest(RestForge):
    """Of Gitea or Forgejo. `base` ends in `/api/v1/repos/OWNER/NAME`."""

    name = "Gitea"

    def _authorization(self, token: str) -> str:
        return f"token {token}"

    def _me(self) -> str:
        return str(self._call("GET", f"{self._base.partition('/repos/')[0]}/user")["login"])

    def comments(self) -> Iterator[Comment]:
        """In one answer."""
        yield from map(self._comment, self._call("GET", f"/issues/{self._number}/comments") or ())

    def create(self, body: str) -> Comment:
        """One POST."""
        return self._comment(self._call("POST", f"/issues/{self._number}/comments", {"body": body}))

    def update(self, comment: Comment, body: str) -> Comment:
        """One PATCH."""
        return self._comment(self._call("PATCH", f"/issues/comments/{comment.id}", {"body": body}))

    def delete(self, comment: Comment) -> None:
        """One DELETE."""
        self._call("DELETE", f"/issues/comments/{comment.id}")

    def set_status(self, status: CommitStatus) -> None:
        """One POST."""
        state = "failure" if status.failed else "success"
        body = {"context": status.context, "state": state, "description": status.description[:_MOST_DESCRIPTION]}
        self._call("POST", f"/statuses/{quote(status.commit)}", {**body, "target_url": status.url})

    def approvals(self, head: str, teams: Sequence[str]) -> Approvals:
        """By reviews, as on GitHub; a dismissed one keeps its state."""
        author = self._login(self._call("GET", f"/pulls/{self._number}"))
        opinions = [one for one in self._pages(f"/pulls/{self._number}/reviews") if one.get("state") in _GITEA_OPINIONS]
        latest = {self._login(one): one for one in sorted(opinions, key=lambda one: int(one["id"]))}
        people = [
            login
            for login, one in latest.items()
            if login != author and not one.get("dismissed") and (one["state"], one.get("commit_id")) == ("APPROVED", head)
        ]
        return Approvals(names=with_teams(people, teams, self._members))

    def _members(self, team: str) -> Iterator[str]:
        organization, _, name = team.partition("/")
        api = self._base.partition("/repos/")[0]
        for one in self._pages(f"{api}/orgs/{quote(organization)}/teams"):
            if one["name"].casefold() == name.casefold():
                yield from (str(member["login"]) for member in self._pages(f"{api}/teams/{int(one['id'])}/members"))
                return
        raise HostError(HostCode.NOT_FOUND, "no such team")

    def _pages(self, path: str) -> Iterator[dict[str, Any]]:
        """Numbered pages, as long as there is something on them."""
        for number in range(1, _MOST_PAGES + 1):
            page = self._call("GET", f"{path}?limit=50&page={number}")
            if not page:
                return
            yield from page

    @staticmethod
    def _login(item: dict[str, Any]) -> str:
        return str((item.get("user") or {}).get("login", ""))

    def _comment(self, item: dict[str, Any]) -> Comment:
        author = self._login(item)
        return Comment(id=int(item["id"]), author=author, body=str(item.get("body") or ""), url=str(item.get("html_url") or ""))


def bitbucket_text(text: str) -> str:
    """A comment in Bitbucket's markdown, which shows HTML as text: hidden lines are definitions of links, folds are headings."""
    text = _HIDDEN.sub(r"[//]: # (\1)", text)
    text = re.sub(r"<summary>(.*?)</summary>", r"**\1**\n", text)
    return re.sub(r"</?(?:details|sub|b|code)>", "", text)


def _hidden_as_html(text: str) -> str:
    """A comment of Bitbucket with marker and stamp as everywhere else."""
    lines = text.split("\n")
    for number in range(min(len(lines), _HIDDEN_LINES)):
        lines[number] = _HIDDEN_LINK.sub(r"<!-- \1 -->", lines[number])
    return "\n".join(lines)


class BitbucketCloudPullRequest(RestForge):
    """Of Bitbucket Cloud. `base` ends in `/repositories/WORKSPACE/NAME`."""

    name = "Bitbucket"
    limit = _BITBUCKET_LIMIT
    shown = staticmethod(bitbucket_text)

    def _comments(self) -> str:
        return f"/pullrequests/{self._number}/comments"

    def _me(self) -> str:
        return str(self._call("GET", f"{self._base.partition('/repositories/')[0]}/user")["uuid"])

    def comments(self) -> Iterator[Comment]:
        """All pages."""
        yield from (self._comment(item) for item in self._values(f"{self._comments()}?pagelen=100") if not item.get("deleted"))

    def _values(self, address: str) -> Iterator[dict[str, Any]]:
        """Of all pages."""
        for _ in range(_MOST_PAGES):
            page = self._call("GET", address) or {}
            yield from page.get("values", ())
            if not page.get("next"):
                return
            address = urljoin(self._base, str(page["next"]))

    def create(self, body: str) -> Comment:
        """One POST."""
        return self._comment(self._call("POST", self._comments(), {"content": {"raw": bitbucket_text(body)}}))

    def update(self, comment: Comment, body: str) -> Comment:
        """One PUT."""
        return self._comment(self._call("PUT", f"{self._comments()}/{comment.id}", {"content": {"raw": bitbucket_text(body)}}))

    def delete(self, comment: Comment) -> None:
        """One DELETE."""
        self._call("DELETE", f"{self._comments()}/{comment.id}")

    def set_status(self, status: CommitStatus) -> None:
        """One POST."""
        self._call("POST", f"/commit/{quote(status.commit)}/statuses/build", _build_status(status, self._web_url))

    def approvals(self, head: str, teams: Sequence[str]) -> Approvals:
        """Those given after the head came. An approval names no commit, but an instant. People are named by `uuid` or by
        `account_id`: a nickname is what its owner wants."""
        request = self._call("GET", f"/pullrequests/{self._number}")
        since = None
        for item in self._values(f"/pullrequests/{self._number}/activity?pagelen=50"):
            update = item.get("update")
            if update is not None:
                commit = str(((update.get("source") or {}).get("commit") or {}).get("hash", ""))
                if not commit or not head.startswith(commit):
                    break
                since = datetime.fromisoformat(update["date"])
        author = (request.get("author") or {}).get("uuid")
        people = [
            str(one["user"].get(name, ""))
            for one in request.get("participants", ())
            if since is not None and one.get("approved") and one["user"].get("uuid") != author
            if datetime.fromisoformat(one["participated_on"]) > since
            for name in ("uuid", "account_id")
        ]
        return Approvals(names=with_teams(people, teams, self._members))

    def _comment(self, item: dict[str, Any]) -> Comment:
        author = str((item.get("user") or {}).get("uuid", ""))
        text = _hidden_as_html(str((item.get("content") or {}).get("raw") or ""))
        url = str(((item.get("links") or {}).get("html") or {}).get("href", ""))
        return Comment(id=int(item["id"]), author=author, body=text, url=url)


def _build_status(status: CommitStatus, page: str) -> dict[str, str]:
    """As both Bitbuckets take it: the address is required, and Cloud bounds the key."""
    key = status.context
    if len(key) > _MOST_KEY:
        key = hashlib.sha256(key.encode()).hexdigest()[:_MOST_KEY]
    state = "FAILED" if status.failed else "SUCCESSFUL"
    text = status.description[:_MOST_DESCRIPTION]
    return {"key": key, "name": status.context, "state": state, "description": text, "url": status.url or page}


class BitbucketServerPullRequest(RestForge):
    """Of Bitbucket Data Center. `base` ends in `/rest/api/latest/projects/KEY/repos/NAME`."""

    name = "Bitbucket"
    limit = _BITBUCKET_LIMIT
    shown = staticmethod(bitbucket_text)

    def _request(self) -> str:
        return f"/pull-requests/{self._number}"

    def _me(self) -> str:
        """Each answer names the user."""
        return self._answer("GET", self._request())[1].headers.get("X-AUSERNAME", "")

    def comments(self) -> Iterator[Comment]:
        """All pages of activities, which have the latest first."""
        found: dict[int, Comment] = {}
        start = 0
        for _ in range(_MOST_PAGES):
            page = self._call("GET", f"{self._request()}/activities?limit=100&start={start}") or {}
            comments = [item["comment"] for item in page.get("values", ()) if item.get("action") == "COMMENTED"]
            found |= {int(item["id"]): self._comment(item) for item in comments}
            if page.get("isLastPage", True):
                break
            start = int(page["nextPageStart"])
        yield from (found[number] for number in sorted(found))

    def create(self, body: str) -> Comment:
        """One POST."""
        return self._comment(self._call("POST", f"{self._request()}/comments", {"text": bitbucket_text(body)}))

    def update(self, comment: Comment, body: str) -> Comment:
        """One PUT."""
        changed = {"text": bitbucket_text(body), "version": self._kept[comment.id]}
        return self._comment(self._call("PUT", f"{self._request()}/comments/{comment.id}", changed))

    def delete(self, comment: Comment) -> None:
        """One DELETE."""
        self._call("DELETE", f"{self._request()}/comments/{comment.id}?version={self._kept[comment.id]}")

    def set_status(self, status: CommitStatus) -> None:
        """One POST."""
        self._call("POST", f"/commits/{quote(status.commit)}/builds", _build_status(status, self._web_url))

    def approvals(self, head: str, teams: Sequence[str]) -> Approvals:
        """By reviewers, each with the commit that he looked at."""
        request = self._call("GET", self._request())
        people = [
            str((one.get("user") or {}).get("name", ""))
            for one in request.get("reviewers", ())
            if (one.get("status"), one.get("lastReviewedCommit")) == ("APPROVED", head)
            if (one.get("user") or {}).get("name") != request["author"]["user"]["name"]
        ]
        return Approvals(names=with_teams(people, teams, self._members))

    def _comment(self, item: dict[str, Any]) -> Comment:
        number = int(item["id"])
        self._kept[number] = int(item.get("version", 0))
        author = str((item.get("author") or {}).get("name", ""))
        url = f"{self._web_url}?commentId={number}" if self._web_url else ""
        return Comment(id=number, author=author, body=_hidden_as_html(str(item.get("text") or "")), url=url)


class AzurePullRequest(RestForge):
    """Of Azure DevOps. `base` ends in `/PROJECT/_apis/git/repositories/ID`, `collection` is the address above the project. Our
    comment is the first of a thread that is closed, so that nobody has to resolve it."""

    name = "Azure DevOps"
    _VERSION = "?api-version=7.1"

    def _request(self) -> str:
        return f"/pullRequests/{self._number}"

    def _me(self) -> str:
        return str(self._call("GET", f"{self._collection}/_apis/connectionData")["authenticatedUser"]["id"])

    def comments(self) -> Iterator[Comment]:
        """The first of each thread."""
        threads = (self._call("GET", f"{self._request()}/threads{self._VERSION}") or {}).get("value", ())
        for thread in sorted(threads, key=lambda thread: int(thread["id"])):
            comments = [one for one in thread.get("comments", ()) if not one.get("isDeleted")]
            if comments and not thread.get("isDeleted"):
                yield self._comment(int(thread["id"]), comments[0])

    def create(self, body: str) -> Comment:
        """One POST."""
        comment = {"parentCommentId": 0, "content": body, "commentType": "text"}
        thread = self._call("POST", f"{self._request()}/threads{self._VERSION}", {"comments": [comment], "status": "closed"})
        return self._comment(int(thread["id"]), thread["comments"][0])

    def update(self, comment: Comment, body: str) -> Comment:
        """One PATCH."""
        return self._comment(comment.id, self._call("PATCH", self._place(comment), {"content": body}))

    def delete(self, comment: Comment) -> None:
        """One DELETE."""
        self._call("DELETE", self._place(comment))

    def set_status(self, status: CommitStatus) -> None:
        """One POST. It belongs to the pull request, and a push ends it if the branch policy says so."""
        genre, _, name = status.context.partition("/")
        state = "failed" if status.failed else "succeeded"
        body = {"context": {"genre": genre, "name": name}, "state": state, "description": status.description[:_MOST_DESCRIPTION]}
        self._call("POST", f"{self._request()}/statuses{self._VERSION}", {**body, "targetUrl": status.url or self._web_url})

    def approvals(self, head: str, teams: Sequence[str]) -> Approvals:
        """By votes. A vote stays after a push, unless a policy of the branch resets it."""
        request = self._call("GET", f"{self._request()}{self._VERSION}")
        if request["lastMergeSourceCommit"]["commitId"] != head:
            return Approvals()
        voters = [
            one
            for one in request.get("reviewers", ())
            if one.get("vote") == _AZURE_APPROVED and not one.get("isContainer") and one.get("id") != request["createdBy"]["id"]
        ]
        # A person's vote counts for the teams that were asked to review: `[project]\team`.
        voted_for = {"@" + team["displayName"][1:].replace("]\\", "/") for one in voters for team in one.get("votedFor", ())}
        names = {str(one.get("uniqueName", "")).casefold() for one in voters} | {name.casefold() for name in voted_for}
        return Approvals(names=frozenset(names - {""}), caveat=_AZURE_CAVEAT)

    def _place(self, comment: Comment) -> str:
        return f"{self._request()}/threads/{comment.id}/comments/{self._kept[comment.id]}{self._VERSION}"

    def _comment(self, thread: int, item: dict[str, Any]) -> Comment:
        self._kept[thread] = int(item["id"])
        author = str((item.get("author") or {}).get("id", ""))
        url = f"{self._web_url}?discussionId={thread}" if self._web_url else ""
        return Comment(id=thread, author=author, body=str(item.get("content") or ""), url=url)
