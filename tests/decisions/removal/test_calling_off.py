"""Removals under way that may not go on: what changed while the node was drained."""

import msgspec
import pytest

from reconciler.cluster.pods.pod import PodPhase
from reconciler.cluster.pods.pod_table import PodTable
from reconciler.cluster.world import World
from reconciler.decisions.memory import Memory
from reconciler.decisions.removal.called_off import called_off
from reconciler.policy.documents import Hold, Limit, Mode, NodeGroup, PolicySet, ScaleDown, Toggle
from reconciler.policy.values.label_selector import Selector
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


@pytest.mark.parametrize(("cores", "ended"), [(8, []), (9, ["general-1"]), (12, ["general-1"]), (13, ["general-1", "general-2"])])
def test_a_limit_counts_each_drain_once(cores: int, ended: list[str]) -> None:
    """Four nodes of 4 cores of which two leave, the second with fewer pods: 12 cores remain of 16 after it, 8 after both."""
    cluster = _cluster(leaving=2, nodes=4)
    cluster.pods("web", 1, cpu="1", on="general-1")
    rules = policy(node_group("general"), limits=(Limit(name="floor", min=(("cpu", cores * 1000),)),))
    assert _called_off(cluster.world(), rules=rules) == [(name, "LimitMin") for name in ended]


@pytest.mark.parametrize(("labels", "ended"), [({"reserve": "own"}, ["general-1"]), ({"reserve": "none"}, [])])
def test_a_limit_over_chosen_groups_counts_their_nodes_alone(labels: dict[str, str], ended: list[str]) -> None:
    """Nine cores of groups with that label have to stay: three nodes of 4 are, and one that nobody manages is not."""
    cluster = _cluster()
    cluster.node("alone")
    limit = Limit(name="floor", groups=Selector(match_labels=(("reserve", "own"),)), min=(("cpu", 9000),))
    rules = policy(node_group("general", labels=tuple(labels.items())), limits=(limit,))
    assert _called_off(cluster.world(), rules=rules) == [(name, "LimitMin") for name in ended]


def test_nodes_of_nobody_stand_on_the_floor_of_a_limit_over_all() -> None:
    """Two nodes of the group and one that nobody manages remain: twelve cores."""
    cluster = _cluster()
    cluster.node("alone")
    rules = policy(node_group("general"), limits=(Limit(name="floor", min=(("cpu", 12_000),)),))
    assert _called_off(cluster.world(), rules=rules) == []


def test_a_node_that_is_being_deleted_is_past_it() -> None:
    """Somebody deleted it while it was drained."""
    world = _cluster().world()
    nodes = tuple(msgspec.structs.replace(node, deleting=node.name == "general-1") for node in world.nodes)
    held = node_group("general", hold=Hold(reason="repair"))
    assert _called_off(msgspec.structs.replace(world, nodes=nodes), held) == []


def test_a_node_of_no_group_is_left_alone() -> None:
    """Its group has left the policy: nothing of this one has a say in it."""
    cluster = _cluster(leaving=0)
    cluster.node("alone", taints=LEAVING)
    assert _called_off(cluster.world(), node_group("general", hold=Hold(reason="repair"))) == []


def test_a_node_without_machine_may_be_called_off() -> None:
    """It belongs to the group by its labels."""
    cluster = _cluster(leaving=0)
    cluster.node("general-4", labels={"pool": "general"}, taints=LEAVING)
    selected = Selector(match_labels=(("pool", "general"),))
    held = node_group("general", hold=Hold(reason="repair"), nodes=selected)
    assert _called_off(cluster.world(), held) == [("general-4", "GroupHeld")]


def test_a_pod_that_has_ended_does_not_end_it() -> None:
    """Whatever it is annotated with."""
    cluster = _cluster()
    cluster.pods("web", 1, on="general-1", traits={"safe_to_evict": "false"})
    world = cluster.world()
    pods = PodTable(msgspec.structs.replace(pod, phase=PodPhase.SUCCEEDED) for pod in world.pods)
    assert _called_off(msgspec.structs.replace(world, pods=pods)) == []


@pytest.mark.parametrize(("priority", "ended"), [(-11, []), (-10, [("general-1", "NotSafeToEvict")])])
def test_expendable_pods_have_no_say(priority: int, ended: list[tuple[str, str]]) -> None:
    """Those below the cut-off of -10 may be lost at any time; one at it may not."""
    cluster = _cluster()
    cluster.pods("web", 1, on="general-1", priority=priority, traits={"safe_to_evict": "false"})
    assert _called_off(cluster.world()) == ended


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


@pytest.mark.parametrize(("least", "found"), [(2, []), (3, [("general-1", "LimitMin")])])
def test_a_minimum_over_groups_counts_their_nodes(least: int, found: list[tuple[str, str]]) -> None:
    """Two of three are left; a node of another group and one of nobody do not count."""
    cluster = _cluster()
    cluster.node("lonely")
    cluster.group("zoo", nodes=1)
    reserve = (("reserve", "h100"),)
    floor = Limit(name="floor", groups=Selector(match_labels=reserve), min=(("nodes", least),))
    groups = (node_group("general", labels=reserve), node_group("zoo"))
    assert _called_off(cluster.world(), rules=policy(*groups, limits=(floor,))) == found
