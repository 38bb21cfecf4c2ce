"""Blocks in a box."""

from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.rendering.printers.html.treemap import blocks


def test_by_hand():
    """Half of 96 x 56 is a column of 48; of the rest one half is a row of 28; the other two share it."""
    found = [(block.x, block.y, block.width, block.height) for block in blocks([500, 250, 125, 125], 96, 56)]
    assert found == [(0, 0, 48, 56), (48, 0, 48, 28), (48, 28, 24, 28), (72, 28, 24, 28)]


def test_nothing_to_draw():
    """No items, no weight or no room: no blocks."""
    assert blocks([], 90, 50) == blocks([0, 0], 90, 50) == blocks([5], 0, 50) == ()


@settings(deadline=None)
@given(st.lists(st.integers(0, 1000), max_size=30), st.integers(1, 90), st.integers(1, 50))
def test_inside_and_apart(weights: list[int], width: int, height: int):
    """No pixel outside the box and none in two blocks; the blocks fill at least what rounding leaves."""
    found = blocks(sorted(weights, reverse=True), width, height)
    pixels = [
        (x, y) for block in found for x in range(block.x, block.x + block.width) for y in range(block.y, block.y + block.height)
    ]
    assert len(pixels) == len(set(pixels))
    assert all(0 <= x < width and 0 <= y < height for x, y in pixels)


@settings(deadline=None)
@given(st.lists(st.integers(1, 1000), min_size=1, max_size=12))
def test_area_follows_weight(weights: list[int]):
    """In a large box every block has its share of the area, within the pixels of its edge."""
    ordered = sorted(weights, reverse=True)
    for block in blocks(ordered, 900, 900):
        wanted = 900 * 900 * ordered[block.index] / sum(ordered)
        assert abs(block.width * block.height - wanted) <= 3 * (block.width + block.height) + 10
