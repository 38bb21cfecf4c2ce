"""The JSON Schema of policy documents."""

import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from reconciler.policy.documents import API_VERSION
from reconciler.policy.field import Field, Kind
from reconciler.policy.fields import document_kinds, walk
from reconciler.policy.problems.problem import Severity
from reconciler.policy.tree import read_tree
from reconciler.rendering.schemas.policy_schema import field_schema
from tests.schemas.conftest import ROOT, documents

FIXTURES = sorted(path for path in (ROOT / "tests" / "fixtures" / "policy").iterdir() if path.suffix in (".yaml", ".json"))
NOW = 1_795_262_400  # 2026-11-21T12:00:00Z
# Faults in the shape of a single value, which a JSON Schema can see. Others need several values, the calendar, or the text.
SHAPE = {
    "BadFormat", "BadInstant", "BadMoney", "BadName", "BadQuantity", "EmptySelector", "EmptyValue", "FloatValue", "MissingField",
    "NegativeNumber", "NoKind", "NotADocument", "NullValue", "SeveralOfOne", "UnknownField", "UnknownKind", "UnknownResource",
    "UnknownValue", "WrongType",
}  # fmt: skip


def ours(text: bytes) -> list[Any]:
    """Documents that are policies, or that are broken so far that nobody can tell."""
    found = [document for document in documents(text) if document is not None]
    return [entry for entry in found if not isinstance(entry, dict) or str(entry.get("apiVersion", API_VERSION)) == API_VERSION]


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_schema_and_reader_agree_on_shapes(path: Path, policy_validator: Draft202012Validator):
    """A file without errors passes; one with an error in the shape of a value fails."""
    text = path.read_bytes()
    codes = {
        problem.code for problem in read_tree({path.name: text}, now_seconds=NOW).problems if problem.severity is Severity.ERROR
    }
    if codes and not codes & SHAPE:
        return
    if codes & {"Syntax", "Tab", "UnsupportedTag", "NotUtf8", "TooDeep"}:  # no YAML parser hands these to a schema
        return
    errors = [error.message for document in ours(text) for error in policy_validator.iter_errors(document)]
    assert bool(errors) == bool(codes), (codes, errors)


def test_enough_fixtures_are_judged():
    """The test above looks at dozens of files with shape faults and at several without any."""
    judged = {"faulty": 0, "sound": 0}
    for path in FIXTURES:
        problems = read_tree({path.name: path.read_bytes()}, now_seconds=NOW).problems
        codes = {problem.code for problem in problems if problem.severity is Severity.ERROR}
        judged["faulty"] += bool(codes & SHAPE)
        judged["sound"] += not codes
    assert judged["faulty"] > 30
    assert judged["sound"] > 5


def test_policies_of_this_repository_pass(policy_validator: Draft202012Validator):
    """The tree that ships with the project validates, and it is not empty."""
    found = [document for path in sorted((ROOT / "policies").rglob("*.yaml")) for document in ours(path.read_bytes())]
    assert found
    assert [error.message for document in found for error in policy_validator.iter_errors(document)] == []


def fields() -> list[Field]:
    return [field for kind in document_kinds() for field in walk(kind.root) if field.path]


@pytest.mark.parametrize(
    "field", [field for field in fields() if field.examples or field.default is not None], ids=lambda f: f.path
)
def test_examples_and_defaults_fit_their_own_schema(field: Field):
    """What the schema shows as an example or default is valid there."""
    definitions: dict[str, Any] = {}
    schema = field_schema(field, definitions)
    judge = Draft202012Validator({**schema, "$defs": definitions})
    shown = [*schema.get("examples", []), *([schema["default"]] if "default" in schema else [])]
    assert shown
    assert [error.message for value in shown for error in judge.iter_errors(value)] == []


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (Kind.DURATION, ["1h30m", "0s", "1.5h", "0", "+5m", "250ms"], ["10", "1d", "-5m", "", "5 m", "1h30"]),
        (Kind.MONEY, ["0.768", "0", "12"], ["1,5", "$1", ".5", "01", "0.1234567", "-1"]),
        (Kind.INSTANT, ["2026-11-21T18:00:00Z", "2026-11-21t18:00:00.5+01:00"], ["2026-11-21", "2026-11-21 18:00:00Z", "now"]),
        (Kind.CRON, ["0 7 * * mon-fri", "*/5 0,12 ? * *", "@daily"], ["0 7 * *", "0 7 * * * *", "every day at 7"]),
        (Kind.OBJECT_NAME, ["prod", "a.b-c.d"], ["Prod", "-a", "a..b", "a_b", ""]),
        (Kind.NAME, ["on-demand", "A_1.x"], ["-a", "a b", "x" * 64, ""]),
        (Kind.LABEL_KEY, ["a", "example.com/b_C"], ["/a", "Example.com/a", "a/b/c", ""]),
        (Kind.KEY_OR_PREFIX, ["a", "example.com/b_C", "a.b/*", "a.b/c-*", "agent-*"], ["*", "a.b/", "a*b", "*/a", "/*", ""]),
        (Kind.RESOURCE_MAP, [{"cpu": "500m", "memory": 4}, {"nvidia.com/gpu": 1, "hugepages-2Mi": "1Gi"}],
         [{"cpus": 1}, {"cpu": 1.5}, {"cpu": "1 Gi"}, {"cpu": -1}, {"memory": "64GB"}]),
        (Kind.QUANTITY_MAP, [{"memory": "40Gi", "slices": 7}, {"gpu.example.com/memory": "1500m"}],
         [{"memory": "40GB"}, {"slices": 1.5}, {"slices": -1}, {"a b": 1}, {"memory": ""}]),
        (Kind.LABEL_MAP, [{"a": "b", "x.io/y": ""}], [{"a": 1}, {"a b": "c"}, {"a": "-c"}, {"a": "x" * 64}]),
        (Kind.INTEGER_OR_PERCENT, [0, 7, "10%", "100%", "0%"], [-1, "101%", "10", "-1%", 1.5, "ten"]),
    ],
)  # fmt: skip
def test_values_by_kind(kind: Kind, good: list[Any], bad: list[Any]):
    """Values that Kubernetes or Go would take pass, others do not."""
    field = Field(yaml_key="x", kind=kind, description="", resources=("cpu", "memory"), maximum=2**31 - 1)
    judge = Draft202012Validator(field_schema(field, {}))
    assert [value for value in good if not judge.is_valid(value)] == []
    assert [value for value in bad if judge.is_valid(value)] == []


def test_every_key_is_described(policy_validator: Draft202012Validator):
    """Editors show a description for every key, and no key that is not in the field model gets through."""
    keys = 0
    for definition in policy_validator.schema["$defs"].values():
        assert definition["additionalProperties"] is False
        for key, value in definition["properties"].items():
            keys += 1
            assert value.get("description"), key
    assert keys > 100


def test_patterns_are_read_alike_everywhere(policy_validator: Draft202012Validator):
    """No pattern uses what ECMA 262 and RE2 do not both have: look-around, back references, named groups, flags."""
    patterns = re.findall(r"'pattern': '((?:[^'\\]|\\.)*)'", repr(policy_validator.schema))
    assert len(patterns) > 20
    assert [pattern for pattern in patterns if re.search(r"\(\?|\\\\[1-9]|\\\\[AZz]", pattern)] == []


def test_modeline_paths_of_this_repository_lead_to_the_schema():
    """`# yaml-language-server: $schema=` in policies/ points at the committed files."""
    found = [
        (path.parent / line.split("$schema=")[1].strip()).resolve()
        for path in sorted((ROOT / "policies").rglob("*.yaml"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.startswith("# yaml-language-server:")
    ]
    assert set(found) == {ROOT / "schemas" / name for name in ("policy.schema.json", "policy-test.schema.json")}
