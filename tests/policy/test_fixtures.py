"""Every fault has a file with what is printed for it, read and agreed line by line."""

import re
from pathlib import Path

import pytest
import yaml

from reconciler.policy.problems.findings import Findings
from reconciler.policy.problems.problem_codes import CLUSTER_CODES, OBJECT_CODES, PROBLEM_CODES, TREE_CODES
from reconciler.policy.reading.yaml_text import compose_documents, read_source
from reconciler.policy.tree import read_tree
from reconciler.rendering.printers.problem_lines import render_text
from reconciler.rendering.printers.tree_summary import summary_line
from tests.policy.texts import NOW

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "policy"
TEXTS = sorted(FIXTURES.glob("*.txt"))
BY_SIZE = {
    "FileTooLarge",
    "TooManyDocuments",
    "TooManyProblems",
    "TooManyValues",
    "NotExamined",
    "TextTooLong",
}
"""Codes about amounts: their texts are made in the tests of those bounds."""


def _input(expected: Path) -> Path:
    return next(path for path in (expected.with_suffix(".yaml"), expected.with_suffix(".json")) if path.exists())


@pytest.mark.parametrize("expected", TEXTS, ids=lambda path: path.stem)
def test_a_fault_is_printed_as_agreed(expected: Path) -> None:
    """The text output of a file, to the character."""
    path = _input(expected)
    tree = read_tree({path.name: path.read_bytes()}, now_seconds=NOW)
    assert render_text(tree.problems) + summary_line(tree) + "\n" == expected.read_text(encoding="utf-8")


def test_every_code_is_shown_by_a_fixture() -> None:
    """Each code of the catalogue stands in some expected text, unless it is about amounts, trees, clusters or objects."""
    printed = "".join(path.read_text(encoding="utf-8") for path in TEXTS)
    elsewhere = {**TREE_CODES, **CLUSTER_CODES, **OBJECT_CODES}
    assert {code for code in PROBLEM_CODES if f"[{code}]" not in printed} == BY_SIZE | set(elsewhere)


def test_every_input_has_its_expected_text() -> None:
    """No fixture is left unread."""
    inputs = {path.stem for path in FIXTURES.iterdir() if path.suffix in (".yaml", ".json")} - {"sarif-schema-2.1.0"}
    assert inputs == {path.stem for path in TEXTS}


@pytest.mark.parametrize("expected", TEXTS, ids=lambda path: path.stem)
def test_the_pure_parser_reads_the_same(expected: Path) -> None:
    """Without libyaml, documents are the same and a syntax fault has the same code on the same line."""
    path = _input(expected)
    seen = []
    for loader in (yaml.CSafeLoader, yaml.SafeLoader):
        findings = Findings()
        decoded = read_source(path.name, path.read_bytes(), findings)
        documents = compose_documents(*decoded, findings, loader=loader) if decoded else []
        seen.append((_bare(documents), [(problem.code, problem.message, problem.place.path) for problem in findings.sorted()]))
    assert seen[0] == seen[1]


def _bare(documents: list[object]) -> str:
    """Nodes without what the two parsers place differently: the ends of block collections, and where nothing is."""
    text = re.sub(r", end_line=\d+, end_column=\d+", "", repr(documents))
    return re.sub(r"Scalar\(text='', plain=True, [^)]*\)", "", text)
