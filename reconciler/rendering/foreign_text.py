"""A sentence of ours with text of others in it: as plain text, and as markdown in which their text is code."""

import textwrap
from collections.abc import Sequence

from reconciler.rendering.markdown_code import code
from reconciler.rendering.plain import plain, shortened

MARKDOWN_WIDTH = 100
"""Columns of prose in markdown: what a reviewer sees without scrolling."""
_MOST_FOREIGN = 60
_IN_CODE = "\x1f"
"""Stands for a blank inside a code span while lines are broken; `plain` leaves none in text of others."""


class Foreign(str):
    """Text that comes from a cluster or a pull request: a name, a path, a value."""

    __slots__ = ()


Sentence = tuple[str, ...]
"""Parts of one sentence; those of type `Foreign` are not ours."""


def names_listed(names: Sequence[str], most: int) -> Sentence:
    """`a, b, c and 9 more`, each name foreign; everything when `most` is 0."""
    shown = names if not most or len(names) <= most + 1 else names[:most]
    parts: list[str] = []
    for name in shown:
        parts += [", ", Foreign(name)] if parts else [Foreign(name)]
    return (*parts, f" and {len(names) - len(shown)} more") if len(shown) < len(names) else tuple(parts)


def foreign_sentence(text: str, most: int = 300) -> Sentence:
    """A whole sentence of others in parts that are short enough to stay whole; at most `most` characters of it."""
    parts: list[str] = []
    for line in textwrap.wrap(shortened(plain(text), most), _MOST_FOREIGN, break_on_hyphens=False):
        parts += [*((" ",) if parts else ()), Foreign(line)]
    return tuple(parts)


def plain_sentence(sentence: Sentence) -> str:
    """The words on one line, without markup."""
    return "".join(plain(part) for part in sentence)


def markdown_line(sentence: Sentence) -> str:
    """One line of markdown; long texts of others are cut in their middle."""
    return "".join(_markdown_part(part) for part in sentence)


def markdown_paragraph(sentence: Sentence, first: str = "", later: str = "", width: int = MARKDOWN_WIDTH) -> list[str]:
    """Lines of at most `width` columns; `first` and `later` stand before them. No code span is broken."""
    text = "".join(_markdown_part(part).replace(" ", _IN_CODE) if isinstance(part, Foreign) else part for part in sentence)
    lines = textwrap.wrap(
        text, width=width, initial_indent=first, subsequent_indent=later, break_on_hyphens=False, break_long_words=False
    )
    return [line.replace(_IN_CODE, " ") for line in lines] or [first]


def _markdown_part(part: str) -> str:
    return code(shortened(plain(part).replace("|", "\\x7c"), _MOST_FOREIGN)) if isinstance(part, Foreign) else part
