"""Regular expressions in policies, on an engine that takes time linear in the length of a name.

A pattern is data from a pull request, so it must not be able to stall the loop. RE2 never backtracks. It refuses what it cannot
match in linear time (look-around, back references), and so do we. API servers also use it, in CEL rules.
"""

import re
import warnings

from reconciler.values.linear_pattern import RefusedPatternError, compiled, found
from reconciler.values.shown_text import shown

CLUSTER_AUTOSCALER_EXPANDERS = {
    "least-waste": "LeastWaste",
    "least-nodes": "LeastNodes",
    "most-pods": "MostPods",
    "price": "LeastCost",
}
"""Values of the Cluster Autoscaler's flag `--expander`, and what does the same here; `priority` is what tiers are for."""


MAX_LENGTH = 256
_NOT_LINEAR = re.compile(r"\(\?(?!:|P<)|\\[1-9]")


class PatternError(ValueError):
    """A pattern that is refused; `code` is the problem's code, `offset` counts characters from 0, `hint` says what to write."""

    def __init__(self, code: str, message: str, offset: int = 0, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.offset = offset
        self.hint = hint


def check_pattern(text: str) -> None:
    """Raise `PatternError` (`BadRegex` or `CostlyRegex`) unless `text` is a pattern that `matches` takes."""
    if len(text) > MAX_LENGTH:
        raise PatternError("CostlyRegex", f"the pattern is {len(text)} characters long, the limit is {MAX_LENGTH}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # what Python merely warns about (nested sets) has changed meaning before
            re.compile(text)  # compiled only: it says where the mistake is, which RE2 does not
    except (re.error, OverflowError, RecursionError, Warning) as error:
        where = getattr(error, "pos", None) or 0
        message = f"invalid regular expression {shown(text)}: {getattr(error, 'msg', error)}"
        raise PatternError("BadRegex", message, where, r"for a literal character, write \(, \[, \*, \+, \?") from error
    try:
        compiled(text)
    except RefusedPatternError as error:
        reason = error.args[0].decode("utf-8", "replace") if error.args and isinstance(error.args[0], bytes) else str(error)
        match = _NOT_LINEAR.search(text)
        raise PatternError(
            "CostlyRegex", f"the pattern cannot be matched in bounded time: {reason}", match.start() if match else 0,
            "look-around, back references and long repeats are not supported. Write the text out, or several patterns",
        ) from error  # fmt: skip


def matches(pattern: str, text: str) -> bool:
    """Whether a checked pattern is found anywhere in `text`."""
    return found(pattern, text)


def matches_whole(pattern: str, text: str) -> bool:
    """Whether a checked pattern matches all of `text`."""
    return compiled(pattern).fullmatch(text) is not None
