"""Packing onto new nodes of many templates, judged by the verdict function."""

import pytest

from reconciler.cluster.nodes.node import NodeShape, Taint
from reconciler.cluster.pods.pod import AffinityTerm, PodShape, SpreadConstraint, VolumeUse
from reconciler.cluster.values.resources import Resources
from reconciler.cluster.values.selection import NodeSelectorTerm
from reconciler.cluster.world import World
from reconciler.scheduling.packing import PackTemplate, label_keys, pack
from reconciler.scheduling.state import SchedulingState
from reconciler.values.label_selector import LabelSelector, Requirement
from tests.benchmarks.scheduling.karpenter_mix import mix, packed, templates


def _size(cpu: int, memory_gib: int = 64) -> Resources:
    return Resources(cpu_milli=cpu * 1000, memory_bytes=memory_gib << 30, pods=110)


def _template(cpu: int, cost: int, *, taints: tuple[Taint, ...] = ()) -> PackTemplate:
    return PackTemplate(shape=NodeShape(capacity=_size(cpu), allocatable=_size(cpu), taints=taints), cost=cost)


def _pod(cpu: int) -> PodShape:
    return PodShape(namespace="x", requests=Resources(cpu_milli=cpu * 1000, memory_bytes=1 << 30, pods=1))


@pytest.mark.parametrize("count", [100, 500])
def test_every_binding_is_legal_when_it_is_made(count: int) -> None:
    """The mix, replayed pod by pod on the nodes that were chosen: the verdict function objects to none."""
    world, demands = mix(count)
    _, packing = packed(world, demands)
    assert sum(many for _, _, many in packing.bindings) == count
    assert not packing.left
    state = SchedulingState(world)
    offers = templates()
    opened: dict[int, int] = {}
    chosen = {node: template for template, node in packing.nodes}
    for shape, node, many in packing.bindings:
        for _ in range(many):
            if node not in opened:
                opened[node] = state.add_node(f"n{node}", offers[chosen[node]].shape)
            assert not state.verdict(shape, opened[node])
            state.bind(shape, opened[node])


def test_a_node_becomes_the_cheapest_template_that_holds_its_pods() -> None:
    """Opened with 16 cores, three pods of 1 core fit on 4 cores, which cost least."""
    state = SchedulingState(World(captured_seconds=0, pod_shapes=(_pod(1),)))
    packing = pack(state, [(0, 3)], [_template(16, 16), _template(4, 4), _template(8, 8)])
    assert [template for template, _ in packing.nodes] == [1]
    assert state.shape_of(packing.nodes[0][1]).allocatable == _size(4)


def test_what_no_template_can_take_is_left() -> None:
    """A pod of 20 cores and templates of 16: left over, and the others are placed."""
    state = SchedulingState(World(captured_seconds=0, pod_shapes=(_pod(20), _pod(1))))
    packing = pack(state, [(0, 2), (1, 5)], [_template(16, 16)])
    assert packing.left == ((0, 2),)
    assert sum(many for _, _, many in packing.bindings) == 5


def test_tainted_templates_are_a_class_of_their_own() -> None:
    """The large tainted template is tried first and refuses; the small open one takes the pod."""
    state = SchedulingState(World(captured_seconds=0, pod_shapes=(_pod(1),)))
    tainted = _template(64, 1, taints=(Taint("dedicated", "db", "NoSchedule"),))
    packing = pack(state, [(0, 1)], [tainted, _template(4, 4)])
    assert [template for template, _ in packing.nodes] == [1]


def test_the_state_keeps_the_chosen_nodes_only() -> None:
    """Trial nodes are gone: what is bound to the state is what the result says."""
    state = SchedulingState(World(captured_seconds=0, pod_shapes=(_pod(1),)))
    packing = pack(state, [(0, 40)], [_template(16, 16), _template(4, 4)])
    assert state.node_count == len(packing.nodes)
    assert sum(many for node in range(state.node_count) for _, many in state.bound(node)) == 40


def test_a_node_becomes_no_template_with_too_little_ephemeral_storage() -> None:
    """Opened with 8 cores: the cheaper template has the cores for three pods and lacks the scratch space for one of them."""
    pod = PodShape(namespace="x", requests=Resources(cpu_milli=1000, ephemeral_bytes=10 << 30, pods=1))
    state = SchedulingState(World(captured_seconds=0, pod_shapes=(pod,)))

    def template(cost: int, cpu: int, scratch_gib: int) -> PackTemplate:
        size = Resources(cpu_milli=cpu * 1000, memory_bytes=64 << 30, ephemeral_bytes=scratch_gib << 30, pods=110)
        return PackTemplate(shape=NodeShape(capacity=size, allocatable=size), cost=cost)

    packing = pack(state, [(0, 3)], [template(1, 4, 29), template(2, 8, 30)])
    assert [index for index, _ in packing.nodes] == [1]
    assert not packing.left


@pytest.mark.parametrize("rule", ["affinity", "anti_affinity", "spread", "node_selector", "required_terms"])
def test_labels_that_rules_of_pods_name_tell_templates_apart(rule: str) -> None:
    """Each kind of rule brings its key; labels that nobody names do not count."""
    term = AffinityTerm(topology_key="rack", selector=LabelSelector())
    value = {
        "affinity": (term,),
        "anti_affinity": (term,),
        "spread": (SpreadConstraint(topology_key="rack", max_skew=1, selector=LabelSelector()),),
        "node_selector": (("rack", "r1"),),
        "required_terms": (NodeSelectorTerm((Requirement("rack", "Exists"),)),),
    }[rule]
    pod = PodShape(namespace="x", **{rule: value})
    template = NodeShape(labels=(("rack", "r1"), ("row", "7")))
    assert label_keys((pod,), (template,)) == {"rack"}
    assert label_keys((PodShape(namespace="x"),), (template,)) == frozenset()


_GIB = 1 << 30
_WHOLE = {"cpu_milli": 3000, "memory_bytes": 3 * _GIB, "ephemeral_bytes": 3 * _GIB, "pods": 3, "extended": (("gpu", 3),)}
# The same with one less of one thing.
_SHORT = [
    {**_WHOLE, "cpu_milli": 2999},
    {**_WHOLE, "memory_bytes": 3 * _GIB - 1},
    {**_WHOLE, "ephemeral_bytes": 3 * _GIB - 1},
    {**_WHOLE, "pods": 2},
    {**_WHOLE, "extended": (("gpu", 2),)},
    {**_WHOLE, "extended": ()},
]
_ONE_OF_EACH = PodShape(
    namespace="x",
    requests=Resources(cpu_milli=1000, memory_bytes=_GIB, ephemeral_bytes=_GIB, pods=1, extended=(("gpu", 1),)),
)


def _offer(cost: int, amounts: dict[str, object]) -> PackTemplate:
    size = Resources(**amounts)
    return PackTemplate(shape=NodeShape(capacity=size, allocatable=size), cost=cost)


@pytest.mark.parametrize(("small", "chosen"), [(_WHOLE, 0), *((short, 1) for short in _SHORT)])
def test_a_node_becomes_a_template_that_has_all_of_everything(small: dict[str, object], chosen: int) -> None:
    """Three pods with one of each resource: the cheap template has three of each, or one less of one of them."""
    large = {"cpu_milli": 8000, "memory_bytes": 8 * _GIB, "ephemeral_bytes": 8 * _GIB, "pods": 8, "extended": (("gpu", 8),)}
    state = SchedulingState(World(captured_seconds=0, pod_shapes=(_ONE_OF_EACH,)))

    packing = pack(state, [(0, 3)], [_offer(1, small), _offer(2, large)])

    assert [template for template, _ in packing.nodes] == [chosen]
    assert packing.left == ()


@pytest.mark.parametrize(
    "lacking", [{"cpu_milli": 999}, {"memory_bytes": _GIB - 1}, {"pods": 0}, {"ephemeral_bytes": 0}, {"extended": ()}]
)
def test_a_large_template_that_lacks_something_does_not_stop_the_smaller_ones(lacking: dict[str, object]) -> None:
    """The first to be opened is large in cores or memory and lacks one thing that the pod requests; the next one has it."""
    huge = {**_WHOLE, "cpu_milli": 64_000, "memory_bytes": 256 * _GIB, **lacking}
    state = SchedulingState(World(captured_seconds=0, pod_shapes=(_ONE_OF_EACH,)))

    packing = pack(state, [(0, 1)], [_offer(1, huge), _offer(2, _WHOLE)])

    assert ([template for template, _ in packing.nodes], packing.left) == ([1], ())


@pytest.mark.parametrize(
    ("first", "second", "on_each"),
    [
        # Cores and GiB; 16 + 64 is more than 32 + 16.
        ((4, 64), (8, 16), [4, 4]),
        # 20 + 31 is more than 40 + 10, which 5 GiB a core would turn round.
        ((5, 31), (10, 10), [5, 3]),
        # A core of a thousand is told from none.
        ((4, 1), (3, 4), [4, 4]),
        # Equally large: the cheaper one, which is named last.
        ((2, 8), (3, 4), [3, 3, 2]),
    ],
)
def test_the_largest_template_is_opened_first(first: tuple[int, int], second: tuple[int, int], on_each: list[int]) -> None:
    """Cores and memory on one scale, 4 GiB a core. Eight pods of one core each tell which template was opened."""
    pod = PodShape(namespace="x", requests=Resources(cpu_milli=1000, memory_bytes=_GIB // 8, pods=1))
    state = SchedulingState(World(captured_seconds=0, pod_shapes=(pod,)))

    packing = pack(state, [(0, 8)], [_template_of(*first, cost=9), _template_of(*second, cost=8)])

    assert [many for _, _, many in packing.bindings] == on_each


@pytest.mark.parametrize(
    ("offers", "chosen"),
    [
        # What was opened stays where no other one costs less, though another one has more cores.
        ([(4, 64, 9), (8, 16, 9)], 0),
        # Of two that cost less and the same the smaller one.
        ([(4, 64, 9), (5, 16, 3), (3, 16, 3)], 2),
        ([(4, 64, 9), (3, 16, 4), (5, 16, 3)], 2),
    ],
)
def test_what_a_node_becomes_at_equal_cost(offers: list[tuple[int, int, int]], chosen: int) -> None:
    """Templates of cores, GiB and cost; the first one is the largest and is opened for two pods of one core."""
    state = SchedulingState(World(captured_seconds=0, pod_shapes=(_pod(1),)))

    packing = pack(state, [(0, 2)], [_template_of(cores, gib, cost=cost) for cores, gib, cost in offers])

    assert [template for template, _ in packing.nodes] == [chosen]


def _template_of(cores: int, gib: int, *, cost: int) -> PackTemplate:
    size = _size(cores, gib)
    return PackTemplate(shape=NodeShape(capacity=size, allocatable=size), cost=cost)


def test_daemons_take_their_part_of_new_nodes() -> None:
    """DaemonSet pods of one core on nodes of four: three pods of one core are on each node, and the smaller template lacks
    room for the daemon."""
    daemon = PodShape(namespace="kube-system", requests=Resources(cpu_milli=1000, memory_bytes=1 << 20, pods=1))
    state = SchedulingState(World(captured_seconds=0, pod_shapes=(_pod(1), daemon)))
    offers = [
        PackTemplate(shape=NodeShape(capacity=_size(cpu), allocatable=_size(cpu)), daemons=(1,), cost=cpu) for cpu in (3, 4)
    ]

    packing = pack(state, [(0, 6)], offers)

    assert [template for template, _ in packing.nodes] == [1, 1]
    assert [state.bound(node) for _, node in packing.nodes] == [((0, 3), (1, 1))] * 2


def test_pods_go_to_nodes_that_were_opened_before() -> None:
    """A second kind of pod fills what the first one left free; names of new nodes are numbered from one."""
    state = SchedulingState(World(captured_seconds=0, pod_shapes=(_pod(3), _pod(1))))

    packing = pack(state, [(0, 2), (1, 3)], [_template(4, 4)])

    assert packing.bindings == ((0, 0, 1), (0, 1, 1), (1, 0, 1), (1, 1, 1), (1, 2, 1))
    assert [state.name(node) for node in range(state.node_count)] == ["new-1", "new-2", "new-3"]


def test_a_template_that_a_constraint_keeps_out_speaks_for_its_class() -> None:
    """Two zones of nodes: pods that keep apart by zone get one node in each, and the third is left."""
    own = LabelSelector((Requirement("app", "In", ("web",)),))
    term = AffinityTerm(topology_key="zone", selector=own, namespaces=("x",))
    pod = PodShape(namespace="x", labels=(("app", "web"),), requests=Resources(cpu_milli=1000, pods=1), anti_affinity=(term,))
    offers = [
        PackTemplate(shape=NodeShape(labels=(("zone", zone),), capacity=_size(cpu), allocatable=_size(cpu)), cost=cpu)
        for zone in "ab"
        for cpu in (2, 4)
    ]
    state = SchedulingState(World(captured_seconds=0, pod_shapes=(pod,)))

    packing = pack(state, [(0, 3)], offers)

    assert [template for template, _ in packing.nodes] == [0, 2]
    assert packing.left == ((0, 1),)


@pytest.mark.parametrize("place", ["pod", "other"])
def test_any_label_may_matter_to_a_pod_with_a_volume(place: str) -> None:
    """Disks have zones and classes have topologies: all labels of templates count, for pods that run already as well."""
    pod = PodShape(namespace="x", volumes=(VolumeUse(kind="PersistentVolumeClaim", claim="data"),))
    template = NodeShape(labels=(("rack", "r1"), ("row", "7")))
    shapes = (pod,) if place == "pod" else (PodShape(namespace="x"), pod)
    assert label_keys(shapes, (template,)) == {"rack", "row"}
