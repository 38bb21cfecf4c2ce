"""One parser of durations, and everything that holds its grammar beside it."""

import re
from fractions import Fraction

import pytest

from reconciler.cluster.targets.target_options import read_options
from reconciler.policy.field import Field, Kind
from reconciler.rendering.schemas.scalar_schema import scalar_schema
from reconciler.values.duration import MAX_LENGTH, DurationError, duration_text, exact_seconds, parse_duration
from tests.grammars.durations import DURATIONS, SECOND

IDS = [f"{number}-{text[:24]!a}" for number, (text, _) in enumerate(DURATIONS)]


@pytest.mark.parametrize(("text", "nanoseconds"), DURATIONS, ids=IDS)
def test_policies_take_the_whole_seconds_of_go(text: str, nanoseconds: int | None) -> None:
    """What Go cannot read, and what is no whole number of seconds, is refused with a hint that is short."""
    if nanoseconds is None or nanoseconds % SECOND:
        with pytest.raises(DurationError) as refused:
            parse_duration(text)
        assert len(str(refused.value)) + len(refused.value.hint) < 300
    else:
        assert parse_duration(text) == nanoseconds // SECOND


@pytest.mark.parametrize(("text", "nanoseconds"), DURATIONS, ids=IDS)
def test_objects_take_every_duration_of_go(text: str, nanoseconds: int | None) -> None:
    """A target's option is rounded to whole seconds, half a second up; one below zero is refused."""
    options, problems = read_options([("x/scaledownunneededtime", text)], "x/")
    if nanoseconds is None:
        with pytest.raises(DurationError):
            exact_seconds(text)
        assert not options
        assert "invalid duration" in problems[0]
    else:
        assert exact_seconds(text) == Fraction(nanoseconds, SECOND)
        assert [one.value for one in options] == ([] if nanoseconds < 0 else [(nanoseconds + SECOND // 2) // SECOND])
        assert bool(problems) == (nanoseconds < 0 or nanoseconds % SECOND != 0)


@pytest.mark.parametrize(("text", "nanoseconds"), DURATIONS, ids=IDS)
def test_the_schema_takes_every_duration_from_zero(text: str, nanoseconds: int | None) -> None:
    """But for a lone zero with a sign. It takes more: a pattern does not count, and the reader refuses the rest."""
    schema = scalar_schema(Field(yaml_key="for", kind=Kind.DURATION, description="How long."))
    longest, pattern = schema["maxLength"], schema["pattern"]
    assert isinstance(pattern, str)
    taken = len(text) <= MAX_LENGTH == longest and re.search(pattern, text) is not None
    assert taken or nanoseconds is None or text.startswith("-") or text == "+0"
    assert not (taken and text.startswith("-"))


def test_what_is_printed_is_read_back() -> None:
    """Every whole number of seconds in the table."""
    for _, nanoseconds in DURATIONS:
        if nanoseconds is not None and nanoseconds % SECOND == 0:
            assert parse_duration(duration_text(nanoseconds // SECOND)) == nanoseconds // SECOND
