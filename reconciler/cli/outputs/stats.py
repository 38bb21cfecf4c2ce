"""The one line of `--stats`: seconds of each stage, the peak of memory, counts."""

import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from reconciler.values.later import Later

if TYPE_CHECKING:
    import json
else:
    json = Later("json")

_UNITS_PER_MIB = (1 << 20) if sys.platform == "darwin" else (1 << 10)  # ru_maxrss: bytes there, KiB elsewhere


class Stats:
    """Stages and counts, in the order in which they came."""

    def __init__(self) -> None:
        self._values: dict[str, float | int] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a block."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self._values[name] = round(time.perf_counter() - start, 4)

    def line(self, **counts: int) -> str:
        """JSON on one line; the peak is that of the whole process so far."""
        peak = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _UNITS_PER_MIB, 1)
        return json.dumps({**self._values, "peakMemoryMiB": peak, **counts})
