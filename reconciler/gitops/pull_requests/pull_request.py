"""Which pull request a CI job runs for, from the variables that its host sets. Pure.

SOURCE: GitHub Actions' default variables and the event payload (`pull_request.number`, `pull_request.head.repo.fork`,
`GITHUB_REF=refs/pull/N/merge`), which Gitea and Forgejo set too, with an API below `/api/v1`. `merge_group.head_sha` is what a
merge queue will push. GitLab's predefined CI/CD variables (`CI_MERGE_REQUEST_IID`, …), those of Bitbucket Pipelines
(`BITBUCKET_PR_ID`, …) and Azure Pipelines (`SYSTEM_PULLREQUEST_…`).
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from urllib.parse import quote

import msgspec

from reconciler.gitops.pull_requests.approvals import ApprovalRule
from reconciler.values.decoding import decode
from reconciler.values.whole_number import whole_number

_PULL_REF = re.compile(r"refs/pull/(\d+)/(?:merge|head)")
_REPOSITORY = re.compile(r"(?!\.+/)[A-Za-z0-9_.-]+/(?!\.+$)[A-Za-z0-9_.-]+")


class HostKind(StrEnum):
    """Whose API is used."""

    GITHUB = "github"
    GITLAB = "gitlab"
    GITEA = "gitea"
    BITBUCKET_CLOUD = "bitbucket"
    BITBUCKET_SERVER = "bitbucket-server"
    AZURE = "azure"


class PullRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The place of comments. `number` 0: a merge queue, whose job is about the changes of several; its commit has a status alone.
    `repository` is `owner/name`, or the host's id of it; `url` is the address of the API. `order` grows
    with each run of the job. `fork`: the change comes from a fork, whose token may only read. `commit` is
    what gets the status: the head of the change, or what the host made by merging it. `change` is that head.
    `collection` is Azure's address above the project. `mark`: the commit gets a status too, which fails without
    the `approvals`."""

    kind: HostKind
    url: str
    repository: str
    number: int
    order: int
    token: str = ""
    web_url: str = ""
    fork: bool = False
    commit: str = ""
    change: str = ""
    collection: str = ""
    mark: bool = False
    approvals: tuple[ApprovalRule, ...] = ()


class NoPullRequestError(ValueError):
    """The job does not run for a pull request; the sentence states what is missing."""


class _Repository(msgspec.Struct, frozen=True):
    fork: bool = False


class _Head(msgspec.Struct, frozen=True):
    repo: _Repository | None = None
    sha: str = ""


class _Pull(msgspec.Struct, frozen=True):
    number: int
    head: _Head = _Head()


class _Group(msgspec.Struct, frozen=True):
    head_sha: str


class _Event(msgspec.Struct, frozen=True):
    pull_request: _Pull | None = None
    merge_group: _Group | None = None


def pull_request(environment: Mapping[str, str], event: bytes | None) -> PullRequest:
    """The pull request of this job; `event` is the content of GITHUB_EVENT_PATH. Raises `NoPullRequestError`."""
    if environment.get("GITHUB_ACTIONS") == "true":
        return _github(environment, event)
    if environment.get("GITLAB_CI") == "true":
        return _gitlab(environment)
    if environment.get("TF_BUILD", "").lower() == "true":
        return _azure(environment)
    if environment.get("BITBUCKET_REPO_SLUG"):
        return _bitbucket(environment)
    raise NoPullRequestError(
        "no known CI runs this (GITHUB_ACTIONS, also of Gitea and Forgejo, GITLAB_CI, BITBUCKET_REPO_SLUG, TF_BUILD)"
    )


def _azure(environment: Mapping[str, str]) -> PullRequest:
    number, collection = environment.get("SYSTEM_PULLREQUEST_PULLREQUESTID", ""), environment.get("SYSTEM_COLLECTIONURI", "")
    project, repository = environment.get("SYSTEM_TEAMPROJECT", ""), environment.get("BUILD_REPOSITORY_ID", "")
    if whole_number(number) is None or not (collection and project and repository):
        raise NoPullRequestError("this build is not for a pull request: let a build validation policy start it")
    above = collection.rstrip("/")
    return PullRequest(
        kind=HostKind.AZURE,
        url=f"{above}/{quote(project)}/_apis/git/repositories/{quote(repository)}",
        repository=repository,
        number=int(number),
        order=_order(environment.get("BUILD_BUILDID", ""), ""),
        token=environment.get("SYSTEM_ACCESSTOKEN", ""),
        web_url=f"{above}/{quote(project)}/_git/{quote(repository)}/pullrequest/{number}",
        fork=environment.get("SYSTEM_PULLREQUEST_ISFORK", "").lower() == "true",
        commit=environment.get("SYSTEM_PULLREQUEST_SOURCECOMMITID", ""),
        change=environment.get("SYSTEM_PULLREQUEST_SOURCECOMMITID", ""),
        collection=above,
    )


def _bitbucket(environment: Mapping[str, str]) -> PullRequest:
    """Data Center has no CI of its own: its job names the server, and the project as the workspace."""
    number, slug = environment.get("BITBUCKET_PR_ID", ""), environment.get("BITBUCKET_REPO_SLUG", "")
    workspace, server = environment.get("BITBUCKET_WORKSPACE", ""), environment.get("BITBUCKET_SERVER_URL", "").rstrip("/")
    if whole_number(number) is None or not workspace:
        raise NoPullRequestError("this build is not for a pull request: let it run below `pull-requests:` (BITBUCKET_PR_ID)")
    place = quote(workspace), quote(slug)
    api = environment.get("BITBUCKET_API_URL", "https://api.bitbucket.org/2.0")
    url = f"{api}/repositories/{place[0]}/{place[1]}"
    page = f"https://bitbucket.org/{place[0]}/{place[1]}/pull-requests/{number}"
    if server:
        url = f"{server}/rest/api/latest/projects/{place[0]}/repos/{place[1]}"
        page = f"{server}/projects/{place[0]}/repos/{place[1]}/pull-requests/{number}"
    return PullRequest(
        kind=HostKind.BITBUCKET_SERVER if server else HostKind.BITBUCKET_CLOUD,
        url=url,
        repository=f"{workspace}/{slug}",
        number=int(number),
        order=_order(environment.get("BITBUCKET_BUILD_NUMBER", ""), ""),
        token=environment.get("BITBUCKET_TOKEN", ""),
        web_url=page,
        commit=environment.get("BITBUCKET_COMMIT", ""),
        change=environment.get("BITBUCKET_COMMIT", ""),
    )


def _github(environment: Mapping[str, str], event: bytes | None) -> PullRequest:
    repository = environment.get("GITHUB_REPOSITORY", "")
    if not _REPOSITORY.fullmatch(repository):
        raise NoPullRequestError("GITHUB_REPOSITORY is not owner/name")
    request, group = None, None
    if event:
        try:
            found = decode(event, _Event)
            request, group = found.pull_request, found.merge_group
        except msgspec.MsgspecError:
            raise NoPullRequestError("the file of GITHUB_EVENT_PATH has an unexpected form") from None
    named = _PULL_REF.fullmatch(environment.get("GITHUB_REF", ""))
    number = request.number if request else int(named[1]) if named else 0
    if not number and group is None:
        raise NoPullRequestError("this run is not for a pull request: let the workflow run `on: pull_request`")
    commit = request.head.sha if request else group.head_sha if group else ""
    url = environment.get("GITHUB_API_URL", "https://api.github.com")
    gitea = url.rstrip("/").endswith("/api/v1")
    return PullRequest(
        kind=HostKind.GITEA if gitea else HostKind.GITHUB,
        url=f"{url.rstrip('/')}/repos/{repository}" if gitea else url,
        repository=repository,
        number=number,
        order=_order(environment.get("GITHUB_RUN_ID", ""), environment.get("GITHUB_RUN_ATTEMPT", "")),
        token=environment.get("GITHUB_TOKEN", ""),
        fork=bool(request and request.head.repo and request.head.repo.fork),
        commit=commit,
        change=commit,
    )


def _gitlab(environment: Mapping[str, str]) -> PullRequest:
    number, project = environment.get("CI_MERGE_REQUEST_IID", ""), environment.get("CI_PROJECT_ID", "")
    if whole_number(number) is None or not project:
        raise NoPullRequestError("this job is not for a merge request: let it run for merge_request_event")
    page = environment.get("CI_MERGE_REQUEST_PROJECT_URL", environment.get("CI_PROJECT_URL", ""))
    source = environment.get("CI_MERGE_REQUEST_SOURCE_PROJECT_ID", project)
    train = environment.get("CI_MERGE_REQUEST_EVENT_TYPE") == "merge_train"
    # A status joins the newest pipeline of its commit. The pipeline of this job is the one that keeps a merge request closed.
    commit = environment.get("CI_COMMIT_SHA", "")
    return PullRequest(
        kind=HostKind.GITLAB,
        url=environment.get("CI_SERVER_URL", "https://gitlab.com"),
        repository=environment.get("CI_MERGE_REQUEST_PROJECT_ID", project),
        number=0 if train else int(number),
        order=_order(environment.get("CI_PIPELINE_ID", ""), ""),
        token=environment.get("GITLAB_TOKEN", ""),
        web_url=f"{page}/-/merge_requests/{number}" if page else "",
        fork=source != environment.get("CI_MERGE_REQUEST_PROJECT_ID", project),
        commit=commit,
        change=environment.get("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", "") or commit,
    )


def job_order(environment: Mapping[str, str]) -> int | None:
    """The order of this job among all of its host; None outside of a job."""
    if environment.get("GITHUB_ACTIONS") == "true":
        return _order(environment.get("GITHUB_RUN_ID", ""), environment.get("GITHUB_RUN_ATTEMPT", ""))
    if environment.get("GITLAB_CI") == "true":
        return _order(environment.get("CI_PIPELINE_ID", ""), "")
    if environment.get("TF_BUILD", "").lower() == "true":
        return _order(environment.get("BUILD_BUILDID", ""), "")
    if environment.get("BITBUCKET_REPO_SLUG"):
        return _order(environment.get("BITBUCKET_BUILD_NUMBER", ""), "")
    return None


def _order(run: str, attempt: str) -> int:
    """Runs are numbered upwards; attempts of one run count inside it."""
    return (whole_number(run) or 0) * 1000 + (whole_number(attempt) or 0) % 1000
