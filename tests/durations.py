"""What each test costs, as measured in a full run: the committed file, and what it says of a test.

The file names the tests that cost too much for `make test`. A test that it does not know is run there.
"""

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Final

import msgspec

from tests.workers import group_of

ROOT: Final = Path(__file__).resolve().parents[1]
FILE: Final = ROOT / "tests" / "durations.json"
SLOW_SECONDS: Final = 0.25
_UNMEASURED_SECONDS: Final = 0.02
"""A test that nobody has measured is taken to be like most others."""
_FUNCTION: Final = re.compile(rb"^ *(?:async )?def test_", re.MULTILINE)


class FileDurations(msgspec.Struct, frozen=True, omit_defaults=True):
    """The tests of one file: how many functions and cases it has, the seconds of those that are not slow together, and the slow
    ones by name, with theirs. `needs` counts the cases that have a slow fixture and are not named."""

    functions: int
    cases: int
    seconds: float
    slow: dict[str, float] = {}
    needs: int = 0

    @property
    def quick(self) -> int:
        """How many cases are not slow."""
        return self.cases - self.needs - len(self.slow)


class Durations(msgspec.Struct, frozen=True):
    """All files by path, and the fixtures whose set-up is slow: a test that has one of them is slow, measured or not."""

    fixtures: dict[str, float]
    files: dict[str, FileDurations]

    def is_slow(self, test: str, fixtures: Iterable[str]) -> bool:
        """Did this test cost too much, or does it have a fixture that does? A file that nobody has measured is taken to need the
        component of its group."""
        path, _, name = test.partition("::")
        known = self.files.get(path)
        named = bool(group_of(path)) if known is None else name in known.slow
        return named or any(one in self.fixtures for one in fixtures)

    def has_quick_tests(self, path: str) -> bool:
        """May this file have a test that is not slow? New functions may be quick."""
        known = self.files.get(path)
        if known is None:
            return not group_of(path)
        return known.quick > 0 or known.functions < functions(ROOT / path)

    def seconds(self, path: str) -> float:
        """About how long the quick tests of a file take."""
        known = self.files.get(path)
        return known.seconds if known is not None else _UNMEASURED_SECONDS * functions(ROOT / path)

    @property
    def cases(self) -> int:
        """How many tests the full run had."""
        return sum(one.cases for one in self.files.values())


@cache
def durations() -> Durations:
    """The committed file."""
    return msgspec.json.decode(FILE.read_bytes(), type=Durations)


def write(found: Durations) -> None:
    """Write the file anew, one line for each test file, so that few lines change."""
    lines = [f'"{path}": {msgspec.json.encode(one).decode()}' for path, one in sorted(found.files.items())]
    head = json.dumps(dict(sorted(found.fixtures.items())), indent=1)
    FILE.write_text('{"fixtures": ' + head + ',\n"files": {\n' + ",\n".join(lines) + "\n}}\n", encoding="utf-8")


def functions(file: Path) -> int:
    """How many test functions a file has."""
    return len(_FUNCTION.findall(file.read_bytes()))


def files_of_tests() -> list[str]:
    """All test files of the checkout, by path."""
    return sorted(file.relative_to(ROOT).as_posix() for file in (ROOT / "tests").rglob("test_*.py"))


def shares(seconds: Mapping[str, float], among: int) -> list[set[str]]:
    """The files in so many parts that take about as long: each file, longest first, goes to the part that has least."""
    parts: list[set[str]] = [set() for _ in range(among)]
    totals = [0.0] * among
    for path in sorted(seconds, key=lambda path: (-seconds[path], path)):
        least = totals.index(min(totals))
        parts[least].add(path)
        totals[least] += seconds[path]
    return parts
