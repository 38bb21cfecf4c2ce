"""Texts as whole numbers: ASCII digits alone, and one function that reads them."""

import re
from pathlib import Path

import pytest

import reconciler
from reconciler.values.whole_number import whole_number


@pytest.mark.parametrize(("text", "number"), [
    ("0", 0), ("007", 7), ("9" * 18, 10**18 - 1), ("9" * 19, None), ("9" * 5000, None), ("²", None), ("٣", None), ("", None),
    ("-1", None), ("+1", None), ("1_0", None), (" 1", None), ("1\n", None), ("1.0", None),
])  # fmt: skip
def test_whole_numbers(text: str, number: int | None) -> None:
    """Anything but digits of ASCII, and more than fit 64 bits, is none."""
    assert whole_number(text) == number


def test_nothing_else_tells_digits() -> None:
    """`str.isdigit` accepts texts that `int` refuses."""
    root = Path(reconciler.__file__).parent
    callers = [
        str(file.relative_to(root))
        for file in root.rglob("*.py")
        if re.search(r"\.is(digit|decimal|numeric)\(", file.read_text())
    ]
    assert callers == []
