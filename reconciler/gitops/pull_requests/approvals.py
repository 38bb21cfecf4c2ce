"""Who has to approve a change, by the grade of its consequences.

A rule comes from the command line of the workflow, never from the pull request. Consequences that a preview does not know need
all approvals.
"""

import re
from collections.abc import Mapping, Sequence

import msgspec

from reconciler.gitops.pull_requests.comment import Approvals, CommentHost, HostError
from reconciler.rendering.documents.preview.consequences.consequence import Grade
from reconciler.rendering.words.wording import count
from reconciler.values.clauses import clauses

_GRADES = (Grade.CAUTION, Grade.WARNING)
_NAME = re.compile(r"[^\s,=`<>|]{1,200}")
_MOST_NAMES = 100
_MOST_SHOWN = 5

Grades = Mapping[Grade, int]
"""How many consequences of each grade a change has."""


class ApprovalRule(msgspec.Struct, frozen=True, kw_only=True):
    """Consequences of this grade, or of a graver one, need one of `names`: logins, and teams `@group/team`."""

    grade: Grade
    names: tuple[str, ...]


class ApprovalRuleError(ValueError):
    """A text is not a rule; the sentence states why and what to write."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """Whether all approvals are there, in one line. `caveat` is a sentence about what the host does not tell, or empty."""

    granted: bool
    line: str
    caveat: str = ""


def approval_rule(text: str) -> ApprovalRule:
    """`caution=alice,@platform/oncall`. Raises `ApprovalRuleError`."""
    grade, _, names = text.partition("=")
    if grade not in _GRADES:
        raise ApprovalRuleError(f"invalid grade {grade!r}: write caution=NAME or warning=NAME")
    found = tuple(dict.fromkeys(names.split(",")))
    wrong = [name for name in found if not _NAME.fullmatch(name) or name == "@"]
    if wrong:
        raise ApprovalRuleError(f"{wrong[0]!r} is not a name: write logins or @group/team, with commas and no spaces")
    if len(found) > _MOST_NAMES:
        raise ApprovalRuleError(f"more than {_MOST_NAMES} names: name a team")
    return ApprovalRule(grade=Grade(grade), names=found)


def verdict(rules: Sequence[ApprovalRule], grades: Grades | None, host: CommentHost, head: str) -> Verdict | None:
    """Whether the commit `head` has the approvals that its consequences need; None: it needs none. `grades` is None where the
    consequences are not known. If the host does not tell, nothing is granted."""
    reached = [(rule, words) for rule in rules if (words := _words(rule.grade, grades))]
    if not reached:
        return None
    teams = sorted({name for rule, _ in reached for name in rule.names if name.startswith("@")})
    try:
        found = host.approvals(head, teams) if head else Approvals()
    except HostError as error:
        return Verdict(granted=False, line=f"cannot read approvals: {error}")
    except (LookupError, TypeError, ValueError, AttributeError):
        return Verdict(granted=False, line="cannot read approvals: the answer of the host has an unexpected form")
    missing, given = [], []
    for rule, words in reached:
        by = next((name for name in rule.names if name.casefold() in found.names), None)
        if by is None:
            missing.append(f"needs an approval of {_either(rule.names)}: {words}")
        else:
            given.append(f"approved by {by}: {words}")
    return Verdict(granted=not missing, line=clauses(missing or given), caveat=found.caveat)


def _words(grade: Grade, grades: Grades | None) -> str:
    """`2 cautions and 1 warning`: what reaches the grade; empty if nothing does."""
    if grades is None:
        return "its consequences are not known"
    counted = [(one, grades.get(one, 0)) for one in _GRADES[: _GRADES.index(grade) + 1]]
    return " and ".join(count(number, one.value) for one, number in counted if number)


def _either(names: Sequence[str]) -> str:
    """`alice, bob or carol`."""
    shown = list(names[:_MOST_SHOWN])
    if len(names) > _MOST_SHOWN:
        shown.append(f"{len(names) - _MOST_SHOWN} more")
    return " or ".join(part for part in (", ".join(shown[:-1]), shown[-1]) if part)
