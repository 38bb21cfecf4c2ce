"""First fit under limits by domain: every path must place pods as if one by one."""

from unittest.mock import patch

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.cluster.nodes.node import Node, NodeShape
from reconciler.cluster.pods.pod import AffinityTerm, Pod, PodPhase, PodShape, SpreadConstraint
from reconciler.cluster.pods.pod_table import PodTable
from reconciler.cluster.values.resources import Resources
from reconciler.cluster.world import World
from reconciler.scheduling import state as state_module
from reconciler.scheduling.state import SchedulingState
from reconciler.scheduling.topology import rationing
from reconciler.values.label_selector import LabelSelector, Requirement

_KEYS = ("zone", "rack", "kubernetes.io/hostname")
_OWN = LabelSelector((Requirement("app", "In", ("web",)),))
_spread = st.builds(
    SpreadConstraint,
    topology_key=st.sampled_from(_KEYS),
    max_skew=st.integers(1, 3),
    min_domains=st.integers(1, 2),
    selector=st.just(_OWN),
)
_apart = st.builds(AffinityTerm, topology_key=st.sampled_from(_KEYS), selector=st.just(_OWN), namespaces=st.just(("ns",)))


@st.composite
def limited_worlds(draw: st.DrawFn) -> World:
    """Three to eight nodes, some without a rack, and one shape under one or two limits that it moves itself."""
    shapes: list[NodeShape] = []
    for _ in range(draw(st.integers(3, 8))):
        labels = {"zone": draw(st.sampled_from("ab")), "rack": draw(st.sampled_from(["r", "s", "t", ""]))}
        size = Resources(pods=draw(st.integers(0, 9)))
        shapes.append(NodeShape(labels=tuple((k, v) for k, v in sorted(labels.items()) if v), capacity=size, allocatable=size))
    kinds = list(dict.fromkeys(shapes))
    limits = draw(st.lists(_spread, max_size=2, unique=True))
    apart = [] if limits and draw(st.booleans()) else [draw(_apart)]
    shape = PodShape(
        namespace="ns", labels=(("app", "web"),), requests=Resources(pods=1), spread=tuple(limits), anti_affinity=tuple(apart)
    )
    plain = msgspec.structs.replace(shape, spread=(), anti_affinity=())
    places = draw(st.lists(st.integers(0, len(shapes) - 1), max_size=6))
    pods = [
        Pod(namespace="ns", name=f"p{n}", shape=1, traits=0, node=node, phase=PodPhase.RUNNING) for n, node in enumerate(places)
    ]
    return World(
        captured_seconds=1,
        node_shapes=tuple(kinds),
        nodes=tuple(Node(name=f"n{number}", shape=kinds.index(item)) for number, item in enumerate(shapes)),
        pod_shapes=(shape, plain),
        pods=PodTable(pods),
    )


@settings(max_examples=400, deadline=None)
@given(limited_worlds(), st.integers(1, 30), st.sampled_from([0, 8]), st.sampled_from([0, 4, 256]))
def test_every_path_is_first_fit(world: World, count: int, few: int, groups: int) -> None:
    """Node by node, grouped by domain and looked up by domain give what placing one pod after the other gives."""
    state, single = SchedulingState(world), SchedulingState(world)
    nodes = range(len(world.nodes))
    with patch.object(state_module, "_FEW_NODES", few), patch.object(rationing, "_MOST_GROUPS", groups):
        placed = dict(state.place(0, count, list(nodes)))

    expected: dict[int, int] = {}
    for _ in range(count):
        found = next((node for node in nodes if not single.verdict(0, node)), None)
        if found is None:
            break
        single.bind(0, found)
        expected[found] = expected.get(found, 0) + 1
    assert placed == expected
