"""Packing onto new nodes of many templates, judged by the verdict function."""

import pytest

from reconciler.cluster.nodes.node import NodeShape, Taint
from reconciler.cluster.pods.pod import AffinityTerm, PodShape, SpreadConstraint
from reconciler.cluster.values.resources import Resources
from reconciler.cluster.values.selector import LabelSelector, NodeSelectorTerm, Requirement
from reconciler.cluster.world import World
from reconciler.scheduling.packing import PackTemplate, label_keys, pack
from reconciler.scheduling.state import SchedulingState
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
