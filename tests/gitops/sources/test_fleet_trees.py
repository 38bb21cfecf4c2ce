"""One tree for many clusters: what is read together, kept, and left out, with children that answer by a script."""

from collections.abc import Callable

import msgspec
import pytest

from reconciler.gitops.bounded_child import Bound, ChildError, ChildTooDearError
from reconciler.gitops.git.fault import FaultCode, SourceError, failed
from reconciler.gitops.sources import fleet_tree
from reconciler.gitops.sources.fleet_child import FleetTask
from reconciler.gitops.sources.fleet_tree import FleetTrees
from reconciler.gitops.sources.shared_source import SharedSource
from reconciler.gitops.sources.source import Fetched
from reconciler.policy.policy_tree import PolicyTree
from reconciler.policy.tree import default_policy
from reconciler.values.cluster_identity import ClusterIdentity

NOW = 1_790_000_000
FILES = {"fleet.yaml": b"kind: NodeGroupPolicy"}


def clusters(count: int) -> tuple[ClusterIdentity, ...]:
    return tuple(ClusterIdentity(name=f"c{number:03d}", namespace="infra", labels=()) for number in range(count))


def tree(cluster: ClusterIdentity) -> PolicyTree:
    """Its number of files says which cluster it is of."""
    return PolicyTree(sets=(default_policy(),), files=int(cluster.name[1:]))


class Children:
    """Answers tasks. `dear` are clusters that are too much for a child, `broken` those that end one; `most` clusters fit into
    one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.tasks: list[tuple[str, ...]] = []
        self.dear: set[str] = set()
        self.broken: set[str] = set()
        self.most = 50
        self.answer: Callable[[FleetTask], bytes] = lambda task: msgspec.msgpack.encode([tree(one) for one in task.clusters])
        monkeypatch.setattr(fleet_tree, "child_answer", self._answered)

    def _answered(self, module: str, task: FleetTask, bounds: object) -> bytes:
        names = tuple(one.name for one in task.clusters)
        self.tasks.append(names)
        if self.broken.intersection(names):
            raise ChildError("Segmentation fault")
        if self.dear.intersection(names) or len(names) > self.most:
            raise ChildTooDearError(Bound.TIME)
        return self.answer(task)


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> Children:
    return Children(monkeypatch)


def fetched(revision: str = "1", files: dict[str, bytes] | None = None) -> Fetched:
    return Fetched(revision=revision, root="", files=files or FILES)


def test_many_clusters_are_read_fifty_at_a_time_and_once(children: Children) -> None:
    """120 are three children; the loops of the same tree then ask for nothing."""
    trees = FleetTrees(lambda: ())
    many = clusters(120)
    counted = trees.counted(fetched(), many, NOW)
    assert [len(task) for task in children.tasks] == [50, 50, 20]
    assert {one: found.policies for one, found in counted.items()} == dict.fromkeys(many, ("default",))
    assert trees.of(many[7])(FILES, NOW, "1").files == 7
    assert len(children.tasks) == 3


def test_clusters_that_will_be_asked_for_next_are_read_at_the_same_time(children: Children) -> None:
    """One asks, and the others of this instance are read beside it; another tree is read anew."""
    many = clusters(3)
    trees = FleetTrees(lambda: many)
    assert trees.of(many[1])(FILES, NOW, "1").files == 1
    assert [set(task) for task in children.tasks] == [{"c000", "c001", "c002"}]
    assert trees.of(many[2])(FILES, NOW, "1").files == 2
    assert len(children.tasks) == 1
    trees.of(many[2])({"fleet.yaml": b"other"}, NOW, "2")
    assert len(children.tasks) == 2


@pytest.mark.parametrize("seconds", [600, -600])
def test_an_answer_counts_for_ten_minutes(children: Children, seconds: int) -> None:
    """Windows and holds depend on the clock, which may also be set back."""
    trees = FleetTrees(lambda: ())
    [one] = clusters(1)
    trees.of(one)(FILES, NOW, "1")
    trees.of(one)(FILES, NOW + seconds // 600 * 599, "1")
    assert len(children.tasks) == 1
    trees.of(one)(FILES, NOW + seconds, "1")
    assert len(children.tasks) == 2


def test_only_some_trees_are_kept(children: Children) -> None:
    """Three: whoever pushes often does not fill the memory."""
    trees = FleetTrees(lambda: ())
    [one] = clusters(1)
    for number in range(4):
        trees.of(one)({"a.yaml": b"%d" % number}, NOW, "1")
    trees.of(one)({"a.yaml": b"3"}, NOW, "1")
    trees.of(one)({"a.yaml": b"1"}, NOW, "1")
    assert len(children.tasks) == 4
    trees.of(one)({"a.yaml": b"0"}, NOW, "1")
    assert len(children.tasks) == 5


def test_clusters_that_are_too_much_together_are_read_in_parts(children: Children) -> None:
    children.most = 4
    many = clusters(20)
    counted = FleetTrees(lambda: ()).counted(fetched(), many, NOW)
    assert all(found.policies == ("default",) for found in counted.values())


def test_one_cluster_that_is_too_much_leaves_the_others_alone(children: Children) -> None:
    """Its loop is told why, and it is not read again at each look."""
    many = clusters(20)
    children.dear = {"c005"}
    trees = FleetTrees(lambda: many)
    assert trees.of(many[0])(FILES, NOW, "1").files == 0
    counted = trees.counted(fetched(), many, NOW)
    assert {one.name for one, found in counted.items() if found.problem} == {"c005"}
    assert "took too much time" in counted[many[5]].problem
    asked = len(children.tasks)
    for _ in range(3):
        with pytest.raises(SourceError, match="took too much") as refused:
            trees.of(many[5])(FILES, NOW, "1")
        assert refused.value.fault.code is FaultCode.TOO_COSTLY
    assert len(children.tasks) == asked


def test_a_tree_that_is_too_much_for_any_cluster_is_soon_given_up(children: Children) -> None:
    """Not read for each of 500 clusters, a minute of a processor each, while the commit that mends it waits."""
    many = clusters(500)
    children.dear = {one.name for one in many}
    trees = FleetTrees(lambda: many)
    with pytest.raises(SourceError, match="took too much"):
        trees.counted(fetched(), many, NOW)
    assert len(children.tasks) <= 3
    with pytest.raises(SourceError, match="took too much"):
        trees.of(many[250])(FILES, NOW, "1")
    assert len(children.tasks) <= 3
    children.dear = set()
    assert trees.of(many[250])({"fleet.yaml": b"mended"}, NOW, "2").files == 250


def test_a_child_that_ends_by_a_defect_is_asked_again(children: Children) -> None:
    """The tree is not at fault. Those that were read stay read."""
    many = clusters(60)
    children.broken = {"c059"}
    trees = FleetTrees(lambda: ())
    counted = trees.counted(fetched(), many, NOW)
    assert {one.name for one, found in counted.items() if found.problem} == {f"c{number:03d}" for number in range(50, 60)}
    children.broken = set()
    assert trees.of(many[59])(FILES, NOW, "1").files == 59


@pytest.mark.parametrize("answer", [b"", b"\xc1", msgspec.msgpack.encode([]), msgspec.msgpack.encode({"sets": 1})])
def test_an_answer_that_is_none(children: Children, answer: bytes) -> None:
    """Too short, damaged or of another form: a fault of the reading, in a sentence."""
    children.answer = lambda _: answer
    with pytest.raises(SourceError, match="cannot read the policy files"):
        FleetTrees(lambda: ()).counted(fetched(), clusters(2), NOW)


def test_no_clusters_are_no_child(children: Children) -> None:
    assert FleetTrees(lambda: ()).counted(fetched(), (), NOW) == {}
    assert children.tasks == []


class Host:
    """A `Source`, and how often it was asked."""

    name = "a host"

    def __init__(self) -> None:
        self.asked: list[str | None] = []
        self.fault: SourceError | None = None

    def fetch(self, last_revision: str | None, last_seconds: int = 0) -> Fetched:
        self.asked.append(last_revision)
        if self.fault is not None:
            raise self.fault
        return fetched(str(len(self.asked)))


def test_one_answer_serves_everybody_for_some_seconds() -> None:
    """By the revision that is in force; a failure counts as long; `forget` asks anew."""
    host, now = Host(), [0.0]
    source = SharedSource(host, lambda: now[0], fresh_seconds=10)
    assert [source.fetch(None).revision for _ in range(3)] == ["1", "1", "1"]
    assert source.fetch("1").revision == "2"
    now[0] = 9.9
    assert source.fetch(None).revision == "1"
    now[0] = 10.0
    host.fault = failed(FaultCode.UNREACHABLE, "nobody answers")
    raised = []
    for _ in range(3):
        with pytest.raises(SourceError, match="nobody answers") as fault:
            source.fetch(None)
        raised.append(fault.value)
    assert len({id(one) for one in raised}) == 3
    assert host.asked == [None, "1", None]
    host.fault = None
    source.forget()
    assert source.fetch(None).revision == "4"
    assert source.name == "a host"
