"""A target whose reading fails by a defect is unread, and the others of its platform are there."""

import msgspec
import pytest

from reconciler.cluster import defects
from reconciler.cluster.platform_reading import Objects, PlatformReading, Rows, WireKind
from reconciler.cluster.snapshots.platform_rows import platform_rows
from reconciler.cluster.target import TargetFacts, TargetRef


class _Pool(msgspec.Struct):
    size: int
    kind: str = "Pool"


@pytest.fixture(autouse=True)
def _as_in_production(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(defects, "CAUGHT", (Exception,))


def _rows(objects: Objects) -> Rows:
    """Only while they are looked at something fails: rows may be iterables."""
    return Rows(
        targets=(
            TargetFacts(ref=TargetRef(kind="Pool", namespace=namespace, name=name), replicas=6 // item.size)
            for (namespace, name), item in objects.of("Pool").items()
        )
    )


def _objects(**sizes: int) -> Objects:
    pools = {("prod", name): _Pool(size) for name, size in sizes.items()}
    return Objects(group="example.com", captured=frozenset({"Pool"}), kept={("", "Pool"): pools}, nodes=())


def _reading(*, target: bool = True) -> PlatformReading:
    kinds = (WireKind(kind="Pool", target=target),)
    return PlatformReading(name="example", group="example.com", kinds=kinds)


def test_the_others_are_there() -> None:
    """The one that fails is named with the place of the defect."""
    rows, (unread,) = platform_rows(_reading(), _rows, _objects(a=2, b=0, c=3))
    assert [(facts.ref.name, facts.replicas) for facts in rows.targets] == [("a", 3), ("c", 2)]
    assert unread.title == "Pool prod/b"
    assert unread.why.startswith("a defect of reconciler (ZeroDivisionError at ")


def test_nothing_is_unread_where_nothing_fails() -> None:
    """All targets, read once."""
    rows, unread = platform_rows(_reading(), _rows, _objects(a=2, c=3))
    assert (len(tuple(rows.targets)), unread) == (2, ())


def test_what_no_target_is_to_blame_for() -> None:
    """A defect that is met with an object that is no target is told as it is."""
    with pytest.raises(ZeroDivisionError):
        platform_rows(_reading(target=False), _rows, _objects(b=0))
