"""A document on a terminal."""

from collections.abc import Iterator

import msgspec

from reconciler.rendering.documents import blocks as tree
from reconciler.rendering.documents.blocks import plain_sentence
from reconciler.rendering.printers.lines import Row, Style, Tone, paragraph, table
from reconciler.rendering.printers.problem_lines import render_text
from reconciler.rendering.printers.text.over_time import over_time_lines
from reconciler.rendering.words.plain import listed, plain

_NAMES_SHOWN = 6
_TONES = {tree.Meaning.DANGER: Tone.DANGER, tree.Meaning.HELD: Tone.HELD, tree.Meaning.NEUTRAL: None}


def document_text(document: tree.Document, *, width: int, colour: bool = False) -> str:
    """For a terminal of `width` columns, 0: without breaks and with all names. Ends with a newline; the digest comes last."""
    return "\n\n".join("\n".join(lines) for lines in _Printer(width, colour=colour).parts(document)) + "\n"


class _Printer:
    """The lines of each block."""

    def __init__(self, width: int, *, colour: bool) -> None:
        self._width = width
        self._style = Style(colour=colour)
        self._colour = colour

    def parts(self, document: tree.Document) -> Iterator[list[str]]:
        """In the order of reading."""
        yield from map(self.lines, document.alarms)
        if document.lead:
            words = [f"{name} {value}" for name, value in document.facts]
            facts = (" · ".join(words[:-1]), words[-1])
            heading = self._painted(plain_sentence(document.lead), Tone.HEADING)
            yield [*heading, *(line for fact in facts for line in paragraph(fact, self._width, 0))]
        *first, last = map(self.lines, document.blocks)
        yield from first
        yield [*last, *((document.digest,) if document.digest else ())]

    def lines(self, block: tree.Block, indent: int = 0) -> list[str]:
        """`indent` is that of prose."""
        width, style = self._width, self._style
        match block:
            case tree.Paragraph(sentence, strong):
                return self._painted(plain_sentence(sentence), Tone.HEADING if strong else None, "", indent)
            case tree.Code(lines):
                return list(lines)
            case tree.Alarm(meaning, lines, title):
                at = 2 if title else 0
                bullets = [line for one in lines for line in self._painted(plain_sentence(one), _TONES[meaning], "! ", at)]
                return [style.paint(f"{title}: {len(lines)}", Tone.HEADING), *bullets] if title else bullets
            case tree.Table():
                columns = list(block.columns)
                if block.title:
                    columns[0] = msgspec.structs.replace(columns[0], heading=block.title)
                printed = table(columns, [Row("", row) for row in block.rows], width, style)
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
                title = heading if number is None else f"{heading}: {number}"
                inner = [line for part in block.blocks for line in self.lines(part, 2)]
                inner += [
                    line
                    for one in block.differences
                    for line in self._painted(one.sentence, _TONES[one.meaning], f"{one.mark} ", 2)
                ]
                return [style.paint(title, Tone.HEADING), *inner]

    def _painted(self, text: str, tone: Tone | None, bullet: str = "", indent: int = 0) -> list[str]:
        return [self._style.paint(line, tone) for line in paragraph(text, self._width, indent, bullet)]
