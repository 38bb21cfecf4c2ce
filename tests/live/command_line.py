"""Commands as a user runs them against the control plane of the tests."""

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator

from reconciler.cli.main import cli

Object = dict[str, Any]
SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"


class CommandLine:
    """Commands with one kubeconfig."""

    def __init__(self, kubeconfig: Path) -> None:
        self._kubeconfig = kubeconfig

    def run(self, name: str, *arguments: object) -> Result:
        """One command. Its error, if it has one, is in `exception`."""
        words = [name, *map(str, arguments), "--kubeconfig", str(self._kubeconfig)]
        return CliRunner().invoke(cli, words, prog_name="reconciler", standalone_mode=False)

    def done(self, name: str, *arguments: object) -> Result:
        """One command that must come to its end."""
        result = self.run(name, *arguments)
        if result.exception is not None:
            raise AssertionError(f"{name}: {result.exception}\n{result.stderr}") from result.exception
        return result

    def json(self, name: str, *arguments: object) -> Object:
        """What a command prints with `-o json`; it fits the committed schema of that name."""
        document: Object = json.loads(self.done(name, *arguments, "-o", "json").stdout)
        schema = SCHEMAS / f"{name}.schema.json"
        if schema.is_file():
            Draft202012Validator(json.loads(schema.read_text())).validate(document)
        return document

    def refused(self, name: str, *arguments: object) -> str:
        """The message of a command that must not do what it was asked for."""
        result = self.run(name, *arguments)
        if result.exception is None:
            raise AssertionError(f"{name} was not refused: {result.stdout}")
        return str(getattr(result.exception, "message", result.exception))
