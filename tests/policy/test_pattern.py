"""Patterns from a pull request can be matched in bounded time."""

import pytest

from reconciler.policy.values.pattern import PatternError, check_pattern


@pytest.mark.parametrize(
    "text", ["^h100-", "spot", "^(prod|dev)-.*", "a{2}b?", r"gpu-\d+$", "[]a]+", "(ab)?", "x{", "^(?:a|b|c)$", "a.*b.*"]
)
def test_ordinary_patterns_pass(text: str) -> None:
    """What names are matched with is allowed."""
    check_pattern(text)


@pytest.mark.parametrize("text", ["(", "[", "*a", "a**", "\\", "(?P<1>a)", "a{3,1}", "[[a]"])
def test_what_does_not_compile(text: str) -> None:
    """A broken pattern is a problem, not an exception; so is one that Python merely warns about."""
    with pytest.raises(PatternError) as caught:
        check_pattern(text)
    assert caught.value.code == "BadRegex"


@pytest.mark.parametrize(
    "text",
    [
        "(a+)+$",
        "(a|a)*$",
        "(a*)*",
        "((a?){8}){8}",
        "(a?b?)+",
        r"(x)\1",
        "(?=a)",
        "(?i)a",
        ".*.*.*.*x",
        "a?" * 30 + "a" * 30,
        "(a|aa)" * 20,
        "a" * 257,
        "a{1000}",
        "(){99}{99}",
        "((a{2}){2})",
    ],
)
def test_patterns_that_could_run_away(text: str) -> None:
    """Nested repeats, overlapping alternatives, look-around and back references are refused."""
    with pytest.raises(PatternError) as caught:
        check_pattern(text)
    assert caught.value.code in ("CostlyRegex", "BadRegex")
