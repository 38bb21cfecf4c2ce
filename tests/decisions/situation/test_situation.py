"""What a group has before anything is decided: one row a case, every number of it.

A group of replicas and nodes as told; waits for a machine are 900 s (`maxNodeProvisionTime`), for a node that joined 900 s
(`maxNodeStartupTime`).
"""

import msgspec
import pytest

from reconciler.cluster.target import LaunchFailure, Machine
from reconciler.cluster.world import World
from reconciler.decisions.memory import Memory
from reconciler.decisions.situation.group_situation import GroupSituation, node_states, waits_for
from reconciler.decisions.view import View
from reconciler.decisions.work import Work
from reconciler.plan.plan import NodeState
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy, taint
from tests.decisions.deciding import node, plan_of

REF = machine_deployment("general")
TARGET = str(REF)
NOTHING = GroupSituation(nodes=(), current=0, size=0, upcoming=0, starting=(), leaving=(), failed=(), ready=0)
LATE = "no node within 15m"


def _machine(name: str, **fields: object) -> Machine:
    """One that has no node, asked for a minute ago."""
    fields = {"created_seconds": NOW - 60, **fields}
    return Machine(namespace="prod", name=name, target=REF, **fields)


def _world(replicas: int | None, nodes: int, *machines: Machine, **facts: object) -> World:
    cluster = ClusterBuilder()
    cluster.group("general", nodes=nodes, replicas=replicas)
    world = cluster.world()
    (target,) = world.targets
    targets = (msgspec.structs.replace(target, replicas=replicas, **facts),)
    return msgspec.structs.replace(world, machines=tuple(sorted((*world.machines, *machines))), targets=targets)


def _with_machine_of(world: World, node: str, **fields: object) -> World:
    machines = tuple(msgspec.structs.replace(one, **fields) if one.node == node else one for one in world.machines)
    return msgspec.structs.replace(world, machines=machines)


def _with_node(world: World, name: str, **fields: object) -> World:
    nodes = tuple(msgspec.structs.replace(node, **fields) if node.name == name else node for node in world.nodes)
    return msgspec.structs.replace(world, nodes=nodes)


def _situation(world: World, memory: Memory) -> GroupSituation:
    (found,) = View.of(world, policy(node_group("general")), memory, NOW, Work(0)).situations
    return found


def _has(**fields: object) -> GroupSituation:
    return msgspec.structs.replace(NOTHING, **fields)


LEAVING = Memory(leaving={"general-1": NOW - 1})
TWO = {"nodes": (0, 1), "ready": 2}
UNMADE_SINCE = Memory(waiting_since={f"{TARGET} at 4": NOW - 900})
STOCK = LaunchFailure(id="act-1", at_seconds=NOW - 5, kind="Stock", message="none left")
WRONG = LaunchFailure(id="act-2", at_seconds=NOW - 5, kind="Configuration", message="no such image")
FAILED_TWICE = (("request 1", "no machine within 15m"), ("request 2", "no machine within 15m"))

CASES: dict[str, tuple[World, Memory, GroupSituation]] = {
    "as many nodes as asked for": (_world(2, 2), Memory(), _has(**TWO, current=2, size=2)),
    "two more are asked for, just now": (_world(4, 2), Memory(), _has(**TWO, current=4, size=4, upcoming=2)),
    "two more have machines": (
        _world(4, 2, _machine("a"), _machine("b")),
        Memory(),
        _has(**TWO, current=4, size=4, upcoming=2),
    ),
    "one of them a second before its time is over": (
        _world(3, 2, _machine("a", created_seconds=NOW - 899)),
        Memory(),
        _has(**TWO, current=3, size=3, upcoming=1),
    ),
    "one of them when its time is over": (
        _world(3, 2, _machine("a", created_seconds=NOW - 900)),
        Memory(),
        _has(**TWO, current=3, size=2, late=1, failed=(("a", LATE),), cancellable=("a",)),
    ),
    "one that says that it failed, and one that is waited for": (
        _world(4, 2, _machine("a", failed="quota"), _machine("b")),
        Memory(),
        _has(**TWO, current=4, size=3, late=1, upcoming=1, failed=(("a", "quota"),), cancellable=("a",)),
    ),
    "one without age, not seen before": (
        _world(3, 2, _machine("a", created_seconds=0)),
        Memory(),
        _has(**TWO, current=3, size=3, upcoming=1),
    ),
    "one without age, seen 900 s ago": (
        _world(3, 2, _machine("a", created_seconds=0)),
        Memory(waiting_since={f"{TARGET}/a": NOW - 900}),
        _has(**TWO, current=3, size=2, late=1, failed=(("a", LATE),), cancellable=("a",)),
    ),
    "a failed one that is marked already is not taken back twice": (
        _world(3, 2, _machine("a", failed="quota", delete_marked=True)),
        Memory(),
        _has(**TWO, current=3, size=3, late=1, failed=(("a", "quota"),)),
    ),
    "one that is being deleted is not waited for": (
        _world(2, 2, _machine("a", deleting=True, failed="quota")),
        Memory(),
        _has(**TWO, current=2, size=2),
    ),
    "more machines than requests: nobody knows which will stay": (
        _world(3, 2, _machine("a", failed="quota"), _machine("b")),
        Memory(),
        _has(**TWO, current=3, size=3, late=1, upcoming=0, failed=(("a", "quota"),)),
    ),
    "no machines at all for 899 s": (
        _world(4, 2),
        Memory(waiting_since={f"{TARGET} at 4": NOW - 899}),
        _has(**TWO, current=4, size=4, upcoming=2),
    ),
    "no machines at all for 900 s": (
        _world(4, 2),
        UNMADE_SINCE,
        _has(**TWO, current=4, size=2, late=2, failed=FAILED_TWICE, unmade=2),
    ),
    "a machine for one of two requests": (
        _world(4, 2, _machine("a")),
        UNMADE_SINCE,
        _has(**TWO, current=4, size=3, late=1, upcoming=1, failed=FAILED_TWICE[:1], unmade=1),
    ),
    "one machine failed, no machine for the other": (
        _world(4, 2, _machine("a", failed="quota")),
        UNMADE_SINCE,
        _has(**TWO, current=4, size=2, late=2, failed=(("a", "quota"), FAILED_TWICE[0]), cancellable=("a",), unmade=1),
    ),
    "more machines than requests, and overdue": (
        _world(4, 2, _machine("a"), _machine("b"), _machine("c")),
        UNMADE_SINCE,
        _has(**TWO, current=4, size=4, upcoming=2),
    ),
    "the platform has none left": (
        _world(4, 2, launch_failure=STOCK),
        Memory(),
        _has(
            **TWO, current=4, size=2, late=2, unmade=2,
            failed=(("act-1 request 1", "Stock: none left"), ("act-1 request 2", "Stock: none left")),
        ),
    ),
    "the platform refuses until somebody mends the target": (
        _world(3, 2, launch_failure=WRONG),
        Memory(),
        _has(
            **TWO, current=3, size=2, late=1, unmade=1, needs_person=True,
            failed=(("act-2 request 1", "Configuration: no such image"),),
        ),
    ),
    "a refusal of the past, nothing is missing": (_world(2, 2, launch_failure=WRONG), Memory(), _has(**TWO, current=2, size=2)),
    "a node that is drained is on the count until it is written": (
        _world(2, 2),
        LEAVING,
        _has(nodes=(0, 1), current=2, size=1, leaving=(0,), ready=1),
    ),
    "its removal is written, its machine not deleted yet": (
        _world(1, 2),
        LEAVING,
        _has(nodes=(0, 1), current=1, size=1, leaving=(0,), ready=1),
    ),
    "its machine is being deleted": (
        _with_machine_of(_world(1, 2), "general-1", deleting=True),
        Memory(),
        _has(nodes=(0, 1), current=1, size=1, leaving=(0,), ready=1),
    ),
    "its machine is being deleted, and another one is asked for": (
        _with_machine_of(_world(2, 2), "general-1", deleting=True),
        Memory(),
        _has(nodes=(0, 1), current=2, size=2, upcoming=1, leaving=(0,), ready=1),
    ),
    "its machine is marked, and replicas are lowered": (
        _with_machine_of(_world(1, 2), "general-1", delete_marked=True),
        Memory(),
        _has(nodes=(0, 1), current=1, size=1, leaving=(0,), ready=1),
    ),
    "the node itself is being deleted": (
        _with_node(_world(1, 2), "general-1", deleting=True),
        Memory(),
        _has(nodes=(0, 1), current=1, size=1, leaving=(0,), ready=1),
    ),
    "a node that joined a moment ago and is not ready": (
        _with_node(_world(2, 2), "general-2", ready=False, created_seconds=NOW - 899),
        Memory(),
        _has(nodes=(0, 1), current=2, size=2, starting=(1,), ready=1),
    ),
    "a node that has not become ready in time": (
        _with_node(_world(2, 2), "general-2", ready=False, created_seconds=NOW - 900),
        Memory(),
        _has(nodes=(0, 1), current=2, size=2, ready=1, unready=1),
    ),
    "a target that does not say its size": (_world(None, 1), Memory(), _has(nodes=(0,), ready=1)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_a_group_has(name: str) -> None:
    """All numbers of one case."""
    world, memory, expected = CASES[name]
    assert _situation(world, memory) == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"size": 3}, 3),
        ({"size": 3, "cancellable": ("a", "b")}, 5),
        ({"size": 3, "unmade": 2}, 5),
        ({"size": 3, "cancellable": ("a",), "unmade": 2}, 6),
    ],
)
def test_failed_requests_are_on_the_count_that_a_removal_lowers(fields: dict[str, object], expected: int) -> None:
    """Replicas include them until they are taken back."""
    assert _has(**fields).without_leaving == expected


STARTING = {
    "node.kubernetes.io/not-ready": True,
    "node.kubernetes.io/network-unavailable": True,
    "node.cloudprovider.kubernetes.io/uninitialized": True,
    "startup-taint.cluster-autoscaler.kubernetes.io/agent": True,
    "node.kubernetes.io/disk-pressure": False,
    "dedicated": False,
}


@pytest.mark.parametrize("key", STARTING)
def test_taints_that_a_node_carries_until_it_is_usable(key: str) -> None:
    """Kubernetes' own, and the prefix by which the Cluster Autoscaler knows those of others; a taint of the machine is none."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, created=NOW - 60)
    world = cluster.world()
    tainted = msgspec.structs.replace(world.node_shapes[0], taints=(taint(f"{key}=:NoSchedule"),))
    world = msgspec.structs.replace(world, node_shapes=(tainted,))
    view = View.of(world, policy(node_group("general")), Memory(), NOW, Work(0))
    assert (waits_for(world, world.nodes[0], view.groups[0]) == (f"taint {key}",)) is STARTING[key]
    assert (view.states == (NodeState.NOT_STARTED,)) is STARTING[key]


@pytest.mark.parametrize("key", ["reconciler.dev/deleting", "ToBeDeletedByClusterAutoscaler"])
def test_a_taint_of_a_removal_says_that_a_node_leaves(key: str) -> None:
    """Ours and the Cluster Autoscaler's, on a node of nobody as well."""
    cluster = ClusterBuilder()
    cluster.node("alone", taints=(f"{key}=1:NoSchedule",))
    cluster.node("free")
    view = View.of(cluster.world(), policy(), Memory(), NOW, Work(0))
    assert node_states(view.world, view.groups, view.members, Memory(), NOW) == (NodeState.LEAVING, NodeState.UNMANAGED)


def test_a_node_that_only_a_taint_calls_leaving_says_how_to_keep_it() -> None:
    """Whoever set it may be gone. With a deletion, or what we remember of our own removal, there is no doubt."""
    key = "ToBeDeletedByClusterAutoscaler"
    cluster = ClusterBuilder()
    (name,) = cluster.group("general", nodes=1)
    world = cluster.world()
    shapes = tuple(msgspec.structs.replace(shape, taints=(taint(f"{key}=1:NoSchedule"),)) for shape in world.node_shapes)
    world = msgspec.structs.replace(world, node_shapes=shapes)
    rules = policy(node_group("general"))
    (blocker,) = (one for one in node(plan_of(world, rules), name).blockers if one.code == "Leaving")
    assert blocker.message.endswith(f"remove the taint with `kubectl taint nodes {name} {key}-`")
    gone = msgspec.structs.replace(world, nodes=(msgspec.structs.replace(world.nodes[0], deleting=True),))
    (blocker,) = (one for one in node(plan_of(gone, rules), name).blockers if one.code == "Leaving")
    assert blocker.message == "it is already being removed"
