"""What a runner of workflows makes of the lines of a job: the commands that it would carry out.

SOURCE: GitHub's runner (ActionCommand, ActionCommandManager): a line is a command of the second form when it starts, behind
white space, with `::NAME …::`, of the first form when `##[NAME …]` stands anywhere in it; .NET compares by culture, so that
characters that Unicode calls ignorable do not count; lines end at CR, LF and CR LF. While stopped, only the token goes on.
"""

import re
import sys
import unicodedata
from functools import cache

COMMANDS = frozenset({
    "add-mask", "add-matcher", "add-path", "debug", "echo", "endgroup", "error", "group", "notice", "remove-matcher",
    "save-state", "set-env", "set-output", "stop-commands", "warning",
})  # fmt: skip
_FILLERS = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")


@cache
def _ignored() -> dict[int, None]:
    """Every character that does not count; it takes half a second to find them."""
    return {
        code: None
        for code in range(sys.maxunicode + 1)
        if code == 0 or unicodedata.category(chr(code)) == "Cf" or _FILLERS.match(chr(code))
    }


def commands(output: str) -> list[str]:
    """The lines that would be commands, whether or not commands are stopped."""
    return [line for line in re.split("\r\n|\r|\n", output) if _command(line) is not None]


def carried_out(output: str) -> list[str]:
    """The lines that would be carried out: those that stop and go on count for themselves and are left out."""
    token = None
    found = []
    for line in re.split("\r\n|\r|\n", output):
        named = _command(line, token)
        if named is None:
            continue
        name, data = named
        if token is not None:
            token = None if name == token else token
        elif name == "stop-commands":
            token = data.casefold()
        else:
            found.append(line)
    return found


def _command(line: str, token: str | None = None) -> tuple[str, str] | None:
    if line.count(":") < 2 and line.count("#") < 2:
        return None  # what is ignored is neither, and a page has many lines
    seen = line.translate(_ignored())
    second = re.match(r"\s*::([^\s:]*)(?: [^\n]*?)?::(.*)", seen)
    if second is not None and second[1].casefold() in COMMANDS | {token}:
        return second[1].casefold(), second[2]
    for first in re.finditer(r"##\[([^\]\s]*)[^\]]*\](.*)", seen):
        if first[1].casefold() in COMMANDS | {token}:
            return first[1].casefold(), first[2]
    return None
