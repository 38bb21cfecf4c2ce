"""The hold annotation: a reason, and when it is over."""

import pytest

from reconciler.cluster.targets.hold_mark import HoldMark, hold_text, read_hold

SIX = 1_795_284_000
"""2026-11-21T18:00:00Z, by `date -d … +%s`."""


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("recovering; until 2026-11-21T18:00:00Z", HoldMark(reason="recovering", until_seconds=SIX)),
        ("recovering; until 2026-11-21T19:00:00+01:00", HoldMark(reason="recovering", until_seconds=SIX)),
        ("recovering; until Monday", HoldMark(reason="recovering; until Monday")),
        ("a; until b; until 2026-11-21T18:00:00Z", HoldMark(reason="a; until b", until_seconds=SIX)),
        ("x", HoldMark(reason="x")),
        ("", None),
    ],
)
def test_what_is_read(text: str, mark: HoldMark | None) -> None:
    """An end that cannot be read holds for ever: too long rather than not at all."""
    assert read_hold(text) == mark


def test_it_is_over_at_its_instant() -> None:
    """Not a second later."""
    mark = read_hold(hold_text("x", "2026-11-21T18:00:00Z"))
    assert mark is not None
    assert (mark.holds(SIX - 1), mark.holds(SIX)) == (True, False)
