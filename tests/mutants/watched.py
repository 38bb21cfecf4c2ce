"""Which test runs which lines: nobody else can notice a change of them."""

import ast
import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from coverage import Coverage, CoverageData

from tests.mutants.mutant import ROOT


class Watched:
    """What one run of all tests saw. A test is its place in that run; `seconds` are those that each took."""

    def __init__(
        self, data: Path, at_import: CoverageData, seconds: Sequence[float], *, red: frozenset[int], slow: frozenset[int]
    ) -> None:
        self._file = data
        # A fork must not read by a connection of its parent.
        self._at_import = {file: frozenset(at_import.lines(file) or ()) for file in at_import.measured_files()}
        self.seconds = seconds
        self.red = red
        self.slow = slow

    def at_import(self, file: str, lines: range) -> bool:
        """Whether some of the lines ran before the first test: as a module was loaded or as tests were collected."""
        return not self._at_import.get(str(ROOT / file), frozenset()).isdisjoint(lines)

    def tests_of(self, file: str, lines: range | None = None) -> list[int]:
        """The tests that run some of the lines (without: of the file), the quickest first; none that is red by itself or
        slow."""
        found = {test for line, tests in self._tests(file).items() if lines is None or line in lines for test in tests}
        return sorted(found - self.red - self.slow, key=lambda test: (self.seconds[test], test))

    @cache  # noqa: B019 (there is one of it)
    def _tests(self, file: str) -> dict[int, list[int]]:
        data = CoverageData(basename=str(self._file))  # opened anew, for the same reason
        data.read()
        contexts = data.contexts_by_lineno(os.fspath(ROOT / file))
        return {line: [int(name) for name in names if name] for line, names in contexts.items()}


def watching(data: Path | None) -> Coverage:
    """What counts lines of the product: in memory, or in the named file."""
    return Coverage(data_file=data and str(data), config_file=False, include=[f"{ROOT}/reconciler/*"], messages=False)


def lines_of(text: str, line: int) -> range:
    """The lines of the innermost statement around a line; of one with a body (`if`, `def`) those of its head."""
    around = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.stmt) and line in _head(node)]
    heads = [_head(node) for node in around]
    return min(heads, key=len, default=range(line, line + 1))  # `case` is no statement


def _head(node: ast.stmt) -> range:
    begin = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])
    body = getattr(node, "body", None)
    if isinstance(node, ast.Match):
        body = node.cases[0].body
    if not body:
        return range(begin, (node.end_lineno or node.lineno) + 1)
    return range(begin, max(begin + 1, body[0].lineno))
