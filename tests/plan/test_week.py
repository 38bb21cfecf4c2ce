"""Figures by the hour and news of a loop: sums are worked out by hand."""

import msgspec
import pytest

from reconciler.plan.plan import Cost, GroupLine, NodeLine, NodeState, Ownership, OwnerState, Plan, PodLine, PodOutcome
from reconciler.plan.reason import Blocker
from reconciler.plan.waiting_times import KEPT_SECONDS
from reconciler.plan.week import HOUR_SECONDS, MOST_HOURS, MOST_NEWS, Hour, News, Week, span, with_news, with_plan

NINE = 9 * HOUR_SECONDS


def plan(nodes: int = 2, price: str | None = "0.90", pending: int = 0, *, held: bool = False, idle: int = 0) -> Plan:
    """`idle` of the nodes are underused; one more has been asked for, and one belongs to no group."""
    line = GroupLine(
        name="general", target="t", tier="", current=nodes + 1, desired=nodes + 1, price_per_hour=price, min=0, max=9, held=held,
        owner=Ownership(state=OwnerState.OURS, by="us"),
    )  # fmt: skip
    kept = NodeLine(
        node="n", group="general", state=NodeState.UNDERUTILIZED, utilization_permille=100, removable=False,
        blockers=(Blocker(code="LocalStorage", message="has local storage"),),
    )  # fmt: skip
    used, alien = (
        msgspec.structs.replace(kept, node=group or "x", group=group, state=NodeState.IN_USE, blockers=())
        for group in ("general", None)
    )
    return Plan(
        now="", mode="Enforce", summary="", groups=(line,), nodes=(*(kept,) * idle, *(used,) * (nodes - idle), alien),
        pods=tuple(PodLine(f"shop/{number}", PodOutcome.UNPLACEABLE) for number in range(pending)),
        cost=Cost(currency="EUR"),
    )  # fmt: skip


def test_sums_of_one_hour() -> None:
    week = with_plan(Week(), plan(nodes=2, pending=3), NINE + 60, 60)
    week = with_plan(week, plan(nodes=4, pending=1, held=True, idle=2), NINE + 90, 30, added=2, failed_removals=1)
    assert week.currency == "EUR"
    assert week.hours == (
        Hour(
            at_seconds=NINE, decided_seconds=90, node_seconds=240, cost_micros=60_000, unplaced_pod_seconds=210, most_waiting=3,
            held_group_seconds=30, added=2, failed_removals=1, kept={"LocalStorage": 60},
        ),
    )  # fmt: skip


def test_an_hour_follows_the_other_and_the_oldest_go() -> None:
    week = Week()
    for number in range(MOST_HOURS + 5):
        week = with_plan(week, plan(), number * HOUR_SECONDS, 10)
    assert [one.at_seconds for one in week.hours] == [number * HOUR_SECONDS for number in range(5, MOST_HOURS + 5)]


@pytest.mark.parametrize(("price", "micros"), [(None, 0), ("0.18", 1_000)])
def test_without_a_price(price: str | None, micros: int) -> None:
    assert with_plan(Week(), plan(price=price), NINE, 10).hours[0].cost_micros == micros


def test_groups_without_a_price_are_marked() -> None:
    assert with_plan(Week(), plan(price=None), NINE, 10).hours[0].unpriced
    assert not with_plan(Week(), plan(), NINE, 10).hours[0].unpriced


def test_what_the_decision_before_saw_lasted_until_this_one() -> None:
    """Three pods that come now have not waited yet, and two nodes that join now cost nothing yet."""
    hour = with_plan(Week(), plan(nodes=4, pending=3), NINE, 10, before=plan(nodes=2)).hours[0]
    assert (hour.node_seconds, hour.unplaced_pod_seconds, hour.most_waiting) == (20, 0, 3)


def news(at: int, words: str = "kubectl owns spec.replicas", **changed: object) -> News:
    return News(**{"at_seconds": at, "last_seconds": at, "subject": "general", "code": "Held", "words": words, **changed})  # type: ignore[arg-type]


def test_what_happens_again_is_counted() -> None:
    week = with_news(with_news(with_news(Week(), [news(1)]), [news(2, "other")]), [news(3)])
    assert week.news == (news(2, "other"), news(1, last_seconds=3, times=2))


def test_news_are_bounded() -> None:
    week = with_news(Week(), [news(number, f"{number} " + "x" * 5000) for number in range(MOST_NEWS + 7)])
    assert len(week.news) == MOST_NEWS
    assert week.news[0].words == "7 " + "x" * 298


def test_a_span_counts_the_hours_that_begin_in_it() -> None:
    hours = tuple(
        Hour(at_seconds=number * HOUR_SECONDS, decided_seconds=9, cost_micros=number, kept={"A": 1}) for number in range(6)
    )
    found = span(Week(hours=hours), 2 * HOUR_SECONDS, 4 * HOUR_SECONDS)
    assert (found.hours, found.decided_seconds, found.cost_micros, found.kept) == (2, 18, 5, (("A", 2),))


def test_waiting_times_of_a_span() -> None:
    """Twenty pods wait 1 to 191 s, every 10 s: the tenth 91 s, the nineteenth 181 s. They are kept as two and as five minutes,
    and no wait is told as longer than the longest. A pod that still waits ranks last of 21: the eleventh waited 101 s."""
    waits = dict.fromkeys(range(1, 201, 10), 1)
    week = with_plan(with_plan(Week(), plan(), NINE, 10, waits={1: 1}), plan(), NINE + 20, 10, waits={**waits, 1: 0})
    found = span(week, NINE, NINE + 1)
    assert (found.pods_placed, found.pods_never_placed) == (20, 0)
    assert (found.wait_p50_seconds, found.wait_p95_seconds, found.wait_max_seconds) == (120, 191, 191)
    found = span(with_plan(week, plan(pending=1), NINE + 30, 10), NINE, NINE + 1)
    assert (found.pods_placed, found.pods_never_placed, found.wait_p50_seconds) == (20, 1, 120)


def test_pods_that_never_got_a_node_rank_last() -> None:
    """Of four pods, two waited 10 s and 25 s, one ended without a node, one waits in the last hour: p50 is the second."""
    week = with_plan(Week(), plan(), NINE, 10, waits={10: 1, 25: 1}, pods_never_placed=1)
    week = with_plan(week, plan(pending=1), NINE + HOUR_SECONDS, 10)
    found = span(week, NINE, NINE + 2 * HOUR_SECONDS)
    assert (found.pods_placed, found.pods_never_placed, found.wait_p50_seconds, found.wait_p95_seconds) == (2, 2, 25, 25)
    assert span(week, NINE, NINE + HOUR_SECONDS).pods_never_placed == 1


def test_a_week_of_an_earlier_release_has_no_waiting_times() -> None:
    stored = b'{"currency":"EUR","hours":[{"atSeconds":32400,"decidedSeconds":60,"mostWaiting":2}]}'
    found = span(msgspec.json.decode(stored, type=Week), NINE, NINE + 1)
    assert (found.most_waiting, found.pods_placed, found.wait_max_seconds) == (2, 0, 0)


def test_fifteen_days_are_small() -> None:
    """The state object of a loop has room for it."""
    waits = dict.fromkeys(KEPT_SECONDS, 10_000)
    kept = {f"Code{number}": 9 * 3600 for number in range(8)}
    hours = tuple(
        Hour(at_seconds=number * 3600, decided_seconds=3600, node_seconds=10**7, cost_micros=10**10, kept=kept, waits=waits)
        for number in range(MOST_HOURS)
    )
    week = with_news(Week(hours=hours), [news(number, f"{number} " + "x" * 300) for number in range(MOST_NEWS)])
    assert len(msgspec.json.encode(week)) < 400_000


def test_the_waste_is_that_of_the_last_plan() -> None:
    """An idle node of 0.36 an hour is used by a tenth: 236.52 a month."""
    week = with_plan(Week(), plan(nodes=1, price="0.36", idle=1), NINE, 10)
    assert [(row.code, row.per_month) for row in week.waste.rows] == [("LocalStorage", "236.52")]
    assert with_plan(week, plan(nodes=0), NINE, 10).waste.rows == ()
