"""What merging two commits gives: expectations are those of `git merge` in a work tree, or written by hand."""

import shutil
import stat
from pathlib import Path

import pytest

from reconciler.gitops.git.merged import merged
from reconciler.gitops.git.repository import Repository, RepositoryError
from tests.gitops.repositories import BASE, POLICY, GitRepo, group

OBSERVE = POLICY.replace("Enforce", "Observe")


def two(repo: GitRepo, ours: dict[str, str | bytes | None], theirs: dict[str, str | bytes | None]) -> tuple[str, str]:
    """`main` moved by `ours`, the branch `change` by `theirs`; both ids."""
    repo.branch("change")
    head = repo.commit(theirs)
    repo.git("switch", "--quiet", "main")
    return repo.commit(ours), head


def files(repo: GitRepo, base: str, head: str) -> dict[str, bytes]:
    """The policy files of the result, which has no conflict."""
    with merged(Repository.at(repo.root), base, head) as result:
        assert result.conflicts == ()
        return dict(result.policy_files("policies").files)


def conflicts(repo: GitRepo, base: str, head: str) -> tuple[str, ...]:
    with merged(Repository.at(repo.root), base, head) as result:
        assert result.conflicting
        return result.conflicts


def test_both_sides_are_in_the_result(repo: GitRepo) -> None:
    """As git merges in a work tree; the repository itself is left as it was, object for object."""
    base, head = two(
        repo,
        {"policies/prod.yaml": OBSERVE},
        {"policies/general.yaml": group("general").replace("max: 5", "max: 6"), "policies/new.yaml": group("new")},
    )
    before = sorted(path.name for path in (repo.root / ".git").rglob("*") if path.is_file())
    found = files(repo, base, head)
    assert sorted(path.name for path in (repo.root / ".git").rglob("*") if path.is_file()) == before
    repo.git("merge", "--quiet", "--no-edit", "change")
    assert found == {path.name: path.read_bytes() for path in (repo.root / "policies").iterdir()}
    assert b"mode: Observe" in found["prod.yaml"]


def test_one_file_with_changes_of_both_sides(repo: GitRepo) -> None:
    """Lines that lie apart come together in one blob, which neither side has."""
    base, head = two(
        repo,
        {"policies/prod.yaml": OBSERVE},
        {"policies/prod.yaml": POLICY.replace("Percent: 20", "Percent: 50")},
    )
    assert files(repo, base, head)["prod.yaml"] == OBSERVE.replace("Percent: 20", "Percent: 50").encode()


def test_what_needs_no_merge(repo: GitRepo) -> None:
    """A branch on top of the base is the result; one that the base has already changes nothing."""
    base = repo.git("rev-parse", "main")
    repo.branch("change")
    head = repo.commit({"policies/prod.yaml": OBSERVE})
    with merged(Repository.at(repo.root), base, head) as result:
        assert (result.made, result.policy_files("policies").revision) == (False, head)
        assert result.policy_files("policies").files["prod.yaml"] == OBSERVE.encode()
    assert files(repo, head, base)["prod.yaml"] == OBSERVE.encode()


def test_a_merge_commit_of_the_host_that_is_older_than_the_base(repo: GitRepo) -> None:
    """`refs/pull/N/merge` was made before the base moved on: what came since is in the result."""
    base, _ = two(repo, {"README.md": "x"}, {"policies/new.yaml": group("new")})
    repo.git("switch", "--quiet", "--detach", base)
    repo.git("merge", "--quiet", "--no-edit", "change")
    hosts = repo.git("rev-parse", "HEAD")
    repo.git("switch", "--quiet", "main")
    later = repo.commit({"policies/prod.yaml": OBSERVE})
    found = files(repo, later, hosts)
    assert (found["prod.yaml"], found["new.yaml"]) == (OBSERVE.encode(), group("new").encode())


@pytest.mark.parametrize(
    ("ours", "theirs", "named"),
    [
        ({"policies/prod.yaml": OBSERVE}, {"policies/prod.yaml": POLICY.replace("Enforce", "enforce")}, {"policies/prod.yaml"}),
        ({"policies/general.yaml": None}, {"policies/general.yaml": group("general") + "#\n"}, {"policies/general.yaml"}),
        ({"policies/a.yaml": "a"}, {"policies/a.yaml": "b"}, {"policies/a.yaml"}),
        ({"x/y": "a"}, {"x": "b"}, {"x"}),
        (
            {"policies/general.yaml": None, "policies/a.yaml": group("general")},
            {"policies/general.yaml": None, "policies/b.yaml": group("general")},
            {"policies/general.yaml", "policies/a.yaml", "policies/b.yaml"},
        ),
    ],
    ids=["both change a line", "deleted and changed", "both add", "a file and a directory", "renamed twice"],
)  # fmt: skip
def test_conflicts_name_their_files(
    repo: GitRepo, ours: dict[str, str | bytes | None], theirs: dict[str, str | bytes | None], named: set[str]
) -> None:
    found = conflicts(repo, *two(repo, ours, theirs))
    assert {name.partition("~")[0] for name in found} == named


def test_a_file_renamed_on_one_side_takes_the_change_of_the_other(repo: GitRepo) -> None:
    base, head = two(
        repo,
        {"policies/general.yaml": group("general").replace("max: 5", "max: 9")},
        {"policies/general.yaml": None, "policies/moved.yaml": group("general")},
    )
    found = files(repo, base, head)
    assert "general.yaml" not in found
    assert b"max: 9" in found["moved.yaml"]


def test_criss_cross_histories(repo: GitRepo) -> None:
    """Two commits that both have merged both: two best common ancestors, and git merges these first."""
    base, head = two(repo, {"policies/prod.yaml": OBSERVE}, {"policies/new.yaml": group("new")})
    for start, other, name in ((base, head, "left"), (head, base, "right")):
        repo.git("switch", "--quiet", "--detach", start)
        repo.git("merge", "--quiet", "--no-edit", other)
        repo.git("branch", name)
    repo.git("switch", "--quiet", "left")
    left = repo.commit({"policies/general.yaml": group("general") + "# left\n"})
    repo.git("switch", "--quiet", "right")
    right = repo.commit({"policies/quiet.yaml": group("quiet") + "# right\n"})
    assert len(repo.git("merge-base", "--all", left, right).split()) == 2
    found = files(repo, left, right)
    assert found["general.yaml"].endswith(b"# left\n")
    assert found["quiet.yaml"].endswith(b"# right\n")
    assert found["prod.yaml"] == OBSERVE.encode()


def test_nothing_of_the_tree_or_of_its_configuration_runs(repo: GitRepo, tmp_path: Path) -> None:
    """Attributes that name a merge driver, filters and a diff driver, each of which the repository's configuration makes a
    command; hooks; an attributes file of the repository and one in the work tree."""
    canary = tmp_path / "CANARY"
    attributes = "* merge=evil filter=evil diff=evil ident\n"
    repo.commit({".gitattributes": attributes, "policies/.gitattributes": attributes})
    base, head = two(repo, {"policies/prod.yaml": OBSERVE}, {"policies/prod.yaml": POLICY.replace("Percent: 20", "Percent: 50")})
    touch = f"touch {canary}"
    for key in (
        "merge.evil.driver",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "diff.evil.textconv",
        "diff.evil.command",
        "diff.external",
        "core.fsmonitor",
        "core.sshCommand",
        "merge.tool",
        "core.alternateRefsCommand",
    ):
        repo.git("config", key, touch)  # fmt: skip
    repo.git("config", "core.worktree", str(repo.root))
    repo.git("config", "core.attributesFile", str(repo.root / ".gitattributes"))
    repo.git("config", "merge.default", "evil")
    (repo.root / ".git" / "info").mkdir(exist_ok=True)
    (repo.root / ".git" / "info" / "attributes").write_text(attributes)
    hooks = repo.root / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("pre-merge-commit", "post-merge", "post-index-change", "reference-transaction"):
        (hooks / name).write_text(f"#!/bin/sh\n{touch}\n")
        (hooks / name).chmod(stat.S_IRWXU)
    found = files(repo, base, head)
    assert found["prod.yaml"] == OBSERVE.replace("Percent: 20", "Percent: 50").encode()
    assert not canary.exists()


def test_union_and_ours_of_the_tree_do_not_hide_a_conflict(repo: GitRepo) -> None:
    """Attributes are the branch author's: a host may follow them or not, and here none counts."""
    repo.commit({".gitattributes": "*.yaml merge=union\n"})
    both = ({"policies/prod.yaml": OBSERVE}, {"policies/prod.yaml": POLICY.replace("Enforce", "enforce")})
    assert conflicts(repo, *two(repo, *both)) == ("policies/prod.yaml",)


@pytest.mark.parametrize(("mode", "code"), [("120000", "SymbolicLink"), ("160000", "Submodule")])
def test_links_and_submodules_stay_entries(repo: GitRepo, mode: str, code: str) -> None:
    """Neither is followed or fetched in the merge, and both are told as in any tree."""
    entry = "1" * 40 if mode == "160000" else repo.blob(b"/etc/passwd")
    policies = repo.tree((mode, b"more.yaml", entry), ("100644", b"prod.yaml", repo.blob(POLICY.encode())))
    head = repo.commit_tree(repo.tree(("40000", b"policies", policies)))
    base = repo.commit({"policies/new.yaml": group("new")})
    with merged(Repository.at(repo.root), base, head) as result:
        found = result.policy_files("policies")
        assert (result.made, result.conflicting) == (True, False)
    assert [one.code for one in (*found.problems, *found.unread)] == [code]


def test_a_submodule_that_both_sides_move_is_a_conflict(repo: GitRepo) -> None:
    start = repo.commit_tree(repo.tree(("160000", b"m", "1" * 40)), branch="start")
    repo.git("switch", "--quiet", "--detach", start)
    ids = []
    for digit in "23":
        tree = repo.tree(("160000", b"m", digit * 40))
        ids.append(repo.git("commit-tree", "-p", start, "-m", "x", tree))
    assert conflicts(repo, ids[0], ids[1]) == ("m",)


def test_names_of_conflicts_are_any_bytes(repo: GitRepo) -> None:
    """They are told apart by NUL, not by line."""
    name = b"a\nb \xff"
    start = repo.commit_tree(repo.tree(("100644", name, repo.blob(b"1"))), branch="start")
    ids = [repo.git("commit-tree", "-p", start, "-m", "x", repo.tree(("100644", name, repo.blob(text)))) for text in (b"2", b"3")]
    assert conflicts(repo, ids[0], ids[1]) == ("a\nb \udcff",)


def test_unrelated_histories_say_what_to_do(repo: GitRepo) -> None:
    head = repo.git("commit-tree", "-m", "x", repo.git("rev-parse", "main^{tree}"))
    with (
        pytest.raises(RepositoryError, match=r"no common commit here. .*--unshallow.*--base-tip"),
        merged(Repository.at(repo.root), repo.git("rev-parse", "main"), head),
    ):
        pass


@pytest.mark.parametrize("depth", [1, 2])
def test_a_shallow_clone_without_the_fork_says_what_to_fetch(repo: GitRepo, tmp_path: Path, depth: int) -> None:
    two(repo, {"policies/prod.yaml": OBSERVE}, {"policies/new.yaml": group("new")})
    repo.commit({"README.md": "1"})
    clone = GitRepo(tmp_path / "clone")
    clone.git("fetch", "--quiet", f"--depth={depth}", f"file://{repo.root}", "main:base", "change:head")
    found = Repository.at(clone.root)
    with (
        pytest.raises(RepositoryError, match=r"Fetch more \(`git fetch --unshallow`, or fetch-depth: 0 in a checkout action\)"),
        merged(found, found.commit("base"), found.commit("head")),
    ):
        pass


def test_a_shallow_clone_may_hide_a_nearer_ancestor(repo: GitRepo, tmp_path: Path) -> None:
    """The base has merged an older state of the branch, and that merge is cut off: over another way, an older one is left."""
    repo.git("branch", "side")
    repo.branch("change")
    repo.commit({"policies/new.yaml": group("new")})
    repo.git("switch", "--quiet", "side")
    repo.commit({"README.md": "1"})
    repo.git("switch", "--quiet", "main")
    repo.git("merge", "--quiet", "--no-ff", "--no-edit", "change")
    cut = repo.git("rev-parse", "main")
    repo.git("merge", "--quiet", "--no-edit", "side")
    base = repo.git("rev-parse", "main")
    repo.git("switch", "--quiet", "change")
    head = repo.commit({"policies/new.yaml": group("new") + "# more\n"})
    assert files(repo, base, head)["new.yaml"].endswith(b"# more\n")
    (repo.root / ".git" / "shallow").write_text(f"{cut}\n")
    found = Repository.at(repo.root)
    assert found.merge_base(base, head) == repo.git("rev-parse", "side~1")
    with pytest.raises(RepositoryError, match=r"is incomplete here. .*Fetch more"), merged(found, base, head):
        pass


def test_a_shallow_clone_with_the_fork_is_enough(repo: GitRepo, tmp_path: Path) -> None:
    """History before the commit from which both went apart is not needed."""
    for number in range(3):
        repo.commit({"README.md": str(number)})
    two(repo, {"policies/prod.yaml": OBSERVE}, {"policies/new.yaml": group("new")})
    clone = GitRepo(tmp_path / "clone")
    clone.git("fetch", "--quiet", "--depth=2", f"file://{repo.root}", "main:base", "change:head")
    found = files(clone, clone.git("rev-parse", "base"), clone.git("rev-parse", "head"))
    assert (found["prod.yaml"], "new.yaml" in found) == (OBSERVE.encode(), True)


def test_the_merge_of_the_host_at_depth_two(repo: GitRepo, tmp_path: Path) -> None:
    """Its first parent is the base, so that nothing has to be merged."""
    base, head = two(repo, {"policies/prod.yaml": OBSERVE}, {"policies/new.yaml": group("new")})
    repo.git("switch", "--quiet", "--detach", base)
    repo.git("merge", "--quiet", "--no-edit", head)
    repo.git("update-ref", "refs/pull/7/merge", "HEAD")
    clone = GitRepo(tmp_path / "clone")
    clone.git("fetch", "--quiet", "--depth=2", f"file://{repo.root}", "refs/pull/7/merge:refs/heads/merge", "main:base")
    found = files(clone, base, clone.git("rev-parse", "merge"))
    assert (found["prod.yaml"], "new.yaml" in found) == (OBSERVE.encode(), True)


@pytest.mark.parametrize("place", ["linked work tree", "bare", "borrowed objects", "a name with blanks"])
def test_repositories_of_every_form(repo: GitRepo, tmp_path: Path, place: str) -> None:
    base, head = two(repo, {"policies/prod.yaml": OBSERVE}, {"policies/new.yaml": group("new")})
    other = tmp_path / ('o "t:h\\er' if place == "a name with blanks" else "other")
    if place == "linked work tree":
        repo.git("worktree", "add", "--quiet", "--detach", str(other))
    elif place == "bare":
        repo.git("clone", "--quiet", "--bare", str(repo.root), str(other))
    elif place == "borrowed objects":
        repo.git("clone", "--quiet", "--shared", str(repo.root), str(other))
    else:
        shutil.copytree(repo.root, other)
    with merged(Repository.at(other), base, head) as result:
        assert "new.yaml" in result.policy_files("policies").files
        assert not result.conflicting


def test_sha256_repositories(tmp_path: Path) -> None:
    repo = GitRepo(tmp_path / "sha256", object_format="sha256")
    repo.commit(BASE)
    found = files(repo, *two(repo, {"policies/prod.yaml": OBSERVE}, {"policies/new.yaml": group("new")}))
    assert (found["prod.yaml"], "new.yaml" in found) == (OBSERVE.encode(), True)


def test_git_that_is_too_old_says_so(repo: GitRepo, tmp_path: Path) -> None:
    """Before 2.38 `merge-tree` has no `--write-tree`: it prints how it is used."""
    base, head = two(repo, {"README.md": "1"}, {"policies/new.yaml": group("new")})
    old = tmp_path / "git"
    old.write_text(
        '#!/bin/sh\nfor word; do case "$word" in merge-tree) echo "usage: git merge-tree" >&2; exit 129;; '
        'version) echo "git version 2.34.1"; exit;; esac; done\n' + f'exec {shutil.which("git")} "$@"\n'
    )
    old.chmod(0o755)
    found = Repository(Repository.at(repo.root).git_dir, str(old))
    with (
        pytest.raises(RepositoryError, match=r"git 2\.38 or newer, and this is git version 2\.34\.1.*refs/pull/N/merge"),
        merged(found, base, head),
    ):
        pass


def test_a_merge_that_misses_objects_is_no_result(repo: GitRepo) -> None:
    """A partial clone has no contents, and none are fetched."""
    base, head = two(repo, {"policies/prod.yaml": OBSERVE}, {"policies/prod.yaml": POLICY.replace("Percent: 20", "Percent: 50")})
    blob = repo.git("rev-parse", f"{base}:policies/prod.yaml")
    (repo.root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(RepositoryError, match="cannot be merged"), merged(Repository.at(repo.root), base, head):
        pass


def test_a_merge_that_prints_without_end_is_given_up(repo: GitRepo, tmp_path: Path) -> None:
    """So does one that names more conflicts than can be read."""
    base, head = two(repo, {"README.md": "1"}, {"policies/new.yaml": group("new")})
    endless = tmp_path / "git"
    endless.write_text(
        f'#!/bin/sh\nfor word; do case "$word" in merge-tree) exec yes;; esac; done\nexec {shutil.which("git")} "$@"\n'
    )
    endless.chmod(0o755)
    found = Repository(Repository.at(repo.root).git_dir, str(endless))
    with pytest.raises(RepositoryError, match="the merge failed: git printed more than"), merged(found, base, head):
        pass
