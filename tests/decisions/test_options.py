"""What one group would do for the pods that wait, in numbers; for how many nodes of room an answer holds."""

from array import array

import pytest

from reconciler.cluster.pods.pod import AffinityTerm
from reconciler.cluster.values.resources import Resources
from reconciler.decisions.draft import Draft
from reconciler.decisions.growth.expanders import Option
from reconciler.decisions.growth.filling import Filling, _holds, _Kept
from reconciler.decisions.growth.options import _holds_for, options_of
from reconciler.decisions.memory import Memory
from reconciler.decisions.view import View
from reconciler.decisions.work import Work
from reconciler.policy.documents import PolicySet, Template
from reconciler.scheduling.filled import Filled
from tests.builders import NOW, ClusterBuilder, amounts, node_group, policy, selector

GIB = 1 << 30
ZONE = "topology.kubernetes.io/zone"


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
    (option,) = options_of(draft, list(draft.groups), waiting(draft), frozenset({ZONE}))
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


def test_disk_adds_up() -> None:
    """Two pods with a GiB each, on one node."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0)
    capacity = (("cpu", 4_000), ("memory", 16 * GIB), ("pods", 110), ("ephemeral-storage", 9 * GIB))
    for name in "ab":
        cluster.pods(name, 1, shape={"requests": Resources(cpu_milli=100, ephemeral_bytes=GIB, pods=1)})
    draft = draft_of(cluster, policy(node_group("general", template=Template(capacity=capacity))))
    (option,) = options_of(draft, list(draft.groups), waiting(draft), frozenset())
    assert option.requested == Resources(cpu_milli=200, ephemeral_bytes=2 * GIB)


def test_groups_that_are_alike_are_asked_once_while_there_is_room() -> None:
    """Five nodes are needed. What was found with room for six holds for five, not for four; three are all of three."""
    cluster = ClusterBuilder()
    rooms = {"a": 6, "b": 5, "c": 4, "d": 3}
    for name in rooms:
        cluster.group(name, nodes=0, labels={"pool": "x"})
    cluster.pods("web", 5, cpu="3")
    draft = draft_of(cluster, policy(*(node_group(name, max=most) for name, most in rooms.items())))
    found = options_of(draft, list(draft.groups), waiting(draft), frozenset())
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
    nodes = [
        [option.nodes for option in options_of(draft, list(draft.groups), [(shape, pods)], frozenset(), filling)]
        for pods in (4, 2, 4, 4)
    ]
    assert nodes == [[2], [1], [2], [2]]
