"""Durations: expected values by hand from the documentation of Go's time.ParseDuration."""

import pytest

from reconciler.values.duration import DurationError, duration_text, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("0s", 0),
        ("90s", 90),
        ("10m", 600),
        ("1h30m", 5400),
        ("1.5h", 5400),
        (".5m", 30),
        ("1500ms500ms", 2),
        ("1000000us", 1),
        ("1000000µs", 1),
        ("1000000000ns", 1),
        ("30m1h", 5400),
        ("+5m", 300),
        ("-5m", -300),
        ("2562047h47m16s", 9_223_372_036),
    ],
)
def test_whole_seconds(text: str, seconds: int) -> None:
    """A duration is read into whole seconds."""
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "5", "m", "1d", "1 h", "1h ", "1H", "1.5.5s", "1m-5s", "1500ms", "2562048h", "\u0661s"])
def test_what_is_no_duration(text: str) -> None:
    """Days, bare numbers, blanks and fractions of a second are refused."""
    with pytest.raises(DurationError):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "hint"),
    [("2d", "write 48h"), ("1 week", "write 168h"), ("5 min", "write 5m"), ("90sec", "write 90s"), ("1500ms", "write 2s")],
)
def test_hints_say_what_to_write(text: str, hint: str) -> None:
    """The usual slips get the right text."""
    with pytest.raises(DurationError) as caught:
        parse_duration(text)
    assert caught.value.hint.endswith(hint)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0s"), (90, "1m30s"), (600, "10m"), (5400, "1h30m"), (86400, "24h"), (-60, "-1m")]
)
def test_the_shortest_form_is_printed(seconds: int, text: str) -> None:
    """Printing is the inverse of reading, in the largest units."""
    assert duration_text(seconds) == text
    assert parse_duration(text) == seconds
