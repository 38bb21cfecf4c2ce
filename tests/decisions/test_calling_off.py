"""Removals under way that may not go on: what changed while the node was drained."""

import msgspec
import pytest

from reconciler.cluster.pods.pod_table import PodTable
from reconciler.cluster.world import World
from reconciler.decisions.memory import Memory
from reconciler.decisions.removal.calling_off import called_off
from reconciler.policy.documents import Hold, Limit, Mode, NodeGroup, PolicySet, ScaleDown, Toggle
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy

LEAVING = ("reconciler.dev/deleting=test.1:NoSchedule",)
MEMORY = Memory(leaving={"general-1": NOW - 60})


def _cluster(leaving: int = 1, nodes: int = 3) -> ClusterBuilder:
    """A group of three nodes of 4 cores, the first ones of which are being drained."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=nodes)
    for number in range(1, leaving + 1):
        cluster.node(f"general-{number}", labels={"pool": "general"}, taints=LEAVING)
    return cluster


def _called_off(world: World, *groups: NodeGroup, rules: PolicySet | None = None) -> list[tuple[str, str]]:
    found = called_off(world, rules or policy(*groups or (node_group("general"),)), MEMORY, NOW)
    assert all(one.target == machine_deployment("general") and one.why.message for one in found)
    return [(one.node, one.why.code) for one in found]


def test_what_nothing_speaks_against_goes_on() -> None:
    """One of three nodes, with a pod that moves."""
    cluster = _cluster()
    cluster.pods("web", 1, cpu="1", on="general-1")
    assert _called_off(cluster.world()) == []


def test_a_removal_that_is_written_is_not_called_off_for_the_minimum() -> None:
    """Replicas are at the minimum of two because of it; its machine is not being deleted yet."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=3, replicas=2)
    cluster.node("general-1", labels={"pool": "general"}, taints=LEAVING)
    assert _called_off(cluster.world(), node_group("general", min=2)) == []


def test_a_hold_ends_it() -> None:
    """Set in git while the node was drained."""
    assert _called_off(_cluster().world(), node_group("general", hold=Hold(reason="repair"))) == [("general-1", "GroupHeld")]


def test_another_owner_ends_it() -> None:
    """A second autoscaler was seen at work: nothing of the group is written any more."""
    world = msgspec.structs.replace(_cluster().world(), rivals=("cluster-autoscaler leads its lease",))
    assert _called_off(world) == [("general-1", "GroupHeld")]


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"mode": Mode.OBSERVE}, "Observe"),
        ({"scale_down": ScaleDown(mode=Toggle.DISABLED)}, "ScaleDownDisabled"),
    ],
)
def test_a_policy_that_removes_nothing_any_more_ends_it(fields: dict[str, object], code: str) -> None:
    """The group only observes, or keeps its nodes."""
    assert _called_off(_cluster().world(), node_group("general", **fields)) == [("general-1", code)]


@pytest.mark.parametrize(
    ("key", "code"),
    [
        ("cluster-autoscaler.kubernetes.io/scale-down-disabled", "ScaleDownDisabledAnnotation"),
        ("delay-deletion.cluster-autoscaler.kubernetes.io/backup", "DelayDeletion"),
    ],
)
def test_an_annotation_on_the_node_ends_it(key: str, code: str) -> None:
    """Somebody wants to keep the node after all."""
    cluster = _cluster()
    cluster.node("general-1", labels={"pool": "general"}, taints=LEAVING, annotations={key: "true"})
    assert _called_off(cluster.world()) == [("general-1", code)]


def test_a_pod_that_must_not_be_evicted_ends_it() -> None:
    """It was annotated after the drain had begun; the reason names it."""
    cluster = _cluster()
    cluster.pods("web", 1, on="general-1", traits={"safe_to_evict": "false"})
    (found,) = called_off(cluster.world(), policy(node_group("general")), MEMORY, NOW)
    assert (found.node, found.why.code, found.why.pod) == ("general-1", "NotSafeToEvict", "shop/web-1")


def test_a_pod_that_is_ending_does_not_end_it() -> None:
    """It was evicted, or deleted by somebody; it goes anyway."""
    cluster = _cluster()
    cluster.pods("web", 1, on="general-1", traits={"safe_to_evict": "false"})
    world = cluster.world()
    pods = PodTable(msgspec.structs.replace(pod, deletion_seconds=NOW + 10) for pod in world.pods)
    assert _called_off(msgspec.structs.replace(world, pods=pods)) == []


def test_a_disruption_budget_does_not_end_it() -> None:
    """The evictions of the drain themselves use it up; it waits."""
    cluster = _cluster()
    cluster.pods("web", 2, on=["general-1", "general-2"])
    cluster.budget("web", min_available="2", allowed=0, healthy=2, desired=2, expected=2)
    assert _called_off(cluster.world()) == []


@pytest.mark.parametrize(("lowest", "ended"), [(1, []), (2, ["general-1"]), (3, ["general-1", "general-2"])])
def test_a_raised_minimum_ends_as_many_as_it_must(lowest: int, ended: list[str]) -> None:
    """Two of three nodes leave, the first with a pod left: with a minimum of two the one that is further goes on."""
    cluster = _cluster(leaving=2)
    cluster.pods("web", 1, cpu="1", on="general-1")
    found = _called_off(cluster.world(), node_group("general", min=lowest))
    assert found == [(name, "MinSize") for name in ended]


@pytest.mark.parametrize(("cores", "ended"), [(8, []), (9, [("general-1", "LimitMin")])])
def test_a_limit_with_a_minimum_counts_too(cores: int, ended: list[tuple[str, str]]) -> None:
    """Two nodes of 4 cores remain of three."""
    rules = policy(node_group("general"), limits=(Limit(name="floor", min=(("cpu", cores * 1000),)),))
    assert _called_off(_cluster().world(), rules=rules) == ended


def test_above_the_maximum_it_goes_on() -> None:
    """Three nodes where one is the maximum and the minimum."""
    assert _called_off(_cluster(leaving=2).world(), node_group("general", min=1, max=1)) == []


def test_a_machine_that_is_going_is_past_it() -> None:
    """Replicas were lowered for it already."""
    world = _cluster().world()
    machines = tuple(msgspec.structs.replace(one, deleting=one.node == "general-1") for one in world.machines)
    held = node_group("general", hold=Hold(reason="repair"))
    assert _called_off(msgspec.structs.replace(world, machines=machines), held) == []


def test_nodes_that_leave_for_others_are_left_alone() -> None:
    """Marked by another autoscaler, or cordoned by hand."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2, taints=("ToBeDeletedByClusterAutoscaler=1:NoSchedule",))
    assert _called_off(cluster.world(), node_group("general", hold=Hold(reason="repair"))) == []
