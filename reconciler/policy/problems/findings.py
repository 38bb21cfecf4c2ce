"""All problems of one tree, collected while it is read, each with its source line."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum

import msgspec

from reconciler.policy.yaml_nodes import Place, Spot

# A problem in a policy text, in the form of a compiler message: place, code, sentence, source line, caret, hint.


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
    "AdoptHasNoEffect": "The topology controller in adoptFrom has no effect: the reconciler never takes over from it.",
    "AdoptsFromController": "The reconciler cannot take over replicas that a controller keeps writing.",
    "AliasBomb": "Aliases must not expand a text to a much larger size.",
    "AliasLoop": "An alias must not be inside the value that it repeats.",
    "AmbiguousNumber": "A number has plain decimal digits only: YAML versions read 012, 1_000 and 12:30 differently.",
    "AmbiguousText": "A text that some YAML version reads as another type (no, 2026-01-01, 12:30) needs quotes.",
    "ArchitectureMismatch": "The architecture of a template matches its architecture labels.",
    "BackoffAboveMax": "The initial back-off is not longer than the maximum.",
    "BadDuration": "A duration is a Go duration in whole seconds: 90s, 10m, 1h30m.",
    "BadFormat": "The text has the form that the field requires.",
    "BadInstant": "An instant is an RFC 3339 timestamp with date, time and zone.",
    "BadLabel": "Label keys and values follow the Kubernetes syntax.",
    "BadMoney": "Money is a decimal string with at most six places.",
    "BadName": "Names follow the Kubernetes syntax.",
    "BadQuantity": "A resource amount is a Kubernetes quantity.",
    "BadRegex": "A pattern is a regular expression.",
    "BadSchedule": "A schedule has five fields, as in a CronJob.",
    "ControlCharacter": "A policy has no invisible control characters.",
    "CostlyRegex": "A pattern can be matched in bounded time.",
    "DuplicateItem": "A list that is a set has each item once.",
    "DuplicateKey": "A mapping has each key once.",
    "DuplicateName": "Names are unique if they identify something.",
    "DurationWithoutSchedule": "A budget or window with a duration has a schedule.",
    "EmptyLimit": "A limit sets an amount.",
    "EmptySelector": "A selector has at least one requirement: an empty selector would select everything.",
    "EmptyValue": "A value in a document is not empty.",
    "EmptyWindow": "A window changes a bound or a removal setting.",
    "Encrypted": "A policy is plain text and has no secrets.",
    "EquallySpecific": "Documents that are equally specific for a cluster do not set different values.",
    "ExperimentalTarget": "Support for the platform of this target is experimental: use it at your own risk.",
    "ExpiredHold": "An expired hold is removed from the document.",
    "ExpiredWindow": "A window whose last date is past is removed from the document.",
    "FileTooLarge": "A policy file is below the size limit.",
    "FloatValue": "Amounts are integers, quantities or decimal strings, never floats.",
    "FractionalAmount": "A resource amount is a whole number of its smallest unit.",
    "HeadroomAboveMax": "Headroom is within the bounds of the group.",
    "HiddenLineBreak": "A line ends with a line break that every reader sees.",
    "IdleWindow": "A window changes something while it is open.",
    "ImpliedLabel": "Each node sets its own host name label.",
    "LimitBelowMaximums": "A limit on nodes has room for all groups at their max and for the control plane.",
    "LimitBelowMinimums": "A limit has room for all groups at their min.",
    "LimitMinAboveMax": "The min of a limit is not above its max.",
    "LooserMode": "The mode of a group is not looser than the mode of its policy.",
    "MaxPodAgeWithoutWait": "drain.maxPodAge bounds a wait: drain.jobs is Wait.",
    "MergeKey": "Merge keys are not used: API servers do not support them.",
    "MinAboveMax": "min is not above max at any time.",
    "MissingField": "All required keys are present.",
    "MissingPrice": "Groups that are compared by cost have a price.",
    "NamespaceNotAllowed": "A NodeGroup is in a namespace that its policy allows.",
    "NegativeNumber": "Amounts and durations are not negative.",
    "NeverOpens": "A schedule fires at some time, and a window opens at some time.",
    "NoKind": "A document has an apiVersion and a kind.",
    "NotADocument": "A document is a mapping.",
    "NotExamined": "The check examines the whole document.",
    "NotUtf8": "A policy file is UTF-8.",
    "NothingReturns": "A tier with returnAfter has groups below it.",
    "NullValue": "Every key has a value.",
    "OneAccountInRegion": "Discovery takes targets of one account in each region. Groups there name their role.",
    "OutOfRange": "A number is within its range.",
    "Overflow": "An amount fits into a 64-bit integer.",
    "OverrideOfOverride": "A document overrides a policy, not another override.",
    "OverrideWithoutClusters": "A document that overrides a policy names its clusters.",
    "PartitionAboveDevice": "A partition of a device does not consume more of a counter than the device has.",
    "ReservedAboveCapacity": "A node does not reserve more than it has.",
    "ScheduleWithoutDuration": "A budget or window with a schedule has a duration.",
    "SelectorValues": "In and NotIn have values, Exists and DoesNotExist have none.",
    "SelectsNothing": "A selector selects something.",
    "SeveralOfOne": "Only one of several mutually exclusive keys is present.",
    "ShareWithoutGroups": "A tier with a share has groups.",
    "SharedTarget": "Each target belongs to one NodeGroup.",
    "SharesAbove100": "The shares of all tiers together are at most 100%.",
    "Syntax": "A policy file is YAML.",
    "Tab": "YAML is indented with spaces.",
    "TargetNotAllowed": "The policy allows the NodeGroup's namespace to size its target.",
    "TextTooLong": "A text is not longer than its field allows.",
    "TimeZoneWithoutSchedule": "A time zone belongs to a schedule.",
    "TooDeep": "Values are not nested too deeply.",
    "TooManyDocuments": "A file does not have too many documents.",
    "TooManyProblems": "A file does not have too many problems to list.",
    "TooManyValues": "A file does not have too many values.",
    "UnknownAlias": "An alias refers to an anchor before it.",
    "UnknownApiVersion": "This version supports the apiVersion.",
    "UnknownCounter": "A partition consumes counters that its device has.",
    "UnknownField": "A document has only known keys.",
    "UnknownKind": "The kind is NodeGroupPolicy or NodeGroup.",
    "UnknownPolicy": "A NodeGroup names a policy in the same tree.",
    "UnknownResource": "A resource has a Kubernetes resource name.",
    "UnknownTier": "The policy has the tier that a group or rule names.",
    "UnknownTimeZone": "A time zone is an IANA name.",
    "UnknownValue": "A value is one that the field allows.",
    "UnpricedGroup": "Each group that a spending limit selects has a price.",
    "UnsupportedTag": "A policy is plain data: no tags.",
    "WrongType": "A value has the type of its field.",
}

TREE_CODES: Mapping[str, str] = {
    "LfsPointer": "A policy file is in the repository itself, not in Git LFS.",
    "MergeConflict": "Git can merge the change into its target branch.",
    "NameCollision": "File names differ in more than case or Unicode composition.",
    "NoFile": "A policy file is a regular file.",
    "PathTooLong": "Paths are below the length limit.",
    "Submodule": "A policy tree is plain files: submodules are not fetched.",
    "SymbolicLink": "A policy tree is plain files: links are not followed.",
    "TreeTooLarge": "A policy tree is below the limits for files and bytes.",
    "UnsafePath": "A path stays in its tree and has no invisible characters, control characters or backslashes.",
}
"""Problems of a whole tree, found before any text is read. Deep directories are `TooDeep` and large files `FileTooLarge`."""

CLUSTER_CODES: Mapping[str, str] = {
    "LabelsNotRead": "A cluster that documents select by labels has a Cluster object that was read.",
    "OtherCluster": "Discovery finds targets of the cluster in which its policy applies.",
}
"""Problems of a tree for many clusters that only one of these clusters shows."""

OBJECT_CODES: Mapping[str, str] = {
    "ClustersInResource": "A custom resource belongs to the cluster where it is, and names no clusters.",
    "Unreadable": "An object on an API server is readable.",
}
"""Problems that only a custom resource has."""

PROBLEM_CODES: Mapping[str, str] = {**_TEXT_CODES, **TREE_CODES, **CLUSTER_CODES, **OBJECT_CODES}
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
