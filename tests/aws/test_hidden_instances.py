"""Instances that descriptions of their group do not show yet, though their nodes run pods: no cancellation ends them."""

import pytest

from reconciler.plan.plan import ActionKind
from tests.aws.documents import REGION
from tests.aws.virtual_world import VirtualWorld, group_policy, policy_text
from tests.aws.writes import workers


def two_of_three(hidden_seconds: float) -> VirtualWorld:
    """Three nodes are asked for and two come. Their instances are not described until `hidden_seconds` after their launch."""
    world = VirtualWorld(policy_text(group_policy("general")), workers("general", desired=0))
    group, account = world.groups["general"], world.account
    account.stock[f"{REGION}a", "m5.large"] = 2
    world.joins_after_seconds = 20
    world.service.hides = lambda name: account.now < group.instances[name].launched_at + hidden_seconds
    world.add_pods("web", 3)
    return world


@pytest.mark.parametrize("hidden_seconds", [0, 49, 120])
def test_no_node_with_pods_ends(hidden_seconds: float) -> None:
    """The third request is taken back alone, once its failure is all that is left."""
    world = two_of_three(hidden_seconds)
    world.run(350)
    assert world.account.ended == []
    assert (world.sizes(), len(world.waiting)) == ({"general": 2}, 1), world.told()


def test_nothing_is_taken_back_while_a_read_may_be_older_than_the_last_write() -> None:
    """A minute after the size was written, and not before."""
    world = two_of_three(0)
    world.run(300)
    taken = [one.at_seconds for one in world.reports for done in one.results if done.action.kind is ActionKind.CANCEL]
    assert 60 <= taken[0] - 1_800_000_000 <= 80


def test_without_the_right_to_look_nothing_is_taken_back() -> None:
    """A Node belongs to no group that is read, and nobody may ask to which."""
    world = two_of_three(120)
    reads = ("DescribeAutoScalingGroups", "DescribeInstanceRefreshes", "DescribePolicies", "DescribeS*", "[!D]*")
    allowed = {"Effect": "Allow", "Resource": "*", "Action": [*(f"autoscaling:{one}" for one in reads), "ec2:*"]}
    world.account.policies["AKIATEST"] = [allowed]
    world.run(100)
    assert world.sizes() == {"general": 3}
    (message,) = {done.message for one in world.reports for done in one.results if done.action.kind is ActionKind.CANCEL}
    assert "autoscaling:DescribeAutoScalingInstances" in message
    world.run(240)
    assert (world.sizes(), world.account.ended) == ({"general": 2}, [])
