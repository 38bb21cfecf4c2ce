"""Directories that others keep: swapped, mounted, hostile."""

import os
from pathlib import Path

import pytest

from reconciler.gitops.git.fault import FaultCode, SourceError
from reconciler.gitops.sources import directory_source
from reconciler.gitops.sources.directory_source import DirectorySource, content_revision
from tests.gitops.repositories import POLICY, group

FIRST, SECOND = "1" * 40, "2" * 40


def tree(directory: Path, **files: str) -> Path:
    """Files by name, with `__` for a slash."""
    for name, content in files.items():
        path = directory / (name.replace("__", "/") + ".yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return directory


def codes(source: DirectorySource) -> list[tuple[str, str]]:
    """Problems of a tree by place and code."""
    fetched = source.fetch(None)
    assert fetched.files == {}
    return [(str(problem.place), problem.code) for problem in fetched.problems]


def unread(source: DirectorySource) -> list[tuple[str, str, bool]]:
    """Files that were not read, beside a policy that was: path, code, and whether they may be ours."""
    fetched = source.fetch(None)
    assert (list(fetched.files), fetched.problems) == (["prod.yaml"], ())
    return [(one.path, one.code, one.ours) for one in fetched.unread]


def test_git_sync_link(tmp_path: Path):
    """The link names the commit; after the swap the next tree is read."""
    tree(tmp_path / "worktrees" / FIRST, policies__prod=POLICY)
    tree(tmp_path / "worktrees" / SECOND, policies__prod=POLICY, policies__sub__a=group("a"))
    link = tmp_path / "current"
    link.symlink_to(Path("worktrees") / FIRST)
    source = DirectorySource(link, "policies")
    fetched = source.fetch(None)
    assert (fetched.revision, fetched.root, dict(fetched.files)) == (FIRST, "policies", {"prod.yaml": POLICY.encode()})
    (tmp_path / "next").symlink_to(Path("worktrees") / SECOND)
    (tmp_path / "next").replace(link)
    fetched = source.fetch(FIRST)
    assert (fetched.revision, sorted(fetched.files)) == (SECOND, ["prod.yaml", "sub/a.yaml"])


def test_swap_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Half of one tree and half of another are never one tree."""
    tree(tmp_path / FIRST, a=POLICY, b=group("old"))
    tree(tmp_path / SECOND, a=POLICY, b=group("new"))
    link = tmp_path / "current"
    link.symlink_to(FIRST)
    read = directory_source._content

    def swapping(path: Path) -> bytes:
        if path.name == "a.yaml" and FIRST in path.parts:
            (tmp_path / "next").symlink_to(SECOND)
            (tmp_path / "next").replace(link)
        return read(path)

    monkeypatch.setattr(directory_source, "_content", swapping)
    fetched = DirectorySource(link).fetch(None)
    assert (fetched.revision, fetched.files["b.yaml"]) == (SECOND, group("new").encode())


def test_mounted_config_map(tmp_path: Path):
    """The kubelet's links inside the directory are followed; the revision is a digest of the content."""
    data = tree(tmp_path / "..2026_11_21", prod=POLICY)
    (tmp_path / "..data").symlink_to(data.name)
    (tmp_path / "prod.yaml").symlink_to("..data/prod.yaml")
    fetched = DirectorySource(tmp_path).fetch(None)
    assert dict(fetched.files) == {"prod.yaml": POLICY.encode()}
    assert fetched.revision == content_revision({"prod.yaml": POLICY.encode()})


def test_digest_of_contents_tells_names_from_contents():
    """Moving a byte from a name to a content gives another revision."""
    assert content_revision({"ab": b"c"}) != content_revision({"a": b"bc"})
    assert content_revision({"a": b"1", "b": b"2"}) == content_revision({"b": b"2", "a": b"1"})


@pytest.mark.parametrize("target", ["/etc/passwd", "../outside.yaml", "nowhere", "/proc/self/environ", "."])
def test_links_out_of_it(tmp_path: Path, target: str):
    """Named as a link; nothing behind it is read."""
    (tmp_path / "outside.yaml").write_text(POLICY)
    directory = tree(tmp_path / "in", prod=POLICY)
    (directory / "x.yaml").symlink_to(target)
    assert unread(DirectorySource(directory)) == [("x.yaml", "SymbolicLink", False)]


def test_pipes_and_directories_with_the_name_of_a_file(tmp_path: Path):
    """A pipe would be waited for; it is no file. A directory is just a directory."""
    directory = tree(tmp_path / "in", prod=POLICY)
    os.mkfifo(directory / "x.yaml")
    (directory / "y.yaml").mkdir()
    assert codes(DirectorySource(directory)) == [("x.yaml:1:1", "NoFile")]


def test_sizes_and_names(tmp_path: Path):
    """Files that are too large: looked through up to 64 MiB, so that ours is found at any place; a name with a line break."""
    directory = tree(tmp_path / "in", prod=POLICY)
    (directory / "a-foreign.yaml").write_bytes(b"#" * (2 << 20))
    (directory / "b-ours.yaml").write_bytes(b"#" * (3 << 19) + POLICY.encode() + b"#" * (1 << 20))
    with (directory / "c-big.yaml").open("wb") as file:
        file.truncate(100 << 20)
    assert unread(DirectorySource(directory)) == [
        ("a-foreign.yaml", "FileTooLarge", False), ("b-ours.yaml", "FileTooLarge", True), ("c-big.yaml", "FileTooLarge", True),
    ]  # fmt: skip
    (directory / "x\n::error::owned.yaml").write_text(POLICY)
    assert codes(DirectorySource(directory)) == [("x \\x3a:error::owned.yaml:1:1", "UnsafePath")]


@pytest.mark.parametrize(("path", "code"), [("", FaultCode.UNREACHABLE), ("policies", FaultCode.UNREACHABLE)])
def test_directory_that_is_gone(tmp_path: Path, path: str, code: FaultCode):
    """As when a volume is not mounted."""
    with pytest.raises(SourceError) as failed:
        DirectorySource(tmp_path / "nowhere", path).fetch(None)
    assert failed.value.fault.code is code


@pytest.mark.parametrize("path", ["nowhere", "link"])
def test_place_that_is_not_there(tmp_path: Path, path: str):
    """Also one that leads out of the directory."""
    directory = tree(tmp_path / "in", prod=POLICY)
    (directory / "link").symlink_to(tmp_path)
    with pytest.raises(SourceError) as failed:
        DirectorySource(directory, path).fetch(None)
    assert failed.value.fault.code is FaultCode.PATH_NOT_FOUND
