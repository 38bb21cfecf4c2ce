"""Masks by node hold 0 and 1, and the masks that they were made of stay as they are."""

from reconciler.scheduling.index_sets.marked_bytes import marked, union


def test_masks_are_joined() -> None:
    """Each node that one of the two has, and the last one as well as the first."""
    assert union(bytearray((1, 0, 0, 1)), bytearray((1, 1, 0, 0))) == bytearray((1, 1, 0, 1))


def test_nodes_are_marked_in_a_copy() -> None:
    """With a 1, beside what is marked already."""
    before = bytearray((1, 0, 0))
    assert marked(before, [2, 0]) == bytearray((1, 0, 1))
    assert before == bytearray((1, 0, 0))
