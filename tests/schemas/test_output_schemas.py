"""What commands print as JSON, held against the committed schemas."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from reconciler.cli.main import cli
from reconciler.cli.outputs.failure import guarded
from tests.schemas.conftest import ROOT, validator

QUICKSTART = ROOT / "examples" / "quickstart"
POLICIES = ROOT / "policies"


def printed(capsys: pytest.CaptureFixture[str], *argv: object) -> Any:
    guarded(cli, [str(word) for word in argv])
    return json.loads(capsys.readouterr().out)


def errors(judge: Draft202012Validator, document: Any) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in judge.iter_errors(document)]


def test_plans(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Plans of a captured cluster, with the repository's policy and with none, settled and not, fit the schema."""
    monkeypatch.chdir(tmp_path)
    judge = validator("plan")
    for options in ([], ["--no-settled"], ["--policy", POLICIES]):
        document = printed(capsys, "plan", "--cluster", QUICKSTART, "-o", "json", *options)
        assert document["groups"]
        assert document["pods"]
        assert document["nodes"]
        assert errors(judge, document) == []


def test_plan_schema_refuses_what_is_no_plan(capsys: pytest.CaptureFixture[str]):
    """Another major version, a missing key, an unknown outcome and a float are no plan."""
    judge = validator("plan")
    document = printed(capsys, "plan", "--policy", POLICIES, "--cluster", QUICKSTART, "-o", "json", "--no-settled")
    assert errors(judge, document | {"formatVersion": "2.0"})
    assert errors(judge, {key: value for key, value in document.items() if key != "notCaptured"})
    assert errors(judge, document | {"pods": [document["pods"][0] | {"outcome": "Maybe"}]})
    assert errors(judge, document | {"groups": [document["groups"][0] | {"current": 2.5}]})
    assert errors(judge, document | {"digest": "md5:00"})
    assert errors(judge, document | {"formatVersion": "1.7", "later": True}) == []


def test_fit(capsys: pytest.CaptureFixture[str]):
    """`fit -o json` fits its schema; a node that does not fit has a reason."""
    judge = validator("fit")
    document = printed(capsys, "fit", "--cluster", QUICKSTART, "-o", "json")
    assert document["pods"]
    assert errors(judge, document) == []
    document["pods"][0]["nodes"][0] |= {"fits": False, "reasons": []}
    assert errors(judge, document)


def test_validate(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    """`validate -o json` fits its schema, with problems and without."""
    judge = validator("validate")
    assert errors(judge, printed(capsys, "validate", POLICIES, "-o", "json")) == []
    broken = tmp_path / "broken.yaml"
    broken.write_text("apiVersion: reconciler.dev/v1alpha1\nkind: NodeGroupPolicy\nmetadata: {name: x}\nspec: {mod: Observe}\n")
    document = printed(capsys, "validate", broken, "-o", "json")
    assert document["problems"]
    assert errors(judge, document) == []
    assert errors(judge, document | {"problems": [document["problems"][0] | {"severity": "fatal"}]})
