"""What must hold of every placement, whatever the cluster."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.cluster.nodes.node import HOSTNAME_LABEL, NodeShape
from reconciler.cluster.values.resources import Resources
from reconciler.cluster.world import World
from reconciler.scheduling.state import SchedulingState
from tests.scheduling.small_worlds import node_shapes, worlds

_MANY = settings(max_examples=150, deadline=None)


def one_by_one(state: SchedulingState, shape: int, count: int, nodes: list[int]) -> dict[int, int]:
    """First fit as its definition says: each pod goes to the first node that fits now."""
    placed: Counter[int] = Counter()
    for _ in range(count):
        found = next((node for node in nodes if state.fits(shape, node)), None)
        if found is None:
            break
        state.bind(shape, found)
        placed[found] += 1
    return dict(placed)


@_MANY
@given(worlds(), st.data())
def test_many_at_once_equals_one_by_one(world: World, data: st.DataObject) -> None:
    """`place` puts pods where first fit puts them one after the other, in the order of the nodes given."""
    shape = data.draw(st.integers(0, len(world.pod_shapes) - 1))
    count = data.draw(st.integers(1, 25))
    order = data.draw(st.permutations(range(len(world.nodes))))
    many, single = SchedulingState(world), SchedulingState(world)

    # A node that comes twice is asked once; long lists are placed all at once, short ones node by node.
    placed = many.place(shape, count, data.draw(st.sampled_from([order, [*order, *order[-1:] * 9]])))

    assert dict(placed) == one_by_one(single, shape, count, list(order))
    assert len(dict(placed)) == len(placed)


@_MANY
@given(worlds(), st.data())
def test_fits_is_an_empty_verdict(world: World, data: st.DataObject) -> None:
    """A node fits exactly when no plugin rejects it, and the plugins of all nodes at once are those of the verdicts."""
    state = SchedulingState(world)
    shape = data.draw(st.integers(0, len(world.pod_shapes) - 1))
    verdicts = [state.verdict(shape, node) for node in range(state.node_count)]

    assert [state.fits(shape, node) for node in range(state.node_count)] == [not said for said in verdicts]
    assert state.rejecting_plugins(shape) == [tuple(item.plugin for item in said) for said in verdicts]


@_MANY
@given(worlds(), st.data())
def test_refusals_are_counted_as_verdicts_say(world: World, data: st.DataObject) -> None:
    """Of all nodes or of some of them, closed ones left out."""
    state = SchedulingState(world)
    shape = data.draw(st.integers(0, len(world.pod_shapes) - 1))
    every = range(state.node_count)
    for node in data.draw(st.sets(st.sampled_from(every))) if every else ():
        state.close(node)
    for nodes in (every, data.draw(st.lists(st.sampled_from(every), unique=True)) if every else []):
        there = [node for node in nodes if not state.closed(node)]
        assert state.open_among(nodes) == there
        assert state.refusals(shape, nodes) == Counter(
            names for node in there if (names := tuple(item.plugin for item in state.verdict(shape, node)))
        )


@_MANY
@given(worlds(), st.data())
def test_no_node_gets_more_than_it_has(world: World, data: st.DataObject) -> None:
    """Pods that were placed never bring a node above what it can allocate of a resource that they request."""
    state = SchedulingState(world)
    for shape in range(len(world.pod_shapes)):
        for node, _ in state.place(shape, data.draw(st.integers(0, 12))):
            room = state.shape_of(node).allocatable
            sums = Counter(state.used(node).pods * ["pods"])
            for index, many in state.bound(node):
                for name, amount in world.pod_shapes[index].requests.items():
                    if name != "pods":
                        sums[name] += amount * many
            for name, amount in world.pod_shapes[shape].requests.items():
                assert amount
                assert sums[name] <= room.get(name)


@_MANY
@given(worlds(), st.integers(1, 12))
def test_anti_affinity_holds_afterwards(world: World, count: int) -> None:
    """No pod that was placed shares a domain with another that its own anti-affinity selects."""
    for index, shape in enumerate(world.pod_shapes):
        state = SchedulingState(world)
        for node, many in state.place(index, count):
            for term in shape.anti_affinity:
                domain = _label(world, node, term.topology_key)
                if domain is None or term.selector is None:
                    continue
                others = sum(
                    bound
                    for other in range(state.node_count)
                    if _label(world, other, term.topology_key) == domain
                    for found, bound in state.bound(other)
                    if _selected(dict(world.pod_shapes[found].labels), term.selector.requirements)
                )
                own = 1 if _selected(dict(shape.labels), term.selector.requirements) else 0
                assert others == own
                assert many == 1 or not own


@_MANY
@given(worlds(), st.data())
def test_counts_kept_current_are_those_of_a_fresh_state(world: World, data: st.DataObject) -> None:
    """After any sequence of changes and undos, verdicts are those of a state that was made like this from the start."""
    state = SchedulingState(world)
    _ask_everything(state, world)
    steps = data.draw(st.lists(_step(world), max_size=12))
    marks: list[int] = []
    for step in steps:
        _take(state, step, marks)

    fresh = SchedulingState(world)
    added: list[NodeShape] = [state.shape_of(node) for node in range(len(world.nodes), state.node_count)]
    for number, shape in enumerate(added):
        fresh.add_node(state.name(len(world.nodes) + number), shape)
    for node in range(state.node_count):
        want, have = dict(state.bound(node)), dict(fresh.bound(node))
        for shape in range(len(world.pod_shapes)):
            fresh.bind(shape, node, want.get(shape, 0) - have.get(shape, 0))
    assert _ask_everything(state, world) == _ask_everything(fresh, world)


@_MANY
@given(worlds(), st.data())
def test_undo_restores_everything(world: World, data: st.DataObject) -> None:
    """`undo` brings back every number that a state holds, counters included. A resource that a node brought keeps its column."""
    state = SchedulingState(world)
    first = state.mark()
    state.add_node("brings", NodeShape(allocatable=Resources(extended=(("gpu", 1),))))
    state.undo(first)
    _ask_everything(state, world)
    held = _Held(state)
    before = _everything(state, world, held)
    mark = state.mark()
    for step in data.draw(st.lists(_step(world), min_size=1, max_size=10)):
        _take(state, step, [mark])
    _ask_everything(state, world)

    state.undo(mark)

    assert _everything(state, world, held) == before


def _step(world: World) -> st.SearchStrategy[tuple[object, ...]]:
    shapes, nodes = st.integers(0, len(world.pod_shapes) - 1), st.integers(0, len(world.nodes) - 1)
    return st.one_of(
        st.tuples(st.just("place"), shapes, st.integers(1, 9)),
        st.tuples(st.just("bind"), shapes, nodes),
        st.tuples(st.just("unbind"), nodes),
        st.tuples(st.just("add"), node_shapes(), st.lists(shapes, max_size=2)),
        st.tuples(st.just("close"), nodes),
        st.tuples(st.just("mark")),
        st.tuples(st.just("undo")),
    )


def _take(state: SchedulingState, step: tuple[object, ...], marks: list[int]) -> None:
    match step:
        case ("place", int(shape), int(count)):
            state.place(shape, count)
        case ("bind", int(shape), int(node)):
            state.bind(shape, node)
        case ("unbind", int(node)):
            bound = state.bound(node)
            if bound:
                state.unbind(bound[0][0], node)
        case ("add", NodeShape() as shape, list(pods)):
            state.add_node(f"new-{state.node_count}", shape, pods)
        case ("close", int(node)):
            state.close(node)
        case ("mark",):
            marks.append(state.mark())
        case ("undo",) if marks:
            state.undo(marks[-1])


def _ask_everything(state: SchedulingState, world: World) -> list[object]:
    return [
        [said.plugin for said in state.verdict(shape, node)]
        for shape in range(len(world.pod_shapes))
        for node in range(state.node_count)
    ]


class _Held:
    """What a state counts by. A topology key that comes with a node has its counters from then on."""

    def __init__(self, state: SchedulingState) -> None:
        topology = state._filters.topology
        self.levels = [*topology._levels.values()]
        self.counters = [*topology._counters.values(), *self.levels]
        self.maps = [*topology._maps.values()]


def _everything(state: SchedulingState, world: World, held: _Held) -> object:
    return (
        state.node_count,
        [state.name(node) for node in range(state.node_count)],
        # By name: a column for a resource that came with a node meanwhile may stay.
        [state._nodes.columns.resources(state._nodes.free_row(node)) for node in range(state.node_count)],
        bytes(state._nodes.closed),
        list(state._bindings.head),
        state._bindings.size,
        [state.bound(node) for node in range(state.node_count)],
        [(counter.total, [count for count in counter.counts if count]) for counter in held.counters],
        [(level._open, level._low if level._open else 0, dict(level._levels)) for level in held.levels],
        [
            (list(domains.of), bytes(domains.missing), bytes(domains.counts), [list(item) for item in domains.members if item])
            for domains in held.maps
        ],
        _ask_everything(state, world),
    )


def _label(world: World, node: int, key: str) -> str | None:
    if key == HOSTNAME_LABEL:
        return world.nodes[node].name
    return world.node_shapes[world.nodes[node].shape].label(key)


def _selected(labels: dict[str, str], requirements: tuple[object, ...]) -> bool:
    return all(item.operator == "Exists" or labels[item.key] in item.values for item in requirements)
