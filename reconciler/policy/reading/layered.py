"""Several documents of one kind as one: the values of the more specific ones over those of the others, field by field.

The documents are merged as they are written, before their values are read. Each value keeps the place where it was written.
"""

from collections.abc import Iterator, Sequence

import msgspec

from reconciler.policy.field import MAPS, Field, Kind, MergeRule
from reconciler.policy.levels import LEVEL_FIELDS
from reconciler.policy.yaml_nodes import Mapping, Node, Scalar
from reconciler.policy.yaml_nodes import Sequence as ListNode
from reconciler.values.instant import parse_instant


def merge_rule(path: str) -> MergeRule | None:
    """The rule of a field of groups, wherever its defaults stand; None for any other field."""
    _, below, field = path.partition("defaults.")
    level = LEVEL_FIELDS.get(field) if below else None
    return None if level is None else level.rule


def mergeable_parts(field: Field, node: Node) -> dict[str, tuple[Field, Node]] | None:
    """The parts of a value that other documents can override alone, by name; None if it counts as a whole."""
    if merge_rule(field.path) in (MergeRule.NEAREST, MergeRule.IN_FORCE, MergeRule.UNION):
        return None
    if isinstance(node, Mapping) and field.kind is Kind.OBJECT:
        known = ((key, field.child(key.text), value) for key, value in node.pairs if isinstance(key, Scalar))
        return {key.text: (child, value) for key, child, value in known if child is not None}
    if isinstance(node, Mapping) and field.kind in MAPS:
        entry = Field(path=field.path, yaml_key="", kind=Kind.STRING, description="")
        return {key.text: (entry, value) for key, value in node.pairs if isinstance(key, Scalar)}
    if isinstance(node, ListNode) and field.item is not None and field.list_key:
        named = [(_name(item, field.list_key), item) for item in node.items]
        if all(name for name, _ in named):
            return {name: (field.item, item) for name, item in named}
    return None


def _name(item: Node, key: str) -> str:
    if not isinstance(item, Mapping):
        return ""
    return next((value.text for name, value in item.pairs if _is(name, key) and isinstance(value, Scalar)), "")


def _is(node: Node, text: str) -> bool:
    return isinstance(node, Scalar) and node.text == text


def over(field: Field, below: Node, above: Node) -> Node:
    """`above` over `below`: parts that both have are merged, those of one are kept, and what has no parts is that of `above`.

    A named item that only `above` has comes after those of `below`.
    """
    mine, theirs = mergeable_parts(field, above), mergeable_parts(field, below)
    if mine is None or theirs is None:
        return _whole(field, below, above)
    gone = excluded(field, mine)
    if isinstance(below, Mapping) and isinstance(above, Mapping):
        pairs = [
            (key, over(mine[key.text][0], value, mine[key.text][1]) if key.text in mine else value)
            for key, value in below.pairs
            if isinstance(key, Scalar) and key.text not in gone
        ]
        own = [(key, value) for key, value in above.pairs if isinstance(key, Scalar) and key.text not in theirs]
        return msgspec.structs.replace(below, pairs=(*_placed(pairs, above, theirs), *own))
    merged = [over(field, value, mine[name][1]) if name in mine else value for name, (field, value) in theirs.items()]
    added = [value for name, (_, value) in mine.items() if name not in theirs]
    return ListNode((*merged, *added), above.line, above.column, above.end_line, above.end_column)


def _placed(
    pairs: Sequence[tuple[Scalar, Node]], above: Mapping, theirs: dict[str, tuple[Field, Node]]
) -> Iterator[tuple[Node, Node]]:
    """Each pair with the key of the document whose value it is: that is where the value was written."""
    keys = {key.text: key for key, _ in above.pairs if isinstance(key, Scalar) and key.text in theirs}
    for key, value in pairs:
        yield keys.get(key.text, key), value


def excluded(field: Field, mine: dict[str, tuple[Field, Node]]) -> set[str]:
    """Keys that what `above` has excludes."""
    together = {*field.exactly_one_of, *field.at_most_one_of}
    return together - mine.keys() if together & mine.keys() else set()


def _whole(field: Field, below: Node, above: Node) -> Node:
    rule = merge_rule(field.path)
    if rule is MergeRule.UNION and isinstance(below, ListNode) and isinstance(above, ListNode):
        known = {node_text(item) for item in above.items}
        return msgspec.structs.replace(above, items=(*above.items, *(one for one in below.items if node_text(one) not in known)))
    if rule is MergeRule.IN_FORCE and _end(below) > _end(above):
        return below
    return above


def _end(hold: Node) -> float:
    """When a hold ends: of two, the one that ends last holds as long as both together."""
    until = next((value for key, value in hold.pairs if _is(key, "until")), None) if isinstance(hold, Mapping) else None
    return parse_instant(until.text) if isinstance(until, Scalar) else float("inf")


def node_text(node: Node) -> object:
    """What is written, without its place. The order of keys does not matter."""
    if isinstance(node, Mapping):
        return frozenset((node_text(key), node_text(value)) for key, value in node.pairs)
    return tuple(node_text(item) for item in node.items) if isinstance(node, ListNode) else node.text
