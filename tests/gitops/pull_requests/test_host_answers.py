"""What hosts of pull requests answer, as codes; how their clients are made; what a list says of a request."""

from types import SimpleNamespace
from typing import Any

import github
import pytest
import requests
from gitlab.exceptions import GitlabError

from reconciler.gitops.pull_requests import github as github_host
from reconciler.gitops.pull_requests import gitlab as gitlab_host
from reconciler.gitops.pull_requests.comment import MOST_AHEAD, STAMP_ROOM, HostCode, HostError, Message, body
from reconciler.gitops.pull_requests.github import GitHubPullRequest, GitHubRepository
from reconciler.gitops.pull_requests.gitlab import GitLabProject
from reconciler.gitops.pull_requests.open_requests import OpenRequest, Quota
from tests.gitops import hosts


def told(error: HostError) -> tuple[str, str]:
    return error.code.value, str(error)


def said(status: int, words: object = "words", **more: object) -> github.GithubException:
    return github.GithubException(status, {"message": words, **more})


@pytest.mark.parametrize(("error", "code", "sentence"), [
    (said(401), "Forbidden", "the token may not do this (words)"),
    (said(403), "Forbidden", "the token may not do this (words)"),
    (said(404), "NotFound", "no such pull request, or the token does not see it (words)"),
    (said(410), "NotFound", "no such pull request, or the token does not see it (words)"),
    (said(422), "Refused", "GitHub refuses the comment (words)"),
    (said(422, "Body is too long"), "TooLong", "GitHub refuses the comment (Body is too long)"),
    (said(422, errors=["body is too long (maximum is 65536 characters)"]), "TooLong", "GitHub refuses the comment (words)"),
    (said(429), "RateLimited", "GitHub's rate limit is used up (words)"),
    (github.RateLimitExceededException(403, {"message": "words"}), "RateLimited", "GitHub's rate limit is used up (words)"),
    *((said(status), "Unreachable", f"GitHub answers {status} (words)") for status in (402, 405, 411, 423, 430, 500)),
    (github.GithubException(502, "<html>"), "Unreachable", "GitHub answers 502 ()"),
])  # fmt: skip
def test_what_github_answers(error: github.GithubException, code: str, sentence: str) -> None:
    """By its status; that a text is too long may stand in the message or below it."""
    assert told(github_host._host_error(error)) == (code, sentence)


@pytest.mark.parametrize(("error", "code"), [
    (requests.exceptions.RetryError("too many 429 error responses"), HostCode.RATE_LIMITED),
    (requests.exceptions.RetryError("too many 403 error responses"), HostCode.RATE_LIMITED),
    (requests.exceptions.RetryError("too many 502 error responses"), HostCode.UNREACHABLE),
    (requests.ConnectionError("too many 429 error responses"), HostCode.UNREACHABLE),
])  # fmt: skip
def test_a_github_that_was_asked_again_in_vain(error: requests.RequestException, code: HostCode) -> None:
    assert github_host._unreachable(error).code is code


@pytest.mark.parametrize(("error", "why"), [
    (requests.exceptions.ConnectTimeout(), "no answer in time"),
    (requests.exceptions.ReadTimeout(), "no answer in time"),
    (requests.exceptions.SSLError(), "its certificate cannot be verified"),
    (requests.exceptions.ProxyError(), "the proxy does not connect"),
    (requests.exceptions.RetryError("too many 502 error responses"), "it failed on each retry"),
    (requests.ConnectionError(), "no connection"),
    (requests.exceptions.ChunkedEncodingError(), "the request cannot be sent or its answer read"),
])  # fmt: skip
def test_a_host_that_does_not_answer(error: requests.RequestException, why: str) -> None:
    """People read why, not the name of an exception."""
    assert str(github_host._unreachable(error)) == f"GitHub does not answer ({why})"
    assert str(gitlab_host._unreachable(error)) == f"GitLab does not answer ({why})"


@pytest.mark.parametrize(("status", "words", "code", "sentence"), [
    (401, "words", "Forbidden", "the token may not do this (words)"),
    (403, "words", "Forbidden", "the token may not do this (words)"),
    (404, "words", "NotFound", "no such merge request, or the token does not see it (words)"),
    (429, "words", "RateLimited", "GitLab's rate limit is used up (words)"),
    *((status, "words", "Refused", "GitLab refuses the note (words)") for status in (400, 409, 413, 422)),
    (400, "note is too long", "TooLong", "GitLab refuses the note (note is too long)"),
    *((status, "words", "Unreachable", f"GitLab answers {status} (words)") for status in (402, 405, 410, 414, 423, 430, 500)),
    (500, "x" * 201, "Unreachable", f"GitLab answers 500 ({'x' * 200})"),
])  # fmt: skip
def test_what_gitlab_answers(status: int, words: str, code: str, sentence: str) -> None:
    """By its status, with 200 characters of its words."""
    assert told(gitlab_host._host_error(GitlabError(words, response_code=status))) == (code, sentence)


def test_how_github_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred a page, 15 s for an answer, three times more where a server fails, a minute at most for a rate limit."""
    asked: dict[str, Any] = {}
    monkeypatch.setattr(github, "GithubRetry", lambda **words: words)
    monkeypatch.setattr(github, "Github", lambda **words: asked.update(words))
    GitHubPullRequest("t0ken", "team/policies", 7)
    assert asked.pop("auth").token == "t0ken"
    assert asked == {
        "base_url": "https://api.github.com", "timeout": 15, "per_page": 100, "seconds_between_requests": 0,
        "seconds_between_writes": 1.0, "user_agent": "nodegroup-reconciler", "lazy": True,
        "retry": {
            "total": 3, "backoff_factor": 1.0, "secondary_rate_wait": 1.0, "max_rate_limit_wait": 60.0, "retry_after_max": 60,
        },
    }  # fmt: skip


def test_how_gitlab_is_asked() -> None:
    """A hundred a page, 15 s for an answer, again where a server fails, three times."""
    client = gitlab_host._client("t0ken", "https://gitlab.example.org")
    assert (client.per_page, client.timeout, client.retry_transient_errors, client.private_token) == (100, 15.0, True, "t0ken")
    assert gitlab_host._RETRIES == 3


def test_a_merge_request_of_a_list() -> None:
    """Of a fork where source and target are two projects, or the source is gone; a page only where one is told."""
    project = GitLabProject("t0ken", "42")
    item = {"iid": 7, "sha": "a" * 40, "target_branch": "main", "source_project_id": 42, "target_project_id": 42, "labels": ["x"]}
    expected = OpenRequest(number=7, head="a" * 40, ref="refs/merge-requests/7/head", branch="main", fork=False, labels=("x",))
    assert project._request({**item, "web_url": None}) == expected
    assert project._pages == {7: ""}
    assert project._request({**item, "web_url": "https://h/7"}) == expected
    assert project._pages == {7: "https://h/7"}
    for source in (None, 43):
        assert project._request({**item, "source_project_id": source}).fork


def test_all_pages_of_open_requests() -> None:
    """Thirty a page of these servers, whatever is asked for; what moved last comes first."""
    with hosts.github_host() as first, hosts.gitlab_host() as second:
        for host in (first, second):
            for number in range(1, 36):
                host.open(number, "a" * 40)
            host.open(36, "b" * 40, branch="other")
        found = (
            list(GitHubRepository(hosts.TOKEN, "team/policies", api_url=first.url, pause_seconds=0).open_requests("main")),
            list(GitLabProject(hosts.TOKEN, "42", url=second.url).open_requests("main")),
        )
    for requests_found in found:
        assert [request.number for request in requests_found] == list(range(35, 0, -1))


@pytest.mark.parametrize(("left", "quota"), [
    ((1, 1, 1_800_000_000), Quota(remaining=1, limit=1, reset_seconds=1_800_000_000)),
    ((0, 0, 1_800_000_000), None),
    (None, None),
])  # fmt: skip
def test_what_github_says_is_left(left: tuple[int, int, int] | None, quota: Quota | None) -> None:
    """A limit of nothing is none."""
    with hosts.github_host() as host:
        host.quota = left
        client = GitHubRepository(hosts.TOKEN, "team/policies", api_url=host.url, pause_seconds=0)
        assert list(client.open_requests("main")) == []
    assert client.quota() == quota


@pytest.mark.parametrize(("headers", "quota"), [
    (
        {"RateLimit-Remaining": "3", "RateLimit-Limit": "60", "RateLimit-Reset": "9"},
        Quota(remaining=3, limit=60, reset_seconds=9),
    ),
    ({"RateLimit-Remaining": "3", "RateLimit-Limit": "60"}, None),
    ({"RateLimit-Remaining": "3", "RateLimit-Limit": "60", "RateLimit-Reset": "soon"}, None),
    ({}, None),
])  # fmt: skip
def test_what_gitlab_says_is_left(headers: dict[str, str], quota: Quota | None) -> None:
    """All three figures, or it does not tell."""
    project = GitLabProject("t0ken", "42")
    answer: Any = SimpleNamespace(headers=headers)
    project._answered(answer)
    assert project.quota() == quota


def test_bounds_of_a_comment() -> None:
    """The longest marker and stamp that there may be leave the room that is promised; the far future begins 10^12 later."""
    assert (MOST_AHEAD, STAMP_ROOM) == (1_000_000_000_000, 400)
    longest = Message(key="k" * 100, digest="sha256:" + "1" * 64, head="f" * 64, base="f" * 32, order=10**18 - 1, markdown="")
    assert len(body(longest)) <= STAMP_ROOM
