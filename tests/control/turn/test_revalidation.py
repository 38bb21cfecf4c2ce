"""What must still be so when an action is done, each thing alone."""

from typing import Any

import msgspec
import pytest

from reconciler.cluster.world import World
from reconciler.control.turn.revalidation import Moved, Stands, revalidate
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


def _facts(world: World, **changes: Any) -> World:
    return msgspec.structs.replace(world, targets=tuple(msgspec.structs.replace(one, **changes) for one in world.targets))


def test_what_has_not_moved_stands_under_the_version_of_now() -> None:
    """A resourceVersion that moved for another reason is taken over; all else of the bound stays."""
    _, judged, action = _judged()
    found = revalidate(action, judged, _facts(judged, resource_version="7"))
    assert found == Stands(judged.targets[0].ref, msgspec.structs.replace(action.bound, resource_version="7"))


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
    assert revalidate(action, judged, fresh) == Moved(said)


def test_a_pod_that_came_keeps_the_node() -> None:
    """It was not judged, so nobody knows whether it may move; of several the first by name is told."""
    cluster, judged, action = _judged()
    cluster.pods("late", 2, cpu="100m", on="general-1")
    assert revalidate(action, judged, cluster.world()) == Moved("shop/late-1 was bound to node general-1 after it was judged")


def test_pods_that_were_judged_are_no_news() -> None:
    """Nor are those that came to another node, or left."""
    cluster, _, action = _judged()
    cluster.pods("known", 3, cpu="100m", on="general-1")
    judged = cluster.world()
    assert isinstance(revalidate(action, judged, _facts(judged, resource_version="7")), Stands)
    cluster.pods("elsewhere", 1, cpu="100m", on="general-2")
    assert isinstance(revalidate(action, judged, cluster.world()), Stands)
    fewer, _, _ = _judged()
    assert isinstance(revalidate(action, judged, fewer.world()), Stands)


def test_a_node_that_was_not_judged_has_no_pod_that_was() -> None:
    """It came back under its name meanwhile: each of its pods is news."""
    cluster, judged, action = _judged()
    cluster.pods("late", 1, on="general-1")
    gone = msgspec.structs.replace(judged, nodes=judged.nodes[1:], pods=ClusterBuilder().world().pods)
    assert revalidate(action, gone, cluster.world()) == Moved("shop/late-1 was bound to node general-1 after it was judged")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"replicas": 3}, "has 3 replicas now, and 2 when the plan was made"),
        ({"replicas": None}, "has 0 replicas now, and 2 when the plan was made"),
        ({"paused": True}, "who owns the replicas of MachineDeployment prod/general has changed since they were judged"),
        ({}, "is not there any more"),
    ],
)
def test_replicas_and_owners_that_moved_void_the_action(changes: dict[str, Any], said: str) -> None:
    """Another number, another owner, no target at all."""
    _, judged, action = _judged()
    if "paused" in changes:
        changes = {"owner": msgspec.structs.replace(judged.targets[0].owner, **changes)}
    fresh = _facts(judged, **changes) if changes else msgspec.structs.replace(judged, targets=())
    found = revalidate(action, judged, fresh)
    assert isinstance(found, Moved)
    assert found.why.endswith(said)


def test_an_owner_that_nobody_judged_voids_the_action() -> None:
    """The target was not in the view that was judged."""
    _, judged, action = _judged()
    found = revalidate(action, msgspec.structs.replace(judged, targets=()), _facts(judged, resource_version="7"))
    assert found == Moved("who owns the replicas of MachineDeployment prod/general has changed since they were judged")


def test_a_target_that_never_said_its_size_has_none() -> None:
    """0 was judged, and nothing has moved."""
    _, judged, action = _judged()
    action = msgspec.structs.replace(
        action, kind=ActionKind.RESIZE, nodes=(), bound=msgspec.structs.replace(action.bound, replicas=0)
    )
    assert isinstance(revalidate(action, _facts(judged, replicas=None), _facts(judged, replicas=None)), Stands)


@pytest.mark.parametrize(
    ("changes", "stands"),
    [({}, False), ({"name": "other"}, True), ({"target": None}, True), ({"node": ""}, True)],
)
def test_a_machine_that_has_become_a_node_is_not_cancelled(changes: dict[str, Any], *, stands: bool) -> None:
    """It was judged to come no more, and came; another one, of another target, or without a node says nothing."""
    _, judged, action = _judged()
    cancel = msgspec.structs.replace(action, kind=ActionKind.CANCEL, nodes=(), machines=("late",))
    late = msgspec.structs.replace(judged.machines[0], **{"name": "late", "node": "general-9", **changes})
    fresh = msgspec.structs.replace(judged, machines=(*judged.machines, late))
    found = revalidate(cancel, judged, fresh)
    assert isinstance(found, Stands) if stands else found == Moved("machine late has become node general-9")
