"""Tables of text that fit a width."""

import textwrap
from collections.abc import Sequence
from itertools import zip_longest

import msgspec

from reconciler.rendering.documents.blocks import Column
from reconciler.rendering.printers.lines import Style, Tone
from reconciler.rendering.words.plain import inert, plain, shortened

_GAP = 2
_NARROWEST = 12
_WRAPPED = 17  # a column of sentences is not made narrower for names to stay whole


class Row(msgspec.Struct, frozen=True):
    """One line: a mark of at most one character, the cells, the tone of the whole line."""

    mark: str
    cells: tuple[str, ...]
    tone: Tone | None = None


def table(columns: Sequence[Column], rows: Sequence[Row], width: int, style: Style) -> list[str]:
    """Lines of a table, its heading first; `width` 0 neither shortens nor wraps."""
    columns = [msgspec.structs.replace(column, heading=plain(column.heading)) for column in columns]
    cells = [tuple(plain(cell) for cell in row.cells) for row in rows]
    widths = [max([len(column.heading), *(len(line[at]) for line in cells)]) for at, column in enumerate(columns)]
    if width:
        _shrink(columns, cells, widths, width)
    lines = [style.paint(_line(" ", [column.heading for column in columns], columns, widths), Tone.HEADING)]
    for row, line in zip(rows, cells, strict=True):
        parts = [_parts(cell, *column) for cell, column in zip(line, zip(columns, widths, strict=True), strict=True)]
        for number, shown in enumerate(zip_longest(*parts, fillvalue="")):
            lines.append(style.paint(_line("" if number else row.mark, shown, columns, widths), row.tone))
    return lines


def _parts(cell: str, column: Column, width: int) -> list[str]:
    """The lines of a cell. A line that follows may be the first text of its line, where a runner would read a command."""
    if not column.wraps:
        return [cell]
    first, *more = textwrap.wrap(cell, width, break_on_hyphens=False) or [""]
    return [first, *map(inert, more)]


def _line(mark: str, cells: Sequence[str], columns: Sequence[Column], widths: Sequence[int]) -> str:
    shown = [shortened(cell, width) for cell, width in zip(cells, widths, strict=True)]
    padded = [
        text.rjust(width) if column.right else text.ljust(width)
        for text, column, width in zip(shown, columns, widths, strict=True)
    ]
    return f"  {mark or ' '} {(' ' * _GAP).join(padded)}".rstrip()


def _shrink(columns: Sequence[Column], cells: Sequence[tuple[str, ...]], widths: list[int], width: int) -> None:
    """Wrap sentences. Then narrow the widest column that may be, one character at a time, while names that differ still look
    different."""
    around = 4 + _GAP * (len(widths) - 1)
    wrapping = [at for at, column in enumerate(columns) if column.wraps]
    while sum(widths) + around > width and (wide := [at for at in wrapping if widths[at] > _WRAPPED]):
        widths[max(wide, key=widths.__getitem__)] -= 1
    open_columns = {at for at, column in enumerate(columns) if column.shrinks}
    while sum(widths) + around > width and open_columns:
        at = max(open_columns, key=lambda index: (widths[index], -index))
        if widths[at] <= max(_NARROWEST, len(columns[at].heading)) or not _distinct(cells, at, widths[at] - 1):
            open_columns.discard(at)
        else:
            widths[at] -= 1


def _distinct(cells: Sequence[tuple[str, ...]], at: int, width: int) -> bool:
    names = {line[at] for line in cells}
    return len({shortened(name, width) for name in names}) == len(names)
