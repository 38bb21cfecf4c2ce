"""When two recurring windows are open together."""

from datetime import datetime

import pytest

from reconciler.policy.checks.overlap import Overlaps
from reconciler.policy.documents import Window

NOW = int(datetime.fromisoformat("2026-11-21T12:00:00+00:00").timestamp())
HOUR = 3600


def _window(schedule: str, hours: float, zone: str = "Europe/Berlin") -> Window:
    return Window(schedule=schedule, time_zone=zone, duration_seconds=int(hours * HOUR))


@pytest.mark.parametrize(
    ("one", "other", "instant"),
    [
        # Back to back is no overlap, one second more is.
        (_window("0 7 * * *", 12, "Etc/UTC"), _window("0 19 * * *", 12, "Etc/UTC"), None),
        # In Berlin the night of 28 March 2027 loses an hour, so a 12 h window from 19:00 ends at 08:00.
        (_window("0 7 * * *", 12), _window("0 19 * * *", 12), "2027-03-28T05:00:00+00:00"),
        (_window("0 7 * * *", 12.5), _window("0 19 * * *", 12), "2026-11-21T18:00:00+00:00"),
        # A Friday night window reaches into Saturday morning.
        (_window("0 22 * * fri", 10), _window("0 6 * * sat", 1), "2026-11-28T05:00:00+00:00"),
        (_window("0 22 * * fri", 8), _window("0 6 * * sat", 1), None),
        # Zones: 07:00 in New York is 13:00 in Berlin, except while only one of them has changed its clocks.
        (_window("0 12 * * *", 1), _window("0 7 * * *", 1, "America/New_York"), "2027-03-14T11:00:00+00:00"),
        # Days that rarely meet: 29 February is a Tuesday in 2028.
        (_window("0 0 29 2 *", 24), _window("30 23 * * tue", 0.5), "2028-02-29T22:30:00+00:00"),
        # Open now.
        (_window("0 0 * * *", 24), _window("0 12 * * *", 6), "2026-11-21T12:00:00+00:00"),
        # Many short ones against a rare long one.
        (_window("7-59/10 * * * *", 0.01), _window("0 0 1 1 *", 0.2), "2026-12-31T23:07:00+00:00"),
    ],
)
def test_first_overlap(one: Window, other: Window, instant: str | None) -> None:
    """The first instant from now at which both are open, whichever comes first in the call."""
    expected = None if instant is None else int(datetime.fromisoformat(instant).timestamp())
    assert Overlaps(NOW).first(one, other) == expected
    assert Overlaps(NOW).first(other, one) == expected
