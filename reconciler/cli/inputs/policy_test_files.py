"""Policy tests from disk, and the files that they name. All stay below one directory; nothing that leads out is followed."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from reconciler.cli.inputs.cluster_files import files_digest, load_world
from reconciler.cli.inputs.plan_inputs import read_policy
from reconciler.cli.inputs.policy_files import read_policy_tree
from reconciler.cli.outputs.failure import InputError
from reconciler.cluster.world import World
from reconciler.gitops.whole_file import write_whole
from reconciler.plan.policy_tests import CaseResult
from reconciler.policy.documents import PolicySet
from reconciler.policy.policy_test import PolicyTestText, may_hold_tests, read_policy_tests
from reconciler.policy.problems.problem import Problem
from reconciler.policy.reading.typed_text import DocumentError
from reconciler.policy.reading.yaml_text import MAX_FILE_BYTES
from reconciler.policy.yaml_nodes import Spot
from reconciler.values.cluster_identity import ClusterIdentity


def read_test_files(paths: Sequence[Path], root: Path) -> tuple[list[PolicyTestText], list[Problem]]:
    """All policy tests at and below `paths`, by path below `root`, and what is wrong with them. Raises `InputError`."""
    tree = read_policy_tree(paths, as_given=True)
    top = root.resolve()
    texts: list[PolicyTestText] = []
    problems: list[Problem] = []
    for given, data in tree.files.items():
        if not may_hold_tests(data):
            continue
        # The link itself counts, not what it leads to: paths in a file are relative to where it is seen.
        seen = Path(given).parent.resolve() / Path(given).name
        if not seen.is_relative_to(top):
            raise InputError(f"{given}: it is not below {root}. Run the command above it, or name a directory with --root")
        try:
            texts += read_policy_tests(seen.relative_to(top).as_posix(), data)
        except DocumentError as error:
            problems += error.problems
    return texts, problems


class FilesBelow:
    """The files that tests name, below one directory of a disk. `moved` are directories that stand for others below it, by
    path."""

    def __init__(self, root: Path, moved: Mapping[str, Path] | None = None) -> None:
        self._root = root.resolve()
        self._moved = {path: place.resolve() for path, place in (moved or {}).items()}

    def snapshot(self, path: str) -> World:
        """The World of a snapshot. Raises `InputError`."""
        return load_world(self._place(path))

    def text(self, path: str) -> bytes:
        """A scenario. Raises `InputError`."""
        place = self._place(path)
        if not place.is_file():
            raise InputError(f"{path}: {'not a file' if place.exists() else 'no such file'}")
        try:
            with place.open("rb") as stream:
                return stream.read(MAX_FILE_BYTES + 1)
        except OSError as error:
            raise InputError(f"{path}: {error.strerror or error}") from error

    def digest(self, path: str) -> str:
        """Of the documents of a file or directory. Raises `InputError`."""
        return files_digest(self._place(path))

    def policy(self, path: str, name: str, now_seconds: int, cluster: ClusterIdentity | None) -> PolicySet:
        """The policy of a file or directory as it is in `cluster`. Raises `InputError`; problems go to
        stderr, as `validate` prints them."""
        return read_policy(self._place(path), name or None, now_seconds, cluster)

    def _place(self, path: str) -> Path:
        """The file as it was named where it is below the working directory, for messages. Raises `InputError`."""
        root = self._root
        for above, standing in self._moved.items():
            if path == above or path.startswith(f"{above}/"):
                root, path = standing, path[len(above) + 1 :]
        place = root / path
        try:
            real = place.resolve()
        except (OSError, RuntimeError):
            raise InputError(f"{path}: a symbolic link that leads nowhere") from None
        except ValueError:
            raise InputError("a path has no NUL character") from None
        if not real.is_relative_to(root):
            raise InputError(f"{path}: a symbolic link leads out of {root} and is not followed")
        here = Path.cwd()
        return place.relative_to(here) if place.is_relative_to(here) else place


Change = tuple[str, str, str]
"""Place, old text, new text."""


def update_files(texts: Sequence[PolicyTestText], results: Sequence[CaseResult], root: Path) -> tuple[list[Change], list[str]]:
    """Put actual values in place of those that failed; the changes, and places that have to be edited by hand.

    Nothing but these values changes: not the comments, not the order, not the form. Raises `InputError`.
    """
    changed: list[Change] = []
    left: list[str] = []
    failures = {one.place: one for result in results for one in result.failures}
    for path in dict.fromkeys(text.source.path for text in texts):
        here = [text for text in texts if text.source.path == path]
        edits: list[tuple[Spot, str]] = []
        for one in failures.values():
            owner = next((text for text in here if str(text.place(one.path)) == one.place), None)
            if owner is not None:
                spot = None if one.writes is None else _editable(owner, one.path, one.writes)
                if spot is None:
                    left.append(one.place)
                else:
                    edits.append((spot, one.writes or ""))
        if edits:
            changed += _write(path, root, edits)
    return changed, left


def _editable(text: PolicyTestText, path: str, new: str) -> Spot | None:
    """Where a value is written, alone and on one line: a value that an alias repeats is not only of this expectation."""
    spot = text.spots.get(path)
    if spot is None or (new.startswith("[") and spot.width < len("[]")):
        return None
    values = [(other.line, other.column) for key, other in text.spots.items() if not key.endswith("#")]
    return spot if values.count((spot.line, spot.column)) == 1 else None


def _write(path: str, root: Path, edits: Sequence[tuple[Spot, str]]) -> list[Change]:
    file = (root / path).resolve()
    try:
        text = file.read_bytes().decode("utf-8")
        lines = re.split("(?<=\n)", text)
        changes = []
        for spot, new in sorted(edits, key=lambda edit: (edit[0].line, edit[0].column), reverse=True):
            line = lines[spot.line - 1]
            # A byte order mark does not count as a column.
            start = spot.column - 1 + line.startswith("\ufeff")
            changes.append((f"{path}:{spot.line}:{spot.column}", line[start : start + spot.width], new))
            lines[spot.line - 1] = line[:start] + new + line[start + spot.width :]
        written = "".join(lines).encode()
        read_policy_tests(path, written)
        write_whole(file, written)
    except (OSError, DocumentError) as error:
        raise InputError(f"{path}: it was not updated: {error}") from error
    return changes[::-1]
