"""What runs on a node, whatever stands beside it: every pod is judged for itself, and all of them count."""

import msgspec
import pytest

from reconciler.cluster.pods.pod import ClaimUse, Owner
from reconciler.cluster.pods.pod_table import PodTable
from reconciler.policy.documents import DrainRules
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import blocker_codes, node, plan_of


@pytest.mark.parametrize("ages", [(7200, 60), (60, 7200)])
def test_every_system_pod_has_its_own_age(ages: tuple[int, int]) -> None:
    """Two pods that are alike on two nodes: the one that is older than the hour of the policy keeps its node no more."""
    cluster = ClusterBuilder()
    names = cluster.group("general", nodes=3)
    alike = {"controller": Owner("apps", "ReplicaSet", "dns", "uid-kube-system-dns")}
    cluster.controller("dns", namespace="kube-system")
    for name, age in zip(names, ages, strict=False):
        cluster.pods(f"dns-{name}", 1, cpu="1", on=name, namespace="kube-system", labels={"app": "dns"}, age=age, traits=alike)
    plan = plan_of(cluster.world(), policy(node_group("general"), drain=DrainRules(system_pod_timeout_seconds=3600)))
    kept = [("SystemPod" in blocker_codes(plan, name)) for name in names]
    assert kept == [age < 3600 for age in ages] + [False]


def test_pods_are_told_apart_by_shape_and_by_traits_beside_one_that_ends() -> None:
    """A pod on the second node, where another one ends, has nothing of two on the first: one that must not be evicted and a
    smaller one with the traits of its own."""
    cluster = ClusterBuilder()
    first, second, _ = cluster.group("general", nodes=3, cpu="4")
    smaller = {"labels": {"app": "a"}, "cpu": "100m"}
    of_a, of_b = ({"controller": Owner("apps", "ReplicaSet", name, f"uid-shop-{name}")} for name in "ab")
    cluster.pods("a", 1, on=first, **smaller)
    cluster.pods("b", 1, cpu="200m", on=second)
    cluster.pods("c", 1, on=first, traits={"safe_to_evict": "false"}, **smaller)
    cluster.pods("d", 1, on=second, traits=of_a, **smaller)
    cluster.pods("e", 1, on=first, traits=of_b, **smaller)
    world = cluster.world()
    assert (len(world.pod_shapes), len(world.pod_traits)) == (2, 3)
    pods = [msgspec.structs.replace(pod, deletion_seconds=NOW - 5) if pod.name == "d-1" else pod for pod in world.pods]
    plan = plan_of(msgspec.structs.replace(world, pods=PodTable(pods)), policy(node_group("general")))
    blocked = {line.node: [(one.code, one.pod) for one in line.blockers if one.pod] for line in plan.nodes}
    assert blocked == {first: [("NotSafeToEvict", "shop/c-1")], second: [], "general-3": []}
    assert [line.utilization_permille for line in plan.nodes] == [75, 75, 0]


@pytest.mark.parametrize(
    ("between", "allowed", "blockers"),
    [
        ({}, 0, ["NotEnoughPdb"]),
        ({"shape": {"claims": (ClaimUse(name="gpu", claim="gpu"),)}}, 0, ["NotEnoughPdb", "NotModelled"]),
        ({"owner": None}, 1, ["Unreplicated"]),
        ({"owner": None}, 0, ["NotEnoughPdb", "Unreplicated"]),
    ],
)
def test_pods_under_a_budget_and_those_that_are_not_modelled_are_told_whatever_else_runs(
    between: dict[str, object], allowed: int, blockers: list[str]
) -> None:
    """By name between a pod under a budget, which allows so many evictions, and one of nothing: one that is `between`."""
    cluster = ClusterBuilder()
    first, _ = cluster.group("general", nodes=2)
    cluster.pods("a", 1, cpu="100m", on=first)
    cluster.budget("a", allowed=allowed)
    cluster.pods("m", 1, cpu="100m", on=first, **between)
    cluster.pods("z", 1, cpu="100m", on=first)
    found = node(plan_of(cluster.world(), policy(node_group("general"))), first).blockers[: len(blockers)]
    assert [blocker.code for blocker in found] == blockers
    if not allowed:
        assert found[0].message == "PodDisruptionBudget shop/a allows 0 evictions, the drain needs 1"


@pytest.mark.parametrize(("cpu", "memory", "permille"), [("1", "0", 500), ("0", "4Gi", 500), ("500m", "4Gi", 500)])
def test_all_pods_that_are_alike_count(cpu: str, memory: str, permille: int) -> None:
    """Two of them, which nobody would make again, on a node of 4 cores and 16 GiB."""
    cluster = ClusterBuilder()
    first, _ = cluster.group("general", nodes=2, cpu="4", memory="16Gi")
    cluster.pods("web", 2, cpu=cpu, memory=memory, on=first, owner=None)
    plan = plan_of(cluster.world(), policy(node_group("general")))
    assert node(plan, first).utilization_permille == permille
    assert blocker_codes(plan, first) == ["Unreplicated", "Unreplicated"]


def test_every_pod_that_keeps_its_node_is_named_once() -> None:
    """Three that are alike, one of which has just begun to end."""
    cluster = ClusterBuilder()
    first, _ = cluster.group("general", nodes=2)
    names = cluster.pods("web", 3, cpu="100m", on=first, owner=None)
    ending = {names[1]: NOW - 5}
    pods = [msgspec.structs.replace(pod, deletion_seconds=ending.get(pod.key, 0)) for pod in cluster.world().pods]
    plan = plan_of(cluster.world(pods=PodTable(pods)), policy(node_group("general")))
    assert [(one.code, one.pod) for one in node(plan, first).blockers] == [("Unreplicated", name) for name in names]
