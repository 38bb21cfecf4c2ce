"""What is asked of git and what is made of its words, where no repository is needed."""

from pathlib import Path
from typing import Any

import pytest

from reconciler.gitops.git import repository
from reconciler.gitops.git.cache import Bounds, GitCache
from reconciler.gitops.git.fault import SourceError
from reconciler.gitops.git.remote import PROTOCOLS, checked_remote
from reconciler.gitops.git.remote_access import Access
from reconciler.gitops.git.signature import Signature, Signers
from reconciler.gitops.sources import git_source
from reconciler.gitops.sources.git_source import GitAddress, GitSource
from reconciler.gitops.sources.last_good import LastGood, decode_last_good, encode_last_good

REMOTE = checked_remote("https://git.example/team/policies.git", PROTOCOLS)
TIP, KNOWN = "a" * 40, "b" * 40


@pytest.mark.parametrize(
    ("printed", "told"),
    [
        ("", "git does not say why"),
        (" \n\n", "git does not say why"),
        ("fatal: first\nfatal: last\n\n", "'fatal: last'"),
        ("\x1b[31mred", r"'\x1b[31mred'"),
        ("x" * 300, repr("x" * 200)),
    ],
)
def test_the_last_words_of_git(printed: str, told: str) -> None:
    """Two hundred characters of the last line that says anything, in quotes and without what steers a terminal."""
    assert repository.last_line(printed) == told


def test_whether_a_work_tree_is_that_of_a_repository(tmp_path: Path) -> None:
    """Its `.git` is the directory itself, a link to it, or a file of at most 8 KiB that leads there from where it lies."""
    git_dir = tmp_path / "real" / ".git"
    git_dir.mkdir(parents=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / ".git").symlink_to(git_dir)
    pointers = {
        "near": "gitdir: ../real/.git\n",
        "far": f"gitdir: {git_dir}\n",
        "wrong": "gitdir: real/.git\n",
        "most": f"gitdir: ..{'/' * 8173}real/.git",
        "more": f"gitdir: ..{'/' * 8174}real/.git",
    }
    assert [len(pointers[name]) for name in ("most", "more")] == [8192, 8193]
    for name, text in pointers.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / ".git").write_text(text)
    found = {name: repository._belongs(git_dir, tmp_path / name / ".git") for name in ("real", "linked", "other", *pointers)}
    assert found == {
        "real": True,
        "linked": True,
        "other": False,
        "near": True,
        "far": True,
        "wrong": False,
        "most": True,
        "more": False,
    }
    assert not repository._belongs(git_dir, tmp_path / ("x" * 300))  # no file system takes the name


@pytest.mark.parametrize(("deep", "depth"), [({}, 50), ({"deep": False}, 50), ({"deep": True}, 2000)])
def test_how_much_history_of_two_refs_is_fetched(
    deep: dict[str, bool], depth: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fifty commits, or as much as is ever fetched: two thousand. Each ref has a place of its own."""
    cache, asked = GitCache(tmp_path, REMOTE, Access(), Bounds()), list[tuple[Any, ...]]()
    monkeypatch.setattr(cache, "_prepare", lambda: asked.append(("prepared",)))
    monkeypatch.setattr(cache, "_fetch", lambda *what: asked.append(what))
    monkeypatch.setattr(cache, "_id", lambda place, name: f"{place} {name}")
    assert cache.fetch_both("refs/heads/a", "refs/heads/b", **deep) == (
        "refs/reconciler/tip-1 refs/heads/a", "refs/reconciler/tip-2 refs/heads/b",
    )  # fmt: skip
    refs = ["+refs/heads/a:refs/reconciler/tip-1", "+refs/heads/b:refs/reconciler/tip-2"]
    assert asked == [("prepared",), (refs, depth, "refs/heads/a or refs/heads/b")]


class Fetching:
    """The parts of a git source, each as the test wants it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, **address: Any) -> None:
        self.descends, self.asked = True, list[tuple[str, str]]()
        self.files = repository.PolicyFiles(revision=TIP, root="", exists=True, files={"a.yaml": b"x"})
        self.source = GitSource(GitAddress(**{"remote": REMOTE, "ref": "main", **address}), tmp_path)
        monkeypatch.setattr(self.source._cache, "fetch", lambda _: TIP)
        monkeypatch.setattr(self.source._cache, "descends", self._descends)
        monkeypatch.setattr(git_source, "Repository", lambda *_: self)

    def _descends(self, tip: str, known: str, ref: str) -> bool:
        self.asked.append((tip, known))
        return self.descends

    def policy_files(self, tip: str, root: str) -> repository.PolicyFiles:
        return self.files


def test_a_followed_branch_is_not_rewound_unless_it_is_said() -> None:
    """Anybody may sign and nobody may approve, unless it is said."""
    address = GitAddress(remote=REMOTE, ref="main")
    assert (address.allow_rewind, address.signers, address.approvers, address.path) == (False, None, None, "")


@pytest.mark.parametrize(("path", "name"), [("", ""), ("clusters/prod", ":clusters/prod"), ("clusters/prod/", ":clusters/prod")])
def test_what_a_source_is_called(path: str, name: str, tmp_path: Path) -> None:
    """Address, ref and place."""
    assert GitSource(GitAddress(remote=REMOTE, ref="main", path=path), tmp_path).name == f"{REMOTE.url} main{name}"


@pytest.mark.parametrize(
    ("last", "allowed", "descends", "asked", "refused"),
    [
        (None, False, False, False, False),
        ("", False, False, False, False),
        ("sha256:abc", False, False, False, False),
        (KNOWN, False, True, True, False),
        (KNOWN, False, False, True, True),
        (KNOWN, True, False, False, False),
    ],
)
def test_a_tip_must_descend_from_the_revision_in_force(
    last: str | None, allowed: bool, descends: bool, asked: bool, refused: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where that is a commit, unless another history is allowed."""
    fetching = Fetching(monkeypatch, tmp_path, allow_rewind=allowed)
    fetching.descends = descends
    if refused:
        with pytest.raises(SourceError, match="does not descend from bbbbbbbbbbbb, the revision in force"):
            fetching.source.fetch(last)
    else:
        assert fetching.source.fetch(last).revision == TIP
    assert fetching.asked == ([(TIP, KNOWN)] if asked else [])


@pytest.mark.parametrize(
    ("key", "signer", "told"), [("SHA256:key", "Ann", "Ann"), ("SHA256:key", "", "SHA256:key"), ("ABCD", "Ann <a@b.c>", "ABCD")]
)
def test_who_signed_it(key: str, signer: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By principal, else by key: a user ID is anybody's; nobody where no signature is asked for."""
    monkeypatch.setattr(git_source, "verified", lambda *_: Signature(commit=TIP, fingerprint=key, signer=signer))
    keys = tmp_path / "allowed"
    assert Fetching(monkeypatch, tmp_path / "a", signers=Signers(allowed_signers_file=keys)).source.fetch(None).signer == told
    assert Fetching(monkeypatch, tmp_path / "b").source.fetch(None).signer == ""


def test_the_place_of_one_file_is_its_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that problems name what people can open."""
    for alone, root in ((False, "clusters/prod.yaml"), (True, "clusters")):
        fetching = Fetching(monkeypatch, tmp_path, path="clusters/prod.yaml")
        fetching.files = repository.PolicyFiles(revision=TIP, root="", exists=True, files={"prod.yaml": b"x"}, alone=alone)
        assert fetching.source.fetch(None).root == root
    fetching.files = repository.PolicyFiles(revision=TIP, root="", exists=False, files={})
    with pytest.raises(SourceError, match=r"clusters/prod.yaml is not in commit aaaaaaaaaaaa"):
        fetching.source.fetch(None)


def test_the_last_good_policy_comes_back_as_it_was() -> None:
    kept = LastGood(source="git", revision=TIP, root="a", files={"a.yaml": b"\xff\x00"}, read_seconds=7, signer="Ann")
    assert decode_last_good(encode_last_good(kept)) == kept
