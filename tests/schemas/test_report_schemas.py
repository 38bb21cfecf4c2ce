"""The schemas of reports describe what the commands print."""

import json
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from reconciler.cli.main import cli

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = {
    "drain-report": ["drain-report", "--cluster", "examples/quickstart", "--policy", "policies"],
    "run": ["run", "--simulate", "examples/scenarios/burst-and-fall.yaml", "--until", "20m"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_printed_fits_its_schema(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The document is valid, and not any more without its version."""
    monkeypatch.chdir(ROOT)
    document = json.loads(CliRunner().invoke(cli, [*COMMANDS[name], "-o", "json"]).stdout)
    schema = json.loads((ROOT / f"schemas/{name}.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(document, schema)
    del document["formatVersion"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema)
