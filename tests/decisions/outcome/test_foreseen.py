"""What a plan leads to when nothing but time is in its way, and when more than time is."""

from collections import Counter
from collections.abc import Callable

import msgspec
import pytest

from reconciler.cluster.target import FieldOwner
from reconciler.cluster.world import World
from reconciler.decisions.decide import decide_ahead
from reconciler.decisions.memory import Memory, Replacement
from reconciler.decisions.outcome.foreseen import Foreseen
from reconciler.decisions.work import Work
from reconciler.policy.documents import Budget, Hold, PodRules, PolicySet, ScaleDown, Tier
from reconciler.policy.pace import Pace
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy

DOWN = ScaleDown(unneeded_time_seconds=600)


def cluster() -> ClusterBuilder:
    """Three nodes of 4 cores: of `down` the first takes the second's pod as well; `up` has a full node."""
    builder = ClusterBuilder()
    builder.group("down", nodes=2, cpu="4")
    builder.group("up", nodes=1, cpu="4")
    builder.daemonset("log")
    builder.pods("web", 3, cpu="800m", on=["down-1", "down-1", "down-2"], node_selector={"pool": "down"})
    builder.pods("full", 1, cpu="3900m", on="up-1")
    return builder


def rules(**fields: object) -> PolicySet:
    """Both groups; `fields` are the policy's."""
    return policy(node_group("down", scale_down=DOWN), node_group("up"), **fields)


def ahead(world: World, documents: PolicySet | None = None, memory: Memory | None = None) -> Foreseen | None:
    """What one decision foresees."""
    return decide_ahead(world, documents or rules(), memory or Memory(), NOW, Work(10**9)).foreseen


def bound(world: World, found: Foreseen) -> dict[tuple[int, str], int]:
    """Pods more (or fewer) by node and app."""
    sums: Counter[tuple[int, str]] = Counter()
    for node, shape, count in zip(found.nodes, found.shapes, found.counts, strict=True):
        sums[node, dict(world.pod_shapes[shape].labels)["app"]] += count
    return {key: count for key, count in sums.items() if count}


def test_a_node_that_leaves_and_its_pod() -> None:
    """In ten minutes `down` has one node, and both its pods are on the first."""
    world = cluster().world()
    found = ahead(world)
    assert found is not None
    (changed,) = found.groups
    assert (changed.name, changed.target, changed.to) == ("down", machine_deployment("down"), 1)
    assert (changed.joining, changed.leaving) == ((), (1,))
    assert bound(world, found) == {(0, "web"): 1, (1, "web"): -1}
    assert (found.placed, found.last_seconds) == ((), NOW + 600)


def test_nodes_that_join_and_the_pods_on_them() -> None:
    """Two pods that fill a node each, and one that has room where it is: nodes behind those that are there, each with its
    DaemonSet pod; only those pods are placed."""
    builder = cluster()
    builder.pods("new", 2, cpu="3900m", node_selector={"pool": "up"})
    builder.pods("small", 1, cpu="100m", node_selector={"pool": "down"})
    builder.pods("never", 1, cpu="64")
    world = builder.world()
    found = ahead(world, rules(pace=Pace(delay_after_add_seconds=0)))
    assert found is not None
    down, up = found.groups
    assert (down.to, down.leaving, down.joining) == (1, (1,), ())
    assert (up.name, up.to, up.leaving) == ("up", 3, ())
    (agent,) = {daemon.shape for daemon in world.daemon_pods}
    assert [(node.index, node.daemons) for node in up.joining] == [(3, (agent,)), (4, (agent,))]
    assert {node.shape.label("pool") for node in up.joining} == {"up"}
    now = bound(world, found)
    assert {key: many for key, many in now.items() if key[1] != "log"} == {
        (0, "web"): 1, (1, "web"): -1, (0, "small"): 1, (3, "new"): 1, (4, "new"): 1,
    }  # fmt: skip
    assert sorted(world.pods.key(row) for row in found.placed) == ["shop/new-1", "shop/new-2", "shop/small-1"]


def test_nothing_changes_in_a_settled_cluster() -> None:
    """No group, no pod, no time."""
    builder = ClusterBuilder()
    builder.group("down", nodes=1, cpu="4")
    builder.pods("web", 1, cpu="3", on="down-1")
    found = ahead(builder.world(), policy(node_group("down")))
    assert found is not None
    assert (found.groups, found.placed, found.last_seconds, list(found.counts)) == ((), (), 0, [])


def _machine_that_failed(builder: ClusterBuilder) -> None:
    builder.target("down", 3, template=builder._targets[machine_deployment("down")].template)
    builder.machine("down-3", machine_deployment("down"), failed="out of stock")


CHANGES: dict[str, Callable[[ClusterBuilder], object]] = {
    "a machine on its way": lambda builder: builder.machine("down-3", _size(builder, 3)),
    "a machine that failed": _machine_that_failed,
    "a replica without machine": lambda builder: _size(builder, 3),
    "a node more than replicas": lambda builder: _size(builder, 1),
    "a node that is unready": lambda builder: builder.node("down-2", labels={"pool": "down"}, ready=False),
    "a node that is starting": lambda builder: builder.node("down-2", labels={"pool": "down"}, ready=False, created=NOW - 5),
    "a node that another autoscaler drains": lambda builder: builder.node(
        "down-2", labels={"pool": "down"}, taints=("ToBeDeletedByClusterAutoscaler=1:NoSchedule",)
    ),
    "a target to be adopted": lambda builder: builder.target(
        "down",
        2,
        owners=(FieldOwner(manager="cluster-autoscaler", operation="Update", time_seconds=NOW - 86_400),),
        template=builder._targets[machine_deployment("down")].template,
    ),
    "pods that give way to others": lambda builder: builder.pods("low", 1, cpu="100m", priority=-11, on="up-1"),
    "a pod that is too young": lambda builder: builder.pods("young", 1, cpu="100m", age=30),
}


def _size(builder: ClusterBuilder, replicas: int) -> object:
    return builder.target("down", replicas, template=builder._targets[machine_deployment("down")].template)


@pytest.mark.parametrize("what", CHANGES)
def test_where_more_than_time_is_in_the_way(what: str) -> None:
    """Nothing is foreseen: the simulation plays it."""
    builder = cluster()
    CHANGES[what](builder)
    documents = rules(adopt_from=("cluster-autoscaler",), pods=PodRules(new_pod_delay_seconds=60))
    assert ahead(cluster().world(), documents) is not None
    assert ahead(builder.world(), documents) is None


def test_a_held_group_with_other_nodes_than_replicas_stands_still() -> None:
    """Nobody follows its size here, so nothing is under way in it; `up` buys a node."""
    builder = cluster()
    _size(builder, 1)
    builder.pods("new", 1, cpu="3900m", node_selector={"pool": "up"})
    held = node_group("down", scale_down=DOWN, hold=Hold(reason="repair"))
    found = ahead(builder.world(), policy(held, node_group("up")))
    assert found is not None
    assert [(group.name, group.to) for group in found.groups] == [("up", 2)]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"budgets": (Budget(nodes=1),)}, True),
        ({"budgets": (Budget(percent=1),)}, True),
        ({"budgets": (Budget(nodes=9), Budget(nodes=0))}, False),
        ({"budgets": (Budget(percent=0),)}, False),
        ({"pace": Pace(max_removed_percent=1)}, True),
        ({"pace": Pace(max_removed_percent=0)}, False),
        ({"pace": Pace(require_approval_above=1)}, True),
        ({"pace": Pace(require_approval_above=0)}, False),
    ],
)
def test_a_bound_of_zero_keeps_nodes_for_ever(fields: dict[str, object], told: bool) -> None:
    """One that lets a node at a time go takes time and no more. With nothing that would leave it is no matter."""
    documents = rules(**fields)
    found = ahead(cluster().world(), documents)
    assert (found is not None) is told
    builder = cluster()
    builder.pods("more", 1, cpu="3", on="down-2")
    quiet = ahead(builder.world(), documents)
    assert quiet is not None
    assert quiet.groups == ()


def test_a_view_with_holes_keeps_nodes_for_ever() -> None:
    """Budgets of pods were not captured: a node that would leave does not."""
    world = cluster().world()
    assert ahead(msgspec.structs.replace(world, not_captured=("PodDisruptionBudget",))) is None


def test_a_replacement_under_way_is_more_than_nodes_that_join_and_leave() -> None:
    """Its nodes wait for the one that takes over."""
    begun = Replacement(target=str(machine_deployment("up")), nodes=("down-2",), to=2, started_seconds=NOW - 60, saving_micros=1)
    builder = cluster()
    builder.target("up", 2, template=builder._targets[machine_deployment("up")].template)
    builder.node("up-2", labels={"pool": "up"})
    builder.machine("up-2", machine_deployment("up"), node="up-2")
    builder.pods("held", 1, cpu="3", on="up-2")
    builder.pods("stuck", 1, cpu="3", on="down-2")
    assert ahead(builder.world()) is not None
    assert ahead(builder.world(), memory=Memory(replacements=(begun,))) is None


def test_nodes_that_leave_in_this_plan_need_no_time() -> None:
    """Unneeded for long enough. Ones that wait beside it leave later."""
    found = ahead(cluster().world(), rules(), Memory(unneeded_since={"down-2": NOW - 600}))
    assert found is not None
    assert found.last_seconds == NOW
    assert [(group.to, group.leaving) for group in found.groups] == [(1, (1,))]


@pytest.mark.parametrize(
    ("replicas", "machine", "failed", "held", "told"),
    [
        (1, "", "", True, True),
        (2, "late", "", True, False),
        (2, "late", "quota", True, False),
        (1, "late", "quota", True, False),
        (1, "late", "quota", False, False),
        (2, "", "", True, False),
    ],
)
def test_machines_on_their_way_or_failed_are_in_the_way_even_of_a_held_group(
    replicas: int, machine: str, failed: str, held: bool, told: bool
) -> None:
    """Of a group with one node: asked for, failed, failed and off the count already; and one nobody has made yet."""
    builder = cluster()
    builder.group("still", nodes=1, cpu="4", replicas=replicas)
    builder.pods("base", 1, cpu="4", on="still-1")
    if machine:
        builder.machine(machine, machine_deployment("still"), created=NOW - 60, failed=failed)
    still = node_group("still", hold=Hold(reason="repair")) if held else node_group("still")
    documents = policy(node_group("down", scale_down=DOWN), node_group("up"), still)
    assert (ahead(builder.world(), documents) is not None) is told


def test_a_share_that_keeps_a_node_until_another_one_leaves() -> None:
    """Both are empty. The one of spot leaves in ten minutes, and only then may the other one begin to wait."""
    builder = ClusterBuilder()
    builder.group("spot", nodes=1)
    builder.group("demand", nodes=1)
    groups = (node_group("spot", tier="spot", scale_down=DOWN), node_group("demand", tier="demand", scale_down=DOWN))
    for share, told in ((0, True), (10, False)):
        tiers = (Tier(name="spot"), Tier(name="demand", share_percent=share))
        assert (ahead(builder.world(), policy(*groups, tiers=tiers)) is not None) is told
