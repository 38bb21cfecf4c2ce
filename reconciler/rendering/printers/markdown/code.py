"""Prints text of others as code."""

import re
import textwrap
from collections.abc import Sequence

from reconciler.rendering.documents.blocks import MOST_FOREIGN, PROSE_WIDTH, Foreign, Sentence
from reconciler.rendering.words.plain import plain, shortened

_BACKTICKS = re.compile("`+")
_IN_CODE = "\x1f"
"""Stands for a blank inside a code span while lines are broken; `plain` leaves none in text of others."""


def code(text: str) -> str:
    """A code span on one line; nothing for an empty text. A pipe, which would end a table cell, is made visible instead."""
    shown = plain(text).replace("|", "\\x7c").strip()
    if not shown:
        return ""
    runs = {len(run) for run in _BACKTICKS.findall(shown)}
    fence = "`" * next(length for length in range(1, len(runs) + 2) if length not in runs)
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def fenced(lines: Sequence[str], language: str) -> list[str]:
    """Lines in a fence longer than any run of backticks in them. The lines are plain already."""
    longest = max((len(run) for line in lines for run in _BACKTICKS.findall(line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence + language, *lines, fence]


def folded(title: str, lines: Sequence[str]) -> list[str]:
    """A part that opens on a click; `title` is ours and carries no text of others."""
    return [f"<details><summary>{title}</summary>", "", *lines, "", "</details>"]


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table; a heading that starts with `>` aligns its figures to the right. Cells are markdown already."""
    names = [heading.lstrip(">") for heading in headings]
    rules = ["---:" if heading.startswith(">") else "---" for heading in headings]
    return [f"| {' | '.join(cells)} |" for cells in (names, rules, *rows)]


def quoted_part(part: str, most: int = MOST_FOREIGN) -> str:
    """A part of a sentence; texts of others are code."""
    return code(shortened(plain(part).replace("|", "\\x7c"), most)) if isinstance(part, Foreign) else part


def quoted_paragraph(
    sentence: Sentence, first: str = "", later: str = "", width: int = PROSE_WIDTH, most: int = MOST_FOREIGN
) -> list[str]:
    """Lines of at most `width` columns; `first` and `later` stand before them. No code span is broken."""
    text = "".join(quoted_part(part, most).replace(" ", _IN_CODE) if isinstance(part, Foreign) else part for part in sentence)
    lines = textwrap.wrap(
        text, width=width, initial_indent=first, subsequent_indent=later, break_on_hyphens=False, break_long_words=False
    )
    return [line.replace(_IN_CODE, " ") for line in lines] or [first]
