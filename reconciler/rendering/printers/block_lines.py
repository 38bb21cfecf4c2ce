"""The blocks of a document as lines of text: for a terminal, and for a pull request that shows lines as they are."""

from collections.abc import Iterator, Sequence

import msgspec

from reconciler.rendering.documents import blocks as tree
from reconciler.rendering.documents.blocks import plain_sentence
from reconciler.rendering.printers.columns import Row, table
from reconciler.rendering.printers.lines import TONES, Style, Tone
from reconciler.rendering.printers.over_time import over_time_lines
from reconciler.rendering.printers.paragraphs import one_line, paragraph
from reconciler.rendering.printers.problem_lines import render_text
from reconciler.rendering.words.plain import listed, plain
from reconciler.rendering.words.wording import LEGEND

_NAMES_SHOWN = 6
_TONES = {tree.Meaning.DANGER: Tone.DANGER, tree.Meaning.HELD: Tone.HELD, tree.Meaning.NEUTRAL: None}

_DIFF = {"+": Tone.GOOD, "-": Tone.DANGER, "@": Tone.FAINT}


class BlockLines:
    """The lines of each block for a terminal of `width` columns; 0: without breaks and with all names."""

    def __init__(self, width: int, *, colour: bool) -> None:
        self._width = width
        self._style = Style(colour=colour)
        self._colour = colour

    def lines(self, block: tree.Block, indent: int = 0) -> list[str]:
        """`indent` is that of prose."""
        width, style = self._width, self._style
        match block:
            case tree.Paragraph(sentence, strong):
                return self.sentence(plain_sentence(sentence), Tone.HEADING if strong else None, "", indent)
            case tree.Items(items, depth):
                return [line for item in items for line in self._item(item, 2 * depth)]
            case tree.Code(lines, language):
                tones = _DIFF if language == "diff" else {}
                return [f"{' ' * indent}{style.paint(line, tones.get(line[:1]))}" for line in lines]
            case tree.Alarm(meaning, lines, title):
                at = 2 if title else 0
                bullets = [line for one in lines for line in self.sentence(plain_sentence(one), _TONES[meaning], "! ", at)]
                return [style.paint(f"{title}: {len(lines)}", Tone.HEADING), *bullets] if title else bullets
            case tree.Table():
                columns = list(block.columns)
                if block.title:
                    columns[0] = msgspec.structs.replace(columns[0], heading=block.title)
                printed = table(columns, list(_rows(block)), width, style)
                above = paragraph(block.caption, width, indent) if block.caption else []
                return [*above, *printed, *((block.note,) if block.note else ())]
            case tree.Named(pairs):
                return [line for name, words in pairs for line in paragraph(words, width, indent, f"{name}: ")]
            case tree.Names(title, names):
                shown = listed(tuple(plain(name) for name in names), _NAMES_SHOWN if width else 0)
                return paragraph(f"{title}: {shown}", width, indent)
            case tree.Problems(_, problems):
                return [render_text(problems, color=self._colour).rstrip("\n")]
            case tree.OverTime(replay, names):
                return over_time_lines(replay, names, width)[1:]
            case tree.Sources(lines):
                return [line for name, parts in lines for line in paragraph(f"{name}: {', '.join(parts)}", width, indent)]
            case tree.Section(heading, number):
                title = style.paint(heading if number is None else f"{heading}: {number}", Tone.HEADING)
                legend = "   ".join(f"{style.paint(mark, TONES[mark])} {LEGEND[mark]}" for mark in block.legend)
                inner = [line for part in block.blocks for line in self.lines(part, 2)]
                inner += [
                    line
                    for one in block.differences
                    for line in self.sentence(one.sentence, _TONES[one.meaning], f"{one.mark} ", 2)
                ]
                return [*((title + (f"   {legend}" if legend else ""),) if heading else ()), *inner]

    def _item(self, item: tree.Item, indent: int) -> Iterator[str]:
        if item.shorter:
            yield one_line(item.shorter, self._width, indent)
        else:
            yield from self.sentence(item.text, TONES.get(item.mark), item.bullet, indent)
        below = indent + (len(item.bullet) or 2)
        for one in item.items:
            yield from self._item(one, below)
        yield from (f"{' ' * (below + 2)}{line}" for line in item.block)

    def facts(self, facts: Sequence[tuple[str, str]]) -> list[str]:
        """Names and values on one line, the last of them on its own."""
        words = [f"{name} {value}" for name, value in facts]
        return [line for fact in (" · ".join(words[:-1]), words[-1]) for line in self.sentence(fact)]

    def painted(self, text: str, tone: Tone) -> str:
        """One line as it is, in its tone."""
        return self._style.paint(text, tone)

    def sentence(self, text: str, tone: Tone | None = None, bullet: str = "", indent: int = 0) -> list[str]:
        """A sentence in as many lines as it takes."""
        return [self._style.paint(line, tone) for line in paragraph(text, self._width, indent, bullet)]


def _rows(block: tree.Table) -> Iterator[Row]:
    for row, mark in zip(block.rows, block.marks or ("",) * len(block.rows), strict=True):
        yield Row(mark, row, TONES.get(mark))
