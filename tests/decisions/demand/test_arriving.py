"""When a burst of pending pods counts as still arriving, and until when it is waited for."""

import pytest

from reconciler.decisions.demand.arriving import arriving
from reconciler.decisions.reasons.pods import Arriving
from reconciler.policy.documents import PodRules
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import plan_of

RULES = PodRules(burst_pause_seconds=3, burst_limit_seconds=10)


def _arriving(buying: tuple[int, ...], hopeless: tuple[int, ...] = ()) -> Arriving | None:
    """Pods of these ages that a node of 4 cores is bought for, and others that fit nowhere."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0, cpu="4")
    for number, age in enumerate(buying):
        cluster.pods(f"web-{number}", 1, cpu="1", age=age)
    for number, age in enumerate(hopeless):
        cluster.pods(f"huge-{number}", 1, cpu="64", age=age)
    world = cluster.world()
    return arriving(plan_of(world, policy(node_group("general"))), world, RULES, NOW)


@pytest.mark.parametrize(
    ("buying", "hopeless", "until"),
    [
        ((), (), ""),
        ((), (1,), ""),
        ((0,), (), "2027-01-15T08:00:03Z"),
        ((2,), (), "2027-01-15T08:00:01Z"),
        ((3,), (), ""),
        ((5, 1), (), "2027-01-15T08:00:02Z"),
        ((9, 0), (), "2027-01-15T08:00:01Z"),
        ((10, 0), (), ""),
        ((5, 3), (), ""),
        ((5, 3), (1,), ""),
        ((5, 1), (10,), "2027-01-15T08:00:02Z"),
        ((-1,), (), ""),
        ((4, -1), (), ""),
        ((2, -1), (), "2027-01-15T08:00:01Z"),
    ],
)
def test_a_burst_lasts_until_none_came_for_a_pause_or_one_waits_too_long(
    buying: tuple[int, ...], hopeless: tuple[int, ...], until: str
) -> None:
    """3 s without a new pod, 10 s for the first one, each exactly; pods that nothing is bought for and pods from the future
    (negative ages) neither begin nor lengthen it."""
    expected = Arriving(pause_seconds=3, limit_seconds=10, until=until) if until else None
    assert _arriving(buying, hopeless) == expected
