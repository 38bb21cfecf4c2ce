"""A node stays while a gang needs its pods."""

import msgspec
import pytest

from reconciler.cluster.pods.pod_table import PodTable
from reconciler.cluster.workloads.pod_group import PodGroup
from reconciler.cluster.world import World
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import ActionKind, Plan
from reconciler.policy.documents import BlockRule, Budget, DrainRules
from tests.builders import CAPTURED, NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import blocker_codes, node, of_kind, plan_of

LONG_AGO = Memory(unneeded_since={f"general-{number}": NOW - 3600 for number in range(1, 4)})
TRAIN = PodGroup(namespace="shop", name="train", min_count=3)


def _world(*groups: PodGroup) -> World:
    """Three pods of one core, each on a node of eight, and a node of another group with room for all of them."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=3, cpu="8")
    cluster.group("kept", nodes=1, cpu="8")
    for number in (1, 2, 3):
        cluster.pods(f"train{number}", 1, cpu="1", on=f"general-{number}", shape={"pod_group": "train"})
    cluster.pods("other", 1, cpu="5", on="kept-1")
    return cluster.world(pod_groups=groups, captured=(*CAPTURED, "PodGroup"))


def _plan(world: World, drain: DrainRules | None = None) -> Plan:
    rules = policy(node_group("general"), node_group("kept", min=1), drain=drain or DrainRules(), budgets=(Budget(nodes=100),))
    return plan_of(world, rules, LONG_AGO)


def _least(count: int) -> PodGroup:
    return msgspec.structs.replace(TRAIN, min_count=count)


@pytest.mark.parametrize(("least", "removed"), [(4, 0), (3, 0), (2, 1), (1, 3)])
def test_only_pods_beyond_the_minimum_leave(least: int, removed: int) -> None:
    """One after the other, also in one plan."""
    assert len(of_kind(_plan(_world(_least(least))), ActionKind.REMOVE_NODE)) == removed


def test_what_the_gang_needs() -> None:
    """A node whose pods are needed says so, and one after which too few would run says it of those that stay."""
    (blocker,) = node(_plan(_world(TRAIN)), "general-1").blockers
    assert (blocker.pod, blocker.message) == (
        "shop/train1-1",
        "PodGroup shop/train needs 3 pods, 3 of its pods run, and the drain takes 1 of them",
    )
    (later,) = node(_plan(_world(_least(2))), "general-2").blockers
    assert later.message == "PodGroup shop/train needs 2 pods, 2 of its pods run, and the drain takes 1 of them"


def test_pods_that_may_only_go_together() -> None:
    """Of three, none leaves alone, however few are needed."""
    whole = msgspec.structs.replace(_least(1), indivisible=True)
    plan = _plan(_world(whole))
    assert not of_kind(plan, ActionKind.REMOVE_NODE)
    (blocker,) = node(plan, "general-1").blockers
    assert (blocker.code, blocker.message) == (
        "GangIndivisible",
        "spec.disruptionMode of PodGroup shop/train disrupts its pods only together, and the drain takes 1 of its 3 pods",
    )


def test_all_pods_of_one_node_go_together() -> None:
    """A group that runs on one node leaves with it."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2, cpu="8")
    cluster.group("kept", nodes=1, cpu="8")
    cluster.pods("train", 3, cpu="1", on="general-1", shape={"pod_group": "train"})
    cluster.pods("other", 1, cpu="5", on="kept-1")
    groups = (msgspec.structs.replace(_least(1), indivisible=True),)
    plan = _plan(cluster.world(pod_groups=groups, captured=(*CAPTURED, "PodGroup")))
    assert ("general-1",) in [action.nodes for action in of_kind(plan, ActionKind.REMOVE_NODE)]


@pytest.mark.parametrize("group", [TRAIN, msgspec.structs.replace(TRAIN, indivisible=True)])
def test_the_policy_may_allow_it(group: PodGroup) -> None:
    """`drain.podGroups: Allow`."""
    assert len(of_kind(_plan(_world(group), DrainRules(pod_groups=BlockRule.ALLOW)), ActionKind.REMOVE_NODE)) == 3


def test_pods_that_are_not_ready_are_no_loss() -> None:
    """Two of three are ready, and the gang needs two: the node of the third may go."""
    world = _world(_least(2))
    pods = [msgspec.structs.replace(one, ready=one.name != "train2-1") for one in world.pods]
    plan = _plan(msgspec.structs.replace(world, pods=PodTable(pods)))
    assert [action.nodes for action in of_kind(plan, ActionKind.REMOVE_NODE)] == [("general-2",)]


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ((msgspec.structs.replace(_least(1), not_modelled=("topology",)),), "spec.topology of PodGroup shop/train"),
        ((msgspec.structs.replace(_least(1), problem="spec: odd"),), "PodGroup shop/train, which cannot be read: spec: odd"),
        ((), "PodGroup shop/train, which does not exist"),
    ],
)  # fmt: skip
def test_groups_that_nobody_can_judge(groups: tuple[PodGroup, ...], words: str) -> None:
    """Nobody knows where their pods may run."""
    plan = _plan(_world(*groups))
    assert not of_kind(plan, ActionKind.REMOVE_NODE)
    assert blocker_codes(plan, "general-1") == ["NotModelled"]
    assert words in node(plan, "general-1").blockers[0].message
