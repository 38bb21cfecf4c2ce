"""Several things to say, in one sentence."""

from collections.abc import Iterable


def clauses(parts: Iterable[str], most: int | None = None) -> str:
    """`a`, `a, and b`, `a, b, and c`: each part once, in their order. Of more than `most`: `a, b, and 3 more`."""
    told = tuple(dict.fromkeys(parts)) or ("",)
    if most is not None and len(told) > most:
        told = (*told[:most], f"{len(told) - most} more")
    *first, last = told
    return f"{', '.join(first)}, and {last}" if first else last
