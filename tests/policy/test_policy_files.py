"""Which files of a directory are policies, and under which names."""

from pathlib import Path

import pytest

from reconciler.cli.inputs.policy_files import MAX_FILE_BYTES, read_policy_files
from reconciler.cli.outputs.failure import InputError


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A policy directory with what may lie around in one."""
    root = tmp_path / "conf" / "policies"
    for name in ("b.yaml", "a/z.yml", "a/c.json", "a/.hidden.yaml", ".git/x.yaml", "README.md", "B.YAML"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    return root


def test_keys_are_relative_to_the_root(tree: Path) -> None:
    """Sorted walk; hidden entries and other suffixes are left out."""
    assert read_policy_files([tree]) == {
        "B.YAML": b"B.YAML",
        "a/c.json": b"a/c.json",
        "a/z.yml": b"a/z.yml",
        "b.yaml": b"b.yaml",
    }
    assert list(read_policy_files([tree])) == ["B.YAML", "a/c.json", "a/z.yml", "b.yaml"]


def test_keys_do_not_depend_on_the_working_directory(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From inside, from outside, absolute or relative: the same."""
    expected = list(read_policy_files([tree]))
    monkeypatch.chdir(tree)
    assert list(read_policy_files([Path()])) == expected
    monkeypatch.chdir(tree.parent)
    assert list(read_policy_files([Path("policies")])) == expected


def test_keys_as_given_can_be_opened(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For messages the path is the one that the user would type."""
    monkeypatch.chdir(tree.parent.parent)
    found = read_policy_files([Path("conf/policies"), Path("conf/policies/README.md")], as_given=True)
    assert list(found)[-2:] == ["conf/policies/b.yaml", "conf/policies/README.md"]
    assert all(Path(key).is_file() for key in found)


def test_several_roots_keep_their_names(tree: Path) -> None:
    """With more than one path, each directory's name is in front; a file keeps its own."""
    other = tree.parent / "team"
    other.mkdir()
    (other / "b.yaml").write_text("x")
    found = read_policy_files([tree, other, other / "b.yaml"])
    assert list(found)[-2:] == ["team/b.yaml", "b.yaml"]
    assert "policies/b.yaml" in found


def test_names_that_clash_are_refused(tree: Path) -> None:
    """Two files under one name would hide each other."""
    with pytest.raises(InputError, match="named twice"):
        read_policy_files([tree / "b.yaml", tree / "b.yaml"])


def test_links_that_leave_the_root_are_refused(tree: Path) -> None:
    """A link inside is read, one that leads out is not followed, nor one to a directory."""
    (tree / "inside.yaml").symlink_to(tree / "b.yaml")
    assert read_policy_files([tree])["inside.yaml"] == b"b.yaml"
    secret = tree.parent / "secret.yaml"
    secret.write_text("secret")
    (tree / "outside.yaml").symlink_to(secret)
    with pytest.raises(InputError, match="leaves"):
        read_policy_files([tree])
    (tree / "outside.yaml").unlink()
    (tree / "loop").symlink_to(tree)
    with pytest.raises(InputError, match="link to a directory"):
        read_policy_files([tree])


def test_a_large_file_is_cut_one_byte_past_the_limit(tree: Path) -> None:
    """Enough for the reader to see that it is too large, and no more."""
    (tree / "b.yaml").write_bytes(b"#" * (MAX_FILE_BYTES + 100))
    assert len(read_policy_files([tree])["b.yaml"]) == MAX_FILE_BYTES + 1


def test_a_path_that_is_not_there(tree: Path) -> None:
    """The message names it."""
    with pytest.raises(InputError, match="nowhere: no such file"):
        read_policy_files([tree / "nowhere"])
