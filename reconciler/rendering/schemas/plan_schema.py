"""The JSON Schema of what is printed with `-o json`, made from the types that are printed."""

import re
from typing import Any

import msgspec

from reconciler.plan.plan import FORMAT_VERSION, Plan
from reconciler.rendering.schemas.identity import DIALECT, schema_id

_SPACES = re.compile(r"\s+")


def plan_schema() -> dict[str, Any]:
    """The schema of a plan. Further keys may come within a major version; every key there is now is always written."""
    schema = output_schema(Plan, "plan", "A plan")
    properties = schema["$defs"]["Plan"]["properties"]
    properties["formatVersion"] |= format_version(FORMAT_VERSION)
    properties["digest"] |= {"pattern": "^(sha256:[0-9a-f]{64})?$"}
    properties["now"] |= {"format": "date-time"}
    properties["mode"] |= {"enum": ["Observe", "Enforce"]}
    return schema


def output_schema(kind: type[msgspec.Struct], name: str, title: str) -> dict[str, Any]:
    """The schema of a struct that is printed whole: no defaults, since nothing is left out."""
    schema = msgspec.json.schema(kind)
    for definition in schema["$defs"].values():
        if "description" in definition:
            definition["description"] = _SPACES.sub(" ", definition["description"])
        properties = definition.get("properties", {})
        for value in properties.values():
            value.pop("default", None)
        if properties:
            definition["required"] = list(properties)
    return {"$schema": DIALECT, "$id": schema_id(name), "title": title} | schema


def format_version(version: str) -> dict[str, str]:
    """Readers reject a major version that they do not know."""
    return {"pattern": rf"^{version.partition('.')[0]}\.[0-9]+$"}
