"""The JSON Schema of policy documents, for editors (`# yaml-language-server: $schema=…`) and for checks without this program."""

from itertools import combinations

from reconciler.policy.documents import API_VERSION
from reconciler.policy.field import LONGEST, MAPS, Field, Kind, Written
from reconciler.policy.fields import document_kinds
from reconciler.values.money import PRICE_HOURS
from reconciler.values.whole_number import whole_number

# Names of the generated schemas.

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema_id(name: str) -> str:
    """The identity of a schema: a name in the project's own domain. Nothing is fetched from it."""
    return f"https://reconciler.dev/schemas/v1alpha1/{name}.schema.json"


# What JSON Schema and a CRD's OpenAPI schema say alike about one value.
#
# Patterns are the common part of ECMA 262 and RE2 (no look-around), the two languages in which they are read.

Schema = dict[str, object]

_DURATION = r"0|\+?(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+"
MONEY = r"^(0|[1-9][0-9]{0,11})(\.[0-9]{1,6})?$"
QUANTITY = r"^\+?([0-9]+\.?[0-9]*|\.[0-9]+)(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|[eE][-+]?[0-9]+)?$"
_NAME = r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"
_SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_QUALIFIED = rf"({_SUBDOMAIN}/)?{_NAME}"
LABEL_KEY = f"^{_QUALIFIED}$"
KEY_OR_PREFIX = rf"^({_QUALIFIED}|({_SUBDOMAIN}/)?[A-Za-z0-9][-A-Za-z0-9_.]*\*|{_SUBDOMAIN}/\*)$"
DOMAIN_RESOURCE = f"^{_SUBDOMAIN}/{_NAME}$"
LABEL_VALUE = f"^({_NAME})?$"
_CRON_FIELD = r"[0-9A-Za-z*?,/-]+"
_CRON = rf"^\s*(@[A-Za-z]+|{_CRON_FIELD}(\s+{_CRON_FIELD}){{4}})\s*$"
_INSTANT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([Zz]|[-+][0-9]{2}:[0-9]{2})$"
PERCENT = r"^0*(100|[1-9]?[0-9])%$"
_NOT_BLANK = r"\S"


def scalar_schema(field: Field) -> Schema:
    """Type and bounds of a scalar field. Raises ValueError for kinds that are objects, lists, maps or int-or-string."""
    bound = {"maxLength": LONGEST[field.kind]} if field.kind in LONGEST and not field.enum else {}
    match field.kind:
        case Kind.STRING:
            anything = field.default == "" or bool(field.enum)
            pattern = f"^({field.pattern})$" if field.pattern else "" if anything else _NOT_BLANK
            return _text(field, **({"pattern": pattern} if pattern else {}), **bound)
        case Kind.ENUM:
            return _text(field)
        case Kind.NAME:
            return _text(field, pattern=f"^{_NAME}$", **bound)
        case Kind.OBJECT_NAME:
            return _text(field, pattern=f"^{_SUBDOMAIN}$", **bound)
        case Kind.LABEL_KEY:
            return _text(field, pattern=LABEL_KEY, **bound)
        case Kind.KEY_OR_PREFIX:
            return _text(field, pattern=KEY_OR_PREFIX, **bound)
        case Kind.DURATION:
            words = "".join(f"{word}|" for word in field.enum)
            return {"type": "string", "pattern": f"^({words}{_DURATION})$", "maxLength": LONGEST[field.kind]}
        case Kind.MONEY:
            return {"type": "string", "pattern": MONEY, **bound}
        case Kind.INSTANT:
            return {"type": "string", "format": "date-time", "pattern": _INSTANT, **bound}
        case Kind.CRON:
            return {"type": "string", "pattern": _CRON, **bound}
        case Kind.TIME_ZONE:
            return {"type": "string", "pattern": r"^[A-Za-z0-9_+/-]+$", **bound}
        case Kind.REGEX:
            return {"type": "string", "minLength": 1, **bound}
        case Kind.INTEGER | Kind.PERCENT:
            bounds = (("minimum", field.minimum), ("maximum", field.maximum))
            return {"type": "integer"} | {name: bound for name, bound in bounds if bound is not None}
        case _:
            raise ValueError(f"{field.path} is no scalar: {field.kind}")


def described(field: Field) -> str:
    """The description with the unit where the text of the value does not carry it."""
    in_words = field.kind in (Kind.DURATION, Kind.QUANTITY, Kind.INTEGER_OR_PERCENT)
    return field.description if not field.unit or in_words else f"{field.description} Unit: {field.unit}."


def _text(field: Field, **bounds: object) -> Schema:
    return {"type": "string"} | ({"enum": [str(word) for word in field.enum]} if field.enum else {}) | bounds


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
            return {"type": "object", "propertyNames": {"pattern": LABEL_KEY}, "additionalProperties": value}
        case Kind.STRING_MAP:
            least: Schema = {"minProperties": field.minimum} if field.minimum else {}
            longest = LONGEST[field.kind]
            texts = {"propertyNames": {"maxLength": longest}, "additionalProperties": {"type": "string", "maxLength": longest}}
            return {"type": "object", **texts, **least}
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
