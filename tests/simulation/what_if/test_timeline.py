"""The week of windows, budgets and holds: spans counted by hand, and what is shown of them."""

import pytest

from reconciler.decisions.decide import DEFAULT_WORK_BUDGET
from reconciler.gitops.preview import compare
from reconciler.plan.preview import PreviewSide
from reconciler.plan.timeline import Spans, Timeline
from reconciler.policy.documents import Budget, Hold, PolicySet, Size, Window
from reconciler.rendering.printers.html.preview import preview_html
from reconciler.rendering.printers.markdown.preview import preview_markdown
from reconciler.simulation.what_if.timeline import MOST_SPANS, open_spans, timeline
from tests.builders import ClusterBuilder, node_group, policy

HOUR, DAY = 3600, 24 * 3600
FRIDAY = 1_800_000_000 - 1_800_000_000 % DAY
"""2027-01-15, at midnight."""
NOW = FRIDAY + 8 * HOUR
SIDE = PreviewSide(source="policies")


def _week(before: PolicySet, after: PolicySet) -> Timeline | None:
    cluster = ClusterBuilder(NOW)
    cluster.group("a", nodes=1)
    cluster.group("b", nodes=1)
    world = cluster.world()
    return timeline(((world, before), (world, after)), NOW)


def _night(hour: int, hours: int = 8, name: str = "night") -> Window:
    return Window(name=name, schedule=f"0 {hour} * * *", duration_seconds=hours * HOUR, size=Size(max=5))


def _daily(first: int, hours: int) -> Spans:
    return tuple((FRIDAY + day * DAY + first * HOUR, FRIDAY + day * DAY + (first + hours) * HOUR) for day in range(7))


def test_a_window_that_moves() -> None:
    """From 22 to 6 it is open at both ends of the week; from 1 to 9 on each of seven days. Both groups have it."""
    sides = (policy(*(node_group(name, windows=(_night(hour),)) for name in ("a", "b"))) for hour in (22, 1))
    week = _week(*sides)
    assert week is not None
    (track,) = week.tracks
    assert (track.kind, track.name, track.groups) == ("window", "night", ("a", "b"))
    end = FRIDAY + 7 * DAY
    assert track.before[0] == (FRIDAY, FRIDAY + 6 * HOUR)
    assert track.before[1] == (FRIDAY + 22 * HOUR, FRIDAY + 30 * HOUR)
    assert track.before[-1] == (end - 2 * HOUR, end)
    assert len(track.before) == 8
    assert track.after == _daily(1, 8)


def test_holds_and_budgets() -> None:
    """A hold begins now and lasts until its end, or all week. A budget without a schedule has no track."""
    before = policy(node_group("a", hold=Hold(reason="disk", until_seconds=NOW + HOUR)), budgets=(Budget(nodes=1),))
    peak = Budget(name="peak", nodes=0, schedule="0 18 * * *", duration_seconds=4 * HOUR)
    after = policy(node_group("a", hold=Hold(reason="disk")), budgets=(Budget(nodes=1), peak))
    week = _week(before, after)
    assert week is not None
    assert {(one.kind, one.name, one.before, one.after) for one in week.tracks} == {
        ("hold", "", ((NOW, NOW + HOUR),), ((NOW, FRIDAY + 7 * DAY),)),
        ("budget", "peak", (), _daily(18, 4)),
    }


def test_nothing_is_bound_to_a_time() -> None:
    assert _week(policy(node_group("a")), policy(node_group("a", max=3))) is None


@pytest.mark.parametrize(("schedule", "seconds", "spans"), [
    ("* * * * *", 60, 1),
    ("0 0 * * *", 2 * DAY, 1),
    ("0 0 30 2 *", 60, 0),
    ("* * * * *", 30, MOST_SPANS),
])  # fmt: skip
def test_spans_are_bounded(schedule: str, seconds: int, spans: int) -> None:
    """Spans that touch are one; a schedule of every minute with gaps ends at the bound; one that never comes has none."""
    window = Window(schedule=schedule, duration_seconds=seconds)
    assert len(open_spans(window, FRIDAY, FRIDAY + 7 * DAY)) == spans


def test_bars() -> None:
    """A cell is 3 hours: from 22 to 6 are the last cell of a day and the first two of the next. The page has equal ones, too."""
    cluster = ClusterBuilder(NOW)
    cluster.group("a", nodes=1)
    day = _night(12, 3, "<b>")
    before, after = policy(node_group("a", windows=(day,))), policy(node_group("a", windows=(day, _night(22, 8, "n`\n"))))
    shown = compare(cluster.world(), NOW, (SIDE, before), (SIDE, after), DEFAULT_WORK_BUDGET)
    comment = preview_markdown(shown)
    assert "UTC       Fri 15  Sat 16  Sun 17  Mon 18  Tue 19  Wed 20  Thu 21\n" in comment
    assert f"  main    {'·' * 56}\n  this PR {'■■·····■' * 7}\n" in comment
    assert "window n`\n" not in comment
    assert "of a\n" in comment
    page = preview_html(shown)
    assert page.index("window n`") < page.index("window &lt;b&gt; of a")
    same = preview_markdown(compare(cluster.world(), NOW, (SIDE, before), (SIDE, before), DEFAULT_WORK_BUDGET))
    assert "Week of" not in same
