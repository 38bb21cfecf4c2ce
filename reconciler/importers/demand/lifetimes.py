"""Demand from lists of lifetimes. Each entry is a number of equal pods with a start and perhaps an end."""

from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec

from reconciler.simulation.replays.recording import LONGEST_SECONDS
from reconciler.simulation.replays.source_lines import plain
from reconciler.simulation.replays.trace import DemandSource, DemandStep, Trace

MOST_LINES = 20_000_000
MOST_PODS = 3_000_000
"""The largest public table of machines has two million."""
LONGEST_LINE_BYTES = 4 << 20
Line = tuple[int, bytes]
"""A line of a file with its number, from 1."""


class DemandImportError(ValueError):
    """A file that cannot be imported. `line` and `column` count from 1, and `hint` says what to do."""

    def __init__(self, line: int, message: str, hint: str = "", column: int = 1) -> None:
        super().__init__(message)
        self.line = line
        self.column = column
        self.hint = hint


class Lifetime(msgspec.Struct, frozen=True):
    """One pod of a source from `start_seconds` (Unix time) until before `end_seconds`; None: it was still wanted at the end."""

    source: DemandSource
    start_seconds: int
    end_seconds: int | None = None


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """A trace, and in sentences what of the file is not in it."""

    trace: Trace
    left_out: tuple[str, ...] = ()


def trace_of(name: str, lifetimes: Iterable[Lifetime], end_seconds: int) -> Trace:
    """Their demand, from the first beginning to `end_seconds`. Raises `DemandImportError` for none at all."""
    numbers: dict[DemandSource, int] = {}
    known: dict[int, tuple[DemandSource, int]] = {}
    at: dict[int, Counter[int]] = {}
    for one in lifetimes:
        if one.end_seconds is not None and one.end_seconds <= one.start_seconds:
            continue
        # A source is compared once, and then known by its address: it is kept, so nothing else gets that.
        _, index = known.get(id(one.source), (None, -1))
        if index < 0:
            index = numbers.setdefault(plain(one.source), len(numbers))
            known[id(one.source)] = (one.source, index)
        at.setdefault(one.start_seconds, Counter())[index] += 1
        if one.end_seconds is not None and one.end_seconds < end_seconds:
            at.setdefault(one.end_seconds, Counter())[index] -= 1
    start = min(at, default=end_seconds)
    if start >= end_seconds:
        raise DemandImportError(1, "no pod that lived for a second", "give a file about a longer time")
    if end_seconds - start > LONGEST_SECONDS:
        raise DemandImportError(1, f"more than {LONGEST_SECONDS // 86_400} days", "import a part of it")
    return Trace(
        name=name, start_seconds=start, end_seconds=end_seconds, sources=tuple(numbers), steps=tuple(_steps(at)),
        present=(0,) * len(numbers),
    )  # fmt: skip


def _steps(at: dict[int, Counter[int]]) -> Iterator[DemandStep]:
    wanted: Counter[int] = Counter()
    for seconds in sorted(at):
        changed = sorted((index, more) for index, more in at[seconds].items() if more)
        wanted.update(dict(changed))
        if changed:
            yield DemandStep(seconds, tuple((index, wanted[index]) for index, _ in changed))
