"""Trailers of a commit message.

SOURCE: they are read as `git interpret-trailers` does: lines `Key: value` of the last paragraph of a message, keys without
regard to case, a line that begins with a blank goes on with the one before it.
"""

import re

_MOST_BYTES = 64 << 10
_LINE = re.compile(r"(?P<key>[A-Za-z0-9-]+)\s*:\s*(?P<value>.*)")


def trailers(message: str, key: str) -> list[str]:
    """The values of one key, in their order; of a message of more than 64 KiB only the beginning is read."""
    lines = message[:_MOST_BYTES].replace("\r\n", "\n").rstrip().split("\n")
    start = len(lines)
    while start and lines[start - 1].strip():
        start -= 1
    if not start:
        return []  # the only paragraph is the subject
    found: list[tuple[str, str]] = []
    for line in lines[start:]:
        if line[:1] in (" ", "\t") and found:
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}")
        elif match := _LINE.fullmatch(line):
            found.append((match["key"].lower(), match["value"].strip()))
        else:
            found.append(("", ""))
    return [value for name, value in found if name == key.lower()]
