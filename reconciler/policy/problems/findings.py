"""All problems of one tree, collected while it is read, each with its source line."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from reconciler.policy.place import Place
from reconciler.policy.problems.problem import Problem, Severity
from reconciler.policy.yaml_nodes import Spot

MAX_PROBLEMS_PER_FILE = 200
_LINE_BREAK = re.compile("\r?\n")


class Source(msgspec.Struct, frozen=True):
    """One policy text: its path and its lines. A text in which YAML counts lines differently is rejected."""

    path: str
    lines: tuple[str, ...]

    @staticmethod
    def of(path: str, text: str) -> "Source":
        """Split `text` into lines."""
        return Source(path, tuple(_LINE_BREAK.split(text)))

    def line(self, number: int) -> str:
        """The text of a line, counted from 1; empty past the end."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""

    def place(self, spot: Spot) -> Place:
        """The place of a spot, kept inside the text."""
        line = min(max(spot.line, 1), len(self.lines))
        column = spot.column if line == spot.line else len(self.lines[line - 1]) + 1
        return Place(self.path, line, max(1, column))

    def problem(self, code: str, spot: Spot, message: str, hint: str = "") -> Problem:
        """An error at a spot, not recorded anywhere."""
        place = self.place(spot)
        line = self.line(place.line)
        width = max(1, min(spot.width, len(line) - place.column + 1))
        return Problem(place=place, code=code, message=message, hint=hint, source=line, width=width)


_TORN = frozenset({"Syntax", "NotUtf8"})


class Findings:
    """Collects problems. A file that has more than `MAX_PROBLEMS_PER_FILE` gets one problem that says so, and no more.

    `errors_only` drops warnings. `caused` maps the path of a document to an error that it causes elsewhere. These errors were
    found within `because_of`, listed or not.
    """

    def __init__(self, *, errors_only: bool = False) -> None:
        self.caused: dict[str, Problem] = {}
        self._because: tuple[str, ...] = ()
        self._errors_only = errors_only
        self._problems: dict[Problem, None] = {}
        self._count: dict[str, int] = {}
        self._sources: dict[str, Source] = {}

    def open(self, source: Source) -> None:
        """Make a text known, so that problems can quote it."""
        self._sources[source.path] = source

    def full(self, path: str) -> bool:
        """Whether further problems of a file are dropped, so that they need not be made."""
        return self._count.get(path, 0) > MAX_PROBLEMS_PER_FILE

    @contextmanager
    def because_of(self, *paths: str) -> Iterator[None]:
        """These documents cause the problems that are found in this context, wherever they are reported."""
        before, self._because = self._because, paths
        try:
            yield
        finally:
            self._because = before

    def add(
        self,
        code: str,
        source: Source,
        spot: Spot,
        message: str,
        hint: str = "",
        *,
        severity: Severity = Severity.ERROR,
        related: tuple[tuple[Place, str], ...] = (),
    ) -> None:
        """Record one problem at `spot` of `source`."""
        self.add_at(code, source.place(spot), message, hint, width=spot.width, severity=severity, related=related)

    def add_at(
        self,
        code: str,
        place: Place,
        message: str,
        hint: str = "",
        *,
        width: int = 1,
        severity: Severity = Severity.ERROR,
        related: tuple[tuple[Place, str], ...] = (),
    ) -> None:
        """Record one problem at a place of a text that was opened."""
        if self._errors_only and severity is not Severity.ERROR:
            return
        if severity is Severity.ERROR:
            cause = Problem(place=place, code=code, message=message, hint=hint, related=related)
            for path in self._because:
                if path != place.path:
                    self.caused.setdefault(path, cause)
        source = self._sources.get(place.path)
        line = source.line(place.line) if source else ""
        count = self._count.get(place.path, 0)
        if count >= MAX_PROBLEMS_PER_FILE:
            if count > MAX_PROBLEMS_PER_FILE:
                return
            code, severity, related, hint = "TooManyProblems", Severity.ERROR, (), "fix those above and run it again"
            message = f"more than {MAX_PROBLEMS_PER_FILE} problems in this file. The rest are not listed"
        problem = Problem(
            place=place,
            code=code,
            message=message,
            hint=hint,
            source=line,
            width=max(1, min(width, len(line) - place.column + 1)),
            severity=severity,
            related=related,
        )
        if problem not in self._problems:
            self._problems[problem] = None
            self._count[place.path] = count + 1

    def report(self, problem: Problem) -> None:
        """Record a problem that was made before."""
        if problem not in self._problems and self._count.get(problem.place.path, 0) <= MAX_PROBLEMS_PER_FILE:
            self._problems[problem] = None
            self._count[problem.place.path] = self._count.get(problem.place.path, 0) + 1

    def absorb(self, other: "Findings") -> None:
        """Record problems that were found separately, with their texts."""
        self._sources |= other._sources
        for problem in other._problems:
            self.report(problem)

    def sorted(self) -> tuple[Problem, ...]:
        """All problems by file, line and column."""
        return tuple(sorted(self._problems))

    @property
    def torn(self) -> bool:
        """Whether part of some text could not be parsed. What seems to be missing may be in that part."""
        return any(problem.code in _TORN for problem in self._problems)

    @property
    def failed(self) -> bool:
        """Whether any problem is an error."""
        return any(problem.severity is Severity.ERROR for problem in self._problems)
