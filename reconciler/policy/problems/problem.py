"""A problem in a policy file, in the form of a compiler message: place, code, sentence, source line, caret, hint."""

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum

import msgspec

from reconciler.policy.place import Place
from reconciler.policy.problems.problem_codes import UNJUDGED_CODES


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


def new_problems(before: Iterable[Problem], after: Iterable[Problem]) -> tuple[Problem, ...]:
    """Those that a change brings: of equal ones, which differ in their places alone, the last ones. Those that say what was not
    judged are among them, also if they are not new."""
    known = Counter((one.code, one.message) for one in before)
    new = []
    for one in after:
        key = one.code, one.message
        if known[key] and one.code not in UNJUDGED_CODES:
            known[key] -= 1
        else:
            new.append(one)
    return tuple(new)
