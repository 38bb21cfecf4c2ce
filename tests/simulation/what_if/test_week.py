"""The mean cost of a week, by hand arithmetic."""

from decimal import Decimal

from reconciler.policy.documents import Window
from reconciler.simulation.what_if.week import per_hour_in_week
from tests.builders import NOW

DAY = Window(name="day", schedule="0 8 * * mon-fri", duration_seconds=12 * 3600)
NIGHT = Window(name="night", schedule="0 22 * * *", duration_seconds=8 * 3600)


def test_hours_of_a_window() -> None:
    """Five times 12 of 168 hours at 2, the others at 1: 228 / 168."""
    prices = iter((Decimal(1), Decimal(2)) if NOW % 86_400 // 3600 not in range(8, 20) else (Decimal(2), Decimal(1)))
    mean = per_hour_in_week((DAY,), NOW, lambda _: next(prices))
    assert mean is not None
    assert abs(mean - Decimal(228) / 168) < Decimal("0.000001")


def test_each_set_of_open_windows_is_asked_once() -> None:
    """By day, at night and between: three sets, and 14 nights and days."""
    asked: list[int] = []
    mean = per_hour_in_week((DAY, NIGHT), NOW, lambda instant: asked.append(instant) or Decimal(3))
    assert (mean, len(asked)) == (Decimal(3), 3)


def test_what_has_no_mean() -> None:
    """Nothing turns, a price is unknown, or a window turns too often."""
    often = Window(schedule="*/2 * * * *", duration_seconds=60)
    assert per_hour_in_week((), NOW, lambda _: Decimal(1)) is None
    assert per_hour_in_week((NIGHT,), NOW, lambda _: None) is None
    assert per_hour_in_week((often,), NOW, lambda _: Decimal(1)) is None
