"""The policy tests of a change and of main, with the files that they name: data of their authors, read within bounds."""

import posixpath
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from reconciler.cli.inputs.cluster_files import SUFFIXES, capi_group
from reconciler.cli.inputs.policy_test_files import FilesBelow
from reconciler.cli.outputs.failure import InputError
from reconciler.cluster.snapshots.digest import Digested
from reconciler.cluster.snapshots.snapshot import SnapshotError, read_snapshot
from reconciler.cluster.world import World
from reconciler.plan.policy_tests import LostBy, LostTest
from reconciler.policy.documents import PolicySet
from reconciler.policy.policy_test import Given, PolicyTestText, may_hold_tests, read_policy_tests
from reconciler.policy.problems.problem import Problem
from reconciler.policy.reading.typed_text import DocumentError
from reconciler.simulation.scenarios.scenario import read_scenario
from reconciler.values.cluster_identity import ClusterIdentity

if TYPE_CHECKING:
    from reconciler.gitops.git.repository import Repository

MOST_FILES = 50
"""Snapshots and scenarios of one change."""
_MISSING = ""
"""The digest of a file that cannot be read."""


class JudgingTest(msgspec.Struct, frozen=True):
    """One test that judges a policy. `place` is its file below the policies, its suite and its name. `essence` is what it gives
    and expects, and `inputs` are the digests of the files that it names."""

    place: tuple[str, str, str]
    essence: bytes
    inputs: tuple[str, ...]

    @property
    def content(self) -> tuple[str, str, bytes, tuple[str, ...]]:
        """Equal for two tests that judge alike and have the same name, wherever they are."""
        return (*self.place[1:], self.essence, self.inputs)


class ChangeTests(msgspec.Struct, frozen=True, kw_only=True):
    """The policy tests of one side. `texts` are the documents, `problems` what is wrong with those that cannot be read, and
    `policies` the place of the policies among their paths. `files` are those that they name."""

    texts: tuple[PolicyTestText, ...] = ()
    problems: tuple[Problem, ...] = ()
    policies: str = ""
    files: "CommittedFiles | FilesBelow" = msgspec.field(default_factory=lambda: CommittedFiles({}))

    def about(self, policy: PolicySet) -> tuple[PolicyTestText, ...]:
        """Those that test this policy."""
        standing = _joined(self.policies, policy.policy.place.path)
        return tuple(text for text in self.texts if _tests(text, policy.policy.name, standing))

    def judging(self, texts: Iterable[PolicyTestText], *, fleet: bool, name: str = "") -> Iterator[JudgingTest]:
        """The tests of these documents. Those that are given clusters judge only a fleet. `name` is that of the policy that all
        clusters of it have, empty if they have several."""
        digests: dict[tuple[str, ...], tuple[str, ...]] = {}
        for text in texts:
            spec, source = text.value.spec, text.source.path
            file = posixpath.relpath(source, self.policies or ".")
            for test in spec.tests:
                given = test.given.on(spec.given)
                if fleet or given.clusters is None:
                    essence = msgspec.json.encode(
                        (spec.policy_name or name if fleet else "", given, test.expect), enc_hook=_parts
                    )
                    place = file, text.value.metadata.name, test.name
                    paths = tuple(_given_paths(source, given))
                    if paths not in digests:
                        digests[paths] = tuple(self._digests(paths))
                    yield JudgingTest(place, essence, digests[paths])

    def _digests(self, paths: Iterable[str]) -> Iterator[str]:
        """Of the files, and of those that they name. A scenario may name itself."""
        left = dict.fromkeys(paths)
        seen: set[str] = set()
        while left and len(seen) < MOST_FILES:
            path = next(iter(left))
            del left[path]
            seen.add(path)
            try:
                yield self.files.digest(path)
                named = _named_by(path, self.files.text(path)) if path.endswith(SUFFIXES) else ()
            except (InputError, OSError):
                yield _MISSING
                continue
            left |= dict.fromkeys(one for one in named if one not in seen)


def lost_tests(before: ChangeTests, after: ChangeTests, sides: tuple[Sequence[PolicyTestText], Sequence[PolicyTestText]],
               *, fleet: bool = False, names: tuple[str, str] = ("", "")) -> tuple[LostTest, ...]:  # fmt: skip
    """The tests that judge a policy on main and do not judge it in this PR as they do there. `sides` are the documents of both
    that judge the policy, `names` as in `judging`."""
    later = list(after.judging(sides[1], fleet=fleet, name=names[1]))
    left = Counter(one.content for one in later)
    at = {one.place: one for one in later}
    known = {one.place for one in after.judging(after.texts, fleet=True)}
    lost = []
    for one in before.judging(sides[0], fleet=fleet, name=names[0]):
        if left[one.content]:
            left[one.content] -= 1
            continue
        same = at.get(one.place)
        if same is not None and _MISSING in same.inputs and _MISSING not in one.inputs:
            why = LostBy.NOT_RUN
        elif same is not None:
            why = LostBy.EDITED if same.essence != one.essence else LostBy.INPUT_CHANGED
        else:
            why = LostBy.JUDGES_ANOTHER if one.place in known else LostBy.REMOVED
        file, suite, name = one.place
        lost.append(LostTest(file=file, suite=suite, name=name, why=why))
    return tuple(sorted(lost))


class CommittedFiles:
    """The files that tests name, as they were read from a commit."""

    def __init__(self, named: Mapping[str, Mapping[str, bytes] | str]) -> None:
        self._named = named

    def snapshot(self, path: str) -> World:
        """The World of a snapshot. Raises `InputError`."""
        try:
            return read_snapshot(self._files_at(path), capi_group())
        except SnapshotError as error:
            raise InputError(f"{path}: {error}") from None

    def text(self, path: str) -> bytes:
        """A scenario. Raises `InputError`."""
        files = self._files_at(path)
        data = files.get(posixpath.basename(path))
        if data is None or len(files) > 1:
            raise InputError(f"{path}: not a file")
        return data

    def digest(self, path: str) -> str:
        """Of the documents of a file or directory. Raises `InputError`."""
        return Digested(self._files_at(path)).digest()

    def policy(self, path: str, name: str, now_seconds: int, cluster: ClusterIdentity | None) -> PolicySet:
        """No other policy than the two of the preview is read. Raises `InputError`."""
        raise InputError(f"{path}: a preview reads no further policy. `reconciler test` does")

    def _files_at(self, path: str) -> Mapping[str, bytes]:
        files = self._named.get(path, "it was not read")
        if isinstance(files, str):
            raise InputError(f"{path}: {files}")
        return files


def read_change_tests(files: Mapping[str, bytes], policies: str = "") -> ChangeTests:
    """The tests in files by path below the policies, which are in `policies`, without the files that they name."""
    texts: list[PolicyTestText] = []
    problems: list[Problem] = []
    for path, data in files.items():
        if may_hold_tests(data):
            try:
                texts += read_policy_tests(_joined(policies, path), data)
            except DocumentError as error:
                problems += error.problems
    return ChangeTests(texts=tuple(texts), problems=tuple(problems), policies=policies)


def with_committed_files(tests: ChangeTests, repository: "Repository", commit: str) -> ChangeTests:
    """The same with the files that the tests name, and those that their scenarios name, as a commit or tree has them."""
    from reconciler.gitops.git.repository import RepositoryError
    from reconciler.gitops.snapshots.committed_snapshot import committed_files

    wanted = dict.fromkeys(path for text in tests.texts for path in _named(text))
    named: dict[str, Mapping[str, bytes] | str] = {}
    while wanted:
        path = next(iter(wanted))
        del wanted[path]
        if path in named:
            continue
        if len(named) == MOST_FILES:
            named[path] = f"a preview reads at most {MOST_FILES} snapshots and scenarios"
            continue
        try:
            files = committed_files(repository, commit, path)
        except RepositoryError as error:
            named[path] = str(error)
            continue
        named[path] = files
        if len(files) == 1 and (data := files.get(posixpath.basename(path))) is not None:
            wanted |= dict.fromkeys(_named_by(path, data))
    return msgspec.structs.replace(tests, files=CommittedFiles(named))


def _parts(value: object) -> list[object]:
    """A duration, an amount or a range as its parts."""
    return [getattr(value, name) for name in type(value).__slots__]  # type: ignore[attr-defined]


def _named(text: PolicyTestText) -> list[str]:
    spec = text.value.spec
    return [path for test in spec.tests for path in _given_paths(text.source.path, test.given.on(spec.given))]


def _given_paths(source: str, given: Given) -> list[str]:
    return [_joined(posixpath.dirname(source), path) for path in (given.cluster, given.scenario) if path]


def _named_by(path: str, data: bytes) -> tuple[str, ...]:
    """The snapshot that a scenario starts from, and the policies that it switches to."""
    if b"kind: Scenario" not in data:
        return ()
    try:
        spec = read_scenario(path, data).scenario.spec
    except DocumentError:
        return ()  # reported where the test is run
    named = (spec.start.cluster, *(event.policy or "" for event in spec.events))
    return tuple(_joined(posixpath.dirname(path), one) for one in named if one)


def _joined(folder: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(folder, path))


def _tests(text: PolicyTestText, name: str, standing: str) -> bool:
    spec = text.value.spec
    place = _joined(posixpath.dirname(text.source.path), spec.policy)
    return (place == "." or f"{standing}/".startswith(f"{place}/")) and spec.policy_name in ("", name)
