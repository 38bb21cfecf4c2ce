"""What `validate` says of windows: when they open, between which dates, and whether they set anything."""

import random
import secrets
from datetime import datetime

import pytest

from reconciler.policy.checks.overlap import Overlaps
from reconciler.policy.documents import Window
from reconciler.policy.tree import read_tree
from reconciler.policy.windows import next_opening, window_closes_at, window_edges

NOW = int(datetime.fromisoformat("2026-11-21T12:00:00+00:00").timestamp())
HOUR, DAY = 3600, 86400
GROUP = """\
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {{name: prod}}
spec: {{}}
---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {{name: a, namespace: r}}
spec:
  policyRef: {{name: prod}}
  target: {{clusterAPI: {{kind: MachineDeployment, namespace: r, name: a}}}}
  size: {{min: 1, max: 10}}
  windows: [{{{window}}}]
"""
SALE = 'from: "2026-11-27T00:00:00Z", until: "2026-12-01T00:00:00Z"'


@pytest.mark.parametrize(
    ("window", "code", "text"),
    [
        (f"{SALE}, size: {{min: 3}}", "", ""),
        (f'{SALE}, schedule: "0 8 * * *", duration: 1h, size: {{min: 3}}', "", ""),
        ('schedule: "0 8 * * *", duration: 1h, scaleDown: {unneededTime: 1m}', "", ""),
        (f"{SALE}, scaleDown: {{consolidation: {{mode: Enabled}}}}", "", ""),
        ("size: {min: 3}", "NeverOpens", "neither a schedule nor both dates"),
        ('from: "2026-11-27T00:00:00Z", size: {min: 3}', "NeverOpens", "neither a schedule nor both dates"),
        ('from: "2026-12-02T00:00:00Z", until: "2026-12-01T00:00:00Z", size: {min: 3}', "NeverOpens", "is not after from"),
        ('from: "2026-11-01T00:00:00Z", until: "2026-11-21T12:00:00Z", size: {min: 3}', "ExpiredWindow", "for the last time"),
        ('schedule: "0 8 * * *", size: {min: 3}', "ScheduleWithoutDuration", "a schedule without a duration"),
        (f"{SALE}, duration: 1h, size: {{min: 3}}", "DurationWithoutSchedule", "a duration without a schedule"),
        (f"{SALE}, timeZone: Europe/Berlin, size: {{min: 3}}", "TimeZoneWithoutSchedule", "has no effect"),
        (SALE, "EmptyWindow", "neither size nor scaleDown"),
        (f"{SALE}, size: {{}}", "EmptyWindow", "sets no bound"),
        (f"{SALE}, size: {{min: 1}}", "IdleWindow", "changes nothing"),
        (f"{SALE}, size: {{min: 1}}, scaleDown: {{unneededTime: 1m}}", "", ""),
        (f"{SALE}, size: {{min: 11}}", "MinAboveMax", "whenever the window is open"),
    ],
)
def test_findings_of_windows(window: str, code: str, text: str) -> None:
    tree = read_tree({"a.yaml": GROUP.format(window=window).encode()}, now_seconds=NOW)
    findings = [(one.code, one.message) for one in tree.problems]
    assert [one[0] for one in findings] == ([code] if code else [])
    assert all(text in message for _, message in findings)


def _window(*dates: int | None, schedule: str = "", hours: int | None = None) -> Window:
    begins, ends = (None if date is None else NOW + date * HOUR for date in dates)
    seconds = None if hours is None else hours * HOUR
    return Window(schedule=schedule, duration_seconds=seconds, from_seconds=begins, until_seconds=ends)


@pytest.mark.parametrize(
    ("one", "other", "hours"),
    [
        (_window(0, 2), _window(1, 3), 1),
        (_window(0, 2), _window(2, 3), None),
        (_window(-5, -1), _window(-5, 9), None),
        (_window(-5, 1), _window(-6, 9), 0),
        (_window(1, 9), _window(None, None, schedule="0 15 * * *", hours=1), 3),  # 15:00
        (_window(1, 3), _window(None, None, schedule="0 15 * * *", hours=1), None),
        (_window(1, 9), _window(5, None, schedule="0 15 * * *", hours=4), 5),  # open since 15:00, by date from 17:00
        (
            _window(None, 20, schedule="0 15 * * *", hours=1),
            _window(None, None, schedule="0 15 * * sun", hours=1),
            None,  # 2026-11-22 is a Sunday, 27 hours from now
        ),
        (_window(None, 30, schedule="0 15 * * *", hours=1), _window(None, None, schedule="0 15 * * sun", hours=1), 27),
        # The first has been open since 09:00 of today and stays open. The second opened at 10:00, and again at 15:00.
        (_window(None, None, schedule="0 9 * * *", hours=25), _window(None, None, schedule="0 10,15 * * *", hours=1), 3),
    ],
)
def test_first_overlap_within_dates(one: Window, other: Window, hours: int | None) -> None:
    """In hours from now, whichever comes first in the call."""
    expected = None if hours is None else NOW + hours * HOUR
    assert Overlaps(NOW).first(one, other) == expected
    assert Overlaps(NOW).first(other, one) == expected


@pytest.mark.parametrize(
    ("window", "after", "opens"),
    [
        (_window(2, 4), 0, 2),
        (_window(2, 4), 2, None),
        (_window(None, None, schedule="0 15 * * *", hours=1), 0, 3),
        (_window(None, 3, schedule="0 15 * * *", hours=1), 0, None),
        (_window(4, None, schedule="0 15 * * *", hours=2), 0, 4),  # the span of 15:00 is still open at 16:00
        (_window(5, None, schedule="0 15 * * *", hours=2), 0, 27),
    ],
)
def test_next_opening(window: Window, after: int, opens: int | None) -> None:
    """In hours from now."""
    assert next_opening(window, NOW + after * HOUR) == (None if opens is None else NOW + opens * HOUR)


def _random_window(draw: random.Random) -> Window:
    """Minutes of the next four days; schedules of a few hours, in two zones; sizes do not matter."""
    begins, ends = (NOW + draw.randint(-1440, 5760) * 60 for _ in range(2))
    recurring = draw.random() < 0.6
    hours = f"{draw.randint(0, 23)}{draw.choice(('', '-23/3', ',5', ',13'))}"
    return Window(
        schedule=f"{draw.choice((0, 15, 59))} {hours} * * {draw.choice(('*', 'sun', 'mon-fri'))}" if recurring else "",
        time_zone=draw.choice(("Etc/UTC", "Asia/Kathmandu")),
        duration_seconds=draw.randint(1, 1500) * 60 if recurring else None,
        from_seconds=begins if not recurring or draw.random() < 0.5 else None,
        until_seconds=ends if not recurring or draw.random() < 0.5 else None,
    )


@pytest.mark.parametrize("_", range(60))
def test_edges_and_overlaps_of_random_windows(_: int) -> None:
    """Minute by minute: a window changes only at an edge that was foretold, and the first overlap is the first common minute."""
    seed = secrets.randbits(32)
    draw = random.Random(seed)
    one, other = _random_window(draw), _random_window(draw)
    minutes = range(NOW, NOW + 3 * DAY, 60)
    is_open = [window_closes_at(one, minute) is not None for minute in minutes]
    edge = min(window_edges(one, NOW), default=None)
    for index, minute in enumerate(minutes):
        if edge is not None and minute >= edge:
            edge = min(window_edges(one, minute), default=None)
        elif index:
            assert is_open[index] == is_open[index - 1], (seed, minute)
    common = (minute for minute, now in zip(minutes, is_open, strict=True) if now and window_closes_at(other, minute) is not None)
    first, found = next(common, None), Overlaps(NOW).first(one, other)
    assert first == found or (first is None and found is not None and found >= NOW + 3 * DAY), (seed, one, other)
