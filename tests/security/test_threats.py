"""The table of SECURITY.md: each threat has a test that exists, and each attack of this folder is in the table."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
TEXT = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
_HEAD = ["threat", "protection", "test"]
_TEST = re.compile(r"`(?P<file>tests/[\w/]+\.py)(?:::(?P<name>\w+))?`")


def _rows() -> list[list[str]]:
    found: list[list[str]] = []
    inside = False
    for line in TEXT.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if cells == _HEAD:
            inside = True
        elif not cells:
            inside = False
        elif inside and not set(cells[0]) <= {"-", " "}:
            found.append(cells)
    return found


ROWS = _rows()


def _tests(file: Path) -> set[str]:
    """The test functions of a file."""
    nodes = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:60])
def test_a_threat_has_a_test_that_exists(row: list[str]):
    """Three cells, and in the last one nothing but tests."""
    assert len(row) == len(_HEAD)
    assert all(row)
    assert not _TEST.sub("", row[2]).strip(", ")
    for found in _TEST.finditer(row[2]):
        file = ROOT / found["file"]
        assert file.is_file(), found["file"]
        assert found["name"] is None or found["name"] in _tests(file), found[0]


def test_each_attack_is_in_the_table():
    """Every test of this folder is named, itself or with its whole file."""
    named = {(found["file"], found["name"]) for row in ROWS for found in _TEST.finditer(row[2])}
    missing = [
        f"{name}::{test}"
        for file in sorted(HERE.glob("test_*.py"))
        if file != Path(__file__)
        for test in sorted(_tests(file))
        if not {((name := str(file.relative_to(ROOT))), None), (name, test)} & named
    ]
    assert not missing
