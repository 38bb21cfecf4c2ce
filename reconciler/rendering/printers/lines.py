"""Colour on a terminal: meaning first, ANSI codes last, and none at all where they are not wanted."""

import textwrap
from collections.abc import Sequence
from enum import StrEnum

import msgspec

from reconciler.rendering.documents.blocks import Column
from reconciler.rendering.words.plain import inert, plain, shortened
from reconciler.rendering.words.wording import GROWS, HELD, OTHER, SHRINKS


class Tone(StrEnum):
    """What a piece of text means; the value is its SGR code. Red is failure and danger, amber what is held; up and down are
    neither good nor bad."""

    HEADING = "1"
    FAINT = "2"
    DANGER = "31"
    GOOD = "32"
    HELD = "33"
    MOVES = "36"


TONES = {GROWS: Tone.MOVES, SHRINKS: Tone.MOVES, HELD: Tone.HELD, OTHER: Tone.MOVES}


class Style:
    """Paints text, or leaves it alone."""

    def __init__(self, *, colour: bool) -> None:
        self._colour = colour

    def paint(self, text: str, tone: Tone | None) -> str:
        """The text in its tone; widths are measured before."""
        return f"\x1b[{tone}m{text}\x1b[0m" if self._colour and tone is not None and text else text


# Paragraphs with a hanging indent.


def paragraph(text: str, width: int, indent: int, bullet: str = "") -> list[str]:
    """The text in lines of at most `width` characters (0: one line). Later lines hang under the first word behind a bullet, or
    two columns further in."""
    first = " " * indent + bullet
    words = plain(text)
    if not width or len(first) + len(words) <= width:
        return [first + words]
    lines = textwrap.wrap(
        words,
        width=max(width, len(first) + 20),
        initial_indent=first,
        subsequent_indent=" " * (len(first) if bullet else indent + 2),
        break_on_hyphens=False,
    )
    # A word that is longer than a line is broken anywhere, so that what was in its middle begins a line.
    return [inert(line) for line in lines] or [first]


def one_line(choices: Sequence[str], width: int, indent: int) -> str:
    """The first of several wordings that fits on a line of `width` characters (0: the first); else the last one, cut in its
    middle."""
    sentences = [" " * indent + plain(choice) for choice in choices]
    if not width:
        return sentences[0]
    return next((line for line in sentences if len(line) <= width), shortened(sentences[-1], width))


# Columns of text that fit a width.

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
