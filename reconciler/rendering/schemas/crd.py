"""Custom resource definitions of the policy documents: structural OpenAPI schemas with CEL rules.

Structural rules (source: the API concept documentation of CustomResourceDefinition v1): every node has a type or is
int-or-string. `additionalProperties: false`, `$ref` and `uniqueItems` are not allowed; logical junctors carry no types or
descriptions. No field has a `default`: the API server would write it into the object, and such a value would win over tiers and
policy defaults.
"""

from reconciler.policy.documents import API_GROUP, API_VERSION
from reconciler.policy.field import LONGEST, Field, Kind
from reconciler.policy.fields import DocumentKind
from reconciler.rendering.schemas.crd_status import GROUP_COLUMNS, POLICY_COLUMNS, status_schema
from reconciler.rendering.schemas.scalar_schema import LABEL_VALUE, PERCENT, QUANTITY, Schema, described, scalar_schema

MOST_ITEMS = 256
"""Bound of every list and map in a CRD. The API server estimates what CEL rules cost at worst and refuses a definition
without bounds; files have no such bound."""
_MOST_ENTRIES = 1024
_MOST_LISTS_ABOVE_A_RULE = 3
"""The worst cost of a rule multiplies by the bounds of all lists above it. Below more lists, a choice is a `oneOf`, which costs
nothing and has no message of its own."""
_SCALAR_ITEM_KINDS = frozenset(Kind) - {Kind.OBJECT, Kind.LIST, Kind.TAINT_LIST, Kind.SELECTOR}


# A definition that goes takes every object of its kind along: no delivery tool deletes it in passing.
# SOURCE: Argo CD, Sync Options; Helm, Tell Helm Not To Uninstall a Resource; Flux, kustomize-controller, garbage collection.
STAYS = {
    "argocd.argoproj.io/sync-options": "Prune=false,Delete=false",
    "helm.sh/resource-policy": "keep",
    "kustomize.toolkit.fluxcd.io/prune": "disabled",
}


def custom_resource_definition(kind: DocumentKind) -> Schema:
    """The manifest of the CRD of one kind of document."""
    version = API_VERSION.partition("/")[2]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": crd_name(kind), "annotations": dict(STAYS)},
        "spec": {
            "group": API_GROUP,
            "names": {
                "kind": kind.kind,
                "listKind": f"{kind.kind}List",
                "plural": kind.plural,
                "singular": kind.kind.lower(),
                "shortNames": list(kind.short_names),
                "categories": ["reconciler"],
            },
            "scope": kind.scope,
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": GROUP_COLUMNS if kind.scope == "Namespaced" else POLICY_COLUMNS,
                    "schema": {"openAPIV3Schema": _root(kind)},
                }
            ],
        },
    }


def crd_name(kind: DocumentKind) -> str:
    """`nodegroups.reconciler.dev`."""
    return f"{kind.plural}.{API_GROUP}"


def _root(kind: DocumentKind) -> Schema:
    spec = kind.root.child("spec")
    if spec is None:
        raise ValueError(f"{kind.kind} has no spec")
    return {
        "description": kind.description,
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": field_schema(spec),
            "status": status_schema(kind.kind),
        },
    }


def field_schema(field: Field) -> Schema:
    """The structural schema of one field."""
    return {"description": described(field)} | _shape(field)


def _shape(field: Field) -> Schema:
    match field.kind:
        case Kind.OBJECT:
            return _object(field)
        case Kind.SELECTOR:
            return _object(field) | {"minProperties": 1, "x-kubernetes-map-type": "atomic"}
        case Kind.LIST | Kind.TAINT_LIST:
            return _list(field)
        case Kind.LABEL_MAP | Kind.STRING_MAP:
            least = {"minProperties": field.minimum} if field.minimum else {}
            pattern = {"pattern": LABEL_VALUE} if field.kind is Kind.LABEL_MAP else {}
            return _map({"type": "string", **pattern, "maxLength": LONGEST[field.kind]}) | least
        case Kind.RESOURCE_MAP | Kind.QUANTITY_MAP:
            bounds = {"minProperties": field.minimum, "maxProperties": field.maximum}
            amount = {"x-kubernetes-int-or-string": True, "pattern": QUANTITY, "minimum": 0, "maxLength": LONGEST[field.kind]}
            return _map(amount) | {name: bound for name, bound in bounds.items() if bound}
        case Kind.INTEGER_OR_PERCENT:
            # A CEL rule would say it better, but `matches` on a text without a known length costs more than is allowed.
            span = {"minimum": field.minimum, "maximum": field.maximum, "maxLength": LONGEST[field.kind]}
            return {"x-kubernetes-int-or-string": True, "pattern": PERCENT, **span}
        case Kind.OPAQUE:
            return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        case Kind.INTEGER:
            return scalar_schema(field) | {"format": "int64"}
        case _:
            return scalar_schema(field)


def _object(field: Field) -> Schema:
    schema: Schema = {"type": "object"}
    required = [child.yaml_key for child in field.children if child.required]
    if required:
        schema["required"] = required
    schema["properties"] = {child.yaml_key: field_schema(child) for child in field.children}
    if field.exactly_one_of and field.path.count("[]") > _MOST_LISTS_ABOVE_A_RULE:
        return schema | {"oneOf": [{"required": [name]} for name in field.exactly_one_of]}
    rules = _rules(field)
    return schema | ({"x-kubernetes-validations": rules} if rules else {})


def _rules(field: Field) -> list[Schema]:
    """CEL rules that follow from the fields: one of several, min within max, a schedule with its duration."""
    rules: list[Schema] = []
    given = " + ".join(f"(has(self.{name}) ? 1 : 0)" for name in field.exactly_one_of or field.at_most_one_of)
    names = ", ".join(field.exactly_one_of or field.at_most_one_of)
    if field.exactly_one_of:
        rules.append({"rule": f"{given} == 1", "message": f"exactly one of {names}"})
    if field.at_most_one_of:
        rules.append({"rule": f"{given} <= 1", "message": f"at most one of {names}"})
    lowest, highest = field.child("min"), field.child("max")
    if lowest is not None and highest is not None and lowest.kind is highest.kind is Kind.INTEGER:
        rules.append({"rule": "!has(self.min) || !has(self.max) || self.min <= self.max", "message": "min is above max"})
    schedule, duration = field.child("schedule"), field.child("duration")
    if schedule is not None and duration is not None and not schedule.required:
        rules.append({"rule": "has(self.schedule) == has(self.duration)", "message": "schedule and duration go together"})
        if field.child("from") is not None:
            rule = "has(self.schedule) || (has(self.from) && has(self.until))"
            rules.append({"rule": rule, "message": "schedule and duration, or from and until"})
    return rules


def _list(field: Field) -> Schema:
    if field.item is None:
        raise ValueError(f"{field.path} is a list of nothing")
    schema: Schema = {"type": "array", "items": field_schema(field.item), "maxItems": field.maximum or MOST_ITEMS}
    if field.minimum:
        schema["minItems"] = field.minimum
    if field.list_key:
        return schema | {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [field.list_key]}
    is_set = field.unique and field.item.kind in _SCALAR_ITEM_KINDS
    return schema | {"x-kubernetes-list-type": "set" if is_set else "atomic"}


def _map(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values, "maxProperties": _MOST_ENTRIES}
