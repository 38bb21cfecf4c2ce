"""Windows by the clock of a place: over midnight, and over the nights in which that clock is changed.

Berlin goes from UTC+1 to UTC+2 on 2027-03-28 at 01:00 UTC, and back on 2026-10-25 at 01:00 UTC.
"""

from datetime import datetime

import pytest

from reconciler.policy.documents import Size, Window
from tests.builders import ClusterBuilder, node_group, policy
from tests.decisions.deciding import group, plan_of

NIGHT = Window(name="night", schedule="0 22 * * *", time_zone="Europe/Berlin", duration_seconds=8 * 3600, size=Size(min=3))


def _seconds(at: str) -> int:
    return int(datetime.fromisoformat(at).timestamp())


def _minimum(at: int, *windows: Window) -> int:
    cluster = ClusterBuilder()
    cluster.group("general", nodes=3)
    rules = policy(node_group("general", min=1, windows=windows))
    return group(plan_of(cluster.world(), rules, now=at), "general").min


@pytest.mark.parametrize(
    ("opens", "closes"),
    [
        ("2027-01-14T21:00:00+00:00", "2027-01-15T05:00:00+00:00"),
        ("2026-07-14T20:00:00+00:00", "2026-07-15T04:00:00+00:00"),
        ("2027-03-27T21:00:00+00:00", "2027-03-28T05:00:00+00:00"),
        ("2026-10-24T20:00:00+00:00", "2026-10-25T04:00:00+00:00"),
    ],
    ids=["winter", "summer", "the night that lacks an hour", "the night that has one more"],
)
def test_a_night_of_eight_hours(opens: str, closes: str) -> None:
    """From 22:00 in Berlin for eight hours that really pass, over midnight; its last second is in it, its end is not."""
    start, end = _seconds(opens), _seconds(closes)
    assert end - start == 8 * 3600
    instants = (start - 1, start, start + 4 * 3600, end - 1, end)
    found = [_minimum(at, NIGHT) for at in instants]
    assert found == [1, 3, 3, 3, 1]


def test_a_start_that_the_night_skips_opens_nothing() -> None:
    """02:30 does not happen in Berlin on 2027-03-28, as a CronJob does not start then; the next night it does."""
    skipped = Window(name="batch", schedule="30 2 * * *", time_zone="Europe/Berlin", duration_seconds=1800, size=Size(min=3))
    assert _minimum(_seconds("2027-03-28T01:30:00+00:00"), skipped) == 1
    assert _minimum(_seconds("2027-03-28T00:45:00+00:00"), skipped) == 1
    assert _minimum(_seconds("2027-03-29T00:30:00+00:00"), skipped) == 3


def test_working_days_are_those_of_the_place() -> None:
    """Monday 07:00 in Auckland is Sunday evening in UTC."""
    day = Window(name="day", schedule="0 7 * * mon-fri", time_zone="Pacific/Auckland", duration_seconds=3600, size=Size(min=3))
    assert _minimum(_seconds("2027-01-17T18:30:00+00:00"), day) == 3
    assert _minimum(_seconds("2027-01-16T18:30:00+00:00"), day) == 1


def test_a_window_never_lowers_the_minimum() -> None:
    """Open at once: a smaller minimum, a larger one and none at all beside a group's own of 2, in any order."""
    at = _seconds("2027-01-15T08:00:00+00:00")
    smaller, larger, none = (
        Window(name=f"w{number}", schedule="0 7 * * *", duration_seconds=7200, size=Size(min=least))
        for number, least in enumerate((1, 4, None))
    )
    cluster = ClusterBuilder()
    cluster.group("general", nodes=4)

    def least(*windows: Window) -> int:
        rules = policy(node_group("general", min=2, windows=windows))
        return group(plan_of(cluster.world(), rules, now=at), "general").min

    assert [least(smaller), least(none), least(larger)] == [2, 2, 4]
    assert least(smaller, larger, none) == least(none, larger, smaller) == 4
