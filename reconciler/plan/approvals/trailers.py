"""Trailers of a commit message.

SOURCE: they are read as by `git interpret-trailers`. Trailers are lines `Key: value` of the last paragraph of a message. Keys
ignore case. A line that begins with a blank continues the one before it.
"""

import re

_MOST_BYTES = 64 << 10
_LINE = re.compile(r"(?P<key>[A-Za-z0-9-]+)\s*:\s*(?P<value>.*)")


def trailers(message: str, key: str) -> list[str]:
    """The values of one key, in order. Only the first 64 KiB of a message are read."""
    lines = message[:_MOST_BYTES].replace("\r\n", "\n").rstrip().split("\n")
    start = len(lines)
    while start and lines[start - 1].strip():
        start -= 1
    if not start:
        return []  # the only paragraph is the subject
    entries: list[tuple[str, str]] = []
    for line in lines[start:]:
        if line[:1] in (" ", "\t") and entries:
            entries[-1] = (entries[-1][0], f"{entries[-1][1]} {line.strip()}")
        elif match := _LINE.fullmatch(line):
            entries.append((match["key"].lower(), match["value"].strip()))
        else:
            entries.append(("", ""))
    return [value for name, value in entries if name == key.lower()]
