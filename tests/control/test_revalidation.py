"""What must still be so when an action is done, each thing alone."""

import msgspec
import pytest

from reconciler.cluster.world import World
from reconciler.control.turn.revalidation import revalidate
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import Action, ActionKind
from reconciler.policy.documents import Budget
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import of_kind, plan_of


def _judged() -> tuple[ClusterBuilder, World, Action]:
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("web", 1, cpu="3", on="general-2")
    world = cluster.world()
    rules = policy(node_group("general"), budgets=(Budget(nodes=100),))
    (action,) = of_kind(plan_of(world, rules, Memory(unneeded_since={"general-1": NOW - 3600})), ActionKind.REMOVE_NODE)
    return cluster, world, action


def test_what_has_not_moved_stands_under_the_version_of_now() -> None:
    """A resourceVersion that moved for another reason is taken over."""
    _, judged, action = _judged()
    targets = tuple(msgspec.structs.replace(facts, resource_version="7") for facts in judged.targets)
    found = revalidate(action, judged, msgspec.structs.replace(judged, targets=targets))
    assert (found.moved, found.bound.resource_version if found.bound else "") == ("", "7")


@pytest.mark.parametrize("field", ["deleting", "gone"])
def test_a_node_that_is_going_already_is_left_alone(field: str) -> None:
    """Somebody deletes it, or has deleted it: a decrement for it would take another node."""
    _, judged, action = _judged()
    if field == "deleting":
        nodes = tuple(msgspec.structs.replace(node, deleting=node.name == "general-1") for node in judged.nodes)
        fresh = msgspec.structs.replace(judged, nodes=nodes)
        said = "node general-1 is being deleted already"
    else:
        smaller = ClusterBuilder()
        smaller.group("general", nodes=1, replicas=2)
        fresh = msgspec.structs.replace(smaller.world(), nodes=())
        said = "node general-1 is not there any more"
    assert revalidate(action, judged, fresh).moved == said


def test_a_pod_that_came_keeps_the_node() -> None:
    """It was not judged, so nobody knows whether it may move."""
    cluster, judged, action = _judged()
    cluster.pods("late", 1, on="general-1")
    assert revalidate(action, judged, cluster.world()).moved == "shop/late-1 was bound to node general-1 after it was judged"


def test_replicas_and_owners_that_moved_void_the_action() -> None:
    """Another number, another owner, no target at all."""
    _, judged, action = _judged()
    facts = judged.targets[0]
    for changed, said in (
        ((msgspec.structs.replace(facts, replicas=3),), "has 3 replicas now, 2 were judged"),
        ((msgspec.structs.replace(facts, owner=msgspec.structs.replace(facts.owner, paused=True)),), "who owns the replicas of"),
        ((), "is not there any more"),
    ):
        assert said in revalidate(action, judged, msgspec.structs.replace(judged, targets=changed)).moved
