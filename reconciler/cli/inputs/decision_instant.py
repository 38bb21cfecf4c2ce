"""The instant that `--now` names."""

from reconciler.cli.outputs.failure import InputError
from reconciler.values.instant import InstantError, parse_instant
from reconciler.values.two_sentences import two_sentences

# Windows and budgets look a year back and years ahead of the decision, and calendars end with the year 9999.
_EARLIEST, _LATEST = "1970-01-01T00:00:00Z", "2999-12-31T23:59:59Z"


def decision_instant(text: str) -> int:
    """`text` (RFC 3339) as Unix seconds. Raises `InputError` for an invalid instant, or one outside the years 1970 to 2999."""
    try:
        seconds = parse_instant(text)
    except InstantError as error:
        raise InputError(two_sentences(f"--now: {error}", error.hint)) from None
    if not parse_instant(_EARLIEST) <= seconds <= parse_instant(_LATEST):
        raise InputError(f"--now: {text!r} is out of range. Write an instant from {_EARLIEST} to {_LATEST}")
    return seconds
