"""`reconciler preview` on real repositories."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tests.gitops.conftest import Preview
from tests.gitops.repositories import BASE, POLICY, GitRepo, group

ROOT = Path(__file__).resolve().parents[2]

THRESHOLD = """\
Nodes of 2 groups may be removed up to 50% utilization (was 20%): 1 more node is removed
cluster small · policy prod · mode Enforce
now 2026-11-21T18:00:00Z

Policy: 1
  @@ prod.yaml:8 @@ NodeGroupPolicy prod, reaches general, quiet
       - name: on-demand
  -      defaults: {scaleDown: {utilizationThresholdPercent: 20}}
  +      defaults: {scaleDown: {utilizationThresholdPercent: 50}}

Caution: 2
  ! Removed nodes: general (1).
  ! 2 more evictions (0 -> 2): shop/web-* (2).

                              main  this PR    change
    nodes in steady state        3        2        -1
    evictions                    0        2        +2
    cost per month         $420.48  $280.32  -$140.16

Groups: 1
  - general: steady state 2 -> 1 ■-

3 what-if situations without a difference: half of the pods gone, the largest pod of each namespace
  once more, pods that fit any node

Pods: 2
  + evictions until the steady state: 0 -> 2, evicted: shop/web-* (2)

Nodes: 3
  - general: 1 node leaves that stays under main: general-1
  ~ general: 1 node, in use, stays [NotUnderutilized] -> underutilized, removable
    [NotUnneededLongEnough]: general-1
  ~ general: 1 node, in use, stays [NotUnderutilized] -> underutilized, stays [MinSize]: general-2
  ~ quiet: 1 node, in use, stays [NotUnderutilized] -> underutilized, stays [ReceivesPods]: quiet-1

1 group untouched: quiet

main: main at BASE
this PR: change at HEAD
"""


def change(repo: GitRepo, files: dict[str, str | bytes | None]) -> str:
    """A commit on the branch `change`; `main` stays."""
    repo.branch("change")
    return repo.commit(files)


def document(text: str) -> dict[str, object]:
    """A printed document, held against the schema."""
    schema = json.loads((ROOT / "schemas" / "preview.schema.json").read_text())
    found = json.loads(text)
    Draft202012Validator(schema).validate(found)
    return found


def test_threshold_shows_in_the_settled_column(repo: GitRepo, preview: Preview):
    """Each node of `general` has 1 of 4 CPUs requested, 25%: above 20, below 50. At 50 the two pods of one move to another
    node, min 1 keeps the last; a node costs 0.192, and 0.192 x 730 h = 140.16. `quiet` has one node, its minimum."""
    base = repo.git("rev-parse", "main")
    head = change(repo, {"policies/prod.yaml": POLICY.replace("20", "50")})
    result = preview("--base", "main", "--head", "change")
    told, _, digest = result.out.rpartition("sha256:")
    assert (result.code, result.err, len(digest)) == (0, "", 65)
    assert re.search(r"\nsnapshot: \S+,\s+sha256:[0-9a-f]{16},\s+captured\s+2026-11-21T18:00:00Z\nmain: ", told)
    assert re.sub(r"\nsnapshot: (.|\n)*?\nmain: ", "\nmain: ", told, count=1) == THRESHOLD.replace("BASE", base[:12]).replace(
        "HEAD", head[:12]
    )


def test_nothing_moved(repo: GitRepo, preview: Preview):
    """A change of comments only is told as none, exits with 0, and prints the same bytes twice, in every format."""
    change(repo, {"policies/prod.yaml": "# words\n" + POLICY, "README.md": "words"})
    for output in ("text", "markdown", "json"):
        first, second = (preview("--base", "main", "-o", output, "--detailed-exitcode") for _ in range(2))
        assert first == second
        assert (first.code, first.err) == (0, "")
    text = preview("--base", "main").out
    assert text.startswith("No effect: neither the policy nor the decision differs\n")
    assert len([line for line in text.splitlines() if line]) <= 6


def test_digest_does_not_depend_on_commits(repo: GitRepo, preview: Preview):
    """Two pushes that do the same are told the same but for the commits in the last line of the markdown."""
    change(repo, {"policies/prod.yaml": POLICY.replace("20", "50")})
    first = preview("--base", "main", "-o", "markdown").out.rstrip().split("\n")
    repo.commit({"README.md": "another push"})
    second = preview("--base", "main", "-o", "markdown").out.rstrip().split("\n")
    assert first[:-1] == second[:-1]
    assert first[-1] != second[-1]
    assert first[-1].startswith("<sub>this PR: `")


def test_what_the_merge_gives_is_compared_with_the_base_of_today(repo: GitRepo, preview: Preview):
    """What happened on `main` since is in both sides, and no part of the change; with --base-tip the head stands as it is."""
    change(repo, {"policies/general.yaml": group("general").replace("max: 5", "max: 6")})
    repo.git("switch", "--quiet", "main")
    base = repo.commit({"policies/quiet.yaml": group("quiet").replace("max: 5", "max: 9")})
    result = preview("--base", "main", "--head", "change")
    assert f"main: main at {base[:12]}\n" in result.out
    assert re.search(r"\nthis PR: change at [0-9a-f]{12}, merged into main\n", result.out)
    assert "@@ general.yaml:8 @@ NodeGroup general\n" in result.out
    assert "NodeGroup quiet" not in result.out
    tips = preview("--base", "main", "--head", "change", "--base-tip").out
    assert "@@ quiet.yaml:8 @@ NodeGroup quiet\n" in tips
    assert "merged" not in tips


def test_a_branch_from_before_the_policy_enforced(repo: GitRepo, preview: Preview):
    """It forked while the policy only observed; since then `main` writes. Merged, its minimum of 5 adds three nodes to the two
    of `general`, whatever its own tree says of the mode."""
    observe = POLICY.replace("Enforce", "Observe")
    repo.commit({"policies/prod.yaml": observe})
    change(repo, {"policies/general.yaml": group("general").replace("min: 1", "min: 5")})
    repo.git("switch", "--quiet", "main")
    repo.commit({"policies/prod.yaml": POLICY})
    found = document(preview("--base", "main", "--head", "change", "-o", "json").out)
    assert (found["mode"], found["changed"], found["head"]["merged"]) == ("Enforce", True, True)  # type: ignore[index]
    sizes = [(pair["before"]["desired"], pair["after"]["desired"]) for pair in found["decision"]["groups"]]  # type: ignore[index]
    assert sizes == [(2, 5)]


def test_a_conflict_is_told_with_its_files(repo: GitRepo, preview: Preview, tmp_path: Path):
    """With an exit code of its own, in every format, and never as a change of nothing. Other files conflict as well."""
    change(
        repo, {"policies/prod.yaml": POLICY.replace("20", "50"), "src": "a", "policies/general.yaml": group("general") + "#\n"}
    )
    repo.git("switch", "--quiet", "main")
    repo.commit({"policies/prod.yaml": POLICY.replace("20", "30"), "src": "b"})
    saved = tmp_path / "preview.json"
    result = preview("--base", "main", "--head", "change", "--detailed-exitcode", "--out", saved)
    assert result.code == 3
    assert result.err == "error: change cannot be merged into main: 2 conflicts, so nothing was decided\n"
    told = "policies/prod.yaml:1:1: error: both sides changed it since they diverged, and git cannot merge it [MergeConflict]"
    assert told in result.out
    assert "src:1:1: error:" in result.out
    assert "general.yaml" not in result.out
    assert "hint: merge the base into the change and resolve the conflict" in result.out
    markdown = preview("--base", "main", "--head", "change", "-o", "markdown")
    assert (markdown.code, markdown.out.split("\n")[0]) == (3, "## This change cannot be merged: 2 conflicts")
    assert told in markdown.out
    assert "does not differ" not in markdown.out
    page = preview("--base", "main", "--head", "change", "-o", "html")
    assert (page.code, "This change cannot be merged" in page.out) == (3, True)
    found = document(preview("--base", "main", "--head", "change", "-o", "json").out)
    assert found == document(saved.read_text())
    assert (found["changed"], found["decision"], found["digest"]) == (True, None, "")
    assert [(one["file"], one["code"]) for one in found["policyProblems"]] == [  # type: ignore[attr-defined]
        ("policies/prod.yaml", "MergeConflict"), ("src", "MergeConflict"),
    ]  # fmt: skip


def test_what_is_merged_already_changes_nothing(repo: GitRepo, preview: Preview):
    head = change(repo, {"policies/prod.yaml": POLICY.replace("20", "50")})
    repo.git("switch", "--quiet", "main")
    repo.git("merge", "--quiet", "--ff-only", "change")
    repo.commit({"policies/quiet.yaml": group("quiet").replace("max: 5", "max: 9")})
    result = preview("--base", "main", "--head", head, "--detailed-exitcode")
    assert (result.code, "neither the policy nor the decision differs" in result.out) == (0, True)


def test_a_checkout_of_one_commit_says_what_to_fetch(repo: GitRepo, preview: Preview, tmp_path: Path):
    """As a checkout action makes it by default: the base is not there at all, or history ends before the branches meet."""
    change(repo, {"policies/general.yaml": group("general").replace("max: 5", "max: 6")})
    repo.git("switch", "--quiet", "main")
    repo.commit({"README.md": "1"})
    clone = GitRepo(tmp_path / "clone")
    clone.git("fetch", "--quiet", "--depth=1", f"file://{repo.root}", "change:refs/heads/head")
    for fetched in (False, True):
        if fetched:
            clone.git("fetch", "--quiet", "--depth=1", f"file://{repo.root}", "main:refs/remotes/origin/main")
        result = preview("--repo", clone.root, "--base", "refs/remotes/origin/main", "--head", "head")
        assert (result.code, result.out) == (1, "")
        assert "Fetch more (`git fetch --unshallow`, or fetch-depth: 0 in a checkout action)" in result.err


def test_renamed_file_is_no_change(repo: GitRepo, preview: Preview):
    """Groups are documents, not files; only what is written in them counts."""
    change(repo, {"policies/general.yaml": None, "policies/moved/renamed.yml": group("general")})
    result = preview("--base", "main", "--detailed-exitcode")
    assert result.code == 0
    assert "neither the policy nor the decision differs" in result.out


def test_renamed_group_keeps_its_target(repo: GitRepo, preview: Preview):
    """The same target under a new name is a rename and no release."""
    change(repo, {"policies/general.yaml": group("general").replace("{name: general, namespace: r", "{name: web, namespace: r")})
    text = preview("--base", "main").out
    assert "NodeGroup web: renamed from general, the same target" in text
    assert "release" not in text


def test_removed_group_is_released(repo: GitRepo, preview: Preview):
    """Its target keeps its size, and the plan says so."""
    change(repo, {"policies/general.yaml": None})
    result = preview("--base", "main", "--detailed-exitcode")
    assert result.code == 2
    assert "@@ general.yaml:1 @@ NodeGroup general, removed, its target keeps its size" in result.out
    assert "- general: leaves the policy at 2" in result.out
    assert "~ general: release MachineDeployment capi/general at 2 replicas" in result.out


def test_all_groups_removed_is_refused_by_the_decision(repo: GitRepo, preview: Preview):
    """Nothing is released when no group is left, and the preview says why."""
    change(repo, {"policies/general.yaml": None, "policies/quiet.yaml": None})
    text = preview("--base", "main").out
    assert "the policy has no groups any more. It had 2: nothing is" in text
    assert "release MachineDeployment" not in text


def test_hold_and_owner_effects(repo: GitRepo, preview: Preview):
    """A hold in git stops the removal that would come: the node stays, the money is not saved."""
    repo.commit({"policies/prod.yaml": POLICY.replace("20", "50")})
    change(repo, {"policies/general.yaml": group("general") + '  hold: {reason: "audit"}\n'})
    text = preview("--base", "main").out
    assert "general: steady state 1 -> 2 ■+, held: audit" in text
    assert re.search(r"cost per month +\$280.32 +\$420.48 +\+\$140.16", text)
    assert "+ general: 1 node stays that leaves under main: general-1" in text
    assert "evictions until the steady state: 2 -> 0, no longer: shop/web-* (2)" in text


def test_invalid_head(repo: GitRepo, preview: Preview):
    """Problems as validate prints them, with the path in the repository; nothing is decided, the base is not told."""
    change(repo, {"policies/general.yaml": group("general").replace("max: 5", "maxx: 5")})
    result = preview("--base", "main", "--detailed-exitcode")
    assert result.code == 1
    assert "policies/general.yaml:8:18: error: unknown key 'maxx' in size [UnknownField]\n" in result.out
    assert "^^^^" in result.out
    assert "before:" not in result.out
    assert result.err == "error: policies at HEAD: 1 error in the policy, so nothing was decided\n"
    written = document(preview("--base", "main", "-o", "json").out)
    assert [problem["code"] for problem in written["policyProblems"]] == ["UnknownField"]
    assert (written["decision"], written["plan"], written["changed"]) == (None, None, False)
    assert "## This policy cannot be used: 1 error\n" in preview("--base", "main", "-o", "markdown").out


@pytest.mark.parametrize("broken", [POLICY.replace("Enforce", "Bogus"), None])
def test_unusable_base(repo: GitRepo, preview: Preview, broken: str | None):
    """A base that is invalid or has no policy: said so, and the plan of the head alone."""
    files = dict.fromkeys(BASE) if broken is None else {"policies/prod.yaml": broken}
    repo.commit(files)
    change(repo, BASE)
    text = preview("--base", "main").out
    why = "main has no policy yet" if broken is None else "the policy of main has 1 error"
    assert f"Nothing to compare with: {why}. This is the plan of HEAD alone.\n" in text
    assert ("policies/prod.yaml:5:9: error: " in text) == (broken is not None)
    assert "Node groups: 2" in text
    written = document(preview("--base", "main", "-o", "json").out)
    assert written["decision"] is None
    assert [line["name"] for line in written["plan"]["groups"]] == ["general", "quiet"]
    assert why in preview("--base", "main", "-o", "markdown").out


def test_json(repo: GitRepo, preview: Preview, tmp_path: Path):
    """The document fits its schema, carries both sides and the places; --out writes the same bytes."""
    head = change(repo, {"policies/prod.yaml": POLICY.replace("20", "50")})
    saved = tmp_path / "preview.json"
    result = preview("--base", "main", "-o", "json", "--out", saved)
    assert saved.read_text() == result.out
    written = document(result.out)
    assert written["head"] == {"source": "HEAD", "revision": head, "merged": False}
    assert written["changes"][0]["placeAfter"] == {"file": "prod.yaml", "line": 8, "column": 30}
    pair = written["decision"]["groups"][0]
    assert [pair[side]["settled"] for side in ("before", "after")] == [2, 1]
    assert written["decision"]["cost"]["after"]["settledPerHour"] == "0.384"
    assert written["decision"]["impact"]["after"]["nodesGone"] == ["general-1"]
    assert written["untouchedGroups"] == ["quiet"]


def test_directories(repo: GitRepo, preview: Preview, tmp_path: Path):
    """Rendered trees are compared as revisions are; a revision and a directory go together too."""
    for side, percent in (("old", "20"), ("new", "50")):
        for name, text in BASE.items():
            path = tmp_path / side / Path(name).name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text.replace("20}", f"{percent}}}"))
    both = preview("--base-dir", tmp_path / "old", "--head-dir", tmp_path / "new").out
    assert "- general: steady state 2 -> 1 ■-" in both
    assert f"main: {tmp_path / 'old'}\n" in both
    mixed = preview("--base", "main", "--head-dir", tmp_path / "new").out
    assert "- general: steady state 2 -> 1 ■-" in mixed


def test_policies_elsewhere(repo: GitRepo, preview: Preview):
    """--path names a directory or one file; the whole tree is `.`."""
    all_of_it = POLICY + "---\n" + group("general") + "---\n" + group("quiet")
    repo.commit({**dict.fromkeys(BASE), "clusters/prod.yaml": all_of_it})
    change(repo, {"clusters/prod.yaml": all_of_it.replace("max: 5", "max: 6")})
    for path in ("clusters", "./clusters/", "clusters/prod.yaml", "."):
        result = preview("--base", "main", "--path", path)
        assert "@@ NodeGroup general\n" in result.out, (path, result)
    result = preview("--base", "main", "--path", "elsewhere")
    assert result.code == 1
    assert "elsewhere at HEAD: no NodeGroupPolicy in 0 policy files" in result.err


def test_new_defaults_of_a_tier_show_whom_they_reach(repo: GitRepo, preview: Preview):
    """Two values come at once where the tier had none: each is told with the groups that take it. `general` has its own
    unneeded time, so that only `quiet` takes the tier's."""
    bare = POLICY.replace("      defaults: {scaleDown: {utilizationThresholdPercent: 20}}\n", "")
    own = {"policies/general.yaml": group("general") + "  scaleDown: {unneededTime: 20m}\n"}
    repo.commit({"policies/prod.yaml": bare, **own})
    change(repo, {"policies/prod.yaml": POLICY.replace("Percent: 20", "Percent: 60, unneededTime: 5m")})
    found = document(preview("--base", "main", "-o", "json").out)["changes"]
    assert [(entry["path"], entry["before"], entry["after"], entry["reaches"]) for entry in found] == [
        ("tiers[on-demand].defaults.scaleDown.unneededTime", None, "5m", ["quiet"]),
        ("tiers[on-demand].defaults.scaleDown.utilizationThresholdPercent", None, "60", ["general", "quiet"]),
    ]


def test_warnings_of_the_head_are_told(repo: GitRepo, preview: Preview):
    """A hold that has ended is a warning: told with its place in every format, and the decision is made."""
    change(repo, {"policies/general.yaml": group("general") + '  hold: {reason: "audit", until: "2026-11-01T00:00:00Z"}\n'})
    text = preview("--base", "main").out
    assert "Warnings about the policy: 1\n  ! policies/general.yaml:10:" in text
    assert (
        "<details><summary>Warnings about the policy (1)</summary>\n\n```diff\n! policies/general.yaml:10:"
        in preview("--base", "main", "-o", "markdown").out
    )
    assert document(preview("--base", "main", "-o", "json").out)["policyProblems"][0]["severity"] == "warning"


def test_without_git(repo: GitRepo, cluster: Path, tmp_path: Path):
    """Revisions need the git command, and the message says what does not; directories work."""
    argv = [sys.executable, "-m", "reconciler", "preview", "--cluster", str(cluster)]
    environment = {"PATH": str(tmp_path), "PYTHONPATH": str(ROOT)}
    revisions = subprocess.run(
        [*argv, "--base", "main"], cwd=repo.root, capture_output=True, text=True, env=environment, check=False
    )
    assert (revisions.returncode, revisions.stdout) == (1, "")
    assert revisions.stderr.startswith("error: git is not on the PATH")
    sides = ["--base-dir", "policies", "--head-dir", "policies"]
    done = subprocess.run([*argv, *sides], cwd=repo.root, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_several_policies(repo: GitRepo, preview: Preview):
    """--name chooses; without it the error lists them; one that the base does not have stands alone."""
    change(repo, {"policies/more.yaml": POLICY.replace("prod", "test")})
    assert "choose one with --name (prod, test)" in preview("--base", "main").err
    assert "neither the policy nor the decision differs" in preview("--base", "main", "--name", "prod").out
    assert "main has no policy test yet" in preview("--base", "main", "--name", "test").out
    assert "holds prod, test" in preview("--base", "main", "--name", "other").err


@pytest.mark.parametrize(("argv", "told"), [
    ([], "exactly one of --base REF and --base-dir DIR"),
    (["--base", "main", "--base-dir", "x"], "exactly one of --base REF and --base-dir DIR"),
    (["--base", "main", "--head", "x", "--head-dir", "y"], "only one of --head REF and --head-dir DIR"),
    (["--base-dir", "x"], "--base-dir also needs --head-dir DIR or --head REF"),
    (["--base-dir", "x", "--head-dir", "y", "--path", "z"], "go with revisions"),
    (["--base-dir", "nowhere", "--head-dir", "nowhere"], "nowhere: no such directory"),
    (["--base", "main", "--repo", "/"], "is not in a git repository. Name one with --repo DIR"),
])  # fmt: skip
def test_wrong_usage(preview: Preview, argv: list[str], told: str):
    """What is missing or too much is said, exit code 1."""
    result = preview(*argv)
    assert (result.code, result.out) == (1, "")
    assert told in " ".join(result.err.split())


def test_long_markdown_is_cut_in_order(repo: GitRepo, preview: Preview):
    """Seven hundred changed groups with long names do not fit into one comment: the figures stay, what is alike is counted."""
    names = [f"{'long-' * 10}{number:03}" for number in range(700)]
    many = {"policies/many.yaml": "---\n".join(group(name) for name in names)}
    repo.commit(many)
    change(repo, {name: text.replace("max: 5", "max: 6") for name, text in many.items()})
    text = preview("--base", "main", "-o", "markdown").out
    assert len(text) <= 65_536
    assert "Unchanged: nodes in steady state (" in text
    assert "700 alike (long-" in text
    assert text.rstrip().splitlines()[-1].startswith("<sub>this PR: `")


def test_whole_process_on_the_quickstart(tmp_path: Path):
    """As a user starts it: a repository made of the example's policies, one changed bound, the example's cluster."""
    repo = GitRepo(tmp_path / "repo")
    texts = {f"policies/{path.name}": path.read_text() for path in (ROOT / "policies").glob("*.yaml")}
    repo.commit(texts)
    repo.branch("change")
    repo.commit({"policies/on-demand.yaml": texts["policies/on-demand.yaml"].replace("max: 10", "max: 7")})
    argv = [
        sys.executable, "-m", "reconciler", "preview", "--base", "main", "--cluster", str(ROOT / "examples" / "quickstart"),
    ]  # fmt: skip
    done = subprocess.run(argv, cwd=repo.root, capture_output=True, text=True, check=True, env={"PATH": "/usr/bin:/bin"})
    assert done.stderr == ""
    assert "max: 7}" in done.stdout
