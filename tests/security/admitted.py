"""NodeGroups drawn from what our definition of them admits, the odd and the long before all: for tests of what one may do."""

import random
import re
from pathlib import Path
from typing import Any

import yaml

_CRD = Path(__file__).resolve().parents[2] / "schemas" / "crds" / "nodegroups.reconciler.dev.yaml"
_STEMS = (
    "0", "1", "9", "1s", "1h", ".5s", "1.5h", "5m", "a", "a.b", "a-b", "Z", "x/y", "UTC", "Etc/UTC", "0 7 * * *",
    "*/5 * * * *", "59 23 31 12 6", "0 0 30 2 *", "@daily", "@never", "2030-01-01T00:00:00Z", "0001-01-01T00:00:00+23:59",
    "9999-12-31T23:59:59.9Z", "2030-02-30T25:61:61-99:99", "0.5", "999999999999.999999", "1Ki", "1e40", "1e99", "9E", "100%",
    "00%", "no", "null", "~", "é😀",
    " ", "\u2028", "(", "[a", "a{1000}", "(?=a)", "arn:aws:iam::123456789012:role/x", "eu-central-1", "general", "prod",
    "Never",
)  # fmt: skip


class Admitted:
    """Draws specs. Patterns and lengths are checked here as an API server does, rules across fields are not."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        definition = yaml.safe_load(_CRD.read_text(encoding="utf-8"))
        (version,) = definition["spec"]["versions"]
        self._spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
        self._texts: dict[str, list[str]] = {}

    def spec(self, **fields: Any) -> dict[str, Any]:
        """The spec of a NodeGroup, with these fields in place of drawn ones."""
        drawn: dict[str, Any] = self._value(self._spec)
        return {**drawn, **fields}

    def _value(self, schema: dict[str, Any]) -> Any:
        if "enum" in schema:
            return self.chance.choice(schema["enum"])
        if schema.get("x-kubernetes-int-or-string"):
            return self._text(schema) if self.chance.random() < 0.5 else self._number(schema)
        match schema["type"]:
            case "object" if "additionalProperties" in schema:
                keys = {self._key() for _ in range(self.chance.choice((0, 1, 3)))}
                return {key: self._value(schema["additionalProperties"]) for key in sorted(keys)}
            case "object":
                needed = schema.get("required", ())
                some = self.chance.random() * 0.5
                properties = schema.get("properties", {})
                chosen = {key for key in properties if key in needed or self.chance.random() < some}
                if properties and len(chosen) < schema.get("minProperties", 0):
                    chosen.add(self.chance.choice(sorted(properties)))
                return {key: self._value(value) for key, value in properties.items() if key in chosen}
            case "array":
                return [self._value(schema["items"]) for _ in range(self.chance.choice((0, 1, 2)))]
            case "integer":
                return self._number(schema)
            case "boolean":
                return self.chance.random() < 0.5
            case _:
                return self._text(schema)

    def _number(self, schema: dict[str, Any]) -> int:
        low, high = schema.get("minimum", -(2**63)), schema.get("maximum", 2**63 - 1)
        return self.chance.choice((low, high, min(max(1, low), high)))

    def _text(self, schema: dict[str, Any]) -> str:
        pattern, most = schema.get("pattern", ""), schema.get("maxLength", 1 << 19)
        key = f"{pattern} {most} {schema.get('minLength', 0)}"
        if key not in self._texts:
            made = [stem * count for stem in _STEMS for count in (1, 2, 5, max(1, min(most, 6_000) // len(stem)))]
            least = schema.get("minLength", 0)
            self._texts[key] = [text for text in made if least <= len(text) <= most and re.search(pattern, text)]
        return self.chance.choice(self._texts[key])

    def _key(self) -> str:
        """Of a map: a definition cannot bound it."""
        stem = self.chance.choice((*_STEMS, "cpu", "memory", "nvidia.com/gpu", "hugepages-1Gi"))
        return stem * self.chance.choice((1, 1, 1, 2, 6_000 // len(stem)))
