"""Values that two equally specific documents both set."""

from collections.abc import Iterator

import msgspec

from reconciler.policy.field import Field, MergeRule
from reconciler.policy.reading.layered import excluded, merge_rule, mergeable_parts, node_text
from reconciler.policy.yaml_nodes import Node
from reconciler.policy.yaml_nodes import Sequence as ListNode


class Twice(msgspec.Struct, frozen=True, kw_only=True):
    """One value that two documents write differently. `path` is below the field that was compared."""

    path: str
    first: Node
    second: Node


def written_twice(field: Field, first: Node, second: Node, path: str = "") -> Iterator[Twice]:
    """Every value that both write, and write differently. Startup taints are added together, so that they never collide."""
    mine, other = mergeable_parts(field, first), mergeable_parts(field, second)
    if mine is None or other is None:
        if merge_rule(field.path) is not MergeRule.UNION and node_text(first) != node_text(second):
            yield Twice(path=path, first=first, second=second)
        return
    listed = isinstance(first, ListNode)
    for name in sorted(mine.keys() & other.keys()):
        where = f"{path}[{name}]" if listed else f"{path}.{name}" if path else name
        yield from written_twice(mine[name][0], mine[name][1], other[name][1], where)
    if listed:
        return
    for name in sorted(excluded(field, mine) & other.keys()):
        key = next(iter(sorted({*field.exactly_one_of, *field.at_most_one_of} & mine.keys())))
        yield Twice(path=f"{path}.{name}" if path else name, first=mine[key][1], second=other[name][1])
