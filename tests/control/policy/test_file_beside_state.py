"""`--last-good FILE`: the file is what a restart begins with, and the state holds the policy too, for `status` and others."""

from pathlib import Path

import pytest

from reconciler.control.policy.stored_policy import FileBesideState
from reconciler.gitops.sources.last_good import FileLastGoodStore, LastGood, LastGoodError, MemoryLastGoodStore


def _kept(revision: str) -> LastGood:
    return LastGood(source="git", revision=revision, root="", files={"a.yaml": b"x"}, read_seconds=1)


class _Away(MemoryLastGoodStore):
    def save(self, last_good: LastGood) -> None:
        raise LastGoodError("away")


def test_both_hold_it(tmp_path: Path) -> None:
    """What is saved is in both; the file comes first when it is read, and the state where there is no file yet."""
    file, state = FileLastGoodStore(tmp_path / "kept"), MemoryLastGoodStore()
    both = FileBesideState(file, state)
    assert both.load() is None
    both.save(_kept("one"))
    assert (file.load(), state.load(), both.load()) == (_kept("one"),) * 3
    state.save(_kept("older"))
    assert both.load() == _kept("one")
    (tmp_path / "kept").unlink()
    assert both.load() == _kept("older")


def test_a_state_that_is_away_keeps_no_policy_back(tmp_path: Path) -> None:
    """The file is what it was asked to be kept in; without it nothing is used."""
    FileBesideState(FileLastGoodStore(tmp_path / "kept"), _Away()).save(_kept("one"))
    assert FileLastGoodStore(tmp_path / "kept").load() == _kept("one")
    with pytest.raises(LastGoodError):
        FileBesideState(_Away(), MemoryLastGoodStore()).save(_kept("one"))
