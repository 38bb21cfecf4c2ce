"""A document as markdown for a pull request, within the length that a host accepts. Text of others is always code, where neither
markdown nor HTML nor a mention means anything.

Names, reasons and evidence come from clusters and from pull requests. Escaping them as prose would still leave `@name`
and `#12` to GitHub, which links those after rendering; code spans and fences are left alone.
"""

from collections.abc import Iterator, Sequence

from reconciler.rendering.documents import blocks as tree
from reconciler.rendering.documents.blocks import PROSE_WIDTH, Foreign, cut
from reconciler.rendering.printers.block_lines import BlockLines
from reconciler.rendering.printers.markdown.code import code, fenced, folded, quoted_paragraph, quoted_part, table
from reconciler.rendering.printers.markdown.host_length import GITHUB_LIMIT, length
from reconciler.rendering.printers.paragraphs import paragraph
from reconciler.rendering.printers.problem_lines import render_text
from reconciler.rendering.words.plain import plain, shortened
from reconciler.rendering.words.wording import count

_MOST_LINES = 100
_LINE_CHARACTERS = 300
_SENTENCE_CHARACTERS = 600
_LEAST = 10
# Hosts colour lines that start with - and ! in a diff block: red, amber.
_COLUMN_0 = {tree.Meaning.DANGER: "-", tree.Meaning.HELD: "!", tree.Meaning.NEUTRAL: " "}
_BLOCK_WIDTH = PROSE_WIDTH - 4
_SOURCE = PROSE_WIDTH - 25
_HEADING = 32


def document_markdown(document: tree.Document, limit: int = GITHUB_LIMIT) -> str:
    """At most `limit` UTF-16 units; what it was made from comes last, so that the digest covers everything above it.

    If the whole text is too long, the longest section is cut from its end, repeatedly. It then says how much is missing, and
    names the most severe part of that. Sections that may be dropped are left out before the last ten lines of the others, and
    named.
    """
    printer = _Printer(document)
    while True:
        text = "\n\n".join(printer.parts()) + "\n"
        if (excess := length(text) - limit) <= 0 or not printer.shrink(excess):
            return text


class _Printer:
    """Which lines of each block are shown, and which blocks are left out."""

    def __init__(self, document: tree.Document) -> None:
        self._document = document
        self._most = {at: len(_cuttable(block)) for at, block in enumerate(document.blocks)}
        self._dropped: list[int] = []
        self._parts: dict[tuple[int, int], str] = {}

    def shrink(self, excess: int) -> bool:
        """Show half of the longest section; what may be dropped goes before the last lines, and lines that stand as they are go
        after them. False where nothing is left."""
        blocks = {at: block for at, block in enumerate(self._document.blocks) if at not in self._dropped}
        sections = [at for at, block in blocks.items() if isinstance(block, tree.Section) and self._most[at]]
        long = [at for at in sections if self._most[at] > _LEAST]
        drops = {at: block.drop for at, block in blocks.items() if isinstance(block, tree.Section | tree.Names) and block.drop}
        if drops and not long:
            self._dropped.append(max(drops, key=drops.__getitem__))
        elif sections:
            self._most[max(long or sections, key=lambda at: length(self._block(at)))] //= 2
        else:
            return any(self._cut(at, block.lines, excess) for at, block in blocks.items() if isinstance(block, tree.Code))
        return True

    def _cut(self, at: int, lines: Sequence[str], excess: int) -> bool:
        whole = self._most[at]
        while self._most[at] and excess > 0:
            self._most[at] -= 1
            excess -= length(lines[self._most[at]]) + 1
        return self._most[at] < whole

    def parts(self) -> Iterator[str]:
        """What an empty line stands between, in the order of the tree."""
        document = self._document
        for alarm in document.alarms:
            yield from _block_text(alarm)
        yield f"## {''.join(map(quoted_part, document.lead or (document.title,)))}"
        if document.facts:
            facts = (part for name, value in document.facts for part in (" · ", f"{name} ", Foreign(value)))
            yield "\n".join(quoted_paragraph(tuple(facts)[1:]))
        yield from filter(None, (self._block(at) for at in range(len(document.blocks)) if at not in self._dropped))
        if missing := list(self._missing()):
            note = f"Left out, since a comment has a limited length: {', '.join(missing)}. `-o json` has everything."
            yield "\n".join(quoted_paragraph((note,)))
        yield from filter(None, ("\n".join(f"<sub>{line}</sub>" for line in _foot(document)),))

    def _missing(self) -> Iterator[str]:
        blocks = self._document.blocks
        yield from (block.heading for at in self._dropped if isinstance(block := blocks[at], tree.Section | tree.Names))
        for at, block in enumerate(blocks):
            if isinstance(block, tree.Code) and self._most[at] < len(block.lines):
                yield f"{count(len(block.lines) - self._most[at], 'line')} of {block.what}"

    def _block(self, at: int) -> str:
        key = at, self._most[at]
        if key not in self._parts:
            self._parts[key] = "\n\n".join(_block_text(self._document.blocks[at], key[1]))
        return self._parts[key]


def _cuttable(block: tree.Block) -> Sequence[object]:
    return block.differences if isinstance(block, tree.Section) else block.lines if isinstance(block, tree.Code) else ()


def _foot(document: tree.Document) -> Iterator[str]:
    """The digest, then what the document was made from; the last source has its own line."""
    sources = [source for block in document.blocks if isinstance(block, tree.Sources) for source in block.lines]
    if document.digest or document.note or sources:
        yield f"{code(document.digest)}{document.note}"
    told = [(f"{name}:", *(piece for part in parts for piece in (" ", Foreign(part)))) for name, parts in sources]
    first = tuple(piece for at, sentence in enumerate(told[:-1]) for piece in (*((" · ",) if at else ()), *sentence))
    for sentence in filter(None, (first, *told[-1:])):
        yield from quoted_paragraph(sentence, width=PROSE_WIDTH - len("<sub></sub>"), most=_SOURCE)


def _block_text(block: tree.Block, most: int | None = None) -> Iterator[str]:
    """Parts with an empty line between them; at most so many lines of a section or of lines that stand as they are."""
    match block:
        case tree.Paragraph(sentence, strong):
            yield f"**{''.join(map(code, sentence))}**" if strong else "\n".join(quoted_paragraph(sentence))
        case tree.Code(lines, language):
            shown = lines if most is None else lines[:most]
            yield from ("\n".join(fenced(shown, language)),) if shown else ()
        case tree.Items():
            yield "\n".join(fenced(BlockLines(_BLOCK_WIDTH, colour=False).lines(block), "text"))
        case tree.Alarm(_, lines, ""):
            yield from ("\n".join(["> [!WARNING]", *quoted_paragraph(line, "> ", "> ")]) for line in lines)
        case tree.Alarm(_, lines, title):
            yield "\n".join(
                [f"> [!{title.upper()}]", *(part for line in lines for part in quoted_paragraph(line, "> - ", ">   "))]
            )
        case tree.Table(columns=columns, rows=rows, title=title, caption=caption, note=note):
            headings = [f"{'>' * column.right}{quoted_part(column.heading, _HEADING)}" for column in columns]
            printed = table(headings, [[_cell(cell) for cell in row] for row in rows])
            yield from (caption,) if caption else ()
            yield "\n".join(folded(title.capitalize(), printed) if title else printed)
            yield from (note,) if note else ()
        case tree.Named(pairs):
            printed = [line for name, words in pairs for line in paragraph(words, _BLOCK_WIDTH, 0, f"{name}: ")]
            yield "\n".join(fenced(printed, "text"))
        case tree.Names(title, names):
            printed = problem_lines("\n".join(shortened(plain(name), _BLOCK_WIDTH) for name in names))
            yield "\n".join(folded(title, printed))
        case tree.Problems(title, problems):
            yield "\n".join(folded(title, problem_lines(render_text(problems))))
        case tree.Section():
            inner = [printed for part in block.blocks for printed in _block_text(part)]
            inner += ["\n".join(_lines(block, len(block.differences) if most is None else most))] if block.differences else []
            title = block.heading if block.number is None else f"{block.heading} ({block.number})"
            yield "\n".join([f"### {title}", "", "\n\n".join(inner)] if block.opened else folded(title, ["\n\n".join(inner)]))
        case tree.Sources() | tree.OverTime():
            return


def _cell(cell: str) -> str:
    return code(cell) if isinstance(cell, Foreign) else cell


def _lines(section: tree.Section, shown: int) -> list[str]:
    left = len(section.differences) - shown
    lines = cut(section.differences, shown, section.noun) if left else section.differences
    body = fenced([line for difference in lines for line in diff_lines(difference)], "diff")
    return [*body, "", "`-o json` has everything."] if left else body


def diff_lines(difference: tree.Difference) -> list[str]:
    """Lines of a `diff` block of at most a hundred columns, each with the colour of the whole in column 0."""
    mark = _COLUMN_0[difference.meaning]
    first, *later = paragraph(shortened(plain(difference.sentence), _SENTENCE_CHARACTERS), _BLOCK_WIDTH - 2, 0, f"{mark} ")
    return [first, *(f"{mark}   {line.lstrip()}" for line in later)]


def problem_lines(text: str) -> list[str]:
    """Lines of others in a fence: at most a hundred, long ones shortened."""
    lines = [shortened(plain(line), _LINE_CHARACTERS) for line in text.splitlines()]
    left = len(lines) - _MOST_LINES
    return fenced([*lines[:_MOST_LINES], *([f"and {left} lines more"] if left > 0 else [])], "text")
