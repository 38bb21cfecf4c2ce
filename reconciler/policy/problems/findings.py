"""The problems of one tree while it is being read: all of them, each with the source line that it points at."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum

import msgspec

from reconciler.policy.yaml_nodes import Place, Spot

# What is wrong with a policy text, told as a compiler tells it: place, code, sentence, source line, caret, hint.


class Severity(StrEnum):
    """An error makes the whole tree unusable (all or nothing); a warning is printed and the tree is used."""

    ERROR = "error"
    WARNING = "warning"


class Problem(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """One finding in a policy tree.

    `code` is stable and PascalCase (`UnknownField`, `MinAboveMax`); `message` is one sentence with the numbers in it;
    `hint` says what to do, or is empty. `source` is the text of the line at `place` without its newline, `width` the
    number of characters that the caret line underlines (at least 1). `related` are other places that take part.
    """

    place: Place
    code: str
    message: str
    hint: str = ""
    source: str = ""
    width: int = 1
    severity: Severity = Severity.ERROR
    related: tuple[tuple[Place, str], ...] = ()


# Every problem code with the rule behind it. Codes are stable: scripts and suppressions name them.

_TEXT_CODES: Mapping[str, str] = {
    "AdoptHasNoEffect": "An entry of adoptFrom that names the topology controller has no effect: it is never taken over from.",
    "AdoptsFromController": "Replicas that a controller keeps writing cannot be taken over.",
    "AliasBomb": "Aliases may not make a text much larger than it is.",
    "AliasLoop": "An alias may not stand inside what it repeats.",
    "AmbiguousNumber": "Numbers are plain decimal digits: YAML versions read 012, 1_000 and 12:30 differently.",
    "AmbiguousText": "A text that YAML versions take for something else (no, 2026-01-01, 12:30) is quoted.",
    "ArchitectureMismatch": "The architecture of a template and its architecture labels say the same.",
    "BackoffAboveMax": "The first back-off is not longer than the longest.",
    "BadDuration": "A duration is written as Go does, in whole seconds: 90s, 10m, 1h30m.",
    "BadFormat": "The text has the form that the field asks for.",
    "BadInstant": "An instant is written as RFC 3339, with date, time and zone.",
    "BadLabel": "Label keys and values follow Kubernetes' syntax.",
    "BadMoney": "Money is a decimal string with at most six places.",
    "BadName": "Names follow Kubernetes' syntax.",
    "BadQuantity": "A resource amount is a Kubernetes quantity.",
    "BadRegex": "A pattern is a regular expression.",
    "BadSchedule": "A schedule has five fields, as CronJob reads them.",
    "ControlCharacter": "A policy holds no invisible control characters.",
    "CostlyRegex": "A pattern can be matched in bounded time.",
    "DuplicateItem": "A list that is a set holds each item once.",
    "DuplicateKey": "A mapping holds each key once.",
    "DuplicateName": "Names are unique where something is found by them.",
    "DurationWithoutSchedule": "A budget with a duration has a schedule.",
    "EmptyLimit": "A limit sets an amount.",
    "EmptySelector": "A selector has a requirement: an empty one would select everything.",
    "EmptyValue": "A value that is written is not empty.",
    "EmptyWindow": "A window sets a bound.",
    "Encrypted": "A policy is plain text: it holds no secrets.",
    "ExperimentalTarget": "A target of an experimental platform is sized at its owner's risk.",
    "ExpiredHold": "A hold that is over is removed.",
    "FileTooLarge": "A policy file is small.",
    "FloatValue": "Amounts are integers, quantities or decimal strings, never floats.",
    "FractionalAmount": "A resource amount is a whole number of its smallest unit.",
    "HeadroomAboveMax": "Headroom fits into the bounds of the group.",
    "HiddenLineBreak": "A line ends where its reader sees it end.",
    "IdleWindow": "A window changes something while it is open.",
    "ImpliedLabel": "The host name label is the node's own.",
    "LimitBelowMaximums": "A limit on nodes has room for all groups at their max and for the control plane.",
    "LimitBelowMinimums": "A limit has room for all groups at their min.",
    "LimitMinAboveMax": "The min of a limit is not above its max.",
    "LooserMode": "A group is not in a looser mode than its policy.",
    "MergeKey": "Merge keys are not used: API servers do not know them.",
    "MinAboveMax": "At no instant is min above max.",
    "MissingField": "Required keys are there.",
    "MissingPrice": "Groups that are compared by cost have a price.",
    "NamespaceNotAllowed": "A NodeGroup is in a namespace that its policy takes groups of.",
    "NegativeNumber": "Amounts and durations are not negative.",
    "NeverOpens": "A schedule fires at some time.",
    "NoKind": "A document says its apiVersion and kind.",
    "NotADocument": "A document is a mapping.",
    "NotExamined": "Everything is examined.",
    "NotUtf8": "A policy file is UTF-8.",
    "NullValue": "A key that is written has a value.",
    "OutOfRange": "A number is within its range.",
    "Overflow": "An amount fits a 64-bit integer.",
    "ReservedAboveCapacity": "A node does not reserve more than it has.",
    "ScheduleWithoutDuration": "A budget with a schedule has a duration.",
    "SelectorValues": "In and NotIn have values, Exists and DoesNotExist have none.",
    "SelectsNothing": "A selector selects something.",
    "SeveralOfOne": "Of keys that exclude each other only one is there.",
    "SharedTarget": "A target is sized by one NodeGroup.",
    "Syntax": "A policy file is YAML.",
    "Tab": "YAML is indented with spaces.",
    "TargetNotAllowed": "A NodeGroup aims at a target that its namespace may have.",
    "TextTooLong": "A text is not longer than its field takes.",
    "TimeZoneWithoutSchedule": "A time zone belongs to a schedule.",
    "TooDeep": "Values are nested only so deep.",
    "TooManyDocuments": "A file holds only so many documents.",
    "TooManyProblems": "A file has few enough problems to list.",
    "TooManyValues": "A file holds only so many values.",
    "UnknownAlias": "An alias repeats an anchor before it.",
    "UnknownApiVersion": "The apiVersion is one that this version reads.",
    "UnknownField": "Keys are those of the documents.",
    "UnknownKind": "The kind is one of ours.",
    "UnknownPolicy": "A NodeGroup names a policy of the tree.",
    "UnknownResource": "A resource is named as Kubernetes does.",
    "UnknownTier": "A tier that is named is there.",
    "UnknownTimeZone": "A time zone is an IANA name.",
    "UnknownValue": "A value is one of those that the field takes.",
    "UnsupportedTag": "A policy is plain data: no tags.",
    "WrongType": "A value has the type of its field.",
}

TREE_CODES: Mapping[str, str] = {
    "LfsPointer": "A policy file is in the repository itself, not in Git LFS.",
    "MergeConflict": "A change is one that git can merge into its target.",
    "NameCollision": "Names of files differ in more than case or the composition of accents.",
    "NoFile": "A policy file is a regular file.",
    "PathTooLong": "Paths are short.",
    "Submodule": "A policy tree is plain files: submodules are not fetched.",
    "SymbolicLink": "A policy tree is plain files: links are not followed.",
    "TreeTooLarge": "A policy tree has few enough files and bytes to be read.",
    "UnsafePath": "A path stays in its tree and has no invisible or control characters, and no backslash.",
}
"""Of a whole tree, found before any text is read; deep directories are `TooDeep` and large files `FileTooLarge`."""

OBJECT_CODES: Mapping[str, str] = {"Unreadable": "An object on an API server is one that can be read."}
"""Of a custom resource, found before anything of it is read."""

PROBLEM_CODES: Mapping[str, str] = {**_TEXT_CODES, **TREE_CODES, **OBJECT_CODES}
MAX_PROBLEMS_PER_FILE = 200
_LINE_BREAK = re.compile("\r?\n")


class Source(msgspec.Struct, frozen=True):
    """One policy text: its path, and its lines as its reader counts them: texts where YAML counts others are refused."""

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
    """Collects problems. A file that has more than `MAX_PROBLEMS_PER_FILE` is reported as such and not further.

    `errors_only`: warnings are dropped. `caused` are, by the path of a document, the errors elsewhere that are there because of
    it: those that were found within `because_of`, listed or not.
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
        """Whether further problems of a file are dropped, so that making them can be spared."""
        return self._count.get(path, 0) > MAX_PROBLEMS_PER_FILE

    @contextmanager
    def because_of(self, *paths: str) -> Iterator[None]:
        """What is found meanwhile is there because of these documents, wherever it is told."""
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
            told = Problem(place=place, code=code, message=message, hint=hint, related=related)
            for path in self._because:
                if path != place.path:
                    self.caused.setdefault(path, told)
        source = self._sources.get(place.path)
        line = source.line(place.line) if source else ""
        count = self._count.get(place.path, 0)
        if count >= MAX_PROBLEMS_PER_FILE:
            if count > MAX_PROBLEMS_PER_FILE:
                return
            code, severity, related, hint = "TooManyProblems", Severity.ERROR, (), "mend those above and run it again"
            message = f"more than {MAX_PROBLEMS_PER_FILE} problems in this file; the rest is not listed"
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
        """Record what was found apart, with its texts."""
        self._sources |= other._sources
        for problem in other._problems:
            self.report(problem)

    def sorted(self) -> tuple[Problem, ...]:
        """All problems by file, line and column."""
        return tuple(sorted(self._problems))

    @property
    def torn(self) -> bool:
        """Whether a part of some text could not be told apart, so that what seems to be missing may stand in it."""
        return any(problem.code in _TORN for problem in self._problems)

    @property
    def failed(self) -> bool:
        """Whether any problem is an error."""
        return any(problem.severity is Severity.ERROR for problem in self._problems)
