"""The JSON Schema of policy tests, for editors, made from the types that they are read into; and of what `test` prints."""

import re
from typing import Any

import msgspec

from reconciler.plan.policy_tests import FORMAT_VERSION, PolicyTestRun
from reconciler.policy.policy_test import API_VERSION, KIND, PolicyTest
from reconciler.policy.reading.typed_text import Amount, NumberRange, Quantity, Span
from reconciler.rendering.schemas.output_schema import format_version, struct_schema
from reconciler.rendering.schemas.scalar_schema import QUANTITY
from reconciler.rendering.schemas.schema_names import DIALECT, schema_id

_SPACES = re.compile(r"\s+")
_WRITTEN: dict[type, dict[str, Any]] = {
    Span: {"type": "string", "description": "A duration such as 90s, 10m or 1h30m."},
    Quantity: {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": QUANTITY}]},
    Amount: {"type": "string", "pattern": r"^(0|[1-9][0-9]{0,11})(\.[0-9]{1,6})?$"},
    NumberRange: {
        "anyOf": [
            {"type": "integer", "minimum": 0},
            {"type": "string", "pattern": r"^([0-9]{1,9}\.\.([0-9]{1,9})?|\.\.[0-9]{1,9})$"},
        ],
        "description": "A whole number, or a range: 7..10, 7.. or ..10.",
    },
}


def policy_test_schema() -> dict[str, Any]:
    """The schema of a PolicyTest document."""
    schema = msgspec.json.schema(PolicyTest, schema_hook=lambda kind: _WRITTEN[kind])
    for definition in schema["$defs"].values():
        definition["description"] = _SPACES.sub(" ", definition.get("description", ""))
        for value in definition.get("properties", {}).values():
            value.pop("default", None)
    properties = schema["$defs"]["PolicyTest"]["properties"]
    properties["apiVersion"] |= {"const": API_VERSION}
    properties["kind"] |= {"const": KIND}
    return {"$schema": DIALECT, "$id": schema_id("policy-test"), "title": "Tests of a policy"} | schema


def test_schema() -> dict[str, Any]:
    """The schema of `test -o json`."""
    schema = struct_schema(PolicyTestRun, "test", "What became of policy tests")
    schema["$defs"]["PolicyTestRun"]["properties"]["formatVersion"] |= format_version(FORMAT_VERSION)
    return schema
