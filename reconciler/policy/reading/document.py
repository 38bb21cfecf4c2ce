"""Nodes -> values: a walk of the field model over one document. Every value gets a place, and every fault a problem."""

from collections.abc import Callable

import msgspec

from reconciler.policy.field import MAPS, Field, Kind
from reconciler.policy.place import Place
from reconciler.policy.problems.findings import Findings, Source
from reconciler.policy.problems.suggestion import example_of, key_hint, mapping_hint
from reconciler.policy.reading import scalars
from reconciler.policy.reading.map_values import map_value
from reconciler.policy.reading.path_names import name_of
from reconciler.policy.yaml_nodes import (
    Mapping,
    Node,
    Scalar,
    Sequence,
    Spot,
    described,
    is_null,
    look_of,
    spot_of,
    spot_of_entry,
)
from reconciler.values.plain_scalar import Look
from reconciler.values.shown_text import cut, shown
from reconciler.values.yaml_events import MERGE_KEY

Values = dict[str, object]
"""Struct attributes -> values, nested; what `msgspec.convert` takes."""


class Reading:
    """One document being read. `entries` and `values` hold, by path, the spots of `key: value` and of the value alone."""

    def __init__(self, kind: str, source: Source, findings: Findings) -> None:
        self.kind = kind
        self.source = source
        self.findings = findings
        self.entries: dict[str, Spot] = {}
        self.values: dict[str, Spot] = {}
        self.broken: set[str] = set()

    def places(self) -> dict[str, Place]:
        """Path -> where it was written."""
        return {path: self.source.place(spot) for path, spot in self.entries.items()}

    def fault(self, code: str, node: Node, path: str, message: str, hint: str = "") -> None:
        """Record a problem with the value at `path`. Checks across values skip it."""
        self.broken.add(path)
        self.findings.add(code, self.source, spot_of(node), message, hint)

    def read(self, field: Field, node: Node, path: str) -> object:
        """The value of `field`; None when there is a problem with it (which is recorded)."""
        self.values[path] = spot_of(node)
        if is_null(node) and field.kind is not Kind.OPAQUE:
            empty = {Kind.LIST: "[]", Kind.TAINT_LIST: "[]", Kind.OBJECT: "{}", Kind.LABEL_MAP: "{}"}.get(field.kind, "")
            instead = "" if field.required else "remove the key" + (f", or write {empty}" if empty else "")
            self.fault("NullValue", node, path, f"{name_of(path)} has no value", instead or "write the value")
            return self.read_object(field, Mapping((), *_marks(node)), path, report=False) if field.children else None
        return _READERS[field.kind](self, field, node, path)

    def read_object(self, field: Field, node: Node, path: str, *, report: bool = True) -> Values | None:
        """An object: known keys are read, unknown and missing ones reported."""
        if not isinstance(node, Mapping):
            hint = mapping_hint(field, node.text) if isinstance(node, Scalar) else ""
            self.fault("WrongType", node, path, f"{name_of(path)} must be a mapping, not {described(node)}", hint)
            node, report = Mapping((), *_marks(node)), False
        result: Values = {}
        seen: dict[str, Node] = {}
        for key_node, written in node.pairs:
            key = self.key(key_node, path)
            if key is None or self.repeated(key, key_node, seen, path):
                continue
            value_node = _placed(written, key_node)
            child = field.child(key)
            if child is None:
                if not self.findings.full(self.source.path):
                    message = f"unknown key {shown(key)}" + (f" in {name_of(path)}" if path else "")
                    self.fault("UnknownField", key_node, join(path, key), message, key_hint(key, field, self.kind))
                continue
            if child.kind is Kind.OPAQUE:
                continue
            child_path = join(path, key)
            self.entries[child_path] = spot_of_entry(key_node, value_node)
            self.feed(result, child, self.read(child, value_node, child_path))
        self.complete(field, node, path, result, seen, report=report)
        return result

    def key(self, node: Node, path: str) -> str | None:
        """The text of a key. None, with a problem, if it is not a text."""
        if not isinstance(node, Scalar):
            self.fault("WrongType", node, path, f"a key must be a text, not {described(node)}")
            return None
        if node.plain and node.text == MERGE_KEY:
            hint = "write the keys out. Several groups share values through tiers and spec.defaults"
            self.fault("MergeKey", node, join(path, MERGE_KEY), "merge keys (<<) are not supported", hint)
            return None
        return node.text

    def repeated(self, key: str, node: Node, seen: dict[str, Node], path: str) -> bool:
        """Whether `key` came before, with a problem that names both places."""
        first = seen.get(key)
        if first is None:
            seen[key] = node
            return False
        self.broken.add(join(path, key))
        related = ((self.source.place(spot_of(first)), "the first one"),)
        message = f"the key {shown(key)} appears twice"
        self.findings.add("DuplicateKey", self.source, spot_of(node), message, "keep one of them", related=related)
        return True

    def feed(self, result: Values, child: Field, value: object) -> None:
        """Store the value of a child by its attribute or its constants."""
        result.update(child.constants)
        if not child.attribute:
            if isinstance(value, dict):
                result.update(value)
        elif child.kind is Kind.INTEGER_OR_PERCENT and isinstance(value, tuple):
            result["percent"] = value[0]
        elif value is not None:
            result[child.attribute] = value

    def complete(self, field: Field, node: Mapping, path: str, result: Values, seen: dict[str, Node], *, report: bool) -> None:
        """Report missing and conflicting keys, and put harmless values where required ones are missing."""
        for child in field.children:
            if child.required and child.yaml_key not in seen and report:
                missing = f"{name_of(path)}.{child.yaml_key}" if path not in ("", "spec") else child.yaml_key
                hint = f"for example {example_of(child)}"
                self.fault("MissingField", node, join(path, child.yaml_key), f"{missing} is missing", hint)
        for attribute, value in self.placeholders(field).items():
            result.setdefault(attribute, value)
        for names, needed in ((field.exactly_one_of, True), (field.at_most_one_of, False)):
            given = [name for name in names if name in seen]
            if names and needed and not given and report:
                self.fault("MissingField", node, path, f"{name_of(path)} names none of {', '.join(names)}", "write exactly one")
            if len(given) > 1:
                related = tuple((self.source.place(spot_of(seen[name])), "another one") for name in given[:-1])
                message = f"{name_of(path)} has {' and '.join(given)}, which exclude each other"
                self.broken.add(path)
                spot = spot_of(seen[given[-1]])
                self.findings.add("SeveralOfOne", self.source, spot, message, "keep one of them", related=related)

    def placeholder(self, field: Field) -> object:
        """A harmless value for a required field that could not be read. A tree with such a field is never used."""
        if field.children:
            return self.placeholders(field)
        if field.kind is Kind.INTEGER_OR_PERCENT:
            return None  # not 0: the other of the two attributes may hold the value
        if field.kind in (Kind.LIST, Kind.TAINT_LIST, *MAPS):
            return ()
        if field.enum:
            return field.enum[0]  # a document has no room for any other word
        return 0 if field.kind in (Kind.INTEGER, Kind.PERCENT, Kind.DURATION) else ""

    def placeholders(self, field: Field) -> Values:
        """Harmless values for everything that an object must provide."""
        result: Values = {}
        for child in field.children:
            if child.required and child.attribute:
                result[child.attribute] = self.placeholder(child)
            elif child.required or child.yaml_key in field.exactly_one_of:
                result |= {key: "" for key, _ in child.constants} | self.placeholders(child)
        return result

    def read_list(self, field: Field, node: Node, path: str) -> tuple[object, ...] | None:
        """A list: every item is read. Named items and sets of scalars must not repeat."""
        if not isinstance(node, Sequence):
            hint = "write it as a list: - item" if not isinstance(node, Scalar) else f"write [{cut(node.text)}]"
            self.fault("WrongType", node, path, f"{name_of(path)} must be a list, not {described(node)}", hint)
            return None
        if field.item is None:
            return ()
        if field.minimum and len(node.items) < field.minimum:
            self.fault("EmptyValue", node, path, f"{name_of(path)} is empty", "remove the key for the default, or name one")
        if field.maximum is not None and len(node.items) > field.maximum:
            message = f"{name_of(path)} has {len(node.items)} items, the most is {field.maximum}"
            self.fault("OutOfRange", node, path, message)
            return None
        result: list[object] = []
        first: dict[str, str] = {}
        for index, item in enumerate(node.items):
            item_path = f"{path}[{index}]"
            self.entries[item_path] = spot_of(item)
            value = self.read(field.item, item, item_path)
            if value is None:
                continue
            result.append(value)
            name = value.get(field.list_key) if isinstance(value, dict) else value
            if not (field.list_key or field.unique) or not isinstance(name, str) or not name:
                continue
            named = f"{item_path}.{field.list_key}" if field.list_key else item_path
            if name not in first:
                first[name] = named
                continue
            related = ((self.source.place(self.values[first[name]]), "the first one"),)
            message = f"{shown(name)} is in {name_of(path)} twice"
            code = "DuplicateName" if field.list_key else "DuplicateItem"
            self.findings.add(code, self.source, self.values[named], message, "keep one of them", related=related)
        return tuple(result)

    def read_selector(self, field: Field, node: Node, path: str) -> Values | None:
        """A label selector. One without requirements would select everything and is an error."""
        value = self.read_object(field, node, path)
        if value is None or path in self.broken:
            return value
        if isinstance(node, Mapping) and not value.get("match_labels") and not value.get("match_expressions"):
            hint = "name at least one label under matchLabels, or remove the key"
            if not self.touched(path):
                self.fault("EmptySelector", node, path, f"{name_of(path)} has no requirement and would select everything", hint)
        expressions = value.get("match_expressions")
        for index, expression in enumerate(expressions if isinstance(expressions, tuple) else ()):
            operator, values = expression["operator"], expression.get("values", ())
            where = f"{path}.matchExpressions[{index}]"
            spot = self.entries[where]
            if operator in ("In", "NotIn") and not values and f"{where}.values" not in self.broken:
                self.findings.add("SelectorValues", self.source, spot, f"{operator} needs values", "for example values: [a]")
            elif operator in ("Exists", "DoesNotExist") and values:
                self.findings.add("SelectorValues", self.source, spot, f"{operator} takes no values", "remove values, or use In")
        return value

    def touched(self, path: str) -> bool:
        """Whether something at or below `path` is already reported."""
        return any(broken == path or broken.startswith((path + ".", path + "[")) for broken in self.broken)

    def read_map(self, field: Field, node: Node, path: str) -> tuple[tuple[str, object], ...] | None:
        """A map with free keys (labels, tags, resources), sorted by key."""
        if not isinstance(node, Mapping):
            self.fault("WrongType", node, path, f"{name_of(path)} must be a mapping, not {described(node)}")
            return None
        if field.minimum and not node.pairs:
            self.fault("EmptyValue", node, path, f"{name_of(path)} is empty", "name at least one")
        if field.maximum is not None and len(node.pairs) > field.maximum:
            self.fault("OutOfRange", node, path, f"{name_of(path)} has {len(node.pairs)} keys, the most is {field.maximum}")
            return None
        result: list[tuple[str, object]] = []
        seen: dict[str, Node] = {}
        for key_node, value_node in node.pairs:
            key = self.key(key_node, path)
            if key is None or self.repeated(key, key_node, seen, path):
                continue
            if isinstance(key_node, Scalar) and field.kind is not Kind.RESOURCE_MAP:
                look = look_of(key_node)
                if look in (Look.NULL, Look.BOOLEAN, Look.WORD_BOOLEAN):
                    self.fault("AmbiguousText", key_node, path, f"the key {key} is a {look.value}", f'write "{key}":')
            where = f"{path}.{key}"
            self.entries[where] = spot_of_entry(key_node, value_node)
            self.values[where] = spot_of(value_node)
            value = map_value(self, field, key, key_node, value_node, where)
            if value is not None:
                result.append((key, value))
        return tuple(sorted(result))

    def read_opaque(self, field: Field, node: Node, path: str) -> None:
        """Nothing is read."""


Reader = Callable[[Reading, Field, Node, str], object]
_READERS: dict[Kind, Reader] = {
    **scalars.READERS,
    Kind.OBJECT: Reading.read_object,
    Kind.LIST: Reading.read_list,
    Kind.TAINT_LIST: Reading.read_list,
    Kind.SELECTOR: Reading.read_selector,
    **dict.fromkeys(MAPS, Reading.read_map),
    Kind.OPAQUE: Reading.read_opaque,
}


def join(path: str, key: str) -> str:
    """The path of a key below `path`."""
    return f"{path}.{key}" if path else key


def _placed(value: Node, key: Node) -> Node:
    """A value. An empty value gets the place of its key, because parsers disagree on the place of an empty value."""
    nothing = isinstance(value, Scalar) and value.plain and not value.text
    return msgspec.structs.replace(key, text="", plain=True) if nothing and isinstance(key, Scalar) else value


def _marks(node: Node) -> tuple[int, int, int, int]:
    return node.line, node.column, node.end_line, node.end_column
