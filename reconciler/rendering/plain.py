"""Plain text on a line: nothing that a terminal or a reader would take for something else."""

import unicodedata

_HIDDEN = ("Cc", "Cf", "Zl", "Zp", "Cs", "Co", "Cn")


def plain(text: str) -> str:
    """The text with control, format (bidirectional overrides, zero width) and line separating characters made visible.

    What is printed comes from clusters and from pull requests: an escape sequence in a name must not reach a terminal.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_visible(character) for character in text)


def _visible(character: str) -> str:
    if unicodedata.category(character) not in _HIDDEN:
        return character
    if character in "\n\r\t":
        return " "
    code = ord(character)
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def shortened(text: str, width: int) -> str:
    """At most `width` characters: what is cut is cut from the middle, since names differ at their ends."""
    if len(text) <= width:
        return text
    if width <= 1:
        return "…"[:width]
    tail = (width - 1) // 2
    return f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"


def listed(names: tuple[str, ...], most: int) -> str:
    """`a, b, c and 9 more`; everything when `most` is 0."""
    if not most or len(names) <= most + 1:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"
