"""Pods that are asked for, by kind: what counts, what is the same kind, and how much of it is remembered."""

from collections.abc import Callable

import msgspec
import pytest

from reconciler.cluster.pods.pod import PodPhase, VolumeUse
from reconciler.cluster.pods.pod_table import PodTable
from reconciler.cluster.world import World
from reconciler.decisions.demand.pod_counts import MOST_KINDS, PodCounts
from reconciler.decisions.draft import Draft
from reconciler.decisions.memory import Memory
from reconciler.decisions.view import View
from reconciler.decisions.work import Work
from reconciler.policy.documents import PodRules
from tests.builders import NOW, ClusterBuilder, node_group, policy


def _counts(world: World) -> PodCounts:
    rules = policy(node_group("general"), pods=PodRules(expendable_below_priority=-10))
    return PodCounts.of(_draft(world, rules))


def _draft(world, rules) -> Draft:
    return View.of(world, rules, Memory(), NOW, Work(1_000_000)).draft(lift_holds=False)


def _cluster() -> ClusterBuilder:
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, cpu="64")
    return cluster


def _with_pods(world: World, **fields: object) -> World:
    return msgspec.structs.replace(world, pods=PodTable(msgspec.structs.replace(pod, **fields) for pod in world.pods))


def _web(cluster: ClusterBuilder) -> ClusterBuilder:
    cluster.pods("web", 3, cpu="1", on=["general-1", None, None])
    return cluster


def test_bound_and_pending_pods_are_one_kind():
    """Three of a shape, one of which runs."""
    counts = _counts(_web(_cluster()).world())
    assert list(counts.least.values()) == [3]
    assert counts.most == counts.least


ALIKE: dict[str, Callable[[ClusterBuilder], object]] = {
    "another name and label": lambda cluster: cluster.pods("api", 1, cpu="1"),
    "another namespace": lambda cluster: cluster.pods("web", 1, cpu="1", namespace="pay"),
}
OTHER: dict[str, Callable[[ClusterBuilder], object]] = {
    "more cpu": lambda cluster: cluster.pods("api", 1, cpu="2"),
    "a node selector": lambda cluster: cluster.pods("api", 1, cpu="1", node_selector={"disk": "fast"}),
    "a higher priority": lambda cluster: cluster.pods("api", 1, cpu="1", priority=100),
    "a toleration": lambda cluster: cluster.pods("api", 1, cpu="1", tolerations=("dedicated",)),
}


@pytest.mark.parametrize("what", ALIKE)
def test_who_a_pod_is_makes_no_kind(what):
    """It counts with the three others."""
    cluster = _web(_cluster())
    ALIKE[what](cluster)
    assert list(_counts(cluster.world()).least.values()) == [4]


@pytest.mark.parametrize("what", OTHER)
def test_what_a_pod_asks_for_makes_its_kind(what):
    """It counts apart from the three others."""
    cluster = _web(_cluster())
    OTHER[what](cluster)
    assert sorted(_counts(cluster.world()).least.values()) == [1, 3]


def test_each_pod_with_a_claim_of_its_own_is_of_one_kind():
    """As those of a StatefulSet are."""
    cluster = _cluster()
    for number in range(3):
        volume = VolumeUse(kind="PersistentVolumeClaim", claim=f"data-{number}")
        cluster.pods(f"db-{number}", 1, cpu="1", shape={"volumes": (volume,)})
    assert list(_counts(cluster.world()).least.values()) == [3]


NO_DEMAND: dict[str, Callable[[ClusterBuilder], object]] = {
    "expendable": lambda cluster: cluster.pods("low", 2, cpu="1", priority=-11),
    "DaemonSet": lambda cluster: cluster.daemonset("agent", cpu="100m", memory="0"),
}


@pytest.mark.parametrize("what", NO_DEMAND)
def test_no_demand(what):
    """Pods below the cut-off, and those that go with their node."""
    cluster = _web(_cluster())
    NO_DEMAND[what](cluster)
    assert list(_counts(cluster.world()).least.values()) == [3]


def test_pods_at_the_cut_off_are_demand():
    """Those below it are expendable."""
    cluster = _cluster()
    cluster.pods("least", 2, cpu="1", priority=-10)
    assert list(_counts(cluster.world()).least.values()) == [2]


def test_finished_pods_are_no_demand():
    """Even while they are being deleted."""
    world = _web(_cluster()).world()
    for deleted in (0, NOW + 10):
        counts = _counts(_with_pods(world, phase=PodPhase.SUCCEEDED, deletion_seconds=deleted))
        assert (counts.least, counts.most) == ({}, {})


def test_a_finished_pod_that_is_deleted_takes_no_other_away():
    """One of three has finished and terminates: the other two are asked for."""
    world = _web(_cluster()).world()
    over = {"phase": PodPhase.SUCCEEDED, "deletion_seconds": NOW + 10}
    rows = (msgspec.structs.replace(pod, **(over if pod.name == "web-1" else {})) for pod in world.pods)
    assert _totals(msgspec.structs.replace(world, pods=PodTable(rows))) == (2, 2)


def test_terminating_pods_may_be_made_again():
    """For a minute beyond their grace period, if they have a controller."""
    world = _web(_cluster()).world()
    assert [_totals(_with_pods(world, deletion_seconds=NOW + at)) for at in (30, -59, -60)] == [(0, 3), (0, 3), (0, 0)]


def test_terminating_pods_of_nobody_are_gone():
    """Nobody makes them again."""
    cluster = _cluster()
    cluster.pods("job", 2, cpu="1", on="general-1", owner=None)
    assert _totals(_with_pods(cluster.world(), deletion_seconds=NOW + 30)) == (0, 0)


def _totals(world: World) -> tuple[int, int]:
    counts = _counts(world)
    return sum(counts.least.values()), sum(counts.most.values())


def test_as_many_of_every_kind_cover():
    """More do, one less of one kind does not; of nothing it cannot be said."""
    counts = PodCounts({"a": 2, "b": 3}, {"a": 2, "b": 4})
    assert counts.cover({"a": 2, "b": 4})
    assert counts.cover({"a": 1})
    assert not counts.cover({"a": 3, "b": 1})
    assert not counts.cover({"c": 1})
    assert not counts.cover({})


def test_what_was_counted_is_only_raised():
    """By what is there at least; the same value where nothing is more."""
    counts = PodCounts({"a": 2, "b": 3, "c": 1}, {"a": 9, "b": 9, "c": 9})
    assert counts.raised({"a": 5, "b": 1}) == {"a": 5, "b": 3, "c": 1}
    before = {"a": 2, "b": 3, "c": 1}
    assert counts.raised(before) is before


def test_few_digits_compare_with_many():
    """Kinds that were told apart are added up where the other side does not tell them apart."""
    counts = PodCounts({"abc11111": 2, "abc22222": 3}, {"abc11111": 2, "abc22222": 3})
    assert counts.cover({"abc": 5})
    assert not counts.cover({"abc": 6})
    assert counts.raised({"abc": 4}) == {"abc": 5}
    assert PodCounts({"abc": 7}, {"abc": 7}).raised({"abc11111": 4, "abd00000": 1}) == {"abc": 7, "abd": 1}


def test_of_very_many_kinds_little_is_remembered():
    """Five thousand kinds share 4,096 counts, in 64 KiB of text, and none of their pods is lost."""
    cluster = _cluster()
    for number in range(5_000):
        cluster.pods(f"job-{number}", 1, cpu=f"{number + 1}m")
    least = _counts(cluster.world()).least
    assert len(least) <= MOST_KINDS == 16**3  # what three hex digits tell apart
    assert sum(least.values()) == 5_000
    assert len(msgspec.json.encode(least)) < 64 << 10
