"""Plain text on a line: nothing that a terminal, a runner of workflows or a reader would take for something else.

SOURCE: GitHub's runner reads `::command …::` at the start of a line, behind any blanks, and `##[command]` anywhere in one. It
compares as its language does, which ignores characters that are not visible. Other runners read `##name[…`.
"""

import re
import unicodedata

_HIDDEN = ("Cc", "Cf", "Zl", "Zp", "Cs", "Co", "Cn")
# Nothing is seen of these either, though their categories are those of letters and accents (Default_Ignorable_Code_Point).
_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
_COMMAND = re.compile(r"(?<!\S):(?=:)|#(?=#\w*\[)")


def plain(text: str) -> str:
    """The text with control, format (bidirectional overrides, zero width) and line separating characters made visible. What a
    runner of workflows would take for a command is broken.

    What is printed comes from clusters and from pull requests: an escape sequence in a name must not reach a terminal.
    """
    shown = text
    if not (text.isascii() and text.isprintable()):
        shown = "".join(_visible(character) for character in text)
    return inert(shown)


def plain_lines(text: str) -> str:
    """Several lines of ours with text of others in them, each of them plain."""
    return "\n".join(plain(line) for line in text.split("\n"))


def inert(line: str, instead: str = "") -> str:
    """Plain text with the first character of every command of a workflow written out, or as `instead`."""
    if "::" not in line and "##" not in line:
        return line
    return _COMMAND.sub(lambda match: instead or _written(match[0]), line)


def hidden(character: str) -> bool:
    """Whether nothing, or not what it does, is seen of a character."""
    return unicodedata.category(character) in _HIDDEN or _UNSEEN.match(character) is not None


def _visible(character: str) -> str:
    if character in "\n\r\t":
        return " "
    return _written(character) if hidden(character) else character


def _written(character: str) -> str:
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
