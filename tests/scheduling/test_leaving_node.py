"""A node that is leaving is no domain of a spread constraint: verdicts elsewhere are those of a cluster without it."""

from array import array

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from reconciler.cluster.pods.pod_table import PodTable
from reconciler.cluster.world import World
from reconciler.scheduling.state import SchedulingState
from tests.scheduling.small_worlds import worlds

SPREAD = "PodTopologySpread"


def _without(world: World, node: int) -> World:
    """The same cluster, with the pods of the node on none."""
    rows = [msgspec.structs.replace(pod, node=-1 if pod.node == node else pod.node - (pod.node > node)) for pod in world.pods]
    nodes = tuple(one for index, one in enumerate(world.nodes) if index != node)
    return msgspec.structs.replace(world, nodes=nodes, pods=PodTable(rows))


def _spread_says_no(state: SchedulingState, nodes: list[int]) -> list[bool]:
    return [
        any(rejection.plugin == SPREAD for rejection in state.verdict(shape, node))
        for shape in range(state.shape_count)
        for node in nodes
    ]


@given(worlds(), st.data())
def test_spread_looks_past_it(world: World, data: st.DataObject) -> None:
    state = SchedulingState(world)
    every = list(range(len(world.nodes)))
    if len(every) < 2:
        return
    node = data.draw(st.sampled_from(every))
    others = [index for index in every if index != node]
    # Counters are made when they are first asked for: before the node leaves, or after.
    before = _spread_says_no(state, every) if data.draw(st.booleans()) else None
    mark = state.mark()
    state.leave(node)
    rest = SchedulingState(_without(world, node))
    assert _spread_says_no(state, others) == _spread_says_no(rest, list(range(len(others))))
    shape = data.draw(st.integers(0, state.shape_count - 1))
    assert sum(many for _, many in state.place(shape, 3, array("i", others))) >= 0
    state.undo(mark)
    fresh = SchedulingState(world)
    assert _spread_says_no(state, every) == _spread_says_no(fresh, every)
    assert before is None or before == _spread_says_no(fresh, every)
