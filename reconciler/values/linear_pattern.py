"""Regular expressions that somebody else wrote, on an engine that takes time linear in the length of the text.

RE2 never backtracks. It refuses what it cannot match in linear time, such as look-around and back references. API servers use the
same syntax in CEL.
"""

from functools import lru_cache
from typing import Any

import re2  # type: ignore[import-untyped] # ships none

MAX_PROGRAM_BYTES = 1 << 18
"""Of the automaton: bounds the repeats that a pattern spells out."""
_KEPT = 1024
_OPTIONS = re2.Options()
_OPTIONS.max_mem = MAX_PROGRAM_BYTES
_OPTIONS.log_errors = False
_OPTIONS.never_capture = True

RefusedPatternError: type[Exception] = re2.error
"""What `compiled` raises."""


@lru_cache(maxsize=_KEPT)
def compiled(pattern: str) -> Any:  # noqa: ANN401 - RE2 ships no types
    """The pattern, ready to search with. Raises `RefusedPatternError`."""
    return re2.compile(pattern, _OPTIONS)


def is_linear(pattern: str) -> bool:
    """Whether the engine takes the pattern."""
    try:
        compiled(pattern)
    except RefusedPatternError:
        return False
    return True


def found(pattern: str, text: str) -> bool:
    """Whether a pattern that `is_linear` is found anywhere in `text`."""
    return compiled(pattern).search(text) is not None
