"""The field model and the document types say the same."""

import itertools
from collections.abc import Iterator
from operator import attrgetter

import msgspec
import pytest

from reconciler.decisions.groups.effective_groups import effective_groups
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.policy import documents
from reconciler.policy.documents.group_fields import GROUP_FIELDS
from reconciler.policy.field import MAPS, Field, Kind, Written
from reconciler.policy.fields import document_kind, document_kinds, walk
from reconciler.policy.group_value import attributes_of, group_value
from reconciler.policy.problems.findings import Findings, Source
from reconciler.policy.reading.document import Reading
from reconciler.policy.reading.yaml_text import compose_documents
from reconciler.policy.yaml_nodes import Mapping, Node, Scalar, Sequence
from tests.builders import NOW, ClusterBuilder, node_group, policy

ROOTS = {"NodeGroup": documents.NodeGroup, "NodeGroupPolicy": documents.NodeGroupPolicy}
ALL = [(kind.kind, field) for kind in document_kinds() for field in walk(kind.root)]
WRITTEN_BY_READER = {"place", "places"}


def _fed(field: Field) -> Iterator[tuple[str, Field | None]]:
    """The attributes that an object feeds, with the field for each; None for constants."""
    for child in field.children:
        yield from ((name, None) for name, _ in child.constants)
        if child.attribute:
            yield child.attribute, child
            if child.kind is Kind.INTEGER_OR_PERCENT:
                yield "percent", None
        else:
            yield from _fed(child)


def _structs(annotation: object) -> list[type[msgspec.Struct]]:
    """The structs inside an annotation such as `tuple[Window, ...]` or `Selector | None`."""
    plain = getattr(annotation, "__origin__", annotation)
    if isinstance(plain, type) and issubclass(plain, msgspec.Struct):
        return [plain]
    return list(itertools.chain.from_iterable(_structs(part) for part in getattr(annotation, "__args__", ())))


def _differences(field: Field, struct: type[msgspec.Struct]) -> Iterator[str]:
    annotations = {info.name: info.type for info in msgspec.structs.fields(struct)}
    fed = dict(_fed(field))
    yield from (f"{struct.__name__}.{name} is fed by no field" for name in annotations.keys() - fed.keys() - WRITTEN_BY_READER)
    yield from (f"{field.path} feeds {struct.__name__}.{name}, which is not there" for name in fed.keys() - annotations.keys())
    for name, child in fed.items():
        inner = _structs(annotations.get(name))
        shape = child.item if child is not None and child.item is not None else child
        if inner and shape is not None:
            yield from _differences(shape, inner[0])


@pytest.mark.parametrize("kind", ROOTS)
def test_every_attribute_is_fed_by_a_field_and_every_field_feeds_one(kind: str) -> None:
    """The tree and the structs have the same shape, at every level."""
    found = document_kind(kind)
    assert found is not None
    assert list(_differences(found.root, ROOTS[kind])) == []


@pytest.mark.parametrize(("kind", "field"), ALL, ids=lambda value: getattr(value, "path", value))
def test_every_field_is_described(kind: str, field: Field) -> None:
    """A sentence, complete paths, and what its kind needs."""
    assert field.description.endswith(".")
    assert field.description[0].isupper()
    assert field.path.split(".")[-1].removesuffix("[]").split("[")[0] == field.yaml_key or field.yaml_key == ""
    assert (field.item is not None) == (field.kind in (Kind.LIST, Kind.TAINT_LIST))
    assert bool(field.children) == (field.kind in (Kind.OBJECT, Kind.SELECTOR))
    assert bool(field.enum) == (field.kind is Kind.ENUM) or field.enum
    if field.kind in (Kind.INTEGER, Kind.PERCENT, Kind.INTEGER_OR_PERCENT, Kind.DURATION):
        assert field.minimum is not None, "numbers are bounded"
        assert field.unit or field.yaml_key == "expendableBelowPriority"
    if field.kind is Kind.RESOURCE_MAP:
        assert field.resources
    if not field.children and field.item is None and field.kind is not Kind.OPAQUE and not field.enum:
        assert field.examples
    names = [child.yaml_key for child in field.children]
    assert len(names) == len(set(names))
    assert {*field.exactly_one_of, *field.at_most_one_of} <= set(names)


def _node(value: Written, field: Field) -> Node:
    """The node that writing a value gives: quoted where the field is a text."""
    if isinstance(value, tuple):
        return Sequence(tuple(_node(item, field.item) for item in value if field.item), 1, 1, 1, 1)
    if field.kind in MAPS:
        key, _, text = str(value).partition(": ")
        return Mapping(((Scalar(key, False, 1, 1, 1, 2), Scalar(text, False, 1, 1, 1, 2)),), 1, 1, 1, 1)
    return Scalar(str(value), isinstance(value, int), 1, 1, 1, 2)


@pytest.mark.parametrize(("kind", "field"), ALL, ids=lambda value: getattr(value, "path", value))
def test_examples_and_defaults_are_valid(kind: str, field: Field) -> None:
    """What the reference shows can be written."""
    for value in (*field.examples, *(() if field.default is None else (field.default,))):
        findings = Findings()
        Reading(kind, Source("x", ("",)), findings).read(field, _node(value, field), "x")
        assert findings.sorted() == ()


def _written_default(field: Field) -> object:
    """The default as the value that reading it gives."""
    assert field.default is not None
    return Reading("", Source("x", ("",)), Findings()).read(field, _node(field.default, field), "x")


def _defaults(field: Field, struct: type[msgspec.Struct]) -> Iterator[tuple[str, object, object]]:
    """Path, documented default and default of the type, for all fields outside the group fields."""
    infos = {info.name: info for info in msgspec.structs.fields(struct)}
    for name, child in _fed(field):
        if child is None or name == "defaults":
            continue
        inner = _structs(infos[name].type)
        if inner:
            yield from _defaults(child.item or child, inner[0])
        elif child.default is not None:
            default = infos[name].default
            yield child.path, _written_default(child), list(default) if isinstance(default, tuple) else default


def test_documented_defaults_of_the_policy_are_those_of_its_types() -> None:
    """`delayAfterAdd: 10m` is 600 in the struct, and so on for all."""
    found = document_kind("NodeGroupPolicy")
    assert found is not None
    rows = list(_defaults(found.root, documents.NodeGroupPolicy))
    assert rows
    assert [row for row in rows if row[1] != (tuple(row[2]) if isinstance(row[2], list) else row[2])] == []


def _group_defaults() -> list[Field]:
    found = document_kind("NodeGroup")
    assert found is not None
    names = {field.yaml_key for field in GROUP_FIELDS}
    top = [field for spec in found.root.children if spec.yaml_key == "spec" for field in spec.children if field.yaml_key in names]
    return [field for one in top for field in walk(one) if field.default not in (None, "") and "[]" not in field.path]


def test_documented_defaults_of_groups_are_those_in_use() -> None:
    """A group of which nobody says anything is decided by the defaults of the reference, and its chains tell them."""
    cluster = ClusterBuilder()
    cluster.target("general", 1)
    (group,) = effective_groups(cluster.world(), policy(node_group("general")), NOW)
    rows = _group_defaults()
    assert rows
    for field in rows:
        path, value = field.path.removeprefix("spec."), _written_default(field)
        assert attrgetter(".".join(attributes_of(path)))(group) == value, path
        last = group.chains[path][-1]
        assert (last.source, last.value.removesuffix("%")) == ("built-in", str(field.default)), path


def test_no_type_of_decisions_repeats_a_default() -> None:
    """A decided group has to be told every value that has a documented default: its type knows none."""
    given = {info.name: info for info in msgspec.structs.fields(EffectiveGroup)}
    for field in _group_defaults():
        name = attributes_of(field.path.removeprefix("spec."))[0]
        assert given[name].required, name


def test_a_path_that_the_table_does_not_have_is_refused() -> None:
    """A misspelt path, and one of an object instead of a value."""
    for path in ("scaleDown.unneededtime", "scaleDown", "scaleUp.backoff", ""):
        with pytest.raises(KeyError):
            group_value(path)


def test_the_default_window_zone_is_utc() -> None:
    """Windows and budgets without a time zone are in UTC."""
    assert {field.default for _, field in ALL if field.kind is Kind.TIME_ZONE} == {"Etc/UTC"}
    assert documents.Window(schedule="0 0 * * *", duration_seconds=1).time_zone == "Etc/UTC"


def test_a_document_written_from_the_tables_alone_reads_back() -> None:
    """Every example, put where its path says, makes a document without problems."""
    text = "metadata: {name: prod}\nspec:\n  health: {okUnreadyCount: 3}\n"
    source = Source.of("x", text)
    found = document_kind("NodeGroupPolicy")
    assert found is not None
    reading = Reading("NodeGroupPolicy", source, findings := Findings())
    (node,) = compose_documents(source, "apiVersion: reconciler.dev/v1alpha1\nkind: NodeGroupPolicy\n" + text, findings)
    values = reading.read_object(found.root, node, "")
    assert values == {"name": "prod", "health": {"ok_unready_count": 3}}
    assert findings.sorted() == ()
