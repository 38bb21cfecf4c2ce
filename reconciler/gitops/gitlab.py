"""Notes of a GitLab merge request, through python-gitlab. The only file that knows it.

SOURCE: GitLab's REST API: notes of merge requests, pages by `Link` headers; 429 with `Retry-After`; a job's own token
(CI_JOB_TOKEN) cannot write notes, a project access token with the scope `api` can.
"""

from collections.abc import Iterator
from typing import Any

import gitlab
import requests
from gitlab.exceptions import GitlabError

from reconciler.gitops.comment import Comment, HostCode, HostError

_TIMEOUT_SECONDS = 15.0
_RETRIES = 3
_FORBIDDEN, _NOT_FOUND, _TOO_MANY = (401, 403), 404, 429
_REFUSED = (400, 409, 413, 422)


class GitLabMergeRequest:
    """A `CommentHost`. `project` is an id or `group/name`, `number` the iid of the merge request."""

    def __init__(
        self, token: str, project: str, number: int, *, url: str = "https://gitlab.com", web_url: str = "", author: str = ""
    ) -> None:
        """`url` is the server, `web_url` the page of the merge request, for links."""
        self._gitlab = gitlab.Gitlab(
            url, private_token=token, timeout=_TIMEOUT_SECONDS, per_page=100, retry_transient_errors=True,
            user_agent="nodegroup-reconciler",
        )  # fmt: skip
        self._project = project
        self._number = number
        self._web_url = web_url
        self._author = author

    def author(self) -> str:
        """As given, else as the token says."""
        if not self._author:
            self._author = str(self._call("get", "/user")["username"])
        return self._author

    def comments(self) -> Iterator[Comment]:
        """All pages; notes that the server itself wrote are left out."""
        try:
            notes = self._gitlab.http_list(
                self._notes(), {"order_by": "created_at", "sort": "asc"}, iterator=True, max_retries=_RETRIES
            )
            for note in notes:
                if not note.get("system"):
                    yield self._comment(note)
        except GitlabError as error:
            raise _told(error) from None
        except requests.RequestException as error:
            raise _unreachable(error) from None

    def create(self, body: str) -> Comment:
        """One POST."""
        return self._comment(self._call("post", self._notes(), body))

    def update(self, comment: Comment, body: str) -> Comment:
        """One PUT."""
        return self._comment(self._call("put", f"{self._notes()}/{comment.id}", body))

    def delete(self, comment: Comment) -> None:
        """One DELETE."""
        self._call("delete", f"{self._notes()}/{comment.id}")

    def _notes(self) -> str:
        return f"/projects/{gitlab.utils.EncodedId(self._project)}/merge_requests/{self._number}/notes"

    def _call(self, verb: str, path: str, body: str | None = None) -> dict[str, Any]:
        try:
            response = self._gitlab.http_request(
                verb, path, post_data=None if body is None else {"body": body}, max_retries=_RETRIES
            )
            found = response.json() if response.content else {}
        except GitlabError as error:
            raise _told(error) from None
        except requests.RequestException as error:
            raise _unreachable(error) from None
        return found if isinstance(found, dict) else {}

    def _comment(self, note: dict[str, Any]) -> Comment:
        number = int(note["id"])
        url = f"{self._web_url}#note_{number}" if self._web_url else ""
        return Comment(id=number, author=str(note["author"]["username"]), body=str(note["body"]), url=url)


def _told(error: GitlabError) -> HostError:
    """What GitLab says, as a code."""
    said = str(error.error_message)[:200]
    if error.response_code == _TOO_MANY:
        return HostError(HostCode.RATE_LIMITED, f"GitLab's rate limit is used up ({said})")
    if error.response_code in _FORBIDDEN:
        return HostError(HostCode.FORBIDDEN, f"the token may not do this ({said})")
    if error.response_code == _NOT_FOUND:
        return HostError(HostCode.NOT_FOUND, f"there is no such merge request, or the token does not see it ({said})")
    if error.response_code in _REFUSED:
        long = "too long" in said
        return HostError(HostCode.TOO_LONG if long else HostCode.REFUSED, f"GitLab refuses the note ({said})")
    return HostError(HostCode.UNREACHABLE, f"GitLab answers {error.response_code} ({said})")


def _unreachable(error: requests.RequestException) -> HostError:
    return HostError(HostCode.UNREACHABLE, f"GitLab does not answer ({type(error).__name__})")
