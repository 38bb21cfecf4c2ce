"""Instances that Auto Scaling replaces before they become nodes: the request behind them has failed all the same."""

import pytest

from tests.aws.virtual_world import VirtualWorld, group_policy, policy_text
from tests.aws.writes import workers

MINUTE = 60


def two_tiers() -> VirtualWorld:
    """The instances of the first tier do not become nodes."""
    policy = policy_text(group_policy("spot", tier="spot"), group_policy("general"), tiers="spot general")
    world = VirtualWorld(policy, workers("spot", desired=0), workers("general", desired=0))
    world.joins = lambda group, _instance: group.name == "general"
    return world


@pytest.mark.parametrize(
    ("field", "seconds"),
    [
        pytest.param("launch_hook_seconds", 200, id="a launch hook that is abandoned"),
        pytest.param("fails_after_seconds", 240, id="health checks that fail"),
    ],
)
def test_the_next_tier_serves(field: str, seconds: int) -> None:
    """Each instance is replaced after four to five minutes. 15 minutes after the request the next tier grows, and what was asked
    for is taken back."""
    world = two_tiers()
    setattr(world.groups["spot"], field, seconds)
    world.groups["spot"].abandons = True
    world.add_pods("web", 2)
    world.run(15 * MINUTE)
    assert world.sizes() == {"spot": 2, "general": 0}
    world.run(2 * MINUTE)
    assert world.sizes() == {"spot": 0, "general": 2}, world.told()
    assert world.waiting == []


def test_nodes_that_never_start_are_replaced() -> None:
    """The Node is there and stays NotReady, and its instance is replaced after eight minutes: its successor is no new request."""
    world = two_tiers()
    world.groups["spot"].fails_after_seconds = 480
    world.joins, world.is_ready = (lambda _group, _instance: True), (lambda group, _instance: group.name == "general")
    world.add_pods("web", 2)
    world.run(20 * MINUTE)
    assert world.waiting == [], world.told()


def test_a_second_instance_that_comes_in_time() -> None:
    """The first one fails, its successor becomes a node: nothing has failed."""
    world = two_tiers()
    world.groups["spot"].fails_after_seconds = 240
    world.joins = lambda group, _instance: world.account.now > 1_800_000_420
    world.add_pods("web", 1)
    world.run(7 * MINUTE)
    world.groups["spot"].fails_after_seconds = 0
    world.run(15 * MINUTE)
    assert (world.sizes(), world.waiting) == ({"spot": 1, "general": 0}, [])
    assert world.store.load().backoffs == {}
