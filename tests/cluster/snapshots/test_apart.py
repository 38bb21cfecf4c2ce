"""Half of the pods may be read elsewhere: the World, and what is refused, stay as they are."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from reconciler.cluster.snapshots import digest, intake
from reconciler.cluster.snapshots.digest import Digested
from reconciler.cluster.snapshots.snapshot import SnapshotError, read_snapshot
from reconciler.cluster.values.unreadable import SeveralError
from reconciler.cluster.world import World
from tests.cluster.damages import Files, damaged
from tests.cluster.objects import files_of, node, pod

QUICKSTART = Path(__file__).parents[3] / "examples" / "quickstart"
_Result = TypeVar("_Result")


@pytest.fixture(autouse=True)
def _few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "MANY_PODS", 2)
    monkeypatch.setattr(digest, "_LARGE_BYTES", 100)


class Elsewhere:
    """Does the work at once; a failure is told to nobody."""

    def __init__(self) -> None:
        self.done = 0

    def __call__(self, work: Callable[[], _Result]) -> Callable[[], _Result | None]:
        try:
            made = work()
        except Exception:
            return lambda: None
        self.done += 1
        return lambda: made


def outcome(files: Files, apart: Elsewhere | None) -> World | list[str]:
    try:
        return read_snapshot(files, apart=apart)
    except SeveralError as error:
        return list(map(str, error.all))
    except SnapshotError as error:
        return [str(error)]


def test_damaged_pods() -> None:
    """The same outcome for each damage, whichever half it is in, and for those that are read in spite of it."""
    files = {name: (QUICKSTART / name).read_bytes() for name in ("nodes.json", "pods.json")}
    elsewhere, refused = Elsewhere(), 0
    for seed in range(100):
        what, broken = damaged(files, seed)
        alone = outcome(broken, None)
        assert outcome(broken, elsewhere) == alone, f"seed {seed}: {what}"
        refused += isinstance(alone, list)
    assert 20 < refused < 80
    assert elsewhere.done > 20


@pytest.mark.parametrize("other", [{"nodeName": "n1"}, {"nodeName": "gone"}, {"priorityClassName": "high"}, {}])
def test_pods_of_both_halves(other: dict[str, str]) -> None:
    """Forms and nodes that both halves have, that one has, and a pod that is in both."""
    pods = [pod("b", **other), pod("a", nodeName="n1"), pod("b", **other), pod("c", **other), pod("d", nodeName="n1")]
    files = files_of(node("n1"), *pods)
    elsewhere = Elsewhere()
    alone = outcome(files, None)
    assert isinstance(alone, World)
    assert outcome(files, elsewhere) == alone
    assert elsewhere.done == 1


def test_two_of_one_name_in_both_halves() -> None:
    """The message names both places."""
    files = files_of(node("n1"), pod("a"), pod("b"), pod("c"), pod("a", nodeName="n1"))
    alone = outcome(files, None)
    assert isinstance(alone, list)
    assert outcome(files, Elsewhere()) == alone


@pytest.mark.parametrize("fails", [False, True])
def test_the_digest(*, fails: bool) -> None:
    """It is the same, also where nobody else makes it."""
    files = {"a.json": b"{}", "b.json": b" " * 200}
    elsewhere = Elsewhere()
    found = Digested(files, (lambda work: lambda: None) if fails else elsewhere)
    assert found["b.json"] == files["b.json"]
    assert found.digest() == Digested(files).digest()
    assert elsewhere.done == (not fails)
