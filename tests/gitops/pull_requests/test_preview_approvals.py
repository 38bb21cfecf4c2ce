"""`preview --comment --status --approval` in a job: the status fails until somebody named approves the head."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.cli.processes.fleet_preview import _grades
from reconciler.gitops.pull_requests.comment import HostCode, HostError
from reconciler.plan.fleet import ClusterOutcome, ClusterState, FleetPreview
from reconciler.plan.preview import PreviewSide
from reconciler.rendering.documents.preview.consequences.consequence import Grade
from tests.gitops.conftest import Preview
from tests.gitops.hosts import READ_ONLY, TOKEN, Host, github_host
from tests.gitops.repositories import POLICY, GitRepo, group

HEAD = "c" * 40
RULE = ("--comment", "--status", "--approval", "caution=alice,bob")


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    """A job of GitHub for pull request 7 of mallory."""
    (tmp_path / "event.json").write_text(json.dumps({"pull_request": {"number": 7, "head": {"sha": HEAD}}}))
    with github_host() as host:
        host.push(HEAD)
        variables = {
            "GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": "team/policies", "GITHUB_RUN_ID": "100", "GITHUB_API_URL": host.url,
            "GITHUB_TOKEN": TOKEN, "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
        }  # fmt: skip
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        yield host


def change(repo: GitRepo, mode: str = "Observe") -> None:
    """A change with a caution: what main writes is only observed."""
    repo.branch("change")
    repo.commit({"policies/prod.yaml": POLICY.replace("Enforce", mode), "policies/more.yaml": group("more")})


def test_a_caution_needs_one_of_the_named(repo: GitRepo, preview: Preview, job: Host):
    """The status and the comment say it in one line; with the approval both say so."""
    change(repo)
    result = preview("--base", "main", *RULE)
    assert result.code == 0
    (status,) = job.pulls
    assert status["state"] == "failure"
    assert status["description"].startswith("needs an approval of alice or bob: ")
    assert "caution" in status["description"]
    assert job.comments[0]["body"].split("\n")[2] == f"Approvals: `{status['description']}`"
    job.review("alice", "changes")
    job.review("mallory")
    job.review("carol")
    preview("--base", "main", *RULE)
    assert job.pulls[-1]["state"] == "failure"
    job.review("alice")
    result = preview("--base", "main", *RULE)
    assert job.pulls[-1]["state"] == "success"
    assert not job.pulls[-1]["description"].startswith("needs")
    assert "Approvals: `approved by alice: " in job.comments[0]["body"]
    assert "approvals: approved by alice" in result.err
    job.push("d" * 40)
    assert len(job.comments) == 1


def test_no_consequence_of_the_grade_needs_no_approval(repo: GitRepo, preview: Preview, job: Host):
    """Nor is the host asked."""
    repo.branch("change")
    repo.commit({"policies/general.yaml": group("general").replace("max: 5", "max: 4")})
    preview("--base", "main", *RULE)
    assert job.pulls[-1]["state"] == "success"
    assert "Approvals" not in job.comments[0]["body"]
    assert not [line for line in job.requests if "reviews" in line]


def test_a_policy_without_a_base_needs_every_approval(repo: GitRepo, preview: Preview, job: Host):
    """Where nothing can be compared, the consequences are not known."""
    repo.git("rm", "-q", "-r", "policies")
    repo.commit({"README.md": "none yet"})
    repo.branch("change")
    repo.commit({"policies/prod.yaml": POLICY, "policies/general.yaml": group("general")})
    preview("--base", "main", *RULE)
    assert job.pulls[-1]["description"] == "needs an approval of alice or bob: its consequences are not known"


def test_a_policy_that_cannot_be_used_says_so_first(repo: GitRepo, preview: Preview, job: Host):
    repo.branch("change")
    repo.commit({"policies/general.yaml": group("general").replace("max: 5", "max: 0")})
    preview("--base", "main", *RULE)
    assert (job.pulls[-1]["state"], job.pulls[-1]["description"]) == ("failure", "This policy cannot be used: 1 error.")


def test_approvals_that_cannot_be_read(repo: GitRepo, preview: Preview, job: Host, monkeypatch: pytest.MonkeyPatch):
    """The status fails and says why; the comment is written."""
    monkeypatch.setattr("time.sleep", lambda _: None)
    change(repo)
    job.review("alice")
    job.failures = [(403, {}, "Resource not accessible by integration")]
    preview("--base", "main", *RULE)
    assert job.pulls[-1]["state"] == "failure"
    assert job.pulls[-1]["description"].startswith("cannot read approvals: the token may not do this")
    assert len(job.comments) == 1


def test_a_status_is_set_although_no_comment_is(repo: GitRepo, preview: Preview, job: Host, monkeypatch: pytest.MonkeyPatch):
    """A head that was approved before is not left with the status of then."""

    def create(*_: object) -> None:
        raise HostError(HostCode.REFUSED, "words")

    change(repo)
    monkeypatch.setattr("reconciler.gitops.pull_requests.github.GitHubPullRequest.create", create)
    result = preview("--base", "main", *RULE)
    assert result.code == 1
    assert job.pulls[-1]["state"] == "failure"


def test_a_job_that_cannot_set_the_status_fails(repo: GitRepo, preview: Preview, job: Host, monkeypatch: pytest.MonkeyPatch):
    """Without `--approval`, that is a line in the log."""
    change(repo)
    monkeypatch.setattr(
        "reconciler.gitops.pull_requests.github.GitHubPullRequest.set_status",
        lambda client, status: type(client)(READ_ONLY, "team/policies", 7, api_url=job.url, pause_seconds=0).create("x"),
    )
    assert preview("--base", "main", "--comment", "--status").code == 0
    result = preview("--base", "main", *RULE)
    assert result.code == 1
    assert "error: --approval: no commit status was set: the token may not do this" in result.err


def test_a_merge_queue_has_a_status_and_no_comment(repo: GitRepo, preview: Preview, job: Host, tmp_path: Path):
    """On the commit of the group. Its changes have their approvals: nobody is asked again, and a policy in error fails."""
    change(repo)
    (tmp_path / "event.json").write_text(json.dumps({"merge_group": {"head_sha": "e" * 40, "base_sha": "d" * 40}}))
    result = preview("--base", "main", *RULE)
    assert result.code == 0
    assert "no comment was written: this is a merge queue" in result.err
    assert (job.comments, job.pulls[-1]["state"]) == ([], "success")
    assert job.writes() == [f"POST /repos/team/policies/statuses/{'e' * 40}"]
    repo.commit({"policies/general.yaml": group("general").replace("max: 5", "max: 0")})
    assert preview("--base", "main", *RULE).code == 1
    assert job.pulls[-1]["state"] == "failure"


@pytest.mark.parametrize(("words", "told"), [
    (["--approval", "caution=alice"], "--approval goes with --comment --status"),
    (["--comment", "--approval", "caution=alice"], "--approval goes with --comment --status"),
    (["--comment", "--status", "--approval", "note=alice"], "invalid grade 'note'"),
])  # fmt: skip
def test_rules_that_cannot_be_used(preview: Preview, job: Host, words: list[str], told: str):
    """Said before any work."""
    result = preview("--base", "main", *words)
    assert (result.code, result.out) == (1, "")
    assert told in result.err


@pytest.mark.parametrize(("states", "cautions"), [
    (["SAME", "NO_POLICY"], 0), (["LEFT", "SAME", "LEFT"], 2), (["LEFT", "UNREADABLE"], None), (["REFUSED"], None),
])  # fmt: skip
def test_grades_of_a_fleet(states: list[str], cautions: int | None):
    """A cluster without a policy from now on is a caution; one that is not known leaves all unknown."""
    side = PreviewSide(source="main")
    clusters = tuple(ClusterOutcome(cluster=f"c{number}", state=ClusterState[state]) for number, state in enumerate(states))
    found = _grades(FleetPreview(base=side, head=side, source="snapshots", clusters=clusters))
    assert (None if found is None else found[Grade.CAUTION]) == cautions
