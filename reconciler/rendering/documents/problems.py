"""Problems of a policy tree, with what was read, as values for programs."""

import msgspec

from reconciler.policy.place import Place
from reconciler.policy.policy_tree import PolicyTree
from reconciler.policy.problems.problem import Problem, Severity
from reconciler.policy.unread_targets import unread_targets

FORMAT_VERSION = "1.0"


class RelatedEntry(msgspec.Struct, frozen=True, kw_only=True):
    """Another place that takes part in a problem."""

    file: str
    line: int
    column: int
    message: str


class ProblemEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One problem. Lines and columns count from 1 in characters; `end_column` is exclusive."""

    file: str
    line: int
    column: int
    end_column: int
    severity: str
    code: str
    message: str
    hint: str
    source: str
    related: tuple[RelatedEntry, ...]


class NoteEntry(msgspec.Struct, frozen=True, kw_only=True):
    """What files alone cannot tell: a code of plans, the key of a platform, a sentence."""

    code: str
    object: str
    message: str


class NeighbourEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A skipped file next to the policies: a code of problems or `OtherKind`, and what it is."""

    file: str
    code: str
    message: str


class ProblemReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """All problems of a tree with what was read. `skipped` counts documents of other kinds by `apiVersion/kind`. `neighbours`
    names the files that were skipped, if any."""

    format_version: str
    files: int
    policies: int
    groups: int
    errors: int
    warnings: int
    skipped: dict[str, int]
    problems: tuple[ProblemEntry, ...]
    notes: tuple[NoteEntry, ...]
    neighbours: tuple[NeighbourEntry, ...] | msgspec.UnsetType = msgspec.UNSET


def problem_report(tree: PolicyTree) -> ProblemReport:
    """The report of a tree."""
    errors = sum(problem.severity is Severity.ERROR for problem in tree.problems)
    return ProblemReport(
        format_version=FORMAT_VERSION,
        files=tree.files,
        policies=tree.policies,
        groups=tree.groups,
        errors=errors,
        warnings=len(tree.problems) - errors,
        skipped=dict(tree.skipped),
        problems=tuple(problem_entry(problem) for problem in tree.problems),
        notes=tuple(NoteEntry(code=note.code, object=note.object, message=note.message) for note in unread_targets(tree.sets)),
        neighbours=tuple(NeighbourEntry(file=one.path, code=one.code, message=one.message) for one in tree.neighbours)
        or msgspec.UNSET,
    )


def problem_entry(problem: Problem) -> ProblemEntry:
    """One problem as it is printed."""
    place = problem.place
    return ProblemEntry(
        file=place.path,
        line=place.line,
        column=place.column,
        end_column=place.column + problem.width,
        severity=problem.severity.value,
        code=problem.code,
        message=problem.message,
        hint=problem.hint,
        source=problem.source,
        related=tuple(_related(place, label) for place, label in problem.related),
    )


def _related(place: Place, label: str) -> RelatedEntry:
    return RelatedEntry(file=place.path, line=place.line, column=place.column, message=label)
