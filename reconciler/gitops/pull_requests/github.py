"""Pull requests of a GitHub repository and their comments, through PyGithub. The only file that knows it.

SOURCE: GitHub's REST API. For comments, a pull request is an issue. The token of a workflow run cannot ask for its identity (403
at /user) and writes as `github-actions[bot]`. Rate limits are 403 or 429 with `Retry-After` or `X-RateLimit-Reset`. The head of a
pull request can be fetched as `refs/pull/N/head` from the repository that it goes into, also from a fork. Reviews come in the
order of time, each with its commit.
"""

import re
from collections.abc import Iterator, Sequence

import github
import requests
from github.Issue import Issue
from github.IssueComment import IssueComment
from github.PullRequest import PullRequest

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

_WORKFLOW_LOGIN = "github-actions[bot]"
_TIMEOUT_SECONDS = 15
_MOST_DESCRIPTION = 140
_OPINIONS = ("APPROVED", "CHANGES_REQUESTED", "DISMISSED")
_FORBIDDEN, _NOT_FOUND, _UNPROCESSABLE, _TOO_MANY = (401, 403), (404, 410), 422, 429


class GitHubPullRequest:
    """A `CommentHost`. `repository` is `owner/name`. It waits at most `most_wait_seconds` for a rate limit, and tries three more
    times if a server fails."""

    limit = GITHUB_LIMIT
    shown = staticmethod(as_is)

    def __init__(
        self, token: str, repository: str, number: int, *, api_url: str = "https://api.github.com", author: str = "",
        most_wait_seconds: float = 60.0, pause_seconds: float = 1.0, client: github.Github | None = None,
    ) -> None:  # fmt: skip
        """`author` is the login to write with, if it cannot be asked for; `client` is an existing one to use."""
        self._github = client or _client(token, api_url, most_wait_seconds, pause_seconds)
        self._repository = repository
        self._number = number
        self._author = author
        self._known_issue: Issue | None = None
        self._known: dict[int, IssueComment] = {}

    def author(self) -> str:
        """The given login, else that of the token, else that of workflow runs."""
        if not self._author:
            try:
                self._author = self._github.get_user().login
            except github.GithubException as error:
                if error.status not in _FORBIDDEN:
                    raise _host_error(error) from None
                self._author = _WORKFLOW_LOGIN
            except requests.RequestException as error:
                raise _unreachable(error) from None
        return self._author

    def comments(self) -> Iterator[Comment]:
        """All pages."""
        try:
            for comment in self._issue().get_comments():
                self._known[comment.id] = comment
                yield _comment(comment)
        except github.GithubException as error:
            raise _host_error(error) from None
        except requests.RequestException as error:
            raise _unreachable(error) from None

    def create(self, body: str) -> Comment:
        """One POST."""
        try:
            return _comment(self._issue().create_comment(body))
        except github.GithubException as error:
            raise _host_error(error) from None
        except requests.RequestException as error:
            raise _unreachable(error) from None

    def update(self, comment: Comment, body: str) -> Comment:
        """One PATCH."""
        try:
            self._known[comment.id].edit(body)
        except github.GithubException as error:
            raise _host_error(error) from None
        except requests.RequestException as error:
            raise _unreachable(error) from None
        return Comment(id=comment.id, author=comment.author, body=body, url=comment.url)

    def delete(self, comment: Comment) -> None:
        """One DELETE."""
        try:
            self._known[comment.id].delete()
        except github.GithubException as error:
            raise _host_error(error) from None
        except requests.RequestException as error:
            raise _unreachable(error) from None

    def set_status(self, status: CommitStatus) -> None:
        """One POST. GitHub refuses a longer description."""
        state, text = "failure" if status.failed else "success", status.description[:_MOST_DESCRIPTION]
        try:
            commit = self._github.get_repo(self._repository).get_commit(status.commit)
            commit.create_status(state, status.url or github.GithubObject.NotSet, text, status.context)
        except github.GithubException as error:
            raise _host_error(error) from None
        except requests.RequestException as error:
            raise _unreachable(error) from None

    def approvals(self, head: str, teams: Sequence[str]) -> Approvals:
        """By reviews: the latest of a person that is more than a comment."""
        try:
            pull = self._github.get_repo(self._repository).get_pull(self._number)
            latest = {getattr(review.user, "login", ""): review for review in pull.get_reviews() if review.state in _OPINIONS}
            latest.pop(getattr(pull.user, "login", ""), None)
            people = [login for login, review in latest.items() if (review.state, review.commit_id) == ("APPROVED", head)]
            return Approvals(names=with_teams(people, teams, self._members))
        except github.GithubException as error:
            raise _host_error(error) from None
        except requests.RequestException as error:
            raise _unreachable(error) from None

    def _members(self, team: str) -> Iterator[str]:
        organization, _, name = team.partition("/")
        try:
            for member in self._github.get_organization(organization).get_team_by_slug(name).get_members():
                yield member.login
        except github.GithubException as error:
            raise _host_error(error) from None

    def _issue(self) -> Issue:
        if self._known_issue is None:
            self._known_issue = self._github.get_repo(self._repository).get_issue(self._number)
        return self._known_issue


class GitHubRepository:
    """A `RequestHost`. Waits as `GitHubPullRequest` does."""

    def __init__(
        self, token: str, repository: str, *, api_url: str = "https://api.github.com", author: str = "",
        most_wait_seconds: float = 60.0, pause_seconds: float = 1.0,
    ) -> None:  # fmt: skip
        """`author` as there."""
        self._client = _client(token, api_url, most_wait_seconds, pause_seconds)
        self._repository = repository
        self._author = author

    def open_requests(self, branch: str) -> Iterator[OpenRequest]:
        """All pages."""
        try:
            pulls = self._client.get_repo(self._repository).get_pulls(state="open", sort="updated", direction="desc", base=branch)
            for pull in pulls:
                yield self._request(pull)
        except github.GithubException as error:
            raise _host_error(error) from None
        except requests.RequestException as error:
            raise _unreachable(error) from None

    def comments(self, number: int) -> GitHubPullRequest:
        """Use the same client, which asks only once for its identity."""
        pull_request = GitHubPullRequest("", self._repository, number, author=self._author, client=self._client)
        self._author = pull_request.author()
        return pull_request

    def quota(self) -> Quota | None:
        """From the headers of the last answer."""
        requester = self._client.requester
        remaining, limit = requester.rate_limiting
        if limit <= 0:
            return None
        return Quota(remaining=remaining, limit=limit, reset_seconds=requester.rate_limiting_resettime)

    def _request(self, pull: PullRequest) -> OpenRequest:
        # A deleted fork has no repository any more. `pull.raw_data` would fetch the whole pull request again.
        source = pull.head.raw_data.get("repo") or {}
        return OpenRequest(
            number=pull.number,
            head=pull.head.sha,
            ref=f"refs/pull/{pull.number}/head",
            branch=pull.base.ref,
            fork=str(source.get("full_name", "")).casefold() != self._repository.casefold(),
            labels=tuple(label.name for label in pull.labels),
        )


def _client(token: str, api_url: str, most_wait_seconds: float, pause_seconds: float) -> github.Github:
    retry = github.GithubRetry(
        total=3,
        backoff_factor=pause_seconds,
        secondary_rate_wait=pause_seconds,
        max_rate_limit_wait=most_wait_seconds,
        retry_after_max=int(most_wait_seconds),
    )
    return github.Github(
        auth=github.Auth.Token(token), base_url=api_url, timeout=_TIMEOUT_SECONDS, per_page=100, retry=retry,
        seconds_between_requests=0, seconds_between_writes=pause_seconds, user_agent="nodegroup-reconciler", lazy=True,
    )  # fmt: skip


def _comment(comment: IssueComment) -> Comment:
    # A deleted account gives None, whatever the client's types declare.
    author = getattr(comment.user, "login", "")
    return Comment(id=comment.id, author=author, body=comment.body or "", url=comment.html_url)


def _host_error(error: github.GithubException) -> HostError:
    """GitHub's answer as a code, without the request, which has the token."""
    message = error.data.get("message", "") if isinstance(error.data, dict) else ""
    if isinstance(error, github.RateLimitExceededException) or error.status == _TOO_MANY:
        return HostError(HostCode.RATE_LIMITED, f"GitHub's rate limit is used up ({message})")
    if error.status in _FORBIDDEN:
        return HostError(HostCode.FORBIDDEN, f"the token may not do this ({message})")
    if error.status in _NOT_FOUND:
        return HostError(HostCode.NOT_FOUND, f"no such pull request, or the token does not see it ({message})")
    if error.status == _UNPROCESSABLE:
        long = "too long" in f"{message} {error.data}"
        return HostError(HostCode.TOO_LONG if long else HostCode.REFUSED, f"GitHub refuses the comment ({message})")
    return HostError(HostCode.UNREACHABLE, f"GitHub answers {error.status} ({message})")


def _unreachable(error: requests.RequestException) -> HostError:
    # After three retries, the client raises a transport error. Only a rate limit makes it retry a 403.
    if isinstance(error, requests.exceptions.RetryError) and re.search(r"too many (403|429) ", str(error)):
        return HostError(HostCode.RATE_LIMITED, "GitHub's rate limit is used up")
    return HostError(HostCode.UNREACHABLE, f"GitHub does not answer ({silence_words(error)})")
