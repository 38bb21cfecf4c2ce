"""What became of policy tests: every expectation with what it is and what was found."""

from collections.abc import Iterable
from enum import StrEnum

import msgspec

FORMAT_VERSION = "1.0"


class Verdict(StrEnum):
    """Skipped: there was nothing to judge it by."""

    PASSED = "Passed"
    FAILED = "Failed"
    SKIPPED = "Skipped"


class Judged(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One expectation. `code` is stable, `place` is where it was written (`file:line:column`), `path` which value of the document
    that is. `message` is one sentence. `about` is what `explain` can be asked (`group auto`), or empty. `writes` is the text that
    `--update` puts in place of the value, or None."""

    code: str
    place: str
    path: str
    verdict: Verdict
    expected: str
    actual: str
    message: str
    about: str = ""
    writes: str | None = None


class CaseResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One test of the document `suite` in `file`, in the order in which it was written. `explained` are the lines with which
    `explain` answers for what failed."""

    suite: str
    name: str
    file: str
    place: str
    verdict: Verdict
    judged: tuple[Judged, ...]
    explained: tuple[str, ...] = ()

    @property
    def failures(self) -> tuple[Judged, ...]:
        """The expectations that failed."""
        return tuple(one for one in self.judged if one.verdict is Verdict.FAILED)


def verdict_of(judged: Iterable[Judged]) -> Verdict:
    """Failed if an expectation failed; skipped if none could be judged."""
    verdicts = {one.verdict for one in judged}
    if Verdict.FAILED in verdicts:
        return Verdict.FAILED
    return Verdict.PASSED if Verdict.PASSED in verdicts else Verdict.SKIPPED


class Coverage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What no test touches. `groups` are named by no expectation. Without one of `rules` (`spec.limits[0] (cluster)`), every plan
    of the tests would be the same; None if nobody asked for them."""

    groups: tuple[str, ...] = ()
    rules: tuple[str, ...] | None = None


class PolicyTestRun(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """All tests of one run. `not_run` has a sentence for each test or file that could not be run. `changed` are names of
    tests of today that a change removes or edits. `all_removed`: there were tests, and the change leaves none."""

    format_version: str = FORMAT_VERSION
    results: tuple[CaseResult, ...] = ()
    coverage: Coverage = Coverage()
    not_run: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    all_removed: bool = False

    def count(self, verdict: Verdict) -> int:
        """How many tests ended so."""
        return sum(result.verdict is verdict for result in self.results)

    @property
    def failed(self) -> bool:
        """Whether a test failed or could not be run."""
        return bool(self.not_run) or self.count(Verdict.FAILED) > 0
