"""What one group would do for the pods that wait, in numbers; for how many nodes of room an answer holds."""

from array import array

import pytest

from reconciler.cluster.pods.pod import AffinityTerm, SpreadConstraint
from reconciler.cluster.values.resources import Resources
from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.growth import options
from reconciler.decisions.growth.expanders import Option
from reconciler.decisions.growth.filling import Filling, _holds, _Kept
from reconciler.decisions.growth.options import _holds_for, options_of
from reconciler.decisions.memory import Memory
from reconciler.decisions.view import View
from reconciler.decisions.work import Work
from reconciler.decisions.work_shares import Shares
from reconciler.plan.plan import PodOutcome
from reconciler.policy.documents import PolicySet, Template
from reconciler.scheduling.filled_nodes import Filled
from tests.builders import NOW, ClusterBuilder, amounts, node_group, policy, selector
from tests.decisions.deciding import plan_of

GIB = 1 << 30
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def draft_of(cluster: ClusterBuilder, documents: PolicySet) -> Draft:
    """Before anything grows."""
    return View.of(cluster.world(), documents, Memory(), NOW, Work(10**9)).draft()


def waiting(draft: Draft) -> list[tuple[int, int]]:
    """Shapes of pods without a node, in World order, and how many."""
    pods = draft.world.pods
    shapes = [shape for shape, node in zip(pods.shape, pods.node, strict=True) if node < 0]
    return [(shape, shapes.count(shape)) for shape in sorted(set(shapes))]


@pytest.mark.parametrize("near", [False, True])
def test_what_a_group_would_serve(near: bool) -> None:
    """Three pods of a core, 2 GiB and a card, two of half a core and 1 GiB of disk on nodes of four cores and two cards: two
    nodes. Pods that have to be near each other in a zone are asked for one after the other, to the same end."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0, cpu="4", memory="16Gi", gpu=2, labels={ZONE: "a"})
    term = AffinityTerm(topology_key=ZONE, selector=selector(app="big"), namespaces=("shop",))
    shape = {"affinity": (term,)} if near else {}
    cluster.pods("big", 3, cpu="1", memory="2Gi", gpu=1, shape=shape)
    cluster.pods("small", 2, cpu="500m", memory="1Gi")
    draft = draft_of(cluster, policy(node_group("general", price_per_hour="0.25")))
    before = draft.work.spent
    (option,) = options_of(draft, list(draft.groups), waiting(draft), frozenset({ZONE}))
    # A step for each shape, and one for each node that was open when it came.
    assert not near or draft.work.spent - before == 1 + (1 + 2)
    asked = option.requested
    assert (option.position, option.group, option.nodes, option.pods, option.price_micros) == (0, "general", 2, 5, 250_000)
    assert (asked.cpu_milli, asked.memory_bytes, asked.ephemeral_bytes) == (4_000, 8 * GIB, 0)
    assert asked.extended == (("nvidia.com/gpu", 3),)
    assert option.shape is draft.groups[0].group.template
    on_nodes: dict[int, int] = {}
    for _, node, many in option.bindings:
        on_nodes[node] = on_nodes.get(node, 0) + many
    assert on_nodes == {0: 4, 1: 1}
    assert sum(many for _, many in option.bindings.served) == 5
    assert (draft.state.node_count, draft.groups[0].desired) == (0, 0)


@pytest.mark.parametrize(("most", "nodes", "pods"), [(3, 3, 5), (2, 2, 4), (1, 1, 2)])
@pytest.mark.parametrize("near", [False, True])
def test_no_more_nodes_than_there_is_room_for(near: bool, most: int, nodes: int, pods: int) -> None:
    """Five pods, two on a node."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0, cpu="4", labels={ZONE: "a"})
    term = AffinityTerm(topology_key=ZONE, selector=selector(app="web"), namespaces=("shop",))
    cluster.pods("web", 5, cpu="2", shape={"affinity": (term,)} if near else {})
    draft = draft_of(cluster, policy(node_group("general", max=most)))
    (option,) = options_of(draft, list(draft.groups), waiting(draft), frozenset({ZONE}))
    assert (option.nodes, option.pods) == (nodes, pods)


@pytest.mark.parametrize(("most", "nodes", "pods"), [(9, 4, 8), (4, 4, 8), (3, 3, 6)])
def test_nodes_that_are_opened_at_once_are_no_more_than_there_is_room_for(most: int, nodes: int, pods: int) -> None:
    """Seven pods, two on a node, beside one that has to be near another: what fills the first node fills those that follow."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0, cpu="4", labels={ZONE: "a"})
    term = AffinityTerm(topology_key=ZONE, selector=selector(app="db"), namespaces=("shop",))
    cluster.pods("db", 1, cpu="2", shape={"affinity": (term,)})
    cluster.pods("web", 7, cpu="2")
    draft = draft_of(cluster, policy(node_group("general", max=most)))
    (option,) = options_of(draft, list(draft.groups), waiting(draft), frozenset({ZONE}))
    assert (option.nodes, option.pods) == (nodes, pods)


@pytest.mark.parametrize(
    ("budget", "kept"),
    [
        (1_000, [1, 2, 3, 4, 5, 6]),  # six shapes on ten nodes are within the common half
        (48, [1, 2, 4, 5]),  # 12 of its own and 12 of the common 24, ten nodes each: two shapes of each namespace
        (20, [1, 4]),  # ten steps: one
        (2, [1, 4]),  # not even one, but everybody has a turn
    ],
)
def test_one_pass_takes_no_namespace_far_beyond_its_share(budget: int, kept: list[int]) -> None:
    """The others have their turn when it is known what these took."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0)
    for number in range(1, 7):
        cluster.pods(f"app-{number}", 10, cpu=f"{number}m", namespace="a" if number < 4 else "b")
    draft = draft_of(cluster, policy(node_group("general")))
    draft.shares = Shares(Work(budget), ("a", "b"))
    filling, served = Filling(draft), waiting(draft)
    assert [shape for shape, _ in filling._within_shares(served, 10)] == [served[number - 1][0] for number in kept]
    # As many nodes as pods, at most: two shapes of one pod each are no long pass.
    few = [(shape, 1) for shape, _ in served[:2]]
    assert filling._within_shares(few, 1_000) == (few if budget > 8 else few[:1])


@pytest.mark.parametrize(("budget", "kept"), [(138, 7), (137, 6)])
def test_a_pass_within_the_common_steps_leaves_nobody_out(budget: int, kept: int) -> None:
    """Seven shapes on ten nodes are seventy steps: 138 less four times 17. With one less a namespace of four shapes has 34."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0)
    for number in range(7):
        cluster.pods(f"app-{number}", 10, cpu=f"{number + 1}m", namespace="abcd"[max(0, number - 3)])
    draft = draft_of(cluster, policy(node_group("general")))
    draft.shares = Shares(Work(budget), "abcd")
    assert len(Filling(draft)._within_shares(waiting(draft), 10)) == kept


def test_pods_that_keep_apart_from_a_daemon_get_no_node_with_it() -> None:
    """Whatever the group: every new node has the DaemonSet's pod."""
    for app, served in (("agent", []), ("other", [1])):
        cluster = ClusterBuilder()
        cluster.group("general", nodes=0)
        cluster.daemonset("agent")
        apart = AffinityTerm(topology_key=HOST, selector=selector(app=app), namespaces=("kube-system",))
        cluster.pods("web", 1, cpu="1", shape={"anti_affinity": (apart,)})
        draft = draft_of(cluster, policy(node_group("general")))
        assert [option.pods for option in options_of(draft, list(draft.groups), waiting(draft), frozenset())] == served


@pytest.mark.parametrize("skew", [1, 2])
def test_a_spread_that_counts_daemons_is_asked_for_pod_by_pod(skew: int) -> None:
    """Pods that spread over hosts with a selector that matches the DaemonSet's pods too: in passes and one by one the same."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, cpu="4")
    cluster.daemonset("agent")
    spread = SpreadConstraint(topology_key=HOST, max_skew=skew, selector=selector(app="agent"))
    cluster.pods("agent", 5, cpu="1", namespace="kube-system", shape={"spread": (spread,)}, owner="ReplicaSet")
    draft = draft_of(cluster, policy(node_group("general")))
    asked = waiting(draft)
    (found,) = options_of(draft, list(draft.groups), asked, frozenset({HOST}))
    plain = options._option(draft, draft.groups[0], asked, 9, set())
    assert plain is not None
    assert (found.nodes, found.pods, sorted(found.bindings)) == (plain.nodes, plain.pods, sorted(plain.bindings))


def test_disk_adds_up() -> None:
    """Two pods with a GiB each and two with two, on one node."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0)
    capacity = (("cpu", 4_000), ("memory", 16 * GIB), ("pods", 110), ("ephemeral-storage", 9 * GIB))
    for name, disk in (("a", GIB), ("b", 2 * GIB)):
        cluster.pods(name, 2, shape={"requests": Resources(cpu_milli=100, ephemeral_bytes=disk, pods=1)})
    draft = draft_of(cluster, policy(node_group("general", template=Template(capacity=capacity))))
    (option,) = options_of(draft, list(draft.groups), waiting(draft), frozenset())
    assert option.requested == Resources(cpu_milli=400, ephemeral_bytes=6 * GIB)


def test_groups_that_are_alike_are_asked_once_while_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five nodes are needed. What was found with room for six holds for five, not for four; three are all of three."""
    cluster = ClusterBuilder()
    rooms = {"a": 6, "b": 5, "c": 4, "d": 3}
    for name in rooms:
        cluster.group(name, nodes=0, labels={"pool": "x"})
    cluster.pods("web", 5, cpu="3")
    draft = draft_of(cluster, policy(*(node_group(name, max=most) for name, most in rooms.items())))
    asked: list[str] = []

    def filled(of: Draft, group: GroupDraft, *rest: object) -> object:
        asked.append(group.group.name)
        return plain(of, group, *rest)

    plain = options._filled
    monkeypatch.setattr(options, "_filled", filled)
    found = options_of(draft, list(draft.groups), waiting(draft), frozenset())
    assert asked == ["a", "c", "d"]
    assert [(option.group, option.nodes, option.pods) for option in found] == [("a", 5, 5), ("b", 5, 5), ("c", 4, 4), ("d", 3, 3)]


@pytest.mark.parametrize(
    ("nodes", "tried", "room", "holds"),
    [
        (3, 5, 5, True),
        (3, 5, 4, True),
        (3, 5, 3, True),
        (3, 5, 2, False),
        (3, 5, 9, True),
        (5, 5, 5, True),
        (5, 5, 6, False),
        (5, 5, 4, False),
        (4, 5, 6, True),
    ],
)
def test_for_which_room_an_answer_holds(nodes: int, tried: int, room: int, holds: bool) -> None:
    """The same; or any that has its nodes, where it did not fill all of what it had."""
    cluster = ClusterBuilder()
    cluster.node("n")
    (shape,) = cluster.world().node_shapes
    option = Option(position=0, group="a", shape=shape, nodes=nodes, pods=1, requested=amounts("1", "0", 1), price_micros=None)
    assert _holds_for(option, tried, room) is holds
    assert _holds_for(None, tried, room)
    empty = array("i")
    kept = _Kept(waiting=(), room=tried, spreads=(), filled=Filled(nodes, empty, empty, empty, ()))
    assert _holds(kept, room) is holds


def test_what_is_kept_is_for_the_same_pods() -> None:
    """Four pods fill two nodes; two that are left then fill one; four again two."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0)
    cluster.pods("web", 4, cpu="2")
    draft = draft_of(cluster, policy(node_group("general")))
    filling, ((shape, _),) = Filling(draft), waiting(draft)
    nodes, steps = [], []
    for pods in (4, 2, 4, 4):
        before = draft.work.spent
        nodes.append([option.nodes for option in options_of(draft, list(draft.groups), [(shape, pods)], frozenset(), filling)])
        steps.append(draft.work.spent - before)
    assert nodes == [[2], [1], [2], [2]]
    # What is asked again costs nothing.
    assert [many > 0 for many in steps] == [True, True, True, False]


def test_a_pod_that_must_be_near_another_goes_to_the_node_bought_for_it() -> None:
    """The larger one is asked first and has no place on a node of its own; bought for the smaller, that has room for both."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0, cpu="4")
    near = AffinityTerm(topology_key=HOST, selector=selector(app="db"), namespaces=("shop",))
    cluster.pods("web", 1, cpu="2", shape={"affinity": (near,)})
    cluster.pods("db", 1, cpu="1")
    plan = plan_of(cluster.world(), policy(node_group("general", max=1)))
    assert {line.pod: (line.outcome, line.group) for line in plan.pods} == {
        "shop/db-1": (PodOutcome.TRIGGERS_SCALE_UP, "general"),
        "shop/web-1": (PodOutcome.TRIGGERS_SCALE_UP, "general"),
    }


@pytest.mark.parametrize(("namespace", "whole"), [("shop", False), ("kube-system", True)])
def test_a_spread_that_counts_daemon_pods_is_not_for_whole_passes(namespace: str, whole: bool) -> None:
    """Every new node begins with one of them, if they are of the namespace and carry the label that is spread."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0, cpu="4")
    cluster.daemonset("web", namespace=namespace)
    spread = SpreadConstraint(topology_key=HOST, max_skew=1, selector=selector(app="web"))
    cluster.pods("web", 3, cpu="1", shape={"spread": (spread,)})
    draft = draft_of(cluster, policy(node_group("general")))
    filling, group = Filling(draft), draft.groups[0]
    assert filling.covers(waiting(draft))
    assert group.group.template is not None
    probe = draft.state.add_node("general-try", group.group.template, group.daemons)
    filled = filling.fill(("alike",), probe, waiting(draft), 9, group.daemons)
    assert (filled is not None) is whole
