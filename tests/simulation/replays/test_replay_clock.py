"""When a policy says something else although nothing happened."""

from reconciler.policy.documents import Budget, Hold, Size, Window
from reconciler.simulation.replays.policy_clock import PolicyClock
from tests.policies import node_group, policy

HOUR, DAY = 3_600, 86_400


def test_windows_open_and_close():
    """Daily from 02:05 for 51 minutes, by UTC; the first of the year 1970 and the next day's."""
    window = Window(schedule="5 2 * * *", duration_seconds=51 * 60, size=Size(min=2))
    clock = PolicyClock(policy(node_group("a", windows=(window,))))
    opens, closes = 2 * HOUR + 300, 2 * HOUR + 56 * 60
    assert [clock.next_edge(instant) for instant in (0, opens - 1, opens, closes - 1, closes)] == [
        opens, opens, closes, closes, DAY + opens,
    ]  # fmt: skip


def test_scheduled_budgets_and_ends_of_holds():
    """A budget that opens at 01:00, and a hold that ends at 00:30."""
    rules = policy(
        node_group("a", hold=Hold(reason="repair", until_seconds=HOUR // 2)),
        budgets=(Budget(nodes=0, schedule="0 1 * * *", duration_seconds=HOUR), Budget(nodes=1)),
    )
    clock = PolicyClock(rules)
    assert [clock.next_edge(instant) for instant in (0, HOUR // 2, HOUR)] == [HOUR // 2, HOUR, 2 * HOUR]


def test_a_policy_without_any_has_no_edge():
    """Nothing depends on the clock."""
    clock = PolicyClock(policy(node_group("a")))
    assert (clock.next_edge(0), clock.next_edge(DAY)) == (None, None)


def test_dates_of_windows():
    """A sale from 02:00 to 05:00; and a daily hour at 01:00 that is over at 03:30 of the first day."""
    sale = Window(from_seconds=2 * HOUR, until_seconds=5 * HOUR, size=Size(min=2))
    daily = Window(schedule="0 1,3 * * *", duration_seconds=HOUR, until_seconds=3 * HOUR + HOUR // 2, size=Size(min=2))
    clock = PolicyClock(policy(node_group("a", windows=(sale, daily))))
    instants = (0, HOUR, 2 * HOUR, 3 * HOUR, 3 * HOUR + HOUR // 2, 5 * HOUR)
    edges = [HOUR, 2 * HOUR, 3 * HOUR, 3 * HOUR + HOUR // 2, 5 * HOUR, None]
    assert [clock.next_edge(instant) for instant in instants] == edges
