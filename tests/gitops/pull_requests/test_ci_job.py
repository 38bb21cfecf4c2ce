"""Which pull request a CI job runs for, by the variables that each CI documents."""

import json

import msgspec
import pytest

from reconciler.gitops.pull_requests.pull_request import HostKind, NoPullRequestError, PullRequest, pull_request

GITHUB = {
    "GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": "ada/policies", "GITHUB_REF": "refs/pull/7/merge", "GITHUB_RUN_ID": "123",
    "GITHUB_RUN_ATTEMPT": "2", "GITHUB_TOKEN": "t0ken", "GITHUB_API_URL": "https://github.example/api/v3",
}  # fmt: skip
GITLAB = {
    "GITLAB_CI": "true", "CI_MERGE_REQUEST_IID": "7", "CI_PROJECT_ID": "42", "CI_MERGE_REQUEST_PROJECT_ID": "42",
    "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "42", "CI_SERVER_URL": "https://gitlab.example", "CI_PIPELINE_ID": "99",
    "CI_MERGE_REQUEST_PROJECT_URL": "https://gitlab.example/ada/policies", "GITLAB_TOKEN": "t0ken",
}  # fmt: skip
OF_GITHUB = PullRequest(
    kind=HostKind.GITHUB, url="https://github.example/api/v3", repository="ada/policies", number=7, order=123_002, token="t0ken"
)
OF_GITLAB = PullRequest(
    kind=HostKind.GITLAB, url="https://gitlab.example", repository="42", number=7, order=99_000, token="t0ken",
    web_url="https://gitlab.example/ada/policies/-/merge_requests/7",
)  # fmt: skip


BITBUCKET = {
    "BITBUCKET_WORKSPACE": "ada", "BITBUCKET_REPO_SLUG": "policies", "BITBUCKET_PR_ID": "7", "BITBUCKET_BUILD_NUMBER": "5",
    "BITBUCKET_COMMIT": "a" * 40, "BITBUCKET_TOKEN": "t0ken",
}  # fmt: skip
AZURE = {
    "TF_BUILD": "True", "SYSTEM_COLLECTIONURI": "https://dev.azure.com/ada/", "SYSTEM_TEAMPROJECT": "node groups",
    "BUILD_REPOSITORY_ID": "1d-2e", "SYSTEM_PULLREQUEST_PULLREQUESTID": "7", "BUILD_BUILDID": "5", "SYSTEM_ACCESSTOKEN": "t0ken",
    "SYSTEM_PULLREQUEST_ISFORK": "False", "SYSTEM_PULLREQUEST_SOURCECOMMITID": "a" * 40,
}  # fmt: skip


@pytest.mark.parametrize(
    ("environment", "kind", "url", "page"),
    [
        (
            {**GITHUB, "GITHUB_API_URL": "https://git.example/api/v1"},
            HostKind.GITEA, "https://git.example/api/v1/repos/ada/policies", "",
        ),
        (
            BITBUCKET,
            HostKind.BITBUCKET_CLOUD, "https://api.bitbucket.org/2.0/repositories/ada/policies",
            "https://bitbucket.org/ada/policies/pull-requests/7",
        ),
        (
            {**BITBUCKET, "BITBUCKET_SERVER_URL": "https://git.example/"},
            HostKind.BITBUCKET_SERVER, "https://git.example/rest/api/latest/projects/ada/repos/policies",
            "https://git.example/projects/ada/repos/policies/pull-requests/7",
        ),
        (
            AZURE,
            HostKind.AZURE, "https://dev.azure.com/ada/node%20groups/_apis/git/repositories/1d-2e",
            "https://dev.azure.com/ada/node%20groups/_git/1d-2e/pullrequest/7",
        ),
    ],
)  # fmt: skip
def test_variables_of_other_hosts(environment: dict[str, str], kind: HostKind, url: str, page: str) -> None:
    found = pull_request(environment, None)
    assert (found.kind, found.url, found.web_url, found.number, found.token, found.fork) == (kind, url, page, 7, "t0ken", False)


def _event(fork: bool | None = None, number: int = 9) -> bytes:
    head = {"repo": None if fork is None else {"fork": fork}}
    return json.dumps({"pull_request": {"number": number, "head": head}}).encode()


@pytest.mark.parametrize(
    ("event", "changes"),
    [
        (None, {}),
        (b"", {}),
        (b"{}", {}),
        (_event(), {"number": 9}),
        (_event(False), {"number": 9}),
        (_event(True), {"number": 9, "fork": True}),
    ],
)
def test_a_run_of_github_actions(event: bytes | None, changes: dict[str, object]) -> None:
    """By the event where there is one, else by the ref; a head whose repository has gone is taken for no fork."""
    assert pull_request(GITHUB, event) == msgspec.structs.replace(OF_GITHUB, **changes)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"GITHUB_API_URL": None}, {"url": "https://api.github.com"}),
        ({"GITHUB_REF": "refs/pull/12/head"}, {"number": 12}),
        ({"GITHUB_RUN_ID": None}, {"order": 2}),
        ({"GITHUB_RUN_ID": "x", "GITHUB_RUN_ATTEMPT": "x"}, {"order": 0}),
        ({"GITHUB_RUN_ATTEMPT": None}, {"order": 123_000}),
        ({"GITHUB_RUN_ATTEMPT": "1001"}, {"order": 123_001}),
        ({"GITHUB_TOKEN": None}, {"token": ""}),
        ({"GITLAB_CI": "true"}, {}),
    ],
)
def test_variables_of_github(changes: dict[str, str | None], expected: dict[str, object]) -> None:
    """What is not set has its documented value; a later run or attempt has a higher order."""
    environment = {name: value for name, value in {**GITHUB, **changes}.items() if value is not None}
    assert pull_request(environment, None) == msgspec.structs.replace(OF_GITHUB, **expected)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {}),
        ({"CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "43"}, {"fork": True}),
        ({"CI_MERGE_REQUEST_SOURCE_PROJECT_ID": None}, {}),
        ({"CI_PROJECT_ID": "43"}, {}),
        ({"CI_MERGE_REQUEST_PROJECT_ID": None}, {}),
        ({"CI_MERGE_REQUEST_PROJECT_ID": None, "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": None}, {}),
        ({"CI_SERVER_URL": None}, {"url": "https://gitlab.com"}),
        ({"CI_MERGE_REQUEST_PROJECT_URL": None}, {"web_url": ""}),
        ({"CI_MERGE_REQUEST_PROJECT_URL": None, "CI_PROJECT_URL": "https://g/x"}, {"web_url": "https://g/x/-/merge_requests/7"}),
        ({"CI_PIPELINE_ID": "x"}, {"order": 0}),
    ],
)
def test_variables_of_gitlab(changes: dict[str, str | None], expected: dict[str, object]) -> None:
    """The project that is merged into has the comment, whichever runs the job."""
    environment = {name: value for name, value in {**GITLAB, **changes}.items() if value is not None}
    assert pull_request(environment, None) == msgspec.structs.replace(OF_GITLAB, **expected)


def test_a_merge_queue_of_github() -> None:
    """The group has no number; its commit gets the status. The ref of a group is that of a branch."""
    event = json.dumps({"action": "checks_requested", "merge_group": {"head_sha": "a" * 40, "base_sha": "b" * 40}}).encode()
    environment = {**GITHUB, "GITHUB_REF": "refs/heads/gh-readonly-queue/main/pr-7-" + "b" * 40}
    expected = msgspec.structs.replace(OF_GITHUB, number=0, commit="a" * 40, change="a" * 40)
    assert pull_request(environment, event) == expected


MERGED, SOURCE = {"CI_COMMIT_SHA": "c" * 40}, {"CI_MERGE_REQUEST_SOURCE_BRANCH_SHA": "a" * 40}


@pytest.mark.parametrize(
    ("changes", "number", "commit", "change"),
    [
        ({**MERGED, "CI_MERGE_REQUEST_EVENT_TYPE": "detached"}, 7, "c", "c"),
        ({**MERGED, **SOURCE, "CI_MERGE_REQUEST_EVENT_TYPE": "merged_result"}, 7, "c", "a"),
        ({**MERGED, **SOURCE, "CI_MERGE_REQUEST_EVENT_TYPE": "merge_train"}, 0, "c", "a"),
    ],
)
def test_pipelines_of_merge_requests(changes: dict[str, str], number: int, commit: str, change: str) -> None:
    """The status goes to the commit of the pipeline, approvals to the head of the change; a train has no merge request."""
    found = pull_request({**GITLAB, **changes}, None)
    assert (found.number, found.commit, found.change) == (number, commit * 40, change * 40)


@pytest.mark.parametrize(
    ("environment", "event", "told"),
    [
        ({}, None, "no known CI runs this"),
        ({"GITHUB_ACTIONS": "false", "GITLAB_CI": "1"}, None, "no known CI runs this"),
        ({**GITHUB, "GITHUB_REPOSITORY": "policies"}, None, "GITHUB_REPOSITORY is not owner/name"),
        ({**GITHUB, "GITHUB_REPOSITORY": "../x"}, None, "GITHUB_REPOSITORY is not owner/name"),
        ({**GITHUB, "GITHUB_REPOSITORY": "ada/.."}, None, "GITHUB_REPOSITORY is not owner/name"),
        ({**GITHUB, "GITHUB_REF": "refs/heads/main"}, None, "this run is not for a pull request"),
        ({**BITBUCKET, "BITBUCKET_PR_ID": ""}, None, "this build is not for a pull request"),
        ({**AZURE, "SYSTEM_PULLREQUEST_PULLREQUESTID": ""}, None, "this build is not for a pull request"),
        (GITHUB, b"[]", "the file of GITHUB_EVENT_PATH has an unexpected form"),
        ({**GITLAB, "CI_MERGE_REQUEST_IID": "x"}, None, "this job is not for a merge request"),
        ({**GITLAB, "CI_MERGE_REQUEST_IID": ""}, None, "this job is not for a merge request"),
        ({**GITLAB, "CI_PROJECT_ID": ""}, None, "this job is not for a merge request"),
    ],
)
def test_jobs_that_run_for_none(environment: dict[str, str], event: bytes | None, told: str) -> None:
    with pytest.raises(NoPullRequestError, match=told):
        pull_request(environment, event)
