"""Patterns from a pull request can be matched in bounded time."""

import time

import pytest

from reconciler.policy.values.pattern import PatternError, check_pattern, matches


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


@pytest.mark.parametrize("text", [r"(x)\1", "(?=a)", "(?<!a)b", "(?P<n>a)(?P=n)", "a" * 257, "a{1001}", "((a{2,255}){255})"])
def test_what_no_linear_engine_matches_is_refused(text: str) -> None:
    """Look-around, back references, and repeats that would have to be spelled out."""
    with pytest.raises(PatternError) as caught:
        check_pattern(text)
    assert caught.value.code in ("CostlyRegex", "BadRegex")


RUNAWAYS = [
    "[a-z]*[a-z]*[a-z]*!", "(a+)+$", "(a|a)*$", "(a*)*b", "((a?){8}){8}!", "(a?b?)+c", ".*.*.*.*x", "a?" * 30 + "a" * 30 + "!",
    "(a|aa)" * 20 + "!", "(?:a{1,100}){1,5}!",
]  # fmt: skip


@pytest.mark.parametrize("pattern", RUNAWAYS)
def test_time_grows_with_the_name_and_no_faster(pattern: str) -> None:
    """Ten times the length takes nowhere near a hundred times as long, on patterns that make other engines run away."""
    check_pattern(pattern)
    matches(pattern, "a")
    short, long = (least_seconds(pattern, "a" * length) for length in (2_000, 20_000))
    assert long < 40 * short + 1e-4


def least_seconds(pattern: str, text: str) -> float:
    found = []
    for _ in range(7):
        began = time.process_time()
        for _ in range(5):
            matches(pattern, text)
        found.append(time.process_time() - began)
    return min(found)
