"""The keys of a struct. An attribute states what people need to know about its key; its name, type and default say the rest."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import msgspec

from reconciler.policy.field import Field, Kind, Written
from reconciler.policy.values.label_selector import Selector
from reconciler.values.duration import duration_text
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
    no flag then. `instead` are other keys for attributes of the items. `within` is the key of an object around this one, for
    which there is no struct. `before` is the attribute that follows in documents, if it does not follow in the struct. The digest
    in saved plans depends on the order of the attributes, so they keep it.
    """

    def __init__(
        self,
        description: str,
        *examples: Written,
        item: "str | Key" = "",
        never: bool = False,
        overrides: bool = False,
        before: str = "",
        within: "Key | None" = None,
        instead: "Mapping[str, Key]" = MappingProxyType({}),
        **stated: object,
    ) -> None:
        self.description = description
        self.examples = examples
        self.item = item
        self.overrides = overrides
        self.before = before
        self.within = within
        self.instead = instead
        self.stated: dict[str, Any] = stated | ({"enum": ("Never",), "default": "Never"} if never else {})


def keys_of(struct: type[msgspec.Struct], instead: Mapping[str, Key] = MappingProxyType({})) -> tuple[Field, ...]:
    """The fields of the attributes that have a key, in their order. `instead` are other keys of some attributes."""
    fields: list[Field] = []
    for info in msgspec.structs.fields(struct):
        if get_origin(info.type) is Annotated:
            annotation, key = get_args(info.type)
            written = {"attribute": info.name, "yaml_key": _yaml_key(info.name), "required": info.required}
            field = _with_default(_field(instead.get(info.name, key), annotation, info.name, written), info.default)
            if key.within is not None:
                around = [one for one in fields if one.yaml_key == key.within.stated["yaml_key"]]
                fields = [one for one in fields if one not in around]
                field = _around(key.within, (*(child for one in around for child in one.children), field), written)
            place = [one.attribute for one in fields].index(key.before) if key.before else len(fields)
            fields.insert(place, field)
    return tuple(fields)


def _around(key: Key, children: tuple[Field, ...], written: dict[str, Any]) -> Field:
    """The object around fields whose attributes are those of the struct."""
    above = {"kind": Kind.OBJECT, "description": key.description, "required": written["required"], "children": children}
    return Field(**{**above, **key.stated})


def _with_default(field: Field, value: object) -> Field:
    """The field with the default of its attribute, written as in YAML: what applies if the key is left out.

    If only the policy can have a value, its default is that of the attribute. If several levels can have it for a group, the key
    states it. The attribute has None then, which means: not set at this level.
    """
    written = _written(field, value)
    if written is None:
        return field
    if field.default is not None:
        raise TypeError(f"the default of {field.attribute} stands in its key and in its struct: take one away")
    return msgspec.structs.replace(field, default=written)


def _written(field: Field, value: object) -> Written | None:
    """None where the type says nothing: no default, an empty text or list."""
    if isinstance(value, tuple) and value:
        return tuple(str(item) for item in value)
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, int):
        return duration_text(value) if field.kind is Kind.DURATION else value
    return value if isinstance(value, str) and value else None


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
    children, item = tuple(map(_overriding, field.children)), None if field.item is None else _overriding(field.item)
    return msgspec.structs.replace(field, loosens="", default=None, cluster_autoscaler="", children=children, item=item)


def _plain(annotation: object) -> object:
    """The type of a value that is there: `int` of `int | None`, `ScaleDown` of `ScaleDown[None]`."""
    if get_origin(annotation) in (Union, UnionType):
        (annotation,) = (one for one in get_args(annotation) if one is not NoneType and not isinstance(one, TypeVar))
    origin = get_origin(annotation)
    return annotation if origin in (None, tuple) else origin


def _yaml_key(attribute: str) -> str:
    head, *rest = attribute.removesuffix(_SECONDS).split("_")
    return head + "".join(word.capitalize() for word in rest)


_ALL_HOLD = " All requirements must hold. An empty selector is an error."
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
