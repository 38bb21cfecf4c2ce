"""The custom resource definitions obey what API servers ask of them.

Rules: Kubernetes' concept documentation "Extend the Kubernetes API with CustomResourceDefinitions", section "Specifying a
structural schema", and the API reference of JSONSchemaProps.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

CRDS = Path(__file__).resolve().parents[2] / "schemas" / "crds"
MANIFESTS = {path.stem: yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader) for path in sorted(CRDS.glob("*.yaml"))}
JUNCTORS = ("allOf", "anyOf", "oneOf", "not")
FORBIDDEN = {"$ref", "definitions", "dependencies", "patternProperties", "id", "$schema", "additionalItems", "propertyNames",
             "const", "if", "then", "else", "examples", "readOnly", "discriminator", "deprecated", "xml"}  # fmt: skip


def root(name: str) -> dict[str, Any]:
    return MANIFESTS[name]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


def nodes(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema outside junctors, with its path."""
    yield path, schema
    for key, value in schema.get("properties", {}).items():
        yield from nodes(value, f"{path}.{key}")
    if "items" in schema:
        yield from nodes(schema["items"], f"{path}[]")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from nodes(schema["additionalProperties"], f"{path}{{}}")


def faults(schema: dict[str, Any]) -> list[str]:
    """Everything in a schema that an API server would refuse."""
    found = []
    for path, node in nodes(schema):
        loose = node.get("x-kubernetes-int-or-string") or node.get("x-kubernetes-preserve-unknown-fields")
        if "type" not in node and not loose:
            found.append(f"{path}: no type")
        if node.get("x-kubernetes-int-or-string") and "type" in node:
            found.append(f"{path}: type beside int-or-string")
        found += [f"{path}: {word} is forbidden" for word in FORBIDDEN & set(node)]
        if node.get("uniqueItems"):
            found.append(f"{path}: uniqueItems")
        if "properties" in node and "additionalProperties" in node:
            found.append(f"{path}: properties and additionalProperties")
        if node.get("additionalProperties") is False:
            found.append(f"{path}: additionalProperties false")
        if node.get("type") == "array" and "items" not in node:
            found.append(f"{path}: array without items")
        if set(node.get("required", [])) - set(node.get("properties", {})):
            found.append(f"{path}: required without a property")
        found += [f"{path}: {key} carries {word}" for key in JUNCTORS for part in _parts(node, key)
                  for word in ("type", "description", "default", "additionalProperties", "nullable") if word in part]  # fmt: skip
        found += _list_faults(path, node)
    return found


def _parts(node: dict[str, Any], key: str) -> list[dict[str, Any]]:
    part = node.get(key, [])
    return part if isinstance(part, list) else [part]


def _list_faults(path: str, node: dict[str, Any]) -> list[str]:
    kind, keys = node.get("x-kubernetes-list-type"), node.get("x-kubernetes-list-map-keys")
    found = []
    if (kind == "map") != bool(keys):
        found.append(f"{path}: map lists have keys, others have none")
    for key in keys or ():
        items = node["items"]
        if key not in items["properties"] or items["properties"][key]["type"] not in ("string", "integer", "boolean", "number"):
            found.append(f"{path}: {key} is no scalar property")
        if key not in items.get("required", []) and "default" not in items["properties"][key]:
            found.append(f"{path}: {key} may be missing")
    if kind == "set" and node["items"].get("type") in ("object", "array"):
        found.append(f"{path}: a set of objects")
    return found


@pytest.mark.parametrize("name", sorted(MANIFESTS))
def test_schema_is_structural(name: str):
    """No node breaks a structural rule."""
    assert faults(root(name)) == []


@pytest.mark.parametrize(
    ("broken", "fault"),
    [
        ({"properties": {"a": {}}}, "no type"),
        ({"type": "object", "additionalProperties": False}, "additionalProperties false"),
        ({"type": "array"}, "array without items"),
        ({"type": "object", "$ref": "#/x"}, "$ref is forbidden"),
        ({"type": "object", "oneOf": [{"type": "object"}]}, "oneOf carries type"),
        ({"type": "array", "items": {"type": "object", "properties": {"n": {"type": "string"}}},
          "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n"]}, "n may be missing"),
        ({"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "set"}, "a set of objects"),
    ],
)  # fmt: skip
def test_the_rules_see_what_is_broken(broken: dict[str, Any], fault: str):
    """The test above can fail."""
    assert any(fault in found for found in faults(broken))


@pytest.mark.parametrize(
    ("name", "kind", "scope", "short"),
    [
        ("nodegrouppolicies.reconciler.dev", "NodeGroupPolicy", "Cluster", "ngp"),
        ("nodegroups.reconciler.dev", "NodeGroup", "Namespaced", "ng"),
    ],
)
def test_names_and_scope(name: str, kind: str, scope: str, short: str):
    """The name is plural.group; status is a subresource, one version is stored."""
    manifest = MANIFESTS[name]
    spec = manifest["spec"]
    assert manifest["metadata"]["name"] == f"{spec['names']['plural']}.{spec['group']}" == name
    assert (spec["names"]["kind"], spec["scope"], spec["names"]["shortNames"]) == (kind, scope, [short])
    (version,) = spec["versions"]
    assert version["subresources"] == {"status": {}}
    assert (version["served"], version["storage"]) == (True, True)


@pytest.mark.parametrize("name", sorted(MANIFESTS))
def test_printer_columns_show_existing_fields(name: str):
    """Every column's path leads to a field of the schema, and its type is one that API servers know."""
    paths = {path for path, _ in nodes(root(name))}
    for column in MANIFESTS[name]["spec"]["versions"][0]["additionalPrinterColumns"]:
        path = column["jsonPath"].split("[?")[0]
        assert path in paths or path == ".metadata.creationTimestamp", column
        assert column["type"] in ("string", "integer", "date", "boolean", "number")


def rules(name: str) -> dict[str, list[str]]:
    return {
        path: [rule["rule"] for rule in node["x-kubernetes-validations"]]
        for path, node in nodes(root(name))
        if "x-kubernetes-validations" in node
    }


def test_rules_across_fields():
    """Exactly one target, min within max wherever there is a size, a budget's schedule with its duration."""
    group, policy = rules("nodegroups.reconciler.dev"), rules("nodegrouppolicies.reconciler.dev")
    (one_target,) = group[".spec.target"]
    assert one_target.endswith("== 1")
    assert all(f"has(self.{name})" in one_target for name in ("clusterAPI", "aws", "openshift", "crusoe"))
    min_max = "!has(self.min) || !has(self.max) || self.min <= self.max"
    assert group[".spec.size"] == group[".spec.windows[].size"] == policy[".spec.tiers[].defaults.size"] == [min_max]
    assert policy[".spec.budgets[]"] == ["has(self.schedule) == has(self.duration)"]


def test_budget_amount():
    """A budget takes a count or a percentage: int-or-string with a bound for either."""
    amount = dict(nodes(root("nodegrouppolicies.reconciler.dev")))[".spec.budgets[].nodes"]
    assert amount["x-kubernetes-int-or-string"] is True
    assert amount["minimum"] == 0
    assert amount["pattern"] == "^0*(100|[1-9]?[0-9])%$"


@pytest.mark.parametrize("name", sorted(MANIFESTS))
def test_no_defaults_are_written_into_objects(name: str):
    """A default from the API server would win over tiers and policy defaults, which it must not."""
    assert [path for path, node in nodes(root(name)) if "default" in node] == []


@pytest.mark.parametrize("name", sorted(MANIFESTS))
def test_lists_and_maps_are_bounded(name: str):
    """The API server refuses CEL rules below lists and maps without a bound, since it assumes the worst."""
    unbounded = [
        path
        for path, node in nodes(root(name))
        if (node.get("type") == "array" and "maxItems" not in node)
        or (isinstance(node.get("additionalProperties"), dict) and "maxProperties" not in node)
    ]
    assert unbounded == []


def test_estimated_cost_of_rules_is_within_the_limit():
    """Nested lists multiply: even at 15 units a rule, the bounds keep each below the API server's 10,000,000. That server charges
    about 8 for the choice among four, the longest rule below three lists."""
    for name in MANIFESTS:
        for path, node in nodes(root(name)):
            if "x-kubernetes-validations" not in node:
                continue
            times = 1
            parts = path.split("[]")
            for depth in range(1, len(parts)):
                times *= dict(nodes(root(name)))["[]".join(parts[:depth])]["maxItems"]
            assert times * 15 < 10_000_000, (path, times)
