"""`preview --comment` in a job of GitHub Actions and of GitLab CI, against local servers."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.gitops.pull_requests.job_outputs import annotations, output_text, summary_text
from reconciler.gitops.pull_requests.pull_request import HostKind, NoPullRequestError, pull_request
from reconciler.policy.place import Place
from reconciler.policy.problems.problem import Problem, Severity
from tests.gitops.conftest import Preview
from tests.gitops.hosts import READ_ONLY, TOKEN, Host, github_host, gitlab_host
from tests.gitops.repositories import GitRepo, group

GITHUB = {
    "GITHUB_ACTIONS": "true",
    "GITHUB_REPOSITORY": "team/policies",
    "GITHUB_REF": "refs/pull/7/merge",
    "GITHUB_RUN_ID": "100",
}
GITLAB = {"GITLAB_CI": "true", "CI_PROJECT_ID": "42", "CI_MERGE_REQUEST_IID": "7", "CI_PIPELINE_ID": "5"}


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    """A job for pull request 7 with a token that may write."""
    (tmp_path / "event.json").write_text(json.dumps({"pull_request": {"number": 7, "head": {"repo": {"fork": False}}}}))
    with github_host() as host:
        files = {"GITHUB_EVENT_PATH": "event.json", "GITHUB_STEP_SUMMARY": "summary.md", "GITHUB_OUTPUT": "output"}
        for name, value in {**GITHUB, "GITHUB_API_URL": host.url, "GITHUB_TOKEN": TOKEN}.items():
            monkeypatch.setenv(name, value)
        for name, value in files.items():
            monkeypatch.setenv(name, str(tmp_path / value))
        yield host


def outputs(path: Path) -> dict[str, str]:
    """What the next step sees."""
    return {found[1]: found[3] for found in re.finditer(r"(?ms)^([a-z-]+)<<(\S+)\n(.*?)\n\2$", path.read_text())}


def change(repo: GitRepo) -> None:
    """A branch with another minimum."""
    repo.branch("change")
    repo.commit({"policies/general.yaml": group("general").replace("min: 1", "min: 4")})


def test_comment_summary_and_outputs(repo: GitRepo, preview: Preview, job: Host, tmp_path: Path):
    """Written, found and left alone; the summary is the same preview; outputs name it."""
    change(repo)
    result = preview("--base", "main", "--comment")
    assert result.code == 0
    assert "comment written https://github.example.org/team/policies/pull/7#issuecomment-1" in result.err
    text = job.comments[0]["body"]
    assert text.startswith("<!-- reconciler-preview small -->\n<!-- reconciler-stamp digest=sha256:")
    assert "general" in text
    assert (tmp_path / "summary.md").read_text() in text + "\n"
    told = outputs(tmp_path / "output")
    assert told["has-changes"] == "true"
    assert told["summary"].startswith("Plan: 1 group up (+2 nodes)")
    assert told["comment-url"].endswith("issuecomment-1")
    assert "left alone: nothing changed" in preview("--base", "main", "--comment").err
    assert len(job.writes()) == 1


def test_what_does_not_reach_the_policies_is_told_only_where_something_was(repo: GitRepo, preview: Preview, job: Host):
    """A workflow that runs for every pull request, whatever files it changes, writes on those of other files nothing."""
    repo.branch("change")
    repo.commit({"README.md": "words\n"})
    assert "no comment was written: the change does not reach the policies" in preview("--base", "main", "--comment").err
    assert job.comments == []
    repo.commit({"policies/general.yaml": group("general").replace("min: 1", "min: 4")})
    preview("--base", "main", "--comment")
    repo.commit({"policies/general.yaml": group("general")})
    assert "comment updated" in preview("--base", "main", "--comment").err
    assert "neither the policy nor the decision differs" in job.comments[0]["body"]


def test_a_pull_request_that_goes_into_another_branch_now(repo: GitRepo, preview: Preview, job: Host):
    """It was opened against a branch of its author, where its policies stand already; the comment does not outlive that."""
    change(repo)
    repo.git("branch", "forged")
    repo.commit({"policies/quiet.yaml": "# words\n" + group("quiet")})
    assert "comment written" in preview("--base", "forged", "--comment").err
    assert "main: `forged at" in job.comments[0]["body"]
    assert "## No effect: neither the policy nor the decision differs" in job.comments[0]["body"]
    assert "comment updated" in preview("--base", "main", "--comment").err
    assert "main: `main at" in job.comments[0]["body"]
    assert "## `general` keeps at least `4 nodes` (was `1`): `general` 2 -> 4 nodes" in job.comments[0]["body"]


def test_a_base_that_moved_is_named_although_nothing_else_is(repo: GitRepo, preview: Preview, job: Host):
    change(repo)
    preview("--base", "main", "--comment")
    repo.git("switch", "--quiet", "main")
    base = repo.commit({"policies/quiet.yaml": "# words\n" + group("quiet")})
    assert "comment updated" in preview("--base", "main", "--head", "change", "--comment").err
    assert f"main: `main at {base[:12]}`" in job.comments[0]["body"]
    assert "merged into main" in job.comments[0]["body"]


def test_a_conflict_is_told_on_the_pull_request(repo: GitRepo, preview: Preview, job: Host, tmp_path: Path):
    """Other files that conflict are told in the job, and on the pull request only where something was told."""
    change(repo)
    repo.commit({"src": "a"})
    repo.git("switch", "--quiet", "main")
    repo.commit({"src": "b"})
    result = preview("--base", "main", "--head", "change", "--comment")
    assert (result.code, outputs(tmp_path / "output")["has-changes"]) == (3, "true")
    text = job.comments[0]["body"]
    assert "## This change cannot be merged: 1 conflict" in text
    assert "src:1:1: error: both sides changed it" in text
    job.comments.clear()
    repo.git("branch", "--force", "change", "main~1")
    repo.git("switch", "--quiet", "change")
    repo.commit({"src": "c"})
    result = preview("--base", "main", "--head", "change", "--comment")
    assert (result.code, "the change does not reach the policies" in result.err) == (3, True)


def test_policy_that_cannot_be_used(repo: GitRepo, preview: Preview, job: Host, tmp_path: Path):
    """The comment says why, the lines are annotated, the exit code is 1."""
    repo.branch("change")
    repo.commit({"policies/general.yaml": group("general").replace("max: 5", "max: 0")})
    result = preview("--base", "main", "--comment")
    assert result.code == 1
    assert "::error file=policies/general.yaml,line=8,endLine=8,col=10," in result.err
    assert "## This policy cannot be used: 1 error" in job.comments[0]["body"]
    assert outputs(tmp_path / "output")["summary"] == "This policy cannot be used: 1 error."


@pytest.mark.parametrize("token", [READ_ONLY, None])
def test_fork(repo: GitRepo, preview: Preview, job: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, token: str | None):
    """With a token that only reads, or none: said, not failed, and everything else is there."""
    (tmp_path / "event.json").write_text(json.dumps({"pull_request": {"number": 7, "head": {"repo": {"fork": True}}}}))
    if token is None:
        monkeypatch.delenv("GITHUB_TOKEN")
    else:
        monkeypatch.setenv("GITHUB_TOKEN", token)
    change(repo)
    result = preview("--base", "main", "--comment", "--detailed-exitcode")
    assert (result.code, job.comments) == (2, [])
    assert "no comment was written" in result.err
    assert "forks" in result.err
    assert "general" in (tmp_path / "summary.md").read_text()
    assert outputs(tmp_path / "output")["comment-url"] == ""


def test_other_failures_fail(repo: GitRepo, preview: Preview, job: Host, monkeypatch: pytest.MonkeyPatch):
    """A pull request that is not there is no matter of rights."""
    monkeypatch.setenv("GITHUB_REPOSITORY", "team/other")
    change(repo)
    result = preview("--base", "main", "--comment")
    assert result.code == 1
    assert "error: --comment: no such pull request" in result.err
    assert "general" in result.out


def test_large_preview_keeps_within_the_limit(repo: GitRepo, preview: Preview, job: Host):
    """Hundreds of new groups: detail is dropped, what matters is there, the host takes it."""
    repo.branch("change")
    repo.commit({f"policies/g{number:03}.yaml": group(f"g{number:03}") for number in range(900)})
    assert preview("--base", "main", "--comment").code == 0
    text = job.comments[0]["body"]
    assert 20_000 < len(text) <= 65_536
    assert text.rstrip().splitlines()[-1].startswith("<sub>")


def test_gitlab_job(repo: GitRepo, preview: Preview, monkeypatch: pytest.MonkeyPatch):
    """A note on the merge request."""
    with gitlab_host() as host:
        page = "https://gitlab.example.org/team/policies"
        for name, value in {**GITLAB, "CI_SERVER_URL": host.url, "GITLAB_TOKEN": TOKEN, "CI_PROJECT_URL": page}.items():
            monkeypatch.setenv(name, value)
        change(repo)
        result = preview("--base", "main", "--comment", "--comment-key", "prod")
        assert (result.code, len(host.comments)) == (0, 1)
        assert f"comment written {page}/-/merge_requests/7#note_1" in result.err
        assert host.comments[0]["body"].startswith("<!-- reconciler-preview prod -->")


@pytest.mark.parametrize(("environment", "told"), [
    ({}, "no known CI runs this"), ({**GITHUB, "GITHUB_TOKEN": ""}, "GITHUB_TOKEN"),
    ({**GITHUB, "GITHUB_REF": "refs/heads/main"}, "on: pull_request"), ({**GITHUB, "GITHUB_REPOSITORY": "../x"}, "not owner"),
    ({**GITLAB, "CI_MERGE_REQUEST_IID": ""}, "merge_request_event"), (GITLAB, "GITLAB_TOKEN"),
])  # fmt: skip
def test_no_pull_request(preview: Preview, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], told: str):
    """Said before any work, with what is missing."""
    for name in ("GITHUB_TOKEN", "GITLAB_TOKEN", "GITHUB_ACTIONS", "GITLAB_CI", "GITHUB_EVENT_PATH"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    result = preview("--base", "main", "--comment")
    assert (result.code, result.out) == (1, "")
    assert told in result.err


def test_job_variables():
    """The event wins over the ref; runs and their attempts are ordered; a fork is seen."""
    event = json.dumps({"pull_request": {"number": 9, "head": {"repo": {"fork": True}}}}).encode()
    found = pull_request({**GITHUB, "GITHUB_RUN_ATTEMPT": "2"}, event)
    assert (found.kind, found.number, found.order, found.fork) == (HostKind.GITHUB, 9, 100_002, True)
    assert pull_request(GITHUB, None).number == 7
    assert pull_request({**GITLAB, "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "43"}, None).fork
    with pytest.raises(NoPullRequestError, match="unexpected form"):
        pull_request(GITHUB, b"[]")


def test_annotations_are_counted():
    """Ten of a severity are shown by the host; of more, nine and a line that counts the others."""
    problems = tuple(Problem(place=Place("a.yaml", line, 1), code="X", message="m") for line in range(1, 26))
    warning = Problem(place=Place("a.yaml", 1, 1), code="X", message="m", severity=Severity.WARNING)
    lines = annotations((*problems, warning)).splitlines()
    assert [line.split(" ")[0] for line in lines] == ["::error"] * 9 + ["::warning", "::notice"]
    assert "16 more problems" in lines[-1]
    assert len(annotations(problems[:10]).splitlines()) == 10


def test_outputs_cannot_be_forged():
    """A value with line breaks and assignments stays one value; one with the delimiter is refused."""
    written = output_text({"summary": "a\nhas-changes=true\nx<<EOF"}, "d3l1m")
    assert written == "summary<<d3l1m\na\nhas-changes=true\nx<<EOF\nd3l1m\n"
    with pytest.raises(ValueError, match="delimiter"):
        output_text({"summary": "d3l1m"}, "d3l1m")


def test_summary_within_its_bytes():
    """Characters of several bytes count as the host counts them; lines are whole."""
    text = summary_text("\u00fc" * 99 + "\n" + ("\u00fc" * 99 + "\n") * 10_000)
    assert len(text.encode()) <= 1 << 20
    assert set(text.splitlines()) == {"\u00fc" * 99}
