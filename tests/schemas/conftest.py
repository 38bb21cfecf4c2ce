"""The committed schemas and documents to hold against them."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

ROOT = Path(__file__).resolve().parents[2]


class Yaml12Loader(yaml.SafeLoader):
    """Timestamps stay texts, as in YAML 1.2, which editors read."""


Yaml12Loader.yaml_implicit_resolvers = {
    letter: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for letter, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def documents(text: bytes | str) -> list[Any]:
    """All documents of a YAML text."""
    return list(yaml.load_all(text, Loader=Yaml12Loader))


def validator(name: str) -> Draft202012Validator:
    """A validator for one of the committed schemas; formats are checked too."""
    schema = json.loads((ROOT / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


@pytest.fixture(scope="session")
def policy_validator() -> Draft202012Validator:
    """Of policy documents."""
    return validator("policy")
