"""The list of layers in CONTRIBUTING is what import-linter enforces."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_layers_that_are_shown_are_those_that_are_held() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    shown = text.partition("## The layers")[2].partition("```text\n")[2].partition("```")[0]
    packages = re.findall(r"^([\w.]+)\s+((?:.|\n(?= ))*)", shown, re.M)
    floors = {name: [floor.strip() for floor in " ".join(rest.split()).split(" > ")] for name, rest in packages}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    held = {
        contract.get("containers", ["reconciler"])[0].removeprefix("reconciler."): [
            layer.replace("reconciler.", "") for layer in contract["layers"]
        ]
        for contract in project["tool"]["importlinter"]["contracts"]
        if contract["type"] == "layers"
    }
    assert floors == held
    folders = {path.name for path in (ROOT / "reconciler").iterdir() if (path / "__init__.py").exists()}
    assert folders - {"platforms", "values"} == {name for name in held if "." not in name} - {"reconciler"}
