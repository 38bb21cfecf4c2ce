"""Text of others in markdown: always as code, where neither markdown nor HTML nor a mention means anything.

Names, reasons and evidence come from clusters and from pull requests. Escaping them as prose would still leave `@name`
and `#12` to GitHub, which links those after rendering; code spans and fences are left alone.
"""

import re
from collections.abc import Sequence

from reconciler.rendering.plain import plain

_BACKTICKS = re.compile("`+")


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
