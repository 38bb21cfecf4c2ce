"""Several texts joined to one. Each line knows its own text."""

from collections.abc import Sequence

import msgspec

from reconciler.policy.place import Place
from reconciler.policy.problems.findings import Source
from reconciler.policy.problems.problem import Problem
from reconciler.policy.yaml_nodes import Mapping, Node, Spot
from reconciler.policy.yaml_nodes import Sequence as ListNode


class JoinedSource(Source, frozen=True):
    """Several texts as one. `lines` are those of all `parts`, in their order. The path is that of the first one."""

    parts: tuple[Source, ...] = ()

    @staticmethod
    def over(parts: Sequence[Source]) -> "JoinedSource":
        """At least one text."""
        return JoinedSource(parts[0].path, tuple(line for part in parts for line in part.lines), tuple(parts))

    def place(self, spot: Spot) -> Place:
        """The place in the text to which the line belongs."""
        part, first = self._part(spot.line)
        return part.place(msgspec.structs.replace(spot, line=spot.line - first))

    def problem(self, code: str, spot: Spot, message: str, hint: str = "") -> Problem:
        """As for one text."""
        part, first = self._part(spot.line)
        return part.problem(code, msgspec.structs.replace(spot, line=spot.line - first), message, hint)

    def _part(self, line: int) -> tuple[Source, int]:
        first = 0
        for part in self.parts[:-1]:
            if line <= first + len(part.lines):
                return part, first
            first += len(part.lines)
        return self.parts[-1], first


def moved(node: Node, lines: int) -> Node:
    """The node with its place so many lines further down."""
    line, end_line = node.line + lines, node.end_line + lines
    if isinstance(node, Mapping):
        pairs = tuple((moved(key, lines), moved(value, lines)) for key, value in node.pairs)
        return msgspec.structs.replace(node, pairs=pairs, line=line, end_line=end_line)
    if isinstance(node, ListNode):
        items = tuple(moved(item, lines) for item in node.items)
        return msgspec.structs.replace(node, items=items, line=line, end_line=end_line)
    return msgspec.structs.replace(node, line=line, end_line=end_line)
