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
    `explain` answers for what failed. `cluster` is the one of a fleet that the test ran in, empty for a test with its own
    snapshot or scenario."""

    suite: str
    name: str
    file: str
    place: str
    verdict: Verdict
    judged: tuple[Judged, ...]
    explained: tuple[str, ...] = ()
    cluster: str = ""

    @property
    def identity(self) -> tuple[str, str, str]:
        """Which test it is, whatever the cluster."""
        return self.file, self.suite, self.name

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


class EqualResults(msgspec.Struct, frozen=True):
    """Clusters of a fleet in which one test says the same; none for a test with its own snapshot. `result` is that of the first
    cluster."""

    clusters: tuple[str, ...]
    result: CaseResult


def folded(results: Iterable[CaseResult]) -> tuple[EqualResults, ...]:
    """Equal results of one test together, in the order of the first ones. What `explain` says of the others is left out."""
    alike: dict[object, list[CaseResult]] = {}
    for one in results:
        alike.setdefault((one.identity, one.verdict, one.judged), []).append(one)
    return tuple(EqualResults(tuple(one.cluster for one in same if one.cluster), same[0]) for same in alike.values())


class Coverage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What no test touches. `groups` are named by no expectation. Without one of `rules` (`spec.limits[0] (cluster)`), every plan
    of the tests would be the same; None if nobody asked for them."""

    groups: tuple[str, ...] = ()
    rules: tuple[str, ...] | None = None


class LostBy(StrEnum):
    """Why a test of main does not judge the policy as it did."""

    REMOVED = "Removed"
    JUDGES_ANOTHER = "JudgesAnother"  # it is still there, for another policy or for a fleet
    EDITED = "Edited"
    INPUT_CHANGED = "InputChanged"  # a snapshot or a scenario that it names has another content
    NOT_RUN = "NotRun"  # it names a snapshot or a scenario that is not there


class LostTest(msgspec.Struct, frozen=True, order=True, kw_only=True, rename="camel"):
    """A test that judges the policy on main, and does not judge it in this PR as it does there. `file` is below the policies."""

    file: str
    suite: str
    name: str
    why: LostBy

    @property
    def judges(self) -> bool:
        """Whether a test of this name is still there and judges the policy in another way."""
        return self.why in (LostBy.EDITED, LostBy.INPUT_CHANGED)


class PolicyTestRun(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """All tests of one run. `not_run` has a sentence for each test or file that could not be run. `lost` are tests
    that judge the policy on main, and that a change removes, edits, gives another input or moves to another policy. `changed` are
    their names. `all_removed`: there were tests, and the change leaves none. `unread_clusters` are those of a fleet whose
    snapshot cannot be read."""

    format_version: str = FORMAT_VERSION
    results: tuple[CaseResult, ...] = ()
    coverage: Coverage = Coverage()
    not_run: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    lost: tuple[LostTest, ...] = ()
    all_removed: bool = False
    unread_clusters: tuple[str, ...] = ()

    def count(self, verdict: Verdict) -> int:
        """How many tests ended so."""
        return sum(result.verdict is verdict for result in self.results)

    @property
    def failed(self) -> bool:
        """Whether a test failed or could not be run."""
        return bool(self.not_run) or self.count(Verdict.FAILED) > 0
