"""Problems as text, JSON, SARIF and GitHub annotations."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from reconciler.policy.place import Place
from reconciler.policy.policy_tree import PolicyTree
from reconciler.policy.problems.problem import Problem, Severity
from reconciler.rendering.documents.problems import problem_report
from reconciler.rendering.printers.annotations import render_github
from reconciler.rendering.printers.json_text import json_text
from reconciler.rendering.printers.problem_lines import MAX_CELLS, render_problem, render_text
from reconciler.rendering.printers.sarif import render_sarif
from reconciler.rendering.printers.tree_summary import summary_line
from tests.policy.texts import read

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "policy"


def _problem(**changes: Any) -> Problem:
    values: dict[str, Any] = {
        "place": Place("prod/a.yaml", 14, 5),
        "code": "MinAboveMax",
        "message": "size.min 5 is above size.max 3",
        "hint": "lower min",
        "source": "    min: 5",
        "width": 6,
        "related": ((Place("prod/a.yaml", 15, 5), "size.max is 3"),),
    }
    return Problem(**values | changes)


def test_text_is_laid_out_as_a_compiler_does() -> None:
    """Place, severity, sentence, code; source line; carets below it; hint; related place."""
    assert render_problem(_problem()) == (
        "prod/a.yaml:14:5: error: size.min 5 is above size.max 3 [MinAboveMax]\n"
        " 14 |     min: 5\n"
        "    |     ^^^^^^\n"
        "    = hint: lower min\n"
        "    = see prod/a.yaml:15:5: size.max is 3\n"
    )


def test_color_is_only_where_it_is_asked_for() -> None:
    """Red for errors, yellow for warnings, nothing without the flag."""
    assert "\x1b" not in render_text((_problem(),))
    assert "\x1b[1;31merror:\x1b[0m" in render_text((_problem(),), color=True)
    assert "\x1b[1;33mwarning:\x1b[0m" in render_text((_problem(severity=Severity.WARNING),), color=True)


def test_carets_stand_below_wide_and_combining_characters() -> None:
    """A CJK character takes two cells, a combining accent none."""
    lines = render_problem(_problem(source='漢e\u0301: "x"', place=Place("a", 1, 6), width=3)).splitlines()
    assert lines[1] == ' 1 | 漢e\u0301: "x"'
    assert lines[2] == "   |      ^^^"


def test_a_long_line_is_cut_around_the_caret() -> None:
    """Far to the right, both ends of the line are left out and the carets still fit."""
    source = "x" * 500 + "HERE" + "y" * 500
    _, shown, carets, *_ = render_problem(_problem(source=source, place=Place("a", 1, 501), width=4)).splitlines()
    assert len(shown) <= MAX_CELLS + 7
    assert shown[carets.index("^") : carets.index("^") + 4] == "HERE"
    assert carets.count("^") == 4


def test_text_of_a_policy_cannot_drive_the_terminal() -> None:
    """Escape sequences and direction overrides in source, message and path come out as a replacement character."""
    text = render_problem(
        _problem(source="a: \x1b[2J\u202e", message="\x1b]0;x\x07", place=Place("\x1b.yaml", 1, 1), hint="\x9b")
    )
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(text)


def test_a_blank_source_line_is_left_out() -> None:
    """A problem past the end of a text has a place and nothing to show."""
    assert render_problem(_problem(source="", hint="", related=())) == (
        "prod/a.yaml:14:5: error: size.min 5 is above size.max 3 [MinAboveMax]\n"
    )


def test_github_annotations_are_escaped() -> None:
    """Line breaks, percent signs, colons and commas cannot end a property or start another command."""
    problem = _problem(place=Place("a,b:c.yaml", 1, 2), message="100% of\r\n::error::x", hint="", related=(), width=3)
    assert render_github((problem,)) == (
        "::error file=a%2Cb%3Ac.yaml,line=1,endLine=1,col=2,endColumn=5,title=MinAboveMax::100%25 of%0D%0A::error::x\n"
    )


def test_github_shows_hint_and_related_places() -> None:
    """They are further lines of the message; a warning is a warning."""
    (line,) = render_github((_problem(severity=Severity.WARNING),)).splitlines()
    assert line.startswith("::warning file=prod/a.yaml,line=14,")
    assert line.endswith("::size.min 5 is above size.max 3%0Ahint: lower min%0Asee prod/a.yaml:15:5: size.max is 3")


def test_json_has_everything() -> None:
    """Counts, and each problem with its place, range, code, hint and related places."""
    tree = PolicyTree(sets=(), problems=(_problem(),), skipped=(("v1/Secret", 2),), files=3, policies=1, groups=4)
    report = json.loads(json_text(problem_report(tree), None))
    assert report == {
        "formatVersion": "1.0",
        "files": 3,
        "policies": 1,
        "groups": 4,
        "errors": 1,
        "warnings": 0,
        "skipped": {"v1/Secret": 2},
        "notes": [],
        "problems": [
            {
                "file": "prod/a.yaml",
                "line": 14,
                "column": 5,
                "endColumn": 11,
                "severity": "error",
                "code": "MinAboveMax",
                "message": "size.min 5 is above size.max 3",
                "hint": "lower min",
                "source": "    min: 5",
                "related": [{"file": "prod/a.yaml", "line": 15, "column": 5, "message": "size.max is 3"}],
            }
        ],
    }


@pytest.fixture(scope="module")
def sarif_schema() -> jsonschema.Draft4Validator:
    """The JSON schema that OASIS publishes for SARIF 2.1.0 with errata 01."""
    schema = json.loads((FIXTURES / "sarif-schema-2.1.0.json").read_text(encoding="utf-8"))
    return jsonschema.Draft4Validator(schema)


@pytest.mark.parametrize(
    "name", ["complete", "min-above-max", "budgets", "direction-override", "not-utf8", "limit-below-minimums"]
)
def test_sarif_is_valid(name: str, sarif_schema: jsonschema.Draft4Validator) -> None:
    """The log of a tree with and without problems satisfies the published schema."""
    tree = read((FIXTURES / f"{name}.yaml").read_bytes(), f"prod/ä {name}.yaml")
    log = json.loads(render_sarif(tree.problems))
    assert [error.message for error in sarif_schema.iter_errors(log)] == []
    assert len(log["runs"][0]["results"]) == len(tree.problems)


def test_a_sarif_result_points_at_its_place() -> None:
    """Region, rule, level, encoded path, and the hint in the message."""
    run = json.loads(render_sarif((_problem(place=Place("a b.yaml", 14, 5)), _problem(code="Tab", hint=""))))["runs"][0]
    first, second = run["results"]
    assert first["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "a%20b.yaml"}
    assert first["locations"][0]["physicalLocation"]["region"] == {"startLine": 14, "startColumn": 5, "endColumn": 11}
    assert first["message"]["text"] == "size.min 5 is above size.max 3 (lower min)"
    assert first["relatedLocations"][0]["message"]["text"] == "size.max is 3"
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["MinAboveMax", "Tab"]
    assert second["ruleIndex"] == 1
    assert first["partialFingerprints"] != second["partialFingerprints"]


@pytest.mark.parametrize(
    ("tree", "line"),
    [
        (PolicyTree(sets=(), files=3, policies=1, groups=4), "3 files, 1 policy, 4 groups: no problems"),
        (PolicyTree(sets=(), problems=(_problem(),), files=1), "1 file, 0 policies, 0 groups: 1 error"),
        (
            PolicyTree(sets=(), problems=(_problem(severity=Severity.WARNING),) * 2, files=1, policies=2, skipped=(("v1/X", 1),)),
            "1 file, 2 policies, 0 groups (1 document of other kinds skipped): 2 warnings",
        ),
    ],
)
def test_the_summary_line(tree: PolicyTree, line: str) -> None:
    """What was read, and how many problems there are."""
    assert summary_line(tree) == line
