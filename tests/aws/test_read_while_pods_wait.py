"""What surrounds a group is read again within a minute while pods wait, whatever a person changes meanwhile."""

from collections import Counter

from reconciler.platforms.aws.writing.sharing import SharedReads
from tests.aws.scripted import Scripted
from tests.aws.test_asking import Clock
from tests.aws.virtual_world import VirtualWorld, group_policy, policy_text
from tests.aws.writes import workers

MINUTE = 60


def waiting_world(**rest: object) -> VirtualWorld:
    """Three minutes old: all that is read rarely was read then."""
    fields: dict[str, object] = {"desired": 1, "max_size": 1, **rest}
    world = VirtualWorld(policy_text(group_policy("general")), workers("general", **fields))
    world.add_pods("first", 1)
    world.run(3 * MINUTE)
    world.add_pods("web", 1, "3" if "follows" in rest else "1500m")
    world.run(MINUTE)
    assert world.waiting == ["web-0"], world.told()
    return world


def test_a_raised_max_size() -> None:
    """Whenever it is raised: the next list may have been due at once, or 85 s later."""
    for after in (0, 40, 80):
        world = waiting_world()
        world.run(after)
        world.groups["general"].max_size = 3
        world.run(MINUTE)
        assert world.sizes() == {"general": 2}, (after, world.told())


def test_a_removed_scaling_policy() -> None:
    world = waiting_world(max_size=3, policies=[{"PolicyName": "cpu", "PolicyType": "TargetTrackingScaling"}])
    world.groups["general"].policies.clear()
    world.run(MINUTE)
    assert world.sizes() == {"general": 2}, world.told()


def test_a_larger_version_of_the_template() -> None:
    world = waiting_world(max_size=3, follows="$Latest")
    world.groups["general"].instance_type, world.groups["general"].version = "m5.xlarge", 2
    world.run(MINUTE)
    assert world.sizes() == {"general": 2}, world.told()


def test_six_calls_a_minute_and_none_more_when_nobody_waits() -> None:
    world = waiting_world()
    world.account.calls.clear()
    world.run(10 * MINUTE)
    calls = Counter(action for action, _ in world.account.calls)
    assert calls["DescribePolicies"] in (13, 14, 15)
    assert sum(calls.values()) <= 60, calls
    world.remove_pods("web")
    world.run(MINUTE)
    world.account.calls.clear()
    world.run(10 * MINUTE)
    calls = Counter(action for action, _ in world.account.calls)
    assert (calls["DescribePolicies"], calls["DescribeLaunchTemplateVersions"]) == (0, 0)
    assert sum(calls.values()) <= 10, calls


def test_loops_of_one_process_share_what_is_read_again() -> None:
    """Twenty loops of a fleet whose pods wait: policies are asked for once in ten seconds at most."""
    clock, aws = Clock(), Scripted(DescribePolicies=lambda **_: {"ScalingPolicies": []})
    reads = SharedReads(aws, clock)
    for _ in range(12):
        for _ in range(20):
            reads.renew()
            reads.call("autoscaling", "DescribePolicies")
        clock.seconds += 5
    assert len(aws.told()) == 6
