"""A treemap: rectangles with given shares of an area, close to squares.

SOURCE: Bruls, Huizing, van Wijk, "Squarified Treemaps" (2000): a row takes the next item as long as that does not make its
worst shape worse. The code computes with integers only, so that every machine draws the same.
"""

from collections.abc import Sequence

import msgspec

UNIT = 16
"""Rectangles are laid out in sixteenths of a pixel and rounded to pixels at the end."""


class Block(msgspec.Struct, frozen=True, gc=False):
    """Pixels; `index` is the place of the item in what was given."""

    index: int
    x: int
    y: int
    width: int
    height: int


def blocks(weights: Sequence[int], width: int, height: int) -> tuple[Block, ...]:
    """One block an item, in the given order, which is largest first. What is left without a pixel is left out."""
    drawn: list[Block] = []
    x, y, wide, high = 0, 0, width * UNIT, height * UNIT
    left = [(index, weight) for index, weight in enumerate(weights) if weight > 0]
    rest = sum(weight for _, weight in left)
    while left and wide > 0 and high > 0:
        side = min(wide, high)
        area = wide * high
        row = 1
        while row < len(left) and _worst(left[: row + 1], side, area, rest) <= _worst(left[:row], side, area, rest):
            row += 1
        taken = sum(weight for _, weight in left[:row])
        depth = (wide if wide >= high else high) * taken // rest
        along = 0
        for index, weight in left[:row]:
            start, along = along, along + weight
            first, last = side * start // taken, side * along // taken
            if wide >= high:
                _add(drawn, index, x, y + first, depth, last - first)
            else:
                _add(drawn, index, x + first, y, last - first, depth)
        if wide >= high:
            x, wide = x + depth, wide - depth
        else:
            y, high = y + depth, high - depth
        rest -= taken
        left = left[row:]
    return tuple(drawn)


def _worst(row: Sequence[tuple[int, int]], side: int, area: int, rest: int) -> int:
    """The worst ratio of sides in a row along `side`, in permille."""
    total = sum(weight for _, weight in row)
    deep = max(1, area * total // (rest * side))
    worst = 0
    for _, weight in row:
        long = max(1, side * weight // total)
        worst = max(worst, 1000 * max(long, deep) // min(long, deep))
    return worst


def _add(tiles: list[Block], index: int, x: int, y: int, width: int, height: int) -> None:
    left, top, right, bottom = x // UNIT, y // UNIT, (x + width) // UNIT, (y + height) // UNIT
    if right > left and bottom > top:
        tiles.append(Block(index, left, top, right - left, bottom - top))
