"""No comment divides a file of the product into parts: a part with a heading of its own is a file of its own."""

import re
from pathlib import Path

PRODUCT = Path(__file__).resolve().parents[1] / "reconciler"
HEADING = re.compile(r"(?<=\n\n)(?:#.*\n)+(?=\n)")
FORMATS = {"policy/policy_test.py", "simulation/scenarios/scenario.py"}
"""Their comment shows the whole form of the file that they read."""


def test_no_comment_is_a_heading() -> None:
    found = {
        str(file.relative_to(PRODUCT)): match[0].splitlines()[0]
        for file in sorted(PRODUCT.rglob("*.py"))
        if (match := HEADING.search(file.read_text("utf-8"))) is not None
    }
    assert {name: line for name, line in found.items() if name not in FORMATS} == {}
    assert found.keys() >= FORMATS


def test_what_is_a_heading() -> None:
    assert HEADING.search('"""A."""\n\nA = 1\n\n# How B works.\n# In two lines.\n\nB = 2\n')
    assert not HEADING.search('"""A."""\n\nA = 1\n\n# Why B is two.\nB = 2\n')
