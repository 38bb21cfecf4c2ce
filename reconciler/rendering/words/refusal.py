"""Why nothing was decided about a change: its policy cannot be used, or it cannot be merged."""

from collections.abc import Sequence

import msgspec

from reconciler.policy.problems.problem import Problem, Severity
from reconciler.rendering.words.wording import MAIN, count

_CONFLICT = "MergeConflict"


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """`what` is the heading, `number` how many, `explanation` and `after` sentences; `conflicting`: it is about merging."""

    what: str
    number: str
    explanation: str
    after: str
    conflicting: bool

    @property
    def title(self) -> str:
        """Heading and number."""
        return f"{self.what}: {self.number}"


def refusal(problems: Sequence[Problem]) -> Refusal:
    """How these problems are told."""
    errors = sum(problem.severity is Severity.ERROR for problem in problems)
    if any(problem.code == _CONFLICT for problem in problems):
        return Refusal(
            what="This change cannot be merged",
            number=count(errors, "conflict"),
            explanation="Nothing was decided. Resolve the conflicts to see the effect.",
            after=f"A reconciler that follows {MAIN} keeps its policy.",
            conflicting=True,
        )
    return Refusal(
        what="This policy cannot be used",
        number=count(errors, "error"),
        explanation="Nothing was decided, and a reconciler that follows this branch keeps the last good policy.",
        after="A reconciler that follows this branch keeps the last good policy.",
        conflicting=False,
    )
