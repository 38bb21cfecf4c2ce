"""Schedules fire when CronJob would. The daylight-saving cases are those that robfig/cron documents for New York 2012."""

import random
from datetime import UTC, datetime
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest

from reconciler.policy.values.schedule import ScheduleError, canonical_schedule, last_opening, openings_after
from reconciler.policy.values.time_zone import UnknownTimeZoneError, time_zone
from reconciler.policy.windows import closes_at

NEW_YORK = "America/New_York"
BERLIN = "Europe/Berlin"


def _at(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())


def _text(seconds: int, zone: str = NEW_YORK) -> str:
    return datetime.fromtimestamp(seconds, UTC).astimezone(time_zone(zone)).isoformat()


def _next(schedule: str, after: str, zone: str = NEW_YORK) -> str:
    return _text(next(openings_after(schedule, zone, _at(after))), zone)


@pytest.mark.parametrize(
    ("schedule", "after", "expected"),
    [
        # Clocks go forward: 02:00 EST is 03:00 EDT on 11 March 2012.
        ("0 * * * *", "2012-03-11T01:00:00-05:00", "2012-03-11T03:00:00-04:00"),
        ("0 1 * * *", "2012-03-11T01:00:00-05:00", "2012-03-12T01:00:00-04:00"),
        ("0 2 * * *", "2012-03-11T00:00:00-05:00", "2012-03-12T02:00:00-04:00"),
        ("30 2 11 3 *", "2012-03-11T00:00:00-05:00", "2013-03-11T02:30:00-04:00"),
        # Clocks go back: 02:00 EDT is 01:00 EST on 4 November 2012.
        ("0 * * * *", "2012-11-04T01:00:00-04:00", "2012-11-04T01:00:00-05:00"),
        ("0 * * * *", "2012-11-04T01:00:00-05:00", "2012-11-04T02:00:00-05:00"),
        ("0 1 * * *", "2012-11-04T00:00:00-04:00", "2012-11-04T01:00:00-04:00"),
        ("0 1 * * *", "2012-11-04T01:00:00-04:00", "2012-11-04T01:00:00-05:00"),
        ("0 1 * * *", "2012-11-04T01:00:00-05:00", "2012-11-05T01:00:00-05:00"),
        ("30 1 4 11 ?", "2012-11-04T01:45:00-04:00", "2012-11-04T01:30:00-05:00"),
    ],
)
def test_daylight_saving(schedule: str, after: str, expected: str) -> None:
    """A skipped time does not happen, a repeated one happens twice."""
    assert _next(schedule, after) == expected


@pytest.mark.parametrize(
    ("schedule", "after", "expected"),
    [
        ("0 7 * * mon-fri", "2026-11-20T12:00:00+00:00", "2026-11-23T07:00:00+01:00"),
        ("*/15 * * * *", "2026-11-20T12:14:59+00:00", "2026-11-20T13:15:00+01:00"),
        # Day of month and day of week: both where one is a bare star, either where both are restricted.
        ("0 0 13 * *", "2026-11-20T12:00:00+00:00", "2026-12-13T00:00:00+01:00"),
        ("0 0 13 * fri", "2026-11-20T12:00:00+00:00", "2026-11-27T00:00:00+01:00"),
        # A stepped star is restricted: every other day of the month, or a Monday.
        ("0 0 */2 * mon", "2026-11-21T12:00:00+00:00", "2026-11-23T00:00:00+01:00"),
        ("0 0 */2 * mon", "2026-11-29T12:00:00+00:00", "2026-11-30T00:00:00+01:00"),
        ("0 0 */2 * mon", "2026-11-23T12:00:00+00:00", "2026-11-25T00:00:00+01:00"),
        ("@weekly", "2026-11-21T12:00:00+00:00", "2026-11-22T00:00:00+01:00"),
        ("0 0 29 2 *", "2026-11-21T12:00:00+00:00", "2028-02-29T00:00:00+01:00"),
        ("5 4 1,15 JAN-MAR/2 ?", "2026-11-21T12:00:00+00:00", "2027-01-01T04:05:00+01:00"),
    ],
)
def test_fields(schedule: str, after: str, expected: str) -> None:
    """Lists, ranges, steps, names, and how the two day fields go together."""
    assert _next(schedule, after, BERLIN) == expected


def test_a_half_hour_shift_is_handled() -> None:
    """Lord Howe Island goes back by 30 minutes: 01:45 happens twice, half an hour apart."""
    found = list(islice(openings_after("45 1 * * *", "Australia/Lord_Howe", _at("2026-04-04T00:00:00+00:00")), 2))
    assert [_text(one, "Australia/Lord_Howe") for one in found] == ["2026-04-05T01:45:00+11:00", "2026-04-05T01:45:00+10:30"]


@pytest.mark.parametrize("zone", ["Etc/UTC", BERLIN, NEW_YORK, "Australia/Lord_Howe"])
@pytest.mark.parametrize("schedule", ["30 1 * * *", "30 2 * * *", "*/20 * * * *", "0 0 1 * *"])
def test_backward_and_forward_agree(schedule: str, zone: str) -> None:
    """The last opening before the next one is the one that came before it."""
    start = _at("2026-03-01T00:00:00+00:00")
    found = list(islice(openings_after(schedule, zone, start), 400))
    assert found == sorted(set(found))
    for earlier, later in pairwise(found):
        assert last_opening(schedule, zone, later - 1) == earlier
        assert last_opening(schedule, zone, later) == later


def test_a_window_is_open_from_its_start_to_before_its_end() -> None:
    """Twelve hours from 07:00 Berlin time end at 19:00, which is outside."""
    schedule = "0 7 * * mon-fri"
    assert closes_at(schedule, BERLIN, 43_200, _at("2026-11-23T06:59:59+01:00")) is None
    assert closes_at(schedule, BERLIN, 43_200, _at("2026-11-23T07:00:00+01:00")) == _at("2026-11-23T19:00:00+01:00")
    assert closes_at(schedule, BERLIN, 43_200, _at("2026-11-23T18:59:59+01:00")) == _at("2026-11-23T19:00:00+01:00")
    assert closes_at(schedule, BERLIN, 43_200, _at("2026-11-23T19:00:00+01:00")) is None


def test_a_day_that_never_comes() -> None:
    """30 February neither fires nor loops for ever."""
    assert next(openings_after("0 0 30 2 *", BERLIN, 0), None) is None
    assert last_opening("0 0 30 2 *", BERLIN, 1_795_262_400) is None


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Pacific/Midway"])
def test_an_instant_at_the_end_of_all_clocks(zone: str) -> None:
    """Somebody may write the year 9999 into an object, and a simulation waits until then."""
    assert next(openings_after("0 0 * * *", zone, 253_402_300_799), None) is None
    assert last_opening("0 0 * * *", zone, 1 << 60) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "* * * *",
        "* * * * * *",
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "* * * 13 *",
        "* * * * 7",
        "5-1 * * * *",
        "*/0 * * * *",
        "a * * * *",
        "* * L * *",
        "* * * * 1#2",
        "*-5 * * * *",
        "1,,2 * * * *",
        "TZ=UTC * * * * *",
        "@reboot",
        "@every 5m",
        "-1 * * * *",
    ],
)
def test_what_cronjob_refuses_is_refused(text: str) -> None:
    """Nothing that another cron would take slips through."""
    with pytest.raises(ScheduleError):
        canonical_schedule(text)


def test_zones_are_names_of_the_database_only() -> None:
    """No path and no abbreviation of the machine is looked up."""
    for name in ("Local", "../zoneinfo/UTC", "/etc/localtime", "europe/berlin", ""):
        with pytest.raises(UnknownTimeZoneError):
            time_zone(name)


@pytest.mark.parametrize("zone", ["Etc/UTC", BERLIN, NEW_YORK, "Australia/Lord_Howe", "America/Caracas"])
def test_openings_are_those_that_a_clock_shows(zone: str) -> None:
    """Against a look at every minute of drawn days, and around every change of the clock of a year."""
    seed = random.randrange(1 << 32)
    print("seed", seed)
    chance = random.Random(seed)
    start = _at("2026-01-01T00:00:00+00:00")
    hours = [start + hour * 3600 for hour in range(366 * 24)]
    offsets = [datetime.fromtimestamp(hour, ZoneInfo(zone)).utcoffset() for hour in hours]
    changes = [hour for hour, (one, other) in zip(hours, pairwise(offsets), strict=False) if one != other]
    for middle in (*changes, *(chance.choice(hours) for _ in range(3))):
        begin = middle - chance.randrange(9) * 3600 - chance.randrange(3600)
        schedule = chance.choice(("* * * * *", "*/7 * * * *", "30 1,2,3 * * *", "15 */5 * * *"))
        shown = [datetime.fromtimestamp(at, ZoneInfo(zone)) for at in range(begin // 60 * 60, begin + 15 * 3600, 60)]
        fires = {
            "* * * * *": lambda _: True,
            "*/7 * * * *": lambda clock: clock.minute % 7 == 0,
            "30 1,2,3 * * *": lambda clock: clock.minute == 30 and clock.hour in (1, 2, 3),
            "15 */5 * * *": lambda clock: clock.minute == 15 and clock.hour % 5 == 0,
        }[schedule]
        expected = [int(clock.timestamp()) for clock in shown if fires(clock)]
        later = [at for at in expected if at > begin]
        assert list(islice(openings_after(schedule, zone, begin), len(later))) == later, (schedule, begin)
        end = begin + 14 * 3600 + chance.randrange(3600)
        before = [at for at in expected if at <= end]
        if before:
            assert last_opening(schedule, zone, end) == before[-1], (schedule, end)
