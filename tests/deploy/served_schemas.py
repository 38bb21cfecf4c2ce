"""JSON Schemas of what an API server serves, one file a kind, as kubeconform finds them: from its OpenAPI documents."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.testbed.api import Api

_KINDS = "x-kubernetes-group-version-kind"
_OPEN = ("additionalProperties", "x-kubernetes-preserve-unknown-fields")


def write_schemas(api: Api, directory: Path, awaited: str) -> Path:
    """Write the schema of every kind of every group below `directory`; unknown keys are errors there.

    A new definition is described a moment after it is served: `awaited` is the path that must be there (`apis/GROUP/VERSION`).
    """
    deadline = time.monotonic() + 300
    while awaited not in (paths := api.get("/openapi/v3")["paths"]):
        if time.monotonic() > deadline:
            pytest.fail(f"{awaited} was not described within 300 s")
        time.sleep(0.05)
    for address in paths.values():
        components: dict[str, Any] = api.get(address["serverRelativeURL"]).get("components", {}).get("schemas", {})
        strict = {name: _closed(schema) for name, schema in components.items()}
        for name, schema in components.items():
            for kind in schema.get(_KINDS, ()):
                # kubeconform takes what stands before the slash for the group: for `v1` the version.
                group = kind["group"] or kind["version"]
                file = directory / f"{group}_{kind['version']}_{kind['kind'].lower()}.json"
                file.write_text(json.dumps({"$ref": f"#/components/schemas/{name}", "components": {"schemas": strict}}))
    return directory


def _closed(schema: Any) -> Any:
    """The schema with `additionalProperties: false` where an object says its properties and is not open on purpose."""
    if isinstance(schema, list):
        return [_closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(part) for key, part in schema.items()}
    if isinstance(schema.get("properties"), dict) and not any(key in schema for key in _OPEN):
        closed["additionalProperties"] = False
    return closed
