"""Merge requests of a GitLab project and their notes, through python-gitlab. The only file that knows it.

SOURCE: GitLab's REST API: notes of merge requests, pages by `Link` headers; 429 with `Retry-After`. A job's own token
(CI_JOB_TOKEN) cannot write notes; a project access token with the scope `api` can. The head of a merge request can be fetched as
`refs/merge-requests/N/head` from the project that it goes into, also from a fork. `RateLimit-*` headers show what is left. The
versions of a merge request come with the latest first, and one is made by each push, on the server's clock.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import takewhile
from typing import Any

import gitlab
import requests
from gitlab.exceptions import GitlabError

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
from reconciler.gitops.pull_requests.open_requests import OpenRequest, Quota
from reconciler.rendering.printers.markdown.host_length import GITHUB_LIMIT
from reconciler.values.whole_number import whole_number

_TIMEOUT_SECONDS = 15.0
_RETRIES = 3
_MOST_DESCRIPTION = 255
_FORBIDDEN, _NOT_FOUND, _TOO_MANY = (401, 403), 404, 429
_REFUSED = (400, 409, 413, 422)


class GitLabMergeRequest:
    """A `CommentHost`. `project` is an id or `group/name`, `number` the iid of the merge request."""

    limit = GITHUB_LIMIT  # GitLab takes a million; the comment is the same everywhere
    shown = staticmethod(as_is)

    def __init__(
        self, token: str, project: str, number: int, *, url: str = "https://gitlab.com", web_url: str = "", author: str = "",
        client: gitlab.Gitlab | None = None,
    ) -> None:  # fmt: skip
        """`url` is the server, `web_url` the page of the merge request, for links; `client` is an existing one to use."""
        self._gitlab = client or _client(token, url)
        self._project = project
        self._number = number
        self._web_url = web_url
        self._author = author

    def author(self) -> str:
        """The given user, else that of the token."""
        if not self._author:
            self._author = str(self._call("get", "/user")["username"])
        return self._author

    def comments(self) -> Iterator[Comment]:
        """All pages, without the notes that the server itself wrote."""
        for note in self._list(f"{self._request()}/notes", {"order_by": "created_at", "sort": "asc"}):
            if not note.get("system"):
                yield self._comment(note)

    def create(self, body: str) -> Comment:
        """One POST."""
        return self._comment(self._call("post", f"{self._request()}/notes", {"body": body}))

    def update(self, comment: Comment, body: str) -> Comment:
        """One PUT."""
        return self._comment(self._call("put", f"{self._request()}/notes/{comment.id}", {"body": body}))

    def delete(self, comment: Comment) -> None:
        """One DELETE."""
        self._call("delete", f"{self._request()}/notes/{comment.id}")

    def set_status(self, status: CommitStatus) -> None:
        """One POST."""
        state, text = "failed" if status.failed else "success", status.description[:_MOST_DESCRIPTION]
        page = {"target_url": status.url} if status.url else {}
        path = f"/projects/{gitlab.utils.EncodedId(self._project)}/statuses/{gitlab.utils.EncodedId(status.commit)}"
        self._call("post", path, {"state": state, "name": status.context, "description": text, **page})

    def approvals(self, head: str, teams: Sequence[str]) -> Approvals:
        """Those given after the head came. An approval names no commit, but an instant (`approved_at`)."""
        author = (self._call("get", self._request()).get("author") or {}).get("username")
        versions = self._list(f"{self._request()}/versions", {})
        since = [version["created_at"] for version in takewhile(lambda one: one.get("head_commit_sha") == head, versions)]
        people = []
        for one in self._call("get", f"{self._request()}/approvals").get("approved_by", ()) if since else ():
            if not one.get("approved_at"):
                raise HostError(HostCode.REFUSED, "this GitLab does not say when somebody approved")
            login = str((one.get("user") or {}).get("username", ""))
            if login != author and datetime.fromisoformat(one["approved_at"]) > datetime.fromisoformat(since[-1]):
                people.append(login)
        return Approvals(names=with_teams(people, teams, self._members))

    def _members(self, group: str) -> Iterator[str]:
        for member in self._list(f"/groups/{gitlab.utils.EncodedId(group)}/members/all", {}):
            if member.get("state") == "active":
                yield str(member["username"])

    def _request(self) -> str:
        return f"/projects/{gitlab.utils.EncodedId(self._project)}/merge_requests/{self._number}"

    def _list(self, path: str, query: dict[str, str]) -> Iterator[dict[str, Any]]:
        """All pages."""
        try:
            yield from self._gitlab.http_list(path, query, iterator=True, max_retries=_RETRIES)
        except GitlabError as error:
            raise _host_error(error) from None
        except requests.RequestException as error:
            raise _unreachable(error) from None

    def _call(self, verb: str, path: str, body: dict[str, str] | None = None) -> dict[str, Any]:
        try:
            response = self._gitlab.http_request(verb, path, post_data=body, max_retries=_RETRIES)
            content = response.json() if response.content else {}
        except GitlabError as error:
            raise _host_error(error) from None
        except requests.RequestException as error:
            raise _unreachable(error) from None
        return content if isinstance(content, dict) else {}

    def _comment(self, note: dict[str, Any]) -> Comment:
        number = int(note["id"])
        url = f"{self._web_url}#note_{number}" if self._web_url else ""
        return Comment(id=number, author=str((note.get("author") or {}).get("username", "")), body=str(note["body"]), url=url)


class GitLabProject:
    """A `RequestHost`. `project` is an id or `group/name`."""

    def __init__(self, token: str, project: str, *, url: str = "https://gitlab.com", author: str = "") -> None:
        """`url` is the server, `author` the user to write as, if known."""
        self._quota: Quota | None = None
        session = requests.Session()
        session.hooks["response"].append(self._answered)
        self._client = _client(token, url, session)
        self._project = project
        self._author = author
        self._pages: dict[int, str] = {}

    def open_requests(self, branch: str) -> Iterator[OpenRequest]:
        """All pages."""
        query = {"state": "opened", "target_branch": branch, "order_by": "updated_at", "sort": "desc"}
        path = f"/projects/{gitlab.utils.EncodedId(self._project)}/merge_requests"
        try:
            items = self._client.http_list(path, query, iterator=True, max_retries=_RETRIES)
            for item in items:
                yield self._request(item)
        except GitlabError as error:
            raise _host_error(error) from None
        except requests.RequestException as error:
            raise _unreachable(error) from None

    def comments(self, number: int) -> GitLabMergeRequest:
        """Use the same client, which asks only once for its identity."""
        merge_request = GitLabMergeRequest(
            "", self._project, number, web_url=self._pages.get(number, ""), author=self._author, client=self._client
        )
        self._author = merge_request.author()
        return merge_request

    def quota(self) -> Quota | None:
        """From the headers of the last answer."""
        return self._quota

    def _request(self, item: dict[str, Any]) -> OpenRequest:
        number = int(item["iid"])
        self._pages[number] = str(item.get("web_url") or "")
        return OpenRequest(
            number=number,
            head=str(item["sha"]),
            ref=f"refs/merge-requests/{number}/head",
            branch=str(item["target_branch"]),
            # A fork that was deleted has no id any more.
            fork=item.get("source_project_id") != item.get("target_project_id"),
            labels=tuple(str(label) for label in item.get("labels", ())),
        )

    def _answered(self, response: requests.Response, *_: object, **__: object) -> None:
        heads = [response.headers.get(f"RateLimit-{name}", "") for name in ("Remaining", "Limit", "Reset")]
        remaining, limit, reset = (whole_number(head) for head in heads)
        if remaining is not None and limit is not None and reset is not None:
            self._quota = Quota(remaining=remaining, limit=limit, reset_seconds=reset)


def _client(token: str, url: str, session: requests.Session | None = None) -> gitlab.Gitlab:
    return gitlab.Gitlab(
        url, private_token=token, timeout=_TIMEOUT_SECONDS, per_page=100, retry_transient_errors=True,
        user_agent="nodegroup-reconciler", session=session,
    )  # fmt: skip


def _host_error(error: GitlabError) -> HostError:
    """GitLab's answer as a code."""
    message = str(error.error_message)[:200]
    if error.response_code == _TOO_MANY:
        return HostError(HostCode.RATE_LIMITED, f"GitLab's rate limit is used up ({message})")
    if error.response_code in _FORBIDDEN:
        return HostError(HostCode.FORBIDDEN, f"the token may not do this ({message})")
    if error.response_code == _NOT_FOUND:
        return HostError(HostCode.NOT_FOUND, f"no such merge request, or the token does not see it ({message})")
    if error.response_code in _REFUSED:
        long = "too long" in message
        return HostError(HostCode.TOO_LONG if long else HostCode.REFUSED, f"GitLab refuses the note ({message})")
    return HostError(HostCode.UNREACHABLE, f"GitLab answers {error.response_code} ({message})")


def _unreachable(error: requests.RequestException) -> HostError:
    return HostError(HostCode.UNREACHABLE, f"GitLab does not answer ({silence_words(error)})")
