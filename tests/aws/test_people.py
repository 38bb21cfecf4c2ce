"""A person sets a desired capacity at the console: it stays for `humanHoldTime`, as after `kubectl scale`."""

import pytest

from reconciler.cluster.target import SizeChange
from reconciler.plan.plan import OwnerState
from reconciler.platforms.aws.facts.activities import last_change
from reconciler.platforms.aws.facts.wire_beside import ScalingActivity
from reconciler.values.instant import instant_text, parse_instant
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
    assert f"changed replicas 3 -> {desired}" in line.owner.evidence[0]
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


def test_what_auto_scaling_recorded_of_it_is_told() -> None:
    """Activities are read while instances are missing, and their cause has the change."""
    world = three_pods(ours=True)
    world.account.stock[f"{REGION}a", "m5.large"] = 0
    world.account.calls.clear()
    at_the_console(world, 5)
    written = instant_text(world.now())
    world.run(2 * MINUTE)
    plan = world.reports[-1].plan
    assert plan is not None
    recorded = f"The platform recorded at {written}: a user request explicitly set group desired capacity. CloudTrail"
    assert recorded in plan.groups[0].owner.evidence[0]


@pytest.mark.parametrize(
    ("cause", "by"),
    [
        ("At 2027-01-15T08:00:00Z a monitor alarm cpu-high in state ALARM triggered policy cpu changing the desired capacity "
         "from 1 to 3.  At 2027-01-15T08:00:09Z an instance was started in response to a difference between desired and actual "
         "capacity, increasing the capacity from 1 to 3.", "a monitor alarm cpu-high in state ALARM triggered policy cpu"),
        ("At 2027-01-15T08:00:00Z a user request update of AutoScalingGroup constraints to min: 1, max: 5, desired: 3 changing "
         "the desired capacity from 1 to 3.",
         "a user request update of AutoScalingGroup constraints to min: 1, max: 5, desired: 3"),
        ("At 2027-01-15T08:00:09Z an instance was started in response to a difference between desired and actual capacity.", ""),
    ],
)  # fmt: skip
def test_what_a_cause_says_of_the_size(cause: str, by: str) -> None:
    """The words of Amazon EC2 Auto Scaling's user guide."""
    older = ScalingActivity("b", "workers", cause="At 2027-01-15T07:00:00Z a user request explicitly set group desired capacity "
                            "changing the desired capacity from 9 to 1.")  # fmt: skip
    found = last_change((older, ScalingActivity("a", "workers", cause=cause)))
    assert found is not None
    expected = SizeChange(at_seconds=parse_instant("2027-01-15T08:00:00Z"), before=1, to=3, by=by)
    assert found == expected if by else found.to == 1
