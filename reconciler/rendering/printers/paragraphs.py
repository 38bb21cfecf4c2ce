"""Paragraphs with a hanging indent."""

import textwrap
from collections.abc import Sequence

from reconciler.rendering.words.plain import inert, plain, shortened


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
