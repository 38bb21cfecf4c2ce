"""A person sets a desired capacity at the console: it stays for `humanHoldTime`, as after `kubectl scale`."""

import pytest

from reconciler.plan.plan import OwnerState
from tests.aws.documents import REGION
from tests.aws.service import writing
from tests.aws.virtual_world import VirtualWorld, group_policy, policy_text
from tests.aws.writes import workers

MINUTE, HOUR = 60, 3600


def three_pods(*, ours: bool) -> VirtualWorld:
    """Three nodes with a pod each; `ours`: the loop has added them."""
    group = workers("general", desired=0 if ours else 3)
    world = VirtualWorld(policy_text(group_policy("general")), group, interval_seconds=60)
    world.add_pods("web", 3)
    world.run(5 * MINUTE)
    assert world.sizes() == {"general": 3}
    return world


def at_the_console(world: VirtualWorld, desired: int) -> None:
    writing.set_desired(world.account, REGION, {"AutoScalingGroupName": "general", "DesiredCapacity": desired})


@pytest.mark.parametrize("ours", [True, False], ids=["ours", "never written"])
@pytest.mark.parametrize("desired", [5, 2, 0])
def test_it_stays_for_an_hour(desired: int, *, ours: bool) -> None:
    world = three_pods(ours=ours)
    at_the_console(world, desired)
    world.run(59 * MINUTE)
    assert world.sizes() == {"general": desired}, world.told()
    plan = world.reports[-1].plan
    assert plan is not None
    (line,) = plan.groups
    assert (line.owner.state, line.owner.by) == (OwnerState.HELD, "a writer that Auto Scaling does not record")
    assert f"3 replicas became {desired}" in line.owner.evidence[0]
    assert "CloudTrail" in line.owner.evidence[0]
    world.run(10 * MINUTE)
    assert (world.sizes(), world.waiting) == ({"general": 3}, []), world.told()


def test_who_sets_it_back_again_and_again_is_a_second_writer() -> None:
    """Each time holds for an hour. The third one holds until a person acts."""
    world = three_pods(ours=True)
    reversals = 0

    def set_back() -> None:
        nonlocal reversals
        if world.groups["general"].desired == 3 and reversals < 9 and world.account.now > 1_800_000_300:
            at_the_console(world, 2)
            reversals += 1

    world.events.append(set_back)
    world.run(5 * HOUR)
    assert reversals == 3
    assert "a second writer" in str(world.reports[-1].plan.groups[0].owner.by if world.reports[-1].plan else "")


def test_our_own_writes_hold_nothing() -> None:
    """Growth, removals and withdrawn requests, with answers that take seconds and descriptions that are half a minute old."""
    world = VirtualWorld(policy_text(group_policy("general")), workers("general", desired=0))
    world.service.latency, world.service.lag = (lambda: 2.0), (lambda: 30.0)
    for number in range(12):
        world.add_pods(f"web-{number}", 2)
        world.run(2 * MINUTE)
        world.remove_pods(f"web-{number - 1}")
    states = {line.owner.state for report in world.reports if report.plan is not None for line in report.plan.groups}
    assert states == {OwnerState.OURS}
