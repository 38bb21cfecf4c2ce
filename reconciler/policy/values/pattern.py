"""Regular expressions in policies: the part that cannot run away.

A pattern is data from a pull request, so it may not be able to stall the loop: Python's engine backtracks, and a
repeated group that itself repeats or alternates can take time exponential in the length of a name. Such groups, look
around and back references are refused (RE2, which API servers use in CEL rules, has none of the latter either).
"""

import re
import warnings

MAX_LENGTH = 256
MAX_CHOICES = 64**3
"""How many ways through a pattern are tolerated: an unbounded repeat counts 64, `?` two, an alternation its branches."""


class PatternError(ValueError):
    """A pattern that is refused; `code` is the problem's code, `offset` counts characters from 0, `hint` says what to write."""

    def __init__(self, code: str, message: str, offset: int = 0, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.offset = offset
        self.hint = hint


_REPEAT = re.compile(r"[*+?]|\{([0-9]*)(,?)([0-9]*)\}")
_UNBOUNDED = 64
_ENDLESS = 1 << 60


def check_pattern(text: str) -> None:
    """Raise `PatternError` (`BadRegex` or `CostlyRegex`) unless `text` compiles and stays cheap."""
    if len(text) > MAX_LENGTH:
        raise PatternError("CostlyRegex", f"the pattern is {len(text)} characters long, the limit is {MAX_LENGTH}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # what Python merely warns about (nested sets) has changed meaning before
            re.compile(text)
    except (re.error, OverflowError, RecursionError, Warning) as error:
        where = getattr(error, "pos", None) or 0
        message = f"{text!r} is no regular expression: {getattr(error, 'msg', error)}"
        raise PatternError(
            "BadRegex", message, where, r"a character that is meant itself is written \(, \[, \*, \+, \?"
        ) from error
    _check_cost(text)


def _check_cost(text: str) -> None:
    choices = 1
    varies: list[bool] = [False]  # for each open group (the whole pattern first): whether it repeats or alternates inside
    branches: list[int] = [1]
    closed = False  # whether the item before the current position is a group that repeats or alternates inside
    at = 0
    while at < len(text):
        char = text[at]
        if char == "\\":
            if text[at + 1 : at + 2] in "123456789":
                raise PatternError("CostlyRegex", "back references are not supported", at, "write the text out")
            closed, at = False, at + 2
        elif char == "[":
            closed, at = False, _class_end(text, at)
        elif char == "(":
            if text.startswith("(?", at) and not text.startswith(("(?:", "(?P<"), at):
                raise PatternError("CostlyRegex", "look-around and flags are not supported", at, "only (?:…) and (?P<name>…)")
            varies.append(False)
            branches.append(1)
            closed, at = False, at + (2 if text.startswith("(?", at) else 1)
        elif char == ")":
            closed = varies.pop() or branches[-1] > 1
            varies[-1] |= closed
            choices *= branches.pop()
            at += 1
        elif char == "|":
            branches[-1] += 1
            closed, at = False, at + 1
        elif repeat := _REPEAT.match(text, at):
            low, high = _bounds(repeat)
            endless = high == _ENDLESS
            if closed and high > 1:
                raise PatternError(
                    "CostlyRegex",
                    "a repeated group that repeats or alternates inside can take exponential time",
                    at,
                    "repeat a single character or class, or write several patterns",
                )
            choices *= max(1, min(high - low + 1, _UNBOUNDED))
            if high > _UNBOUNDED * 4 and not endless:
                raise PatternError(
                    "CostlyRegex", f"a repeat of more than {_UNBOUNDED * 4}", at, "write a smaller number, or + or *"
                )
            varies[-1] |= high != low or high > 1
            at = repeat.end()
        else:
            closed, at = False, at + 1
    if choices * branches[0] > MAX_CHOICES:
        raise PatternError("CostlyRegex", "the pattern has too many optional and repeated parts", 0, "write several patterns")


def _bounds(repeat: re.Match[str]) -> tuple[int, int]:
    simple = {"*": (0, _ENDLESS), "+": (1, _ENDLESS), "?": (0, 1)}.get(repeat[0])
    if simple:
        return simple
    low = int(repeat[1] or 0)
    return low, int(repeat[3] or _ENDLESS) if repeat[2] else low


def _class_end(text: str, at: int) -> int:
    at += 1
    if text.startswith("^", at):
        at += 1
    if text.startswith("]", at):
        at += 1
    while at < len(text) and text[at] != "]":
        at += 2 if text[at] == "\\" else 1
    return at + 1
