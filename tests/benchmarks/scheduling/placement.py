"""Placement and verdicts, decoding left out: each case starts from a World or from a state that is there already."""

from collections.abc import Callable, Iterator

from reconciler.cluster.pods.pod import AffinityTerm, SpreadConstraint
from reconciler.scheduling.state import SchedulingState
from reconciler.values.label_selector import LabelSelector, Requirement
from tests.benchmarks.measure import Case
from tests.benchmarks.scheduling.clusters import empty_world, free_nodes, nearly_full, node_shape, pod_shape

_GIB = 1 << 30
_WEB = LabelSelector((Requirement("app", "In", ("web",)),))
_BOUND_SHAPES = 20


def cases() -> Iterator[Case]:
    """The figures asked of the scheduling core."""
    yield Case("place 10,000 pods, 200 shapes, 5,000 nodes", _onto_full(5_000, 200, 50), bound_seconds=0.030)
    yield Case("place 20,000 pods, 200 shapes, 5,000 nodes", _onto_full(5_000, 200, 100))
    yield Case("place 30,000 pods, 400 shapes, 15,000 nodes", _onto_full(15_000, 400, 75), bound_seconds=0.120)
    yield Case("build a state of 5,000 nodes, 140,000 pods", _build(5_000), bound_seconds=None)
    yield Case("place 50,000 equal pods on 1,000 new nodes", fifty_thousand_equal, bound_seconds=0.020)
    yield Case("first fit decreasing, 51,000 pods", first_fit_decreasing, bound_seconds=0.030)
    yield Case("1,000 pods with anti-affinity, 20 groups", _apart(), bound_seconds=0.100)
    yield Case("3,000 pods spread over zones, 2,000 nodes", _spread(), bound_seconds=0.100)
    yield Case("verdict of a new shape on 15,000 nodes", _verdict(), bound_seconds=0.015)


def fifty_thousand_equal() -> int:
    """Pods placed on 1,000 nodes that are added for them: 50 fit on each."""
    shape = pod_shape(100, _GIB // 10)
    state = SchedulingState(empty_world(shape))
    offer = node_shape(5_000, 64 * _GIB, 110)
    for number in range(1_000):
        state.add_node(f"new-{number}", offer)
    return sum(many for _, many in state.place(0, 50_000))


def first_fit_decreasing() -> int:
    """Nodes used by 1,000 pods of 95m and 190 bytes, then 50,000 of 50m and 100 bytes, on nodes of 1000m, 5,000 bytes and
    100 pods: 100 nodes take 10 large and 1 small each, 20 small fit on every other, 49,900 / 20 = 2,495 of them."""
    state = SchedulingState(empty_world(pod_shape(95, 190, "large"), pod_shape(50, 100, "small")))
    offer = node_shape(1_000, 5_000, 100)
    for number in range(2_600):
        state.add_node(f"new-{number}", offer)
    used = {node for node, _ in state.place(0, 1_000)}
    return len(used | {node for node, _ in state.place(1, 50_000)})


def _onto_full(nodes: int, shapes: int, each: int) -> Callable[[], object]:
    state = SchedulingState(nearly_full(nodes, shapes))

    def run() -> int:
        mark = state.mark()
        placed = sum(many for shape in range(_BOUND_SHAPES, _BOUND_SHAPES + shapes) for _, many in state.place(shape, each))
        state.undo(mark)
        return placed

    return run


def _build(nodes: int) -> Callable[[], object]:
    world = nearly_full(nodes, 200)
    return lambda: SchedulingState(world)


def _apart() -> Callable[[], object]:
    apart = pod_shape(
        100, _GIB, anti_affinity=(AffinityTerm(topology_key="kubernetes.io/hostname", selector=_WEB, namespaces=("shop",)),)
    )
    state = SchedulingState(free_nodes(0, apart))
    offers = [node_shape(8_000, 32 * _GIB, 110, zone="a", pool=f"group-{number}") for number in range(20)]

    def run() -> int:
        placed = 0
        for offer in offers:
            mark = state.mark()
            new = [state.add_node(f"new-{number}", offer) for number in range(1_000)]
            placed += sum(many for _, many in state.place(0, 1_000, new))
            state.undo(mark)
        return placed

    return run


def _spread() -> Callable[[], object]:
    constraint = SpreadConstraint(topology_key="topology.kubernetes.io/zone", max_skew=1, selector=_WEB)
    state = SchedulingState(free_nodes(2_000, pod_shape(1_000, _GIB, spread=(constraint,))))

    def run() -> int:
        mark = state.mark()
        placed = sum(many for _, many in state.place(0, 3_000))
        state.undo(mark)
        return placed

    return run


def _verdict() -> Callable[[], object]:
    state = SchedulingState(nearly_full(15_000, 10))
    fresh = iter(range(1_000_000))

    def run() -> int:
        shape = state.add_shape(pod_shape(2_000 + next(fresh), _GIB, node_selector=(("pool", "general"),)))
        return len(state.rejecting_plugins(shape))

    return run
