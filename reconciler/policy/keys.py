"""The keys of a struct. An attribute states what people need to know about its key; its name, type and default say the rest."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import msgspec

from reconciler.policy.field import Field, Kind, Written
from reconciler.policy.values.label_selector import Selector
from reconciler.values.label_selector import LABEL_OPERATORS

MOST = 2**31 - 1
"""The largest number of a key that states no other one."""
_SECONDS = "_seconds"
_OF_ITEMS = ("kind", "enum", "pattern", "exactly_one_of")
"""What the key of a list states about its items."""


class Key:
    """The key of an attribute: `Annotated[int, Key("The smallest number of nodes.", 2, loosens=Loosens.DOWN)]`.

    `examples` follow the description. `stated` are further arguments of `Field`; they win over what the type says. `item` is the
    description of one item of a list, or its `Key`. `never` is for a number without which nothing ends: the word for it is Never.
    `overrides` is for a struct that counts in place of another one of its type. The keys below have no default, no direction and
    no flag then. `before` is the attribute that follows in documents, if another one follows in the struct. Saved plans have a
    digest of the attributes in their order, so that attributes keep it. `instead` are other keys for attributes of the items.
    """

    def __init__(
        self,
        description: str,
        *examples: Written,
        item: "str | Key" = "",
        never: bool = False,
        overrides: bool = False,
        before: str = "",
        instead: "Mapping[str, Key]" = MappingProxyType({}),
        **stated: object,
    ) -> None:
        self.description = description
        self.examples = examples
        self.item = item
        self.overrides = overrides
        self.before = before
        self.instead = instead
        self.stated: dict[str, Any] = stated | ({"enum": ("Never",), "default": "Never"} if never else {})


def keys_of(struct: type[msgspec.Struct], instead: Mapping[str, Key] = MappingProxyType({})) -> tuple[Field, ...]:
    """The fields of the attributes that have a key, in their order. `instead` are other keys of some attributes."""
    fields: list[Field] = []
    for info in msgspec.structs.fields(struct):
        if get_origin(info.type) is Annotated:
            annotation, key = get_args(info.type)
            written = {"attribute": info.name, "yaml_key": _yaml_key(info.name), "required": info.required}
            place = [field.attribute for field in fields].index(key.before) if key.before else len(fields)
            fields.insert(place, _field(instead.get(info.name, key), annotation, info.name, written))
    return tuple(fields)


def _field(key: Key, annotation: object, attribute: str, written: dict[str, Any]) -> Field:
    plain = _plain(annotation)
    item = get_args(plain)[0] if get_origin(plain) is tuple else None
    stated = {"description": key.description, "examples": key.examples, **written, **key.stated}
    stated["description"] += _ALL_HOLD if plain is Selector else ""
    if item is None or get_origin(item) is tuple:
        return Field(**{**_by_type(plain, attribute, key), **stated})
    of_items = {name: stated.pop(name) for name in _OF_ITEMS if stated.get(name, Kind.TAINT_LIST) is not Kind.TAINT_LIST}
    below = key.item if isinstance(key.item, Key) else Key(key.item, *(one[0] for one in key.examples if isinstance(one, tuple)))
    below = Key(below.description, *below.examples, instead=key.instead, **of_items | below.stated)
    one = _field(below, item, "", {"yaml_key": ""})
    return Field(**{"kind": Kind.LIST, "unique": not one.children, "item": one, **stated})


def _by_type(plain: object, attribute: str, key: Key) -> dict[str, Any]:
    """The kind and what follows from it."""
    if "kind" in key.stated:
        return {}
    if plain is Selector:
        return {"kind": Kind.SELECTOR, "children": _SELECTOR}
    if plain == tuple[tuple[str, int], ...]:
        return {"kind": Kind.RESOURCE_MAP}
    if not isinstance(plain, type) or plain is bool or not issubclass(plain, StrEnum | msgspec.Struct | str | int):
        raise TypeError(f"the key of {attribute} has to state its kind: {plain} may be written in several ways")
    if issubclass(plain, StrEnum):
        return {"kind": Kind.ENUM, "enum": tuple(plain)}
    if issubclass(plain, msgspec.Struct):
        children = keys_of(plain, key.instead)
        return {"kind": Kind.OBJECT, "children": tuple(map(_overriding, children)) if key.overrides else children}
    if issubclass(plain, str):
        return {"kind": Kind.ENUM if "enum" in key.stated else Kind.STRING}
    if attribute.endswith(_SECONDS):
        return {"kind": Kind.DURATION, "unit": "seconds", "minimum": 0}
    if attribute.endswith("_percent"):
        return {"kind": Kind.PERCENT, "unit": "percent", "minimum": 0, "maximum": 100}
    return {"kind": Kind.INTEGER, "minimum": 0, "maximum": MOST}


def _overriding(field: Field) -> Field:
    children = tuple(map(_overriding, field.children))
    return msgspec.structs.replace(field, loosens="", default=None, cluster_autoscaler="", children=children)


def _plain(annotation: object) -> object:
    """The type of a value that is there: `int` of `int | None`, `ScaleDown` of `ScaleDown[None]`."""
    if get_origin(annotation) in (Union, UnionType):
        (annotation,) = (one for one in get_args(annotation) if one is not NoneType and not isinstance(one, TypeVar))
    origin = get_origin(annotation)
    return annotation if origin in (None, tuple) else origin


def _yaml_key(attribute: str) -> str:
    head, *rest = attribute.removesuffix(_SECONDS).split("_")
    return head + "".join(word.capitalize() for word in rest)


_ALL_HOLD = " All requirements must hold; an empty selector is an error."
_SELECTOR = (
    Field(
        yaml_key="matchLabels",
        kind=Kind.LABEL_MAP,
        description="Required labels with their values.",
        examples=("pool: general-a",),
        attribute="match_labels",
    ),
    Field(
        yaml_key="matchExpressions",
        kind=Kind.LIST,
        description="Requirements on labels.",
        attribute="match_expressions",
        item=Field(
            yaml_key="",
            kind=Kind.OBJECT,
            description="One requirement.",
            children=(
                Field(
                    yaml_key="key",
                    kind=Kind.LABEL_KEY,
                    description="The label.",
                    examples=("topology.kubernetes.io/zone",),
                    required=True,
                    attribute="key",
                ),
                Field(
                    yaml_key="operator",
                    kind=Kind.ENUM,
                    description="How the label is compared.",
                    enum=LABEL_OPERATORS,
                    examples=("In",),
                    required=True,
                    attribute="operator",
                ),
                Field(
                    yaml_key="values",
                    kind=Kind.LIST,
                    description="The values for In and NotIn. Omit them for Exists and DoesNotExist.",
                    examples=(("a", "b"),),
                    unique=True,
                    attribute="values",
                    item=Field(yaml_key="", kind=Kind.STRING, description="One value.", examples=("a",)),
                ),
            ),
        ),
    ),
)
