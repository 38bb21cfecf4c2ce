"""A pull request cannot bring the snapshot that it is judged by."""

import json
from pathlib import Path

import pytest

from tests.gitops.conftest import Preview, Result
from tests.gitops.hosts import TOKEN, Host, github_host
from tests.gitops.random_previews import first_words
from tests.gitops.repositories import BASE, GitRepo, group, write_cluster

GOOD = group("general")


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    """`main` with policies and the small cluster beside them, and a branch `change` with room for more."""
    found = GitRepo(tmp_path / "repo")
    captured = write_cluster(tmp_path / "captured")
    found.commit({**BASE, **{f"snapshot/{file.name}": file.read_bytes() for file in captured.iterdir()}})
    found.branch("change")
    found.commit({"policies/general.yaml": GOOD.replace("min: 1", "min: 4")})
    return found


@pytest.fixture
def call(repo: GitRepo, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Preview:
    from reconciler.cli.main import cli
    from reconciler.cli.outputs.failure import guarded

    monkeypatch.chdir(repo.root)

    def run(*argv: object) -> Result:
        code = guarded(cli, ["preview", "--base", "main", "--head", "change", *(str(word) for word in argv)])
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return run


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "event.json").write_text(json.dumps({"pull_request": {"number": 7, "head": {"repo": {"fork": False}}}}))
    with github_host() as host:
        values = {
            "GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": "team/policies", "GITHUB_REF": "refs/pull/7/merge",
            "GITHUB_RUN_ID": "100", "GITHUB_API_URL": host.url, "GITHUB_TOKEN": TOKEN,
            "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
        }  # fmt: skip
        for name, value in values.items():
            monkeypatch.setenv(name, value)
        yield host


def lighter(repo: GitRepo) -> None:
    """The change also takes a node out of the snapshot."""
    path = repo.root / "snapshot" / "all.json"
    content = json.loads(path.read_text())
    content["items"] = [item for item in content["items"] if item["metadata"]["name"] != "quiet-1"]
    repo.commit({"snapshot/all.json": json.dumps(content)})


def test_the_snapshot_of_the_base_counts(repo: GitRepo, call: Preview):
    """Whatever the change makes of it, both decisions meet the base's, and that is said in every format."""
    before = json.loads(call("--cluster-in-base", "snapshot", "-o", "json").out)
    lighter(repo)
    after = json.loads(call("--cluster-in-base", "snapshot", "-o", "json").out)
    assert after["decision"] == before["decision"]
    assert (before["snapshot"]["changed"], after["snapshot"]["changed"]) == (False, True)
    assert after["snapshot"]["digest"] == before["snapshot"]["digest"]
    assert after["digest"] != before["digest"]  # so that a comment that is there already is written anew
    for output in ("text", "markdown", "html"):
        told = call("--cluster-in-base", "snapshot", "-o", output).out
        assert "This change also brings another snapshot of the cluster" in " ".join(told.split())


def test_the_comment_names_digest_and_age(repo: GitRepo, call: Preview, job: Host):
    """Which snapshot, how old by the clock of the job, and the alarm first."""
    lighter(repo)
    assert call("--cluster-in-base", "snapshot", "--comment").code == 0
    body = job.comments[0]["body"]
    digest = json.loads(call("--cluster-in-base", "snapshot", "-o", "json").out)["snapshot"]["digest"]
    assert body.split("\n")[2:4] == ["> [!WARNING]", body.split("\n")[3]]
    assert "brings another snapshot" in body.split("\n")[3]
    assert f"`{digest[:23]}` `captured 2026-11-21T18:00:00Z` " in body.replace("</sub>\n<sub>", " ")
    assert " before this run`" in body
    assert "`general` 2 4 nodes" in first_words(body), "the alarm leaves room for the effect"


def test_a_merge_into_main_is_not_the_changes_doing(repo: GitRepo, call: Preview):
    """A newer snapshot on main is no change of the branch that left before."""
    repo.git("switch", "--quiet", "main")
    lighter(repo)
    seen = json.loads(call("--cluster-in-base", "snapshot", "-o", "json").out)["snapshot"]
    assert (seen["changed"], seen["revision"]) == (False, repo.git("rev-parse", "main"))


@pytest.mark.parametrize(
    "words", [("--cluster", "snapshot"), ("--cluster", "linked"), ("--cluster-in-base", "snapshot", "--replay", "snapshot")]
)
def test_a_file_of_the_checkout_is_refused_for_a_comment(repo: GitRepo, call: Preview, job: Host, words: tuple[str, ...]):
    """Whatever lies in the work tree, or behind a link in it, may be of the change."""
    (repo.root / "linked").symlink_to(repo.root.parent / "captured")
    found = call(*words, "--comment")
    assert (found.code, job.comments) == (1, [])
    assert "it is in the checkout, where the change under review may have written it" in found.err


def test_an_artifact_outside_of_the_checkout_is_read(repo: GitRepo, call: Preview, job: Host):
    """What the pipeline itself brought."""
    assert call("--cluster", repo.root.parent / "captured", "--comment").code == 0


@pytest.mark.parametrize(("mode", "told"), [("120000", "a symbolic link"), ("160000", "of mode 160000")])
def test_a_link_is_not_followed(repo: GitRepo, call: Preview, mode: str, told: str):
    """In the snapshot of the base, and as the snapshot itself: a refusal that shows nothing of what it points at."""
    target = "1" * 40 if mode == "160000" else repo.blob(b"/etc/hostname")
    inner = repo.tree(("100644", b"a.json", repo.blob(b"{}")), (mode, b"node.json", target))
    policies = ("40000", b"policies", repo.git("rev-parse", "main:policies"))
    for number, entry in enumerate([("40000", b"snapshot", inner), (mode, b"snapshot", target)]):
        repo.git("update-ref", "refs/heads/main", repo.commit_tree(repo.tree(policies, entry), branch=f"linked-{number}"))
        found = call("--cluster-in-base", "snapshot", "--base-tip")
        assert (found.code, found.out) == (1, "")
        assert f"is {told} and is not followed" in found.err


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("nowhere", "is used once it is merged"),
        ("../x", "cannot leave"),
        (".", "put the snapshot in its own directory"),
        ("/etc", "is absolute"),
        ("policies", "nothing in the snapshot says when it was taken"),
    ],
)
def test_a_place_without_a_snapshot(call: Preview, path: str, told: str):
    """A sentence, and no decision."""
    found = call("--cluster-in-base", path)
    assert (found.code, found.out) == (1, "")
    assert told in found.err
