"""Pending pods are bound by priority, age and name, to the first node that fits, with preemption."""

from typing import Any

import msgspec
import pytest

from reconciler.cluster.pods.pod_table import PodTable
from reconciler.cluster.workloads.pod_group import PodGroup
from reconciler.simulation.embedded import preemption
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.embedded.journal import Happened
from reconciler.simulation.embedded.pod_object import PodObject
from tests.builders import NOW, ClusterBuilder, node_group, policy


def _cluster(cluster: ClusterBuilder) -> SimulatedCluster:
    simulated = SimulatedCluster(cluster.world(), policy(node_group("general")), NOW)
    simulated.advance_to(NOW)
    return simulated


def _places(cluster: SimulatedCluster) -> dict[str, str]:
    return {pod.name: pod.node.name if pod.node else "" for pod in cluster.objects.pods.values()}


def test_the_first_node_by_name_that_fits_wins():
    """One core is free on the first node, two on the second: the pod of 1.5 cores goes to the second."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2, cpu="4")
    cluster.pods("old", 1, cpu="3", on="general-1")
    cluster.pods("big", 1, cpu="1500m")
    cluster.pods("small", 1, cpu="500m")
    assert _places(_cluster(cluster)) == {"old-1": "general-1", "big-1": "general-2", "small-1": "general-1"}


def test_higher_priority_is_served_first():
    """Room for one: the later but more important pod gets it."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, cpu="2")
    cluster.pods("a-low", 1, cpu="2", age=100)
    cluster.pods("b-high", 1, cpu="2", priority=10, age=10)
    assert _places(_cluster(cluster)) == {"a-low-1": "", "b-high-1": "general-1"}


def test_older_pod_is_served_before_younger_one():
    """Equal priority: age decides, not the name."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, cpu="2")
    cluster.pods("a-young", 1, cpu="2", age=10)
    cluster.pods("b-old", 1, cpu="2", age=100)
    assert _places(_cluster(cluster)) == {"a-young-1": "", "b-old-1": "general-1"}


def test_pods_of_another_scheduler_wait():
    """kube-scheduler leaves pods alone that name another scheduler."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    cluster.pods("gang", 1, shape={"scheduler_name": "volcano"})
    assert _places(_cluster(cluster)) == {"gang-1": ""}


def test_refused_pod_says_since_when():
    """PodScheduled becomes False at the first look."""
    cluster = ClusterBuilder()
    cluster.pods("web", 1)
    pending = cluster.world(pods=cluster.world().pods)
    simulated = SimulatedCluster(pending, policy(node_group("general")), NOW)
    simulated.objects.pods["shop", "web-1"].unschedulable = 0
    simulated.objects.touch()
    simulated.advance_to(NOW)
    assert simulated.world().pods[0].unschedulable_seconds == NOW


def test_lower_priority_gives_way_and_comes_back_pending():
    """The node is full of unimportant pods: as few as needed go, their controller makes them again."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, cpu="4")
    cluster.pods("cheap", 4, cpu="1", on="general-1", priority=-20)
    cluster.pods("dear", 1, cpu="2", priority=100)
    simulated = _cluster(cluster)
    simulated.advance_to(NOW + 60)
    pods = simulated.objects.pods.values()
    assert sum(pod.name.startswith("cheap") and pod.node is not None for pod in pods) == 2
    assert sum(pod.name.startswith("cheap") and pod.node is None for pod in pods) == 2
    assert _places(simulated)["dear-1"] == "general-1"
    assert sum(event.kind is Happened.POD_PREEMPTED for event in simulated.journal.events) == 2


def test_room_that_victims_leave_is_kept_for_the_pod_they_left_for():
    """While the victim ends, neither it nor a younger pod of its kind takes the room again."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, cpu="2")
    cluster.pods("cheap", 1, cpu="2", on="general-1", priority=-20)
    cluster.pods("dear", 1, cpu="1500m", priority=100)
    simulated = _cluster(cluster)
    simulated.advance_to(NOW + 300)
    assert _places(simulated)["dear-1"] == "general-1"
    assert sum(event.kind is Happened.POD_PREEMPTED for event in simulated.journal.events) == 1


def _makes_room(nodes: int) -> SimulatedCluster:
    """Every node is full; at NOW the first one is being made room on."""
    cluster = ClusterBuilder()
    names = cluster.group("general", nodes=nodes, cpu="2")
    cluster.pods("cheap", nodes, cpu="2", on=list(names), priority=-20)
    cluster.pods("dear", 1, cpu="1500m", priority=100)
    return _cluster(cluster)


def test_a_node_that_fails_meanwhile_is_waited_for_no_longer():
    """The victim is still ending on the first node, which is no longer Ready: the second one is made room on."""
    simulated = _makes_room(2)
    simulated.set_ready("general-1", ready=False)
    simulated.advance_to(NOW + 5)
    nominated = simulated.objects.pods["shop", "dear-1"].nominated
    assert nominated is not None
    assert nominated.name == "general-2"
    assert sum(event.kind is Happened.POD_PREEMPTED for event in simulated.journal.events) == 2


def test_a_pod_as_important_that_ends_there_is_no_victim():
    """kube-scheduler waits for pods of lower priority only: the pod makes room on the second node."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2, cpu="2")
    cluster.pods("equal", 1, cpu="2", on="general-1", priority=100)
    cluster.pods("cheap", 1, cpu="2", on="general-2", priority=-20)
    cluster.pods("dear", 1, cpu="1500m", priority=100)
    world = cluster.world()
    changes = {"equal-1": {"deletion_seconds": NOW + 20}, "dear-1": {"nominated": 0}}
    rows = [msgspec.structs.replace(row, **changes.get(row.name, {})) for row in world.pods]
    simulated = SimulatedCluster(msgspec.structs.replace(world, pods=PodTable(rows)), policy(node_group("general")), NOW)
    simulated.advance_to(NOW)
    nominated = simulated.objects.pods["shop", "dear-1"].nominated
    assert nominated is not None
    assert nominated.name == "general-2"


def test_without_another_node_the_nomination_is_dropped():
    """Nobody else could give way: the pod waits like any other."""
    simulated = _makes_room(1)
    assert simulated.world().pods.nominated.count(0) == 1
    simulated.set_ready("general-1", ready=False)
    simulated.advance_to(NOW + 5)
    assert simulated.world().pods.nominated.count(-1) == len(simulated.world().pods)


def test_pods_of_two_looks_take_their_room_once():
    """Four cores: a pod of two is bound at the first look, one more at the second, and no third."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, cpu="4")
    cluster.pods("web", 1, cpu="2")
    simulated = _cluster(cluster)
    first = next(iter(simulated.objects.pods.values()))
    for name in ("web-2", "web-3"):
        simulated.objects.add_pod(PodObject(first.namespace, name, name, first.shape, first.traits, NOW))
        simulated.advance_to(NOW)
    assert _places(simulated) == {"web-1": "general-1", "web-2": "general-1", "web-3": ""}


def _gang(cluster: ClusterBuilder, least: int) -> SimulatedCluster:
    world = cluster.world(pod_groups=(PodGroup(namespace="shop", name="train", min_count=least),))
    simulated = SimulatedCluster(world, policy(node_group("general")), NOW)
    simulated.advance_to(NOW)
    return simulated


@pytest.mark.parametrize(("nodes", "bound"), [(2, ["other-1"]), (3, ["train-1", "train-2", "train-3"])])
def test_pods_of_a_group_are_bound_together(nodes: int, bound: list[str]):
    """Three pods of two forms that take a node each. With two nodes, a younger pod gets the place of none."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=nodes, cpu="4")
    cluster.pods("train", 2, cpu="4", shape={"pod_group": "train"})
    cluster.pods("other", 1, cpu="3", age=10)
    cluster.pods("train-3", 1, cpu="3500m", age=5, shape={"pod_group": "train"})
    places = _places(_gang(cluster, 3))
    assert sorted(name.removesuffix("-1") if "3-1" in name else name for name, node in places.items() if node) == bound


def test_members_that_run_count_for_their_group():
    """One runs, two have to: one more place is enough for one more pod."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2, cpu="4")
    cluster.pods("old", 1, cpu="4", on="general-1", shape={"pod_group": "train"})
    cluster.pods("train", 2, cpu="4", shape={"pod_group": "train"})
    assert _places(_gang(cluster, 2)) == {"old-1": "general-1", "train-1": "general-2", "train-2": ""}


def test_a_group_that_nobody_knows_waits():
    """Its PodGroup is another one."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2, cpu="4")
    cluster.pods("lost", 1, cpu="4", shape={"pod_group": "lost"})
    assert _places(_gang(cluster, 2)) == {"lost-1": ""}


def test_a_node_is_tried_again_only_if_something_gave_way_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten equal pods take the places of two lower ones on each of five nodes, which are tried twice, the others once."""
    tried: list[int] = []
    plain = preemption._victims

    def counted(pod: PodObject, index: int, *rest: Any) -> list[PodObject]:
        tried.append(index)
        return plain(pod, index, *rest)

    monkeypatch.setattr(preemption, "_victims", counted)
    cluster = ClusterBuilder()
    names = cluster.group("general", nodes=20, cpu="4")
    cluster.pods("low", 40, cpu="2", on=[name for name in names for _ in range(2)], shape={"priority": 1})
    cluster.pods("high", 10, cpu="2", shape={"priority": 9})
    simulated = _cluster(cluster)

    nominated = [pod.nominated.name for pod in simulated.objects.pods.values() if pod.nominated is not None]
    assert sorted(nominated) == sorted(2 * sorted(names)[:5])
    assert len(tried) == 20 + 5
