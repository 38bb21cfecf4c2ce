"""Paragraphs with a hanging indent."""

import textwrap

from reconciler.rendering.plain import plain


def paragraph(text: str, width: int, indent: int, bullet: str = "") -> list[str]:
    """The text in lines of at most `width` characters (0: one line); later lines hang under the first word
    behind a bullet, or two columns further in."""
    first = " " * indent + bullet
    words = plain(text)
    if not width or len(first) + len(words) <= width:
        return [first + words]
    return textwrap.wrap(
        words,
        width=max(width, len(first) + 20),
        initial_indent=first,
        subsequent_indent=" " * (len(first) if bullet else indent + 2),
        break_on_hyphens=False,
    ) or [first]
