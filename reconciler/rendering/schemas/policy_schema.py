"""The JSON Schema of policy documents, for editors (`# yaml-language-server: $schema=…`) and for checks without this program."""

from itertools import combinations

from reconciler.policy.documents import API_VERSION
from reconciler.policy.field import LONGEST, MAPS, Field, Kind, Written
from reconciler.policy.fields import document_kinds
from reconciler.rendering.schemas.scalar_schema import (
    DOMAIN_RESOURCE,
    LABEL_KEY,
    LABEL_VALUE,
    MONEY,
    PERCENT,
    QUANTITY,
    Schema,
    described,
    scalar_schema,
)
from reconciler.rendering.schemas.schema_names import DIALECT, schema_id
from reconciler.values.money import PRICE_HOURS
from reconciler.values.whole_number import whole_number


def policy_schema() -> Schema:
    """One schema for documents of both kinds; which one applies is decided by `kind`, so that errors stay short."""
    kinds = document_kinds()
    definitions: dict[str, Schema] = {}
    for kind in kinds:
        definitions[kind.kind] = _object(kind.root, definitions)
    return {
        "$schema": DIALECT,
        "$id": schema_id("policy"),
        "title": "Policy documents of reconciler",
        "description": "One document: " + " or ".join(f"{kind.kind} ({kind.description})" for kind in kinds),
        "type": "object",
        "required": ["apiVersion", "kind"],
        "properties": {"apiVersion": {"const": API_VERSION}, "kind": {"enum": [kind.kind for kind in kinds]}},
        "allOf": [
            {
                "if": {"required": ["kind"], "properties": {"kind": {"const": kind.kind}}},
                "then": {"$ref": f"#/$defs/{kind.kind}"},
            }
            for kind in kinds
        ],
        "$defs": definitions,
    }


def field_schema(field: Field, definitions: dict[str, Schema]) -> Schema:
    """The schema of one field; objects that occur more than once are put into `definitions` and referred to."""
    schema = {"description": described(field)} | _shape(field, definitions)
    if field.default is not None:
        schema["default"] = _json(field, field.default)
    examples = [_json(field, example) for example in field.examples]
    if examples:
        schema["examples"] = examples
    return schema


def _shape(field: Field, definitions: dict[str, Schema]) -> Schema:
    match field.kind:
        case Kind.OBJECT:
            return _shared(field, _object(field, definitions), definitions)
        case Kind.SELECTOR:
            return _shared(field, _object(field, definitions) | {"minProperties": 1}, definitions)
        case Kind.LIST | Kind.TAINT_LIST:
            return _list(field, definitions)
        case Kind.LABEL_MAP:
            value = {"type": "string", "pattern": LABEL_VALUE, "maxLength": LONGEST[field.kind]}
            return {"type": "object", "propertyNames": {"pattern": LABEL_KEY}, "additionalProperties": value, **_least(field)}
        case Kind.STRING_MAP:
            longest = LONGEST[field.kind]
            texts = {"propertyNames": {"maxLength": longest}, "additionalProperties": {"type": "string", "maxLength": longest}}
            return {"type": "object", **texts, **_least(field)}
        case Kind.QUANTITY_MAP:
            bounds = {"minProperties": field.minimum, "maxProperties": field.maximum}
            amounts = {"propertyNames": {"pattern": LABEL_KEY}, "additionalProperties": _quantity(field)}
            return {"type": "object", **amounts, **{name: bound for name, bound in bounds.items() if bound}}
        case Kind.RESOURCE_MAP:
            return _resources(field)
        case Kind.INTEGER_OR_PERCENT:
            share = {"type": "string", "pattern": PERCENT, "maxLength": LONGEST[field.kind]}
            return {"anyOf": [{"type": "integer", "minimum": 0, "maximum": field.maximum}, share]}
        case Kind.OPAQUE:
            return {}
        case _:
            return scalar_schema(field)


def _least(field: Field) -> Schema:
    return {"minProperties": field.minimum} if field.minimum else {}


def _object(field: Field, definitions: dict[str, Schema]) -> Schema:
    schema: Schema = {"type": "object", "additionalProperties": False}
    required = [child.yaml_key for child in field.children if child.required]
    if required:
        schema["required"] = required
    schema["properties"] = {child.yaml_key: field_schema(child, definitions) for child in field.children}
    if field.exactly_one_of:
        schema["oneOf"] = [{"required": [name]} for name in field.exactly_one_of]
    if field.at_most_one_of:
        schema["allOf"] = [{"not": {"required": list(pair)}} for pair in combinations(field.at_most_one_of, 2)]
    return schema


def _list(field: Field, definitions: dict[str, Schema]) -> Schema:
    if field.item is None:
        raise ValueError(f"{field.path} is a list of nothing")
    schema: Schema = {"type": "array", "items": field_schema(field.item, definitions)}
    bounds = (("minItems", field.minimum), ("maxItems", field.maximum))
    schema |= {name: bound for name, bound in bounds if bound is not None}
    return schema | ({"uniqueItems": True} if field.unique else {})


def _resources(field: Field) -> Schema:
    prefixes = ("hugepages-", *((field.resource_prefix,) if field.resource_prefix else ()))
    names = [{"enum": list(field.resources)}, *({"pattern": f"^{one}."} for one in prefixes), {"pattern": DOMAIN_RESOURCE}]
    money: Schema = {"type": "string", "pattern": MONEY, "maxLength": LONGEST[Kind.MONEY]}
    spent = {name: money for name in PRICE_HOURS if name in field.resources}
    shape: Schema = {"type": "object", "propertyNames": {"anyOf": names}, "additionalProperties": _quantity(field)}
    return {**shape, "properties": spent} if spent else shape


def _quantity(field: Field) -> Schema:
    text = {"type": "string", "pattern": QUANTITY, "maxLength": LONGEST[field.kind]}
    return {"anyOf": [{"type": "integer", "minimum": 0}, text]}


def _shared(field: Field, schema: Schema, definitions: dict[str, Schema]) -> Schema:
    """A reference to the definition of an object, named after its key and, where that is taken, what it stands in."""
    keys = [key.removesuffix("[]") for key in field.path.split(".")]
    names = ["".join(key[0].upper() + key[1:] for key in keys[-depth:]) for depth in range(1, len(keys) + 1)]
    ending = "Item" if field.path.endswith("[]") else ""
    for number in range(1, len(definitions) + 2):
        for name in [f"{name}{ending}{'' if number == 1 else number}" for name in names]:
            if definitions.setdefault(name, schema) == schema:
                return {"$ref": f"#/$defs/{name}"}
    raise AssertionError("one of the numbered names is free")


def _json(field: Field, written: Written) -> object:
    """A default or example as JSON; maps are noted as `key: value`."""
    if field.kind in MAPS and isinstance(written, str):
        key, _, value = written.partition(": ")
        number = whole_number(value) if field.kind in (Kind.RESOURCE_MAP, Kind.QUANTITY_MAP) else None
        return {key: value if number is None else number}
    return [str(word) for word in written] if isinstance(written, tuple) else written
