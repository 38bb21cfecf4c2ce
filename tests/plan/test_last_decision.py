"""What a Lease says about the last decision: late from a minute after the period, by the clock of who wrote it alone."""

import json

import pytest

from reconciler.plan.last_decision import ANNOTATION, LastDecision, last_decision, told

NOW = 1_800_000_000  # 2027-01-15T08:00:00Z
REFUSED = "Node: broken (https://10.0.0.1:6443 does not answer: Connection refused)"
FORBIDDEN = "Pod: waiting (403 Forbidden)"
SINCE = "not decided since 2027-01-15T07:56:58Z"


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"at": NOW - 70, "period": 10}, ""),
        ({"at": NOW - 71, "period": 10}, "not decided since 2027-01-15T07:58:49Z"),
        ({"at": NOW - 182, "period": 10, "why": REFUSED, "away": True}, f"does not answer, {SINCE}: {REFUSED}"),
        ({"at": NOW - 182, "period": 10, "why": FORBIDDEN}, f"{SINCE}: {FORBIDDEN}"),
        ({"at": NOW - 182, "period": 300}, ""),
        ({"began": NOW - 60, "why": "x"}, ""),
        ({"began": NOW - 61, "why": "x"}, "never decided, and not since 2027-01-15T07:58:59Z: x"),
        ({}, ""),
    ],
)  # fmt: skip
def test_when_a_decision_is_too_old(fields: dict[str, object], sentence: str) -> None:
    record = LastDecision(told=NOW, **fields)
    assert (record.sentence(), bool(record.since)) == (sentence, bool(sentence))


def _told(before: LastDecision | None, at: int = 0, now: int = NOW, why: str = "") -> LastDecision | None:
    return last_decision(told(before, now_seconds=now, at_seconds=at, period_seconds=10, why=why, away=False))


def test_what_an_earlier_holder_decided_counts() -> None:
    """The next one says since when there is no decision, not since when it holds the loop."""
    assert _told(LastDecision(told=NOW - 5, at=NOW - 100)) == LastDecision(told=NOW, at=NOW - 100, period=10)
    assert _told(LastDecision(told=NOW - 5, at=NOW - 100), at=NOW - 2) == LastDecision(told=NOW, at=NOW - 2, period=10)
    assert _told(LastDecision(told=NOW - 5, began=NOW - 50)) == LastDecision(told=NOW, began=NOW - 50, period=10)
    assert _told(None) == LastDecision(told=NOW, began=NOW, period=10)


def test_an_earlier_clock_that_was_ahead() -> None:
    """Its decision counts as one of now, so that the age grows from here."""
    assert _told(LastDecision(told=NOW + 3600, at=NOW + 3600)) == LastDecision(told=NOW, at=NOW, period=10)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"told": "x"}'])
def test_an_annotation_that_cannot_be_read(text: str) -> None:
    assert last_decision({ANNOTATION: text}) is None
    assert last_decision({}) is None


@pytest.mark.parametrize("field", ["told", "at", "began", "period"])
@pytest.mark.parametrize("number", ["1000000000000", "-1000000000000", "-1", "1e30", "18446744073709551616"])
def test_an_instant_outside_of_any_calendar_is_nothing(field: str, number: str) -> None:
    """Nobody who shows it fails on it."""
    text = "".join(f', "{name}": {number if name == field else 5}' for name in ("told", "at", "began", "period"))
    assert last_decision({ANNOTATION: f"{{{text[1:]}}}"}) is None


def test_a_long_reason_is_cut() -> None:
    """A Lease is written every two seconds."""
    (text,) = told(None, now_seconds=NOW, at_seconds=0, period_seconds=10, why="x" * 10_000, away=True).values()
    assert len(json.loads(text)["why"]) == 500
