"""`reconciler previewer`: open pull requests of a local host, a real git server, a cluster; comments are all it keeps."""

import json
from pathlib import Path

import pytest

from reconciler.control.previewer import Done, Forks
from reconciler.gitops.pull_requests.comment import standing
from reconciler.gitops.pull_requests.github import GitHubPullRequest
from tests.gitops.hosts import READ_ONLY, TOKEN
from tests.gitops.previewing import MINUTE, MORE, NOW, Place, Run, github, place
from tests.gitops.repositories import POLICY, group

__all__ = ["github", "place"]


def test_written_updated_and_left_alone(place: Place, cluster: Path):
    """A change is told, the next push updates the comment, one that comes to the same is left alone."""
    run = Run(place, cluster)
    place.push(7, MORE)
    assert run.round() == [(7, Done.CREATED)]
    assert [comment["body"].splitlines()[0] for comment in place.host.comments] == ["<!-- reconciler-preview small -->"]
    assert "## `general` keeps at least `4 nodes` (was `1`): `general` 2 -> 4 nodes" in place.host.comments[0]["body"]
    place.push(7, {"policies/general.yaml": group("general").replace("min: 1", "min: 3")})
    run.clock += MINUTE
    assert run.round() == [(7, Done.UPDATED)]
    assert "## `general` keeps at least `3 nodes` (was `1`): `general` 2 -> 3 nodes" in place.host.comments[0]["body"]
    written = place.host.writes()
    place.push(7, {"policies/general.yaml": group("general").replace("min: 1", "min: 3"), "README.md": "more words\n"})
    run.clock += MINUTE
    assert run.round() == [(7, Done.UNCHANGED)]
    assert (len(place.host.comments), place.host.writes()) == (1, written)


def test_nothing_is_done_twice(place: Place, cluster: Path):
    """Within the refresh time one list of pull requests is all that is asked; after it the same preview writes nothing."""
    run = Run(place, cluster)
    place.push(7, MORE)
    run.round()
    asked = len(place.host.requests)
    run.clock += MINUTE
    assert run.round() == [(7, Done.RECENT)]
    assert (len(place.host.requests), run.reads) == (asked + 1, 1)
    run.clock += 15 * MINUTE
    assert run.round() == [(7, Done.UNCHANGED)]
    assert (run.reads, len(place.host.writes())) == (2, 1)


def test_restart_reads_its_comment(place: Place, cluster: Path):
    """Another process, no file: the comment says that this commit was told a minute ago."""
    place.push(7, MORE)
    Run(place, cluster).round()
    written = place.host.writes()
    again = Run(place, cluster)
    again.clock += MINUTE
    assert again.round() == [(7, Done.RECENT)]
    assert (again.reads, place.host.writes()) == (0, written)


def test_demand_moves(github: Place, cluster: Path, tmp_path: Path):
    """The same commit on another cluster state: told anew after the refresh time."""
    run = Run(github, cluster)
    github.push(7, MORE)
    run.round()
    moved = json.loads((cluster / "all.json").read_text())
    for item in moved["items"]:
        if item["kind"] == "MachineDeployment" and item["metadata"]["name"] == "general":
            item["spec"]["replicas"] = 3
    (tmp_path / "later").mkdir()
    (tmp_path / "later" / "all.json").write_text(json.dumps(moved))
    (tmp_path / "later" / "snapshot.yaml").write_bytes((cluster / "snapshot.yaml").read_bytes())
    run.cluster = tmp_path / "later"
    run.clock += 15 * MINUTE
    assert run.round() == [(7, Done.UPDATED)]


def test_only_what_touches_the_policies(github: Place, cluster: Path):
    """No comment on a change of other files; a change that is taken back updates the comment that is there."""
    run = Run(github, cluster)
    github.push(3, {"src/main.py": "print()\n"})
    github.push(7, MORE)
    assert run.round() == [(3, Done.UNTOUCHED), (7, Done.CREATED)]
    assert github.host.of(3) == []
    github.push(7, {"README.md": "no change of policy\n"})
    run.clock += MINUTE
    assert run.round() == [(3, Done.RECENT), (7, Done.UPDATED)]
    assert "neither the policy nor the decision differs" in github.host.comments[0]["body"]


def test_what_main_did_since_is_not_told(github: Place, cluster: Path):
    """It is in the base and in what merging gives."""
    head = github.push(7, {"README.md": "words\n"})
    github.repo.commit({"policies/quiet.yaml": group("quiet").replace("max: 5", "max: 9")})
    github.show(7, head)
    assert Run(github, cluster).round() == [(7, Done.UNTOUCHED)]


def test_conflicts(place: Place, cluster: Path):
    """Told with their files where the change reaches the policies, also when git leaves there what the base has: one side took a
    file away that the other changed. A conflict elsewhere is for others to tell."""
    changed = {"policies/quiet.yaml": group("quiet").replace("max: 5", "max: 9"), "src": "main"}
    heads = {3: place.push(3, {"src": "change"}), 7: place.push(7, {"policies/quiet.yaml": None})}
    place.repo.commit(changed)
    place.host.pulls.clear()
    for number, head in heads.items():
        place.show(number, head)
    assert Run(place, cluster).round() == [(3, Done.UNTOUCHED), (7, Done.CREATED)]
    (body,) = (comment["body"] for comment in place.host.comments)
    assert "## This change cannot be merged: 1 conflict\n" in body
    assert "policies/quiet.yaml:1:1: error: both sides changed it" in body


def test_a_base_that_moves_renews_what_was_told(place: Place, cluster: Path):
    """Within the refresh time, as soon as the policies of the base are others; not for other files of it. The new text names the
    new commit of the base, and a restart finds what it is about in the comment."""
    observe = POLICY.replace("Enforce", "Observe")
    place.repo.commit({"policies/prod.yaml": observe})
    run = Run(place, cluster)
    head = place.push(7, MORE)
    assert run.round() == [(7, Done.CREATED)]
    run.clock += MINUTE
    place.repo.commit({"README.md": "words\n"})
    assert run.round() == [(7, Done.RECENT)]
    assert "Observe" in place.host.comments[0]["body"]
    base = place.repo.commit({"policies/prod.yaml": POLICY})
    assert run.round() == [(7, Done.UPDATED)]
    text = place.host.comments[0]["body"]
    assert (f"main at {base[:12]}" in text, f"#7 at {head[:12]}, merged into main" in text) == (True, True)
    assert "Observe" not in text
    again = Run(place, cluster)
    again.clock = run.clock
    assert again.round() == [(7, Done.RECENT)]
    place.repo.commit({"policies/prod.yaml": observe})
    third = Run(place, cluster)
    third.clock = run.clock
    assert third.round() == [(7, Done.UPDATED)]


def test_one_round_of_a_job(github: Place, cluster: Path):
    """A job that renews previews everything again, and its comment stands between those of the jobs before and after it."""
    github.push(7, MORE)
    assert Run(github, cluster, order=5_000).round() == [(7, Done.CREATED)]
    assert " order=5000 -->" in github.host.comments[0]["body"]
    assert Run(github, cluster, order=6_000).round() == [(7, Done.UNCHANGED)]
    github.repo.commit({"policies/quiet.yaml": group("quiet").replace("max: 5", "max: 9")})
    assert Run(github, cluster, order=4_000).round() == [(7, Done.NEWER)]
    assert Run(github, cluster, order=7_000).round() == [(7, Done.UPDATED)]


def test_old_branch_point(github: Place, cluster: Path):
    """Branches that went apart further back than a first fetch brings."""
    head = github.push(7, MORE)
    for number in range(60):
        github.repo.git("commit", "--quiet", "--allow-empty", "--message", str(number))
    github.show(7, head)
    assert Run(github, cluster).round() == [(7, Done.CREATED)]


@pytest.mark.parametrize(
    ("forks", "labels", "done"),
    [
        (Forks.LABEL, (), Done.FORK),
        (Forks.LABEL, ("preview@HEAD",), Done.CREATED),
        (Forks.NEVER, ("preview@HEAD",), Done.FORK),
        (Forks.ALWAYS, (), Done.CREATED),
    ],
)
def test_forks(place: Place, cluster: Path, forks: Forks, labels: tuple[str, ...], done: Done):
    """What a preview tells of the cluster is not told to anybody who opens a pull request."""
    head = place.push(7, MORE, fork=True)
    place.host.pulls[0]["labels"] = [label.replace("HEAD", head) for label in labels]
    run = Run(place, cluster, forks=forks)
    assert run.round() == [(7, done)]
    assert run.reads == (done is Done.CREATED)


def test_hostile_trees_are_data(github: Place, cluster: Path):
    """A link out, a template, a bomb of aliases: a comment that says what is wrong, and the next one is previewed."""
    link = github.repo.tree(("120000", b"policy.yaml", github.repo.blob(b"/etc/passwd")))
    commit = github.repo.commit_tree(github.repo.tree(("40000", b"policies", link)))
    github.show(4, commit, fork=True, labels=(f"preview@{commit}",))
    text = POLICY + "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n# {{ env `HOME` }} @everyone <img src=x onerror=1>\n"
    github.push(5, {"policies/prod.yaml": text})
    github.push(7, MORE)
    assert Run(github, cluster).round() == [(5, Done.CREATED), (7, Done.CREATED), (4, Done.CREATED)]
    told = github.host.of(4)[0]["body"]
    assert "This policy cannot be used" in told
    assert "symbolic link" in told
    assert "root:" not in told
    assert "This policy cannot be used" in github.host.of(5)[0]["body"]


def test_policy_that_goes(github: Place, cluster: Path):
    """Deleting every policy is said on the pull request, where somebody can still stop it."""
    github.push(7, {"policies/prod.yaml": None, "policies/general.yaml": None, "policies/quiet.yaml": None})
    assert Run(github, cluster).round() == [(7, Done.CREATED)]
    assert "This change cannot be previewed" in github.host.comments[0]["body"]
    assert "no NodeGroupPolicy" in github.host.comments[0]["body"]


def test_clusters_and_policies_of_one_repository(github: Place, cluster: Path):
    """Two clusters by path, two policies in one of them: a comment each, and only where the change reaches."""
    second = POLICY.replace("name: prod", "name: batch")
    other = group("quiet").replace("policyRef: {name: prod}", "policyRef: {name: batch}")
    eu_files = {"prod.yaml": POLICY, "g.yaml": group("general"), "batch.yaml": second, "q.yaml": other}
    us_files = {"prod.yaml": POLICY, "g.yaml": group("general")}
    eu_tree = {f"clusters/eu/{name}": text for name, text in eu_files.items()}
    github.repo.commit(eu_tree | {f"clusters/us/{name}": text for name, text in us_files.items()})
    github.push(7, {"clusters/eu/g.yaml": group("general").replace("min: 1", "min: 4")})
    eu = Run(github, cluster, cluster_name="eu", root="clusters/eu", names=("prod", "batch"))
    us = Run(github, cluster, cluster_name="us", root="clusters/us")
    assert [(line.key, line.done) for line in eu.lines()] == [("eu/prod", Done.CREATED)]
    assert us.round() == [(7, Done.UNTOUCHED)]
    github.push(7, {"clusters/eu/q.yaml": other.replace("max: 5", "max: 3"), "clusters/us/g.yaml": None})
    eu.clock += MINUTE
    us.clock += MINUTE
    assert [(line.key, line.done) for line in eu.lines()] == [("eu/prod", Done.UPDATED), ("eu/batch", Done.CREATED)]
    assert us.round() == [(7, Done.CREATED)]
    marks = [comment["body"].splitlines()[0] for comment in github.host.comments]
    assert marks == [f"<!-- reconciler-preview {key} -->" for key in ("eu%2Fprod", "eu%2Fbatch", "us")]
    assert eu.reads == 2


def test_rate_limit_is_shared(place: Place, cluster: Path):
    """Below a tenth of the limit the round ends, and the next waits for the reset; then the others are done."""
    run = Run(place, cluster)
    for number in (5, 7):
        place.push(number, MORE)
    place.host.quota = (499, 5000, NOW + 600)
    assert run.round() == []
    assert run.previewer.pause_seconds() == 600
    assert "RateLimitSpared" in run.log.getvalue()
    run.clock += 601
    place.host.quota = (5000, 5000, NOW + 4200)
    assert [done for _, done in run.round()] == [Done.CREATED, Done.CREATED]
    assert run.previewer.pause_seconds() == 0


def test_rate_limit_used_up(github: Place, cluster: Path, monkeypatch: pytest.MonkeyPatch):
    """A host that refuses for an hour: the round fails with its code, nothing is written."""
    monkeypatch.setattr("time.sleep", lambda _: None)
    github.push(7, MORE)
    github.host.failures = [(403, {"Retry-After": "3600"}, "You have exceeded a secondary rate limit")] * 4
    run = Run(github, cluster)
    assert run.round() == []
    assert run.previewer.failures == 1
    assert "RateLimited" in run.log.getvalue()
    assert run.round() == [(7, Done.CREATED)]
    assert run.previewer.failures == 0


def test_token_that_only_reads(place: Place, cluster: Path):
    """Refused for this one, said in the log without the token, and the loop goes on."""
    place.push(7, MORE)
    run = Run(place, cluster, token=READ_ONLY)
    assert run.round() == [(7, Done.FAILED)]
    assert '"code": "Forbidden"' in run.log.getvalue()
    assert READ_ONLY not in run.log.getvalue()


def test_one_that_cannot_be_fetched(github: Place, cluster: Path):
    """A pull request whose commits are not there stops no other."""
    github.host.open(3, "a" * 40)
    github.push(7, MORE)
    assert Run(github, cluster).round() == [(3, Done.FAILED), (7, Done.CREATED)]


def test_one_that_meets_a_defect(github: Place, cluster: Path, monkeypatch: pytest.MonkeyPatch):
    """The others have their previews; what broke is in the log with the place of the defect and the commit that met it."""
    run = Run(github, cluster)
    heads = [github.push(number, MORE) for number in (7, 8)]
    previews = run.previewer._previews

    def broken(request):
        if request.number == 7:
            raise KeyError("gone")
        return previews(request)

    monkeypatch.setattr(run.previewer, "_previews", broken)
    assert sorted(run.round()) == [(7, Done.FAILED), (8, Done.CREATED)]
    (told,) = [line for line in map(json.loads, run.log.getvalue().splitlines()) if line["code"] == "PreviewBroken"]
    assert (told["level"], told["pullRequest"], told["inputs"]) == ("error", 7, heads[0])
    assert told["where"].startswith("broken:")


def test_cluster_that_cannot_be_read(github: Place, tmp_path: Path):
    """Nothing is told; the next round tries again."""
    github.push(7, MORE)
    run = Run(github, tmp_path / "nowhere")
    assert (run.round(), run.previewer.failures, github.host.comments) == ([], 1, [])
    assert "ClusterUnreadable" in run.log.getvalue()


def test_host_that_is_away(github: Place, cluster: Path, monkeypatch: pytest.MonkeyPatch):
    """Rounds fail and are counted, so that the wait grows."""
    monkeypatch.setattr("time.sleep", lambda _: None)
    run = Run(github, cluster)
    github.host.failures = [(502, {}, "bad gateway")] * 20
    assert (run.round(), run.previewer.failures) == ([], 1)


def test_pull_requests_of_other_branches_and_closed_ones(place: Place, cluster: Path):
    """Only those into the branch; one that was closed is forgotten."""
    run = Run(place, cluster)
    place.push(3, MORE, branch="release")
    place.push(7, MORE)
    assert run.round() == [(7, Done.CREATED)]
    place.host.close(7)
    assert run.round() == []


def test_many_pages(github: Place, cluster: Path):
    """More pull requests than a page holds."""
    github.host.page_size = 2
    head = github.push(1, {"README.md": "x\n"})
    for number in range(2, 6):
        github.show(number, head)
    assert [number for number, _ in Run(github, cluster).round()] == [1, 2, 3, 4, 5]


def test_what_a_comment_says_of_itself(github: Place, cluster: Path):
    """Commit and instant are read back from it; without its second line it is ours and says nothing."""
    head = github.push(7, MORE)
    Run(github, cluster).round()
    client = GitHubPullRequest(TOKEN, "team/policies", 7, api_url=github.host.url, pause_seconds=0)
    found = standing(client, "small")
    assert found is not None
    assert (found.head, found.order, found.digest[:7]) == (head, NOW, "sha256:")
    assert standing(client, "other") is None
    github.host.comments[0]["body"] = github.host.comments[0]["body"].splitlines()[0]
    empty = standing(client, "small")
    assert empty is not None
    assert empty.order == 0
