"""The annotation `reconciler.dev/hold`: a reason in words, and after it, optionally, when the hold ends. `recovering node h100-3;
until 2026-11-21T18:00:00Z` ends by itself. A person may write any other text in an emergency. Such a text is a reason, and it
holds until somebody removes the annotation.
"""

import msgspec

from reconciler.values.instant import InstantError, parse_instant

_UNTIL = "; until "
_BLANKS = "\t\n\f\r "
HOLD_END = (
    r"[\t\n\f\r ]*"
    r"(?:(?:[0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)"
    r"-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))"
    r"|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)-02-29)"
    r"[Tt](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
    r"(?:(?:[.][0-9]{1,43})?[Zz]|(?:[.][0-9]{1,38})?[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
    r"[\t\n\f\r ]*"
)
"""The text that may follow `; until `, for RE2: what `parse_instant` accepts, with blanks around it. The admission policy
`reconciler-targets` has this expression, so that the API server reads a hold as we do. One difference remains: it accepts an
offset that leaves the years 1 to 9999, which here does not end a hold."""


class HoldMark(msgspec.Struct, frozen=True, kw_only=True):
    """A hold as written on a target. `until_seconds` is Unix time, None: until it is taken off."""

    reason: str
    until_seconds: int | None = None

    def holds(self, now_seconds: int) -> bool:
        """Whether it is in force; it is over at the instant that it names."""
        return self.until_seconds is None or self.until_seconds > now_seconds


def read_hold(text: str) -> HoldMark | None:
    """The hold in the annotation's value; None without one. An invalid end becomes part of the reason, so a typing mistake holds
    too long rather than not at all."""
    if not text:
        return None
    reason, separator, until = text.rpartition(_UNTIL)
    if not (separator and reason):
        return HoldMark(reason=text)
    try:
        return HoldMark(reason=reason, until_seconds=parse_instant(until.strip(_BLANKS)))
    except InstantError:
        return HoldMark(reason=text)


def hold_text(reason: str, until: str = "") -> str:
    """The annotation's value; `until` in RFC 3339, empty: no end."""
    return f"{reason}{_UNTIL}{until}" if until else reason


def without_reason(text: str, hidden: str) -> str:
    """The value with its words hidden: that it holds, and until when, stays."""
    mark = read_hold(text)
    if mark is None or mark.until_seconds is None:
        return hidden if text else text
    return hold_text(hidden, text.rpartition(_UNTIL)[2])
