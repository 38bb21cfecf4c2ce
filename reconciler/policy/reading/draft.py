"""A document of ours as read, with what checks across values need as well: spots, and which values are broken."""

from typing import Generic, TypeAlias, TypeVar

import msgspec

from reconciler.policy.documents import NodeGroup, NodeGroupPolicy
from reconciler.policy.place import Place
from reconciler.policy.problems.findings import Findings
from reconciler.policy.problems.problem import Severity
from reconciler.policy.reading.document import Reading
from reconciler.policy.yaml_nodes import Spot

D = TypeVar("D", NodeGroup, NodeGroupPolicy)


class Draft(Generic[D]):
    """A document and its spots. Required values that could not be read are empty or 0 in `document`; `sound` tells."""

    def __init__(self, document: D, reading: Reading) -> None:
        self.document: D = document
        self.reading = reading
        self._broken = reading.broken

    @property
    def path(self) -> str:
        """The text that it was read from."""
        return self.reading.source.path

    def sound(self, path: str) -> bool:
        """Whether the value at `path`, and all below and above it, were read without a problem."""
        return not any(
            broken == path or broken.startswith((path + ".", path + "[")) or path.startswith((broken + ".", broken + "["))
            for broken in self._broken
            if broken
        )

    def written(self, path: str) -> bool:
        """Whether `path` was written in the document."""
        return path in self.reading.entries

    def spot(self, path: str) -> Spot:
        """The spot of the entry at `path`, else of the nearest one above it."""
        while path not in self.reading.entries:
            cut = max(path.rfind("."), path.rfind("["))
            if cut < 0:
                return Spot(self.document.place.line, self.document.place.column)
            path = path[:cut]
        return self.reading.entries[path]

    def place(self, path: str) -> Place:
        """The place of the entry at `path`, else of the nearest one above it."""
        return self.reading.source.place(self.spot(path))

    def report(
        self,
        findings: Findings,
        code: str,
        path: str,
        message: str,
        hint: str = "",
        *,
        severity: Severity = Severity.ERROR,
        related: tuple[tuple[Place, str], ...] = (),
    ) -> None:
        """Record a problem with the entry at `path`."""
        findings.add(code, self.reading.source, self.spot(path), message, hint, severity=severity, related=related)

    def warn(
        self,
        findings: Findings,
        code: str,
        path: str,
        message: str,
        hint: str = "",
        *,
        related: tuple[tuple[Place, str], ...] = (),
    ) -> None:
        """Record a warning about the entry at `path`."""
        self.report(findings, code, path, message, hint, severity=Severity.WARNING, related=related)


AnyDraft: TypeAlias = Draft[NodeGroup] | Draft[NodeGroupPolicy]


class Drafts(msgspec.Struct, frozen=True, kw_only=True):
    """All documents of ours in one tree, in the order of files and texts."""

    policies: tuple[Draft[NodeGroupPolicy], ...]
    groups: tuple[Draft[NodeGroup], ...]

    def groups_of(self, policy: str) -> tuple[Draft[NodeGroup], ...]:
        """The groups that name `policy`."""
        return tuple(group for group in self.groups if group.document.policy_ref == policy)
