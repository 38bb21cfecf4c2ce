"""The hot loops without a compiler: hand arithmetic on the source itself."""

from array import array

from tests.kernels.builds import interpreted

loops = interpreted("loops")


def test_first_fit_fills_each_node_before_the_next() -> None:
    """Pods of 3 go onto nodes with 10, 2 and 7 free: three, none, two."""
    free, head = array("q", [10, 2, 7]), array("i", [-1, -1, -1])
    cells = [array("i", bytes(16)) for _ in range(4)]

    size = loops.first_fit(
        array("i", [0]),
        array("q", [3]),
        free,
        1,
        array("i", [0, 0, 0]),
        bytearray([1]),
        bytearray(3),
        array("i"),
        3,
        1 << 31,
        9,
        0,
        head,
        *cells,
        0,
    )

    assert size == 2
    assert list(cells[0][:2]) == [0, 2]
    assert list(cells[2][:2]) == [3, 2]
    assert list(free) == [1, 2, 1]


def test_an_overcommitted_node_takes_nothing() -> None:
    """Room below zero is no room, not a large number."""
    free, head = array("q", [-4]), array("i", [-1])
    cells = [array("i", bytes(16)) for _ in range(4)]

    size = loops.first_fit(
        array("i", [0]),
        array("q", [2]),
        free,
        1,
        array("i", [0]),
        bytearray([1]),
        bytearray(1),
        array("i"),
        1,
        1 << 31,
        5,
        0,
        head,
        *cells,
        0,
    )

    assert size == 0


def test_pods_that_have_finished_do_not_run() -> None:
    """Of four pods one has no node and one has succeeded."""
    found = array("i", bytes(16))

    assert loops.running_pods(array("i", [0, -1, 2, 1]), array("B", [1, 0, 2, 1]), 2, 3, found) == 2
    assert list(found[:2]) == [0, 3]


def test_pods_by_node_keep_their_order_on_each() -> None:
    """Pods on nodes 2, none, 0, 2, 0 of three nodes: 2 and 4 on the first, nothing on the second, 0 and 3 on the third."""
    starts, order = array("i", [0] * 5), array("i", [0] * 5)

    assert loops.by_node(array("i", [2, -1, 0, 2, 0]), starts, order) == 4

    assert list(starts[:4]) == [0, 2, 2, 4]
    assert list(order[:4]) == [2, 4, 0, 3]


def test_pods_that_wait_stand_by_shape() -> None:
    """Of seven pods without a finish two are of shape 0 and one of shape 2; one is on a node, one is gated, one is
    terminating and one has failed."""
    starts, order = array("i", [0] * 5), array("i", [0] * 7)
    node = array("i", [-1, 4, -1, -1, -1, -1, -1])
    deletion = array("q", [0, 0, 0, 9, 0, 0, 0])
    phase = array("B", [0, 0, 0, 0, 3, 0, 0])
    flags = array("B", [0, 0, 2, 0, 0, 1, 0])
    shape = array("i", [2, 0, 0, 0, 0, 0, 0])

    assert loops.waiting_pods(node, deletion, phase, flags, shape, 2, 3, 2, starts, order) == 3

    assert list(starts[:4]) == [0, 2, 2, 3]
    assert list(order[:3]) == [5, 6, 0]


def test_pods_that_end() -> None:
    """Terminating, succeeded and failed ones, of five."""
    found = array("i", [0] * 5)

    assert loops.ending_pods(array("q", [0, 8, 0, 0, 0]), array("B", [0, 1, 2, 3, 1]), 2, 3, found) == 3
    assert list(found[:3]) == [1, 2, 3]


def test_kinds_tell_shapes_and_traits_apart() -> None:
    """Shapes 5 and 2 with traits 1 and 0 of 4, in the order that is asked for."""
    kinds = array("q", [0] * 2)

    loops.kinds_of(array("i", [1, 0]), 2, array("i", [2, 5]), array("i", [0, 1]), 4, kinds)

    assert list(kinds) == [21, 8]
