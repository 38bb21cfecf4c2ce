"""Damaged policies never raise, and whatever is wrong with them is told with a place inside the text.

Seeded, so that a failure names the case that shows it. 2,000 cases; RECONCILER_FUZZ raises their number.
"""

import json
import os
import random
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
import yaml

from reconciler.policy.policy_tree import PolicyTree
from reconciler.policy.problems.findings import Source
from reconciler.policy.problems.problem_codes import PROBLEM_CODES
from reconciler.policy.tree import read_tree
from reconciler.rendering.documents.problems import problem_report
from reconciler.rendering.printers.annotations import render_github
from reconciler.rendering.printers.json_text import json_text
from reconciler.rendering.printers.problem_lines import render_text
from reconciler.rendering.printers.sarif import render_sarif
from tests.policy.texts import NOW, errors

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests" / "fixtures" / "policy"
CASES = int(os.environ.get("RECONCILER_FUZZ", "2000"))
CHUNK = 100

TEXTS = sorted(path for path in FIXTURES.glob("*.yaml") if path.stem not in ("not-utf8", "alias-bomb"))
SEEDS = [(FIXTURES / "complete.yaml").read_text(encoding="utf-8")] * 40
SEEDS += [path.read_text(encoding="utf-8") for path in (*TEXTS, *sorted((ROOT / "policies").glob("*.yaml")))]

PIECES = (
    *(
        "{}",
        "[]",
        "null",
        "~",
        '""',
        "-1",
        "0",
        "1.5",
        "1e9",
        "0x1F",
        "012",
        "12:30",
        "1_000",
        "no",
        "true",
        "9" * 30,
        "10%",
        "-0",
    ),
    *(
        "*",
        "&a x",
        "*a",
        "<<: *a",
        "!!python/name:os.system x",
        "!x",
        "? ",
        "- ",
        ": ",
        ", ",
        "| ",
        "> ",
        "%",
        "@",
        "`",
        "'",
        '"',
    ),
    *("\t", "\x00", "\x07", "\u202e", "\ufeff", "\u2028", "\x85", "\r", "\n", "\n---\n", "\n...\n", "ä", "漢", "💥", "# "),
    *("500m", "16Gi", "64GB", "10m", "1d", "never", "Never", "Observe", "Europe/Berln", "0 7 * *", "2026-11-21", "(a+)+$"),
    *("min: 9", "max: 0", "spec:", "name: a", "kind: NodeGroup", "{cpu: 1}", "apiVersion: v1", "a.b/c", "a b", "=", "..", "[[[["),
)


def _cut(text: str, chance: random.Random) -> str:
    start = chance.randrange(len(text) + 1)
    return text[:start] + text[start + chance.randrange(1, 20) :]


def _insert(text: str, chance: random.Random) -> str:
    at = chance.randrange(len(text) + 1)
    return text[:at] + chance.choice(PIECES) + text[at:]


def _swap_value(text: str, chance: random.Random) -> str:
    lines = text.split("\n")
    at = chance.randrange(len(lines))
    key, colon, _ = lines[at].partition(": ")
    lines[at] = key + (colon or ": ") + chance.choice(PIECES)
    return "\n".join(lines)


def _swap_word(text: str, chance: random.Random) -> str:
    words = text.split(" ")
    words[chance.randrange(len(words))] = chance.choice(PIECES)
    return " ".join(words)


def _lines(text: str, chance: random.Random) -> str:
    lines = text.split("\n")
    one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    deed = chance.randrange(4)
    if deed == 0:
        lines[one], lines[other] = lines[other], lines[one]
    elif deed == 1:
        lines.insert(one, lines[other])
    elif deed == 2:
        del lines[one]
    else:
        lines[one] = " " * chance.randrange(1, 5) + lines[one]
    return "\n".join(lines)


def _characters(text: str, chance: random.Random) -> str:
    at = chance.randrange(len(text) + 1)
    return text[:at] + chr(chance.choice((chance.randrange(128), chance.randrange(0xD800), 0x1F600))) + text[at + 1 :]


DAMAGES: tuple[Callable[[str, random.Random], str], ...] = (_cut, _insert, _swap_value, _swap_word, _lines, _characters)


def _damaged(case: int) -> bytes:
    chance = random.Random(case)
    text = chance.choice(SEEDS)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        text = chance.choice(DAMAGES)(text, chance)
    data = text.encode("utf-8")
    if chance.random() < 0.05:
        at = chance.randrange(len(data) + 1)
        data = data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
    return data


def _check(tree: PolicyTree, data: bytes, case: int) -> None:
    lines = Source.of("a.yaml", data.decode("utf-8-sig", "replace")).lines
    for problem in tree.problems:
        assert problem.code in PROBLEM_CODES, case
        assert problem.message, case
        for place in (problem.place, *(related for related, _ in problem.related)):
            assert place.path == "a.yaml", case
            assert 1 <= place.line <= len(lines), (case, problem)
            assert 1 <= place.column <= len(lines[place.line - 1]) + 1, (case, problem)
        assert problem.source == lines[problem.place.line - 1] or not problem.source, (case, problem)
        assert problem.width == 1 or problem.place.column - 1 + problem.width <= len(problem.source), (case, problem)
    assert bool(errors(tree)) != bool(tree.sets) or not tree.policies, case
    assert not (errors(tree) and tree.sets), case


@pytest.mark.parametrize("first", range(0, CASES, CHUNK))
def test_damaged_policies_are_told_and_never_raise(first: int) -> None:
    """Each case: no exception, all places inside the text, all renderings possible, nothing usable beside an error.

    A text that the YAML library itself refuses has an error.
    """
    for case in range(first, min(first + CHUNK, CASES)):
        data = _damaged(case)
        tree = read_tree({"a.yaml": data}, now_seconds=NOW)
        _check(tree, data, case)
        for text in (
            render_text(tree.problems),
            render_github(tree.problems),
            json_text(problem_report(tree), None),
            render_sarif(tree.problems),
        ):
            text.encode("utf-8")
        try:
            list(yaml.parse(data, Loader=yaml.CSafeLoader))
        except yaml.YAMLError:
            assert errors(tree), case


@pytest.fixture(scope="module")
def schema() -> jsonschema.Draft202012Validator:
    """The JSON Schema that editors use."""
    text = (ROOT / "schemas" / "policy.schema.json").read_text(encoding="utf-8")
    return jsonschema.Draft202012Validator(json.loads(text))


@pytest.mark.parametrize("first", range(0, CASES // 5, CHUNK))
def test_what_the_schema_refuses_has_a_problem(first: int, schema: jsonschema.Draft202012Validator) -> None:
    """The published schema is never stricter than the reader: a document of ours that fails it has an error."""
    for case in range(first, min(first + CHUNK, CASES // 5)):
        data = _damaged(case)
        tree = read_tree({"a.yaml": data}, now_seconds=NOW)
        if errors(tree):
            continue
        for document in yaml.load_all(data, Loader=yaml.CSafeLoader):
            if isinstance(document, dict) and str(document.get("apiVersion")).startswith("reconciler.dev/"):
                plain = json.loads(json.dumps(document, default=lambda value: value.isoformat() + "Z"))
                assert [error.message for error in schema.iter_errors(plain)] == [], case
