"""Random small clusters in which everything that moves meets: room, ports, spread, affinity both ways."""

from hypothesis import strategies as st

from reconciler.cluster.nodes.node import Node, NodeShape, Taint
from reconciler.cluster.pods.pod import AffinityTerm, HostPort, Pod, PodPhase, PodShape, SpreadConstraint, Toleration
from reconciler.cluster.pods.pod_table import PodTable
from reconciler.cluster.values.resources import Resources
from reconciler.cluster.world import World
from reconciler.values.label_selector import LabelSelector, Requirement

APPS = ("a", "b")
ZONE, HOST, RACK = "topology.kubernetes.io/zone", "kubernetes.io/hostname", "rack"
_KEYS = (ZONE, HOST, RACK)


def _app(name: str) -> LabelSelector:
    return LabelSelector((Requirement("app", "In", (name,)),))


_selectors = st.sampled_from([_app("a"), _app("b"), LabelSelector(), LabelSelector((Requirement("app", "Exists"),))])

_terms = st.builds(AffinityTerm, topology_key=st.sampled_from(_KEYS), selector=_selectors, namespaces=st.just(("ns",)))
_spread = st.builds(
    SpreadConstraint,
    topology_key=st.sampled_from(_KEYS),
    max_skew=st.integers(1, 2),
    min_domains=st.integers(1, 3),
    selector=_selectors,
    node_affinity_policy=st.sampled_from(["Honor", "Ignore"]),
    node_taints_policy=st.sampled_from(["Honor", "Ignore"]),
)


def _few(items: st.SearchStrategy[object], most: int) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(items, max_size=most, unique=True).map(tuple)


@st.composite
def node_shapes(draw: st.DrawFn) -> NodeShape:
    """Nodes that may lack a zone or a rack, and may be tainted or cordoned."""
    labels = {}
    zone, rack = draw(st.sampled_from(["x", "y", "z", None])), draw(st.sampled_from(["r1", "r2", "r3", None]))
    if zone:
        labels[ZONE] = zone
    if rack:
        labels[RACK] = rack
    size = Resources(
        cpu_milli=draw(st.integers(0, 12)),
        memory_bytes=draw(st.integers(0, 12)),
        pods=draw(st.integers(0, 8)),
        extended=draw(st.sampled_from([(), (("gpu", 2),)])),
    )
    return NodeShape(
        labels=tuple(sorted(labels.items())),
        taints=draw(st.sampled_from([(), (), (Taint("t", "", "NoSchedule"),)])),
        unschedulable=draw(st.sampled_from([False, False, False, True])),
        capacity=size,
        allocatable=size,
    )


@st.composite
def pod_shapes(draw: st.DrawFn) -> PodShape:
    """Pods of two apps with any mix of rules."""
    return PodShape(
        namespace="ns",
        labels=(("app", draw(st.sampled_from(APPS))),),
        requests=Resources(
            cpu_milli=draw(st.integers(0, 3)),
            memory_bytes=draw(st.integers(0, 3)),
            pods=1,
            extended=draw(st.sampled_from([(), (), (("gpu", 1),)])),
        ),
        node_selector=draw(st.sampled_from([(), (), (), ((ZONE, "x"),), ((HOST, "n1"),)])),
        tolerations=draw(st.sampled_from([(), (Toleration("t", "Exists", "", ""),)])),
        host_ports=draw(st.sampled_from([(), (), (), (HostPort(80),), (HostPort(80, "TCP", "10.0.0.1"),)])),
        spread=draw(_few(_spread, 2)),
        affinity=draw(_few(_terms, 1)),
        anti_affinity=draw(_few(_terms, 2)),
    )


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Up to nine nodes, five pod shapes and twelve bound pods, some of them terminating."""
    shapes = draw(st.lists(node_shapes(), min_size=1, max_size=4, unique=True))
    nodes = [Node(name=f"n{index}", shape=draw(st.integers(0, len(shapes) - 1))) for index in range(draw(st.integers(1, 9)))]
    pods = draw(st.lists(pod_shapes(), min_size=1, max_size=5, unique=True))
    places = draw(
        st.lists(
            st.tuples(st.integers(0, len(pods) - 1), st.integers(0, len(nodes) - 1), st.sampled_from([0, 0, 0, 1])), max_size=12
        )
    )
    rows = [
        Pod(namespace="ns", name=f"p{index:02d}", shape=shape, traits=0, node=node, phase=PodPhase.RUNNING, deletion_seconds=gone)
        for index, (shape, node, gone) in enumerate(places)
    ]
    return World(
        captured_seconds=1,
        node_shapes=tuple(shapes),
        nodes=tuple(nodes),
        pod_shapes=tuple(pods),
        pods=PodTable(rows),
        namespaces=(("ns", ()),),
    )
