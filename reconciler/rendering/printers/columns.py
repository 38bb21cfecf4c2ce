"""Tables of text that fit a width."""

import textwrap
from collections.abc import Sequence

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
        wrapped = textwrap.wrap(line[-1], widths[-1], break_on_hyphens=False) if columns[-1].wraps else [line[-1]]
        first = _line(row.mark, (*line[:-1], *(wrapped[:1] or [""])), columns, widths)
        more = [" " * (4 + sum(widths[:-1]) + _GAP * (len(widths) - 1)) + inert(part) for part in wrapped[1:]]
        lines += [style.paint(text, row.tone) for text in (first, *more)]
    return lines


def _line(mark: str, cells: Sequence[str], columns: Sequence[Column], widths: Sequence[int]) -> str:
    shown = [shortened(cell, width) for cell, width in zip(cells, widths, strict=True)]
    padded = [
        text.rjust(width) if column.right else text.ljust(width)
        for text, column, width in zip(shown, columns, widths, strict=True)
    ]
    return f"  {mark or ' '} {(' ' * _GAP).join(padded)}".rstrip()


def _shrink(columns: Sequence[Column], cells: Sequence[tuple[str, ...]], widths: list[int], width: int) -> None:
    """Wrap the sentences of the last column. Then narrow the widest column that may be, one character at a time, while names that
    differ still look different."""
    others = 4 + sum(widths[:-1]) + _GAP * (len(widths) - 1)
    if columns[-1].wraps and others + widths[-1] > width:
        widths[-1] = min(widths[-1], max(width - others, _WRAPPED))
    open_columns = {at for at, column in enumerate(columns) if column.shrinks}
    while 4 + sum(widths) + _GAP * (len(widths) - 1) > width and open_columns:
        at = max(open_columns, key=lambda index: (widths[index], -index))
        if widths[at] <= max(_NARROWEST, len(columns[at].heading)) or not _distinct(cells, at, widths[at] - 1):
            open_columns.discard(at)
        else:
            widths[at] -= 1


def _distinct(cells: Sequence[tuple[str, ...]], at: int, width: int) -> bool:
    names = {line[at] for line in cells}
    return len({shortened(name, width) for name in names}) == len(names)
