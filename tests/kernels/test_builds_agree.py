"""The compiled and the interpreted build of the hot loops are one source: they must answer alike."""

from array import array
from operator import mul
from types import ModuleType

from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.scheduling import kernels
from tests.kernels import builds
from tests.kernels.random_plans import KERNELS

interpreted, compiled = builds.interpreted("loops"), builds.compiled("loops")
interpreted_passes, compiled_passes = builds.interpreted("passes"), builds.compiled("passes")
interpreted_improvements, compiled_improvements = builds.interpreted("improvements"), builds.compiled("improvements")
interpreted_fillings, compiled_fillings = builds.interpreted("fillings"), builds.compiled("fillings")
interpreted_domains, compiled_domains = builds.interpreted("domains"), builds.compiled("domains")
_MANY = settings(max_examples=200, deadline=None)


class Board:
    """Columns of a few nodes and shapes, drawn at random, with an empty stack of cells."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.width = draw(st.integers(1, 4))
        self.nodes = draw(st.integers(1, 12))
        self.shapes = draw(st.integers(1, 4))
        amounts = st.integers(0, 9)
        self.requests = array("q", [draw(amounts) for _ in range(self.shapes * self.width)])
        for shape in range(self.shapes):
            self.requests[shape * self.width] = 1  # the column of pods: every pod is one
        self.free = array("q", [draw(st.integers(-5, 60)) for _ in range(self.nodes * self.width)])
        self.node_shape = array("i", [draw(st.integers(0, 2)) for _ in range(self.nodes)])
        self.allowed = bytearray(draw(st.lists(st.integers(0, 1), min_size=3, max_size=3)))
        self.blocked = bytearray(draw(st.lists(st.integers(0, 1), min_size=self.nodes, max_size=self.nodes)))
        order = draw(st.one_of(st.just([]), st.permutations(range(self.nodes))))
        self.order = array("i", order)
        self.stop = len(order) or self.nodes
        self.shape = draw(st.integers(0, self.shapes - 1))
        self.most_each, self.count = draw(st.sampled_from([1, 2, 1 << 31])), draw(st.integers(0, 40))
        pods = draw(st.lists(st.tuples(st.integers(-1, self.nodes - 1), st.integers(0, self.shapes - 1)), max_size=20))
        self.pod_node = array("i", [node for node, _ in pods])
        self.pod_shape = array("i", [shape for _, shape in pods])
        self.pod_phase = array("B", [draw(st.integers(0, 4)) for _ in pods])
        self.pod_deletion = array("q", [draw(st.sampled_from([0, 0, 7])) for _ in pods])
        self.pod_flags = array("B", [draw(st.integers(0, 3)) for _ in pods])
        self.pod_traits = array("i", [draw(st.integers(0, 2)) for _ in pods])
        self.seed = draw(st.integers(0, 3))

    def need(self) -> tuple["array[int]", "array[int]"]:
        """The requested columns of the shape."""
        row = self.requests[self.shape * self.width : (self.shape + 1) * self.width]
        columns = [column for column, amount in enumerate(row) if amount]
        return array("i", columns), array("q", [row[column] for column in columns])


boards = st.composite(Board)()


def run_over_pods(loops: ModuleType, board: Board) -> object:
    """What asks for a place, what is ending, and the kinds of the pods on nodes; everything that was written."""
    many = max(1, len(board.pod_node))
    starts, order = array("i", bytes(4 * (board.shapes + 2))), array("i", bytes(4 * many))
    columns = (board.pod_node, board.pod_deletion, board.pod_phase, board.pod_flags, board.pod_shape)
    waiting = loops.waiting_pods(*columns, 2, 3, 2, starts, order)
    found = array("i", bytes(4 * many))
    ending = loops.ending_pods(board.pod_deletion, board.pod_phase, 2, 3, found)
    nodes, seated = array("i", bytes(4 * (board.nodes + 2))), array("i", bytes(4 * many))
    sitting = loops.by_node(board.pod_node, nodes, seated)
    kinds = array("q", bytes(8 * many))
    loops.kinds_of(seated, sitting, board.pod_shape, board.pod_traits, 3, kinds)
    return waiting, list(starts), list(order), ending, list(found), list(kinds)


def run_all(loops: ModuleType, board: Board) -> object:
    """Bind what runs, place, look, find cells, and pop half of it; everything that was written."""
    free, head = array("q", board.free), array("i", [-1] * board.nodes)
    cells = [array("i", bytes(4 * 64)) for _ in range(4)]
    found = array("i", bytes(4 * max(1, len(board.pod_node))))
    starts, order = array("i", bytes(4 * (board.nodes + 2))), array("i", bytes(4 * max(1, len(board.pod_node))))
    seated = loops.by_node(board.pod_node, starts, order)
    running = loops.running_pods(board.pod_node, board.pod_phase, 2, 3, found)
    size = loops.bind_each(found, running, board.pod_node, board.pod_shape, board.requests, free, board.width, head, *cells, 0)
    columns, amounts = board.need()
    placed = loops.first_fit(
        columns,
        amounts,
        free,
        board.width,
        board.node_shape,
        board.allowed,
        board.blocked,
        board.order,
        board.stop,
        board.most_each,
        board.count,
        board.shape,
        head,
        *cells,
        size,
    )
    nodes, room = array("i", bytes(4 * board.nodes)), array("i", bytes(4 * board.nodes))
    roomy = loops.with_room(
        columns,
        amounts,
        free,
        board.width,
        board.node_shape,
        board.allowed,
        board.blocked,
        board.order,
        board.stop,
        board.most_each,
        nodes,
        room,
    )
    short = bytearray(board.nodes)
    loops.short_of(columns, amounts, free, board.width, short)
    wanted = bytearray(index == board.seed for index in range(board.shapes))
    mine = array("i", bytes(4 * 64))
    many = loops.cells_of(wanted, cells[1], placed, mine)
    written = [list(free), list(head), [list(cell[:placed]) for cell in cells]]
    loops.pop_cells(placed, size // 2, board.requests, free, board.width, head, *cells)
    taken = array("q", bytes(8 * len(board.order)))
    if board.order:
        loops.take(memoryview(free).cast("B"), 8, board.order, memoryview(taken).cast("B"))
    return (running, list(taken), list(found[:running]), size, placed, roomy, list(nodes), list(room), bytes(short), many,
            list(mine[:many]), written, list(free), list(head), seated, list(starts), list(order))  # fmt: skip


def move_all(passes: ModuleType, board: Board) -> object:
    """Lift pods off the first node and fit several shapes over the others; everything that was written."""
    free, head = array("q", board.free), array("i", [-1] * board.nodes)
    cells = [array("i", bytes(4 * 512)) for _ in range(4)]
    shapes = array("i", range(board.shapes))
    counts = array("i", [(board.count + shape) % 7 for shape in shapes])
    off = array("i", [-count for count in counts])
    stack = (board.requests, free, board.width)
    size = passes.bind_list(array("i", (0,)) * board.shapes, shapes, off, 0, board.shapes, *stack, head, *cells, 0)
    order = board.order or array("i", range(board.nodes))
    cursor = array("i", [board.seed % (len(order) + 1)] * board.shapes)
    reached, looked = array("i", bytes(4 * board.shapes)), array("q", (0, 0, 0))
    rows = array("i", [shape % 2 for shape in shapes])
    allowed = board.allowed + bytearray((1, 1, 1))
    before = order[: board.seed]
    size = passes.fit_each(
        shapes, counts, 0, board.shapes, *stack, board.node_shape, allowed, rows, 3, board.blocked, before, order,
        cursor, reached, looked, head, *cells, size,
    )  # fmt: skip
    return size, list(free), list(head), [list(cell[:size]) for cell in cells], list(reached), list(looked)


def fill_all(passes: ModuleType, board: Board) -> object:
    """Fill new nodes with several shapes, some alone on a node, some rivals of the first; everything that was written."""
    most, many = 1 + board.seed, board.shapes
    shapes, counts = array("i", range(many)), array("i", [(board.count + shape) % 7 for shape in range(many)])
    alone = bytearray((board.seed + shape) % 2 for shape in range(many))
    rivals = array("i", [0] * (many - 1))
    skews = array("i", [(board.seed + board.stop + shape) % 3 for shape in range(many)])
    lowest = array("q", [(0, 1, 1 << 40)[(board.nodes + shape) % 3] for shape in range(many)])
    missing = array("q", [board.nodes % 4] * many)
    columns = [array("i", bytes(4 * 64)) for _ in range(4)]
    free, told = array("q", bytes(8 * most * board.width)), array("q", (0,))
    opened = passes.fill_new(
        shapes, counts, board.requests, board.width, board.free[: board.width], alone, array("i", [0, *range(many)]),
        rivals, skews, lowest, missing, most, free, bytearray(most), array("q", bytes(8 * most)), *columns, told,
    )  # fmt: skip
    starts, _, nodes, placed = columns
    for shape in range(many):
        mine = list(nodes[starts[shape] : starts[shape + 1]])
        assert mine == sorted(set(mine))
        assert sum(placed[starts[shape] : starts[shape + 1]]) <= counts[shape]
    return opened, list(free), [list(column) for column in columns], told[0]


@st.composite
def pricings(draw: st.DrawFn) -> tuple[int, int, "array[int]", "array[int]", "array[int]", "array[int]", bytearray]:
    """Items and resources of one node: (items, width, values, counts, needs, free, may)."""
    items, width = draw(st.integers(1, 7)), draw(st.integers(1, 4))
    free = array("q", [draw(st.integers(10, 1 << 36)) for _ in range(width)])
    needs = array(
        "q", [draw(st.integers(0, amount)) // draw(st.sampled_from((1, 3, 9))) for _ in range(items) for amount in free]
    )
    for item in range(items):
        # As with pods, of which every one takes a place.
        needs[item * width] = max(1, needs[item * width])
    values = array("q", [draw(st.integers(0, 1 << 30)) for _ in range(items)])
    counts = array("q", [draw(st.integers(0, 20)) for _ in range(items)])
    return items, width, values, counts, needs, free, bytearray(draw(st.lists(st.integers(0, 1), min_size=items, max_size=items)))


def fill_a_node(
    fillings: ModuleType,
    improvements: ModuleType,
    drawn: tuple[int, int, "array[int]", "array[int]", "array[int]", "array[int]", bytearray],
) -> tuple[object, list["array[int]"]]:
    """Everything that the loops over fillings write, one after the other, and the loads that they end with."""
    items, width, values, counts, needs, free, may = drawn
    turns, steps = 5, 3_000
    weights, keys = array("d", bytes(8 * width)), array("d", bytes(8 * items))
    order, left, base = array("i", range(items)) * 2, array("q", bytes(8 * width)), array("q", bytes(8 * width))
    both, worths_of_both = array("q", bytes(16 * items * turns)), array("q", bytes(16 * turns))
    loads, worths = array("q", bytes(8 * items * turns)), array("q", bytes(8 * turns))
    best, trial, least = array("q", bytes(8 * items)), array("q", bytes(8 * items)), array("q", bytes(8 * items * width))
    # The other way round, then the same node twice at once: in what order the items were before does not matter.
    terms = needs, width, free * 2, may * 2
    columns = turns, weights, keys, order, left
    fillings.fill_by_value(array("q", reversed(values)), counts, *terms, 0, 1, *columns, loads, worths)
    fillings.fill_by_value(values, counts, *terms, 0, 2, *columns, both, worths_of_both)
    size = fillings.fill_by_value(values, counts, *terms, 0, 1, *columns, loads, worths)
    assert (both, worths_of_both) == (loads * 2, worths * 2)
    counted = array("q", bytes(16 * turns))
    fillings.worths_of(values, both, 2 * turns, counted)
    assert counted == worths_of_both
    order = order[:size]
    best[:] = loads[:items]
    some = improvements.exchange(values, counts, needs, width, free, 0, order, least, left, base, trial, best, steps)
    after = best[:]
    rest = improvements.search(values, counts, needs, width, free, 0, order, keys, weights, left, trial, best, steps)
    # Two orders, twice: what was there stands until there are too few pods for it.
    orders, known = array("i", [*range(items), *reversed(range(items))]), bytearray(2)
    first, renewed = array("q", bytes(16 * items)), array("i", bytes(8))
    gains = array("q", bytes(16))
    rest_of = needs, width, free, may, bytearray(b"\x01"), left, first, known, renewed, values, gains
    fresh = [fillings.fill_each(orders, 2, counts, *rest_of)]
    fewer = array("q", [many // 2 for many in counts])
    before = first[:]
    assert list(gains) == [sum(map(mul, values, before[:items])), sum(map(mul, values, before[items:]))]
    fresh += [fillings.fill_each(orders, 2, counts, *rest_of), fillings.fill_each(orders, 2, fewer, *rest_of)]
    assert fresh[:2] == [2, 0]
    ends = [after, best, before[:items], before[items:], first[:items], first[items:]]
    return (size, order, weights, keys, loads, worths, some, rest, left, fresh, list(known), gains), ends


@_MANY
@given(pricings())
def test_both_builds_fill_a_node_alike(
    drawn: tuple[int, int, "array[int]", "array[int]", "array[int]", "array[int]", bytearray],
) -> None:
    """The same loads, and fractions equal to the last bit; and every load is one that the node takes and that there is."""
    items, width, values, counts, needs, free, may = drawn
    made = fill_a_node(compiled_fillings, compiled_improvements, drawn)
    assert made == fill_a_node(interpreted_fillings, interpreted_improvements, drawn)
    after, best, *_ = made[1]
    for load in made[1]:
        assert all(pods <= count and (may[item] or not pods) for item, (pods, count) in enumerate(zip(load, counts, strict=True)))
        for kind in range(width):
            assert sum(needs[item * width + kind] * load[item] for item in range(items)) <= free[kind]
    assert sum(map(mul, values, best)) >= sum(map(mul, values, after))


@_MANY
@given(boards)
def test_both_builds_write_the_same(board: Board) -> None:
    """Every loop writes the same numbers compiled and interpreted."""
    assert run_all(compiled, board) == run_all(interpreted, board)
    assert run_over_pods(compiled, board) == run_over_pods(interpreted, board)
    assert fill_all(compiled_passes, board) == fill_all(interpreted_passes, board)
    assert move_all(compiled_passes, board) == move_all(interpreted_passes, board)


@_MANY
@given(boards)
def test_popping_everything_gives_the_room_back(board: Board) -> None:
    """Room and heads are as before once every cell is off the stack."""
    free, head = array("q", board.free), array("i", [-1] * board.nodes)
    cells = [array("i", bytes(4 * 64)) for _ in range(4)]
    columns, amounts = board.need()
    for loops in (compiled, interpreted):
        size = loops.first_fit(
            columns,
            amounts,
            free,
            board.width,
            board.node_shape,
            board.allowed,
            board.blocked,
            board.order,
            board.stop,
            board.most_each,
            board.count,
            board.shape,
            head,
            *cells,
            0,
        )
        loops.pop_cells(size, 0, board.requests, free, board.width, head, *cells)
        assert (free, list(head)) == (board.free, [-1] * board.nodes)


@_MANY
@given(
    st.lists(st.integers(-1, 3), max_size=12),
    st.lists(st.integers(-1, 3), min_size=4, max_size=4),
    st.lists(st.integers(-1, 3), min_size=12, max_size=12),
    st.integers(-1, 3),
)
def test_domains_are_looked_at_alike(domain_of: list[int], counts: list[int], other: list[int], most: int) -> None:
    """Up to a dozen nodes in four domains or none, split twice."""
    of, pods = array("i", domain_of), array("q", counts)
    nodes = array("i", reversed(range(len(of))))

    def all_of(domains: ModuleType) -> object:
        above, empty, groups = bytearray(len(of)), bytearray(len(of)), array("i", bytes(4 * len(of)))
        domains.mark_above(of, pods, most, above)
        domains.mark_empty(of, pods, empty)
        domains.split(nodes, of, 5, groups)
        domains.split(nodes, array("i", other), 5, groups)
        return above, empty, groups

    assert all_of(compiled_domains) == all_of(interpreted_domains)


def test_the_compiled_build_is_the_one_that_runs() -> None:
    """Where the extensions were built, they are in charge, and say so; the others are the source."""
    assert kernels.active_build() == "compiled"
    for name in KERNELS:
        assert getattr(kernels, name) is builds.compiled(name)
        assert str(builds.interpreted(name).__file__).endswith(f"{name}.py")
