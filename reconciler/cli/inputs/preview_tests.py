"""The policy tests of a change, and the files that they name, as the change has them: data of its author, read within bounds."""

import posixpath
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from reconciler.cli.inputs.cluster_files import capi_group
from reconciler.cli.inputs.policy_test_files import FilesBelow
from reconciler.cli.outputs.failure import InputError
from reconciler.cluster.snapshots.snapshot import SnapshotError, read_snapshot
from reconciler.cluster.world import World
from reconciler.policy.documents import PolicySet
from reconciler.policy.policy_test import PolicyTestText, may_hold_tests, read_policy_tests
from reconciler.policy.problems.findings import Problem
from reconciler.policy.reading.typed_text import DocumentError
from reconciler.simulation.scenarios.scenario import read_scenario
from reconciler.values.cluster_identity import ClusterIdentity

if TYPE_CHECKING:
    from reconciler.gitops.git.repository import Repository

MOST_FILES = 50
"""Snapshots and scenarios of one change."""


class ChangeTests(msgspec.Struct, frozen=True, kw_only=True):
    """`texts` are the documents, `problems` what is wrong with those that cannot be read. Of a commit, `named` has the files that
    they name, by path: documents by name, or why there are none. Of a directory, `root` is the one in which all stay."""

    texts: tuple[PolicyTestText, ...] = ()
    problems: tuple[Problem, ...] = ()
    named: Mapping[str, Mapping[str, bytes] | str] = {}
    root: Path | None = None

    def about(self, policy: PolicySet, files: Mapping[str, bytes]) -> tuple[PolicyTestText, ...]:
        """Those that test this policy, which stands in one of `files`."""
        place = policy.policy.place.path
        standing = [path for path in files if path == place or path.endswith(f"/{place}")]
        return tuple(text for text in self.texts if _tests(text, policy.policy.name, standing))

    def changed_by(self, after: "ChangeTests") -> tuple[str, ...]:
        """Names of these tests that `after` no longer has, or has with another given or expectation."""
        there = dict(after._essences())
        return tuple(sorted(name for name, essence in self._essences() if there.get(name) != essence))

    def _essences(self) -> Iterator[tuple[str, bytes]]:
        for text in self.texts:
            for test in text.value.spec.tests:
                essence = test.given.on(text.value.spec.given), test.expect
                yield f"{text.value.metadata.name}: {test.name}", msgspec.json.encode(essence, enc_hook=_parts)

    def files(self) -> "FilesBelow | CommittedFiles":
        """What the tests read from."""
        return CommittedFiles(self.named) if self.root is None else FilesBelow(self.root)


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

    def policy(self, path: str, name: str, now_seconds: int, cluster: ClusterIdentity | None) -> PolicySet:
        """No other policy than the two of the preview is read. Raises `InputError`."""
        raise InputError(f"{path}: a preview reads no further policy; `reconciler test` does")

    def _files_at(self, path: str) -> Mapping[str, bytes]:
        files = self._named.get(path, "it was not read")
        if isinstance(files, str):
            raise InputError(f"{path}: {files}")
        return files


def read_change_tests(files: Mapping[str, bytes], root: Path | None = None) -> ChangeTests:
    """The tests in files by path from the top of the tree, without the files that they name."""
    texts: list[PolicyTestText] = []
    problems: list[Problem] = []
    for path, data in files.items():
        if may_hold_tests(data):
            try:
                texts += read_policy_tests(path, data)
            except DocumentError as error:
                problems += error.problems
    return ChangeTests(texts=tuple(texts), problems=tuple(problems), root=root)


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
        if (start := _started_from(path, files)) is not None:
            wanted[start] = None
    return msgspec.structs.replace(tests, named=named)


def _parts(value: object) -> list[object]:
    """A duration, an amount or a range as its parts."""
    return [getattr(value, name) for name in type(value).__slots__]  # type: ignore[attr-defined]


def _named(text: PolicyTestText) -> list[str]:
    spec = text.value.spec
    folder = posixpath.dirname(text.source.path)
    given = [test.given.on(spec.given) for test in spec.tests]
    return [_joined(folder, path) for one in given for path in (one.cluster, one.scenario) if path]


def _started_from(path: str, files: Mapping[str, bytes]) -> str | None:
    """The snapshot that a scenario starts from."""
    data = files.get(posixpath.basename(path))
    if data is None or len(files) > 1 or b"kind: Scenario" not in data:
        return None
    try:
        start = read_scenario(path, data).scenario.spec.start
    except DocumentError:
        return None  # reported where the test is run
    return _joined(posixpath.dirname(path), start.cluster) if start.cluster else None


def _joined(folder: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(folder, path))


def _tests(text: PolicyTestText, name: str, standing: list[str]) -> bool:
    spec = text.value.spec
    place = _joined(posixpath.dirname(text.source.path), spec.policy)
    below = any(place in (".", path) or path.startswith(f"{place}/") for path in standing)
    return below and spec.policy_name in ("", name)
