"""Pods of a PodGroup get so many places at once as their group lacks, or no node is bought for them."""

import msgspec
import pytest

from reconciler.cluster.workloads.pod_group import PodGroup
from reconciler.cluster.world import World
from reconciler.plan.plan import Plan, PodOutcome
from reconciler.policy.documents import PodRules
from tests.builders import CAPTURED, ClusterBuilder, node_group, policy
from tests.decisions.deciding import codes, group, plan_of, pod

BOUGHT = PodOutcome.TRIGGERS_SCALE_UP


def train(least: int, name: str = "train", **more: object) -> PodGroup:
    """A group of which so many pods run together."""
    return msgspec.structs.replace(PodGroup(namespace="shop", name=name, min_count=least), **more)


def members(
    cluster: ClusterBuilder, count: int, name: str = "train", *, on: str | None = None, pods: str = "", **more: int
) -> None:
    """Pods of a group that take a node of 4 cores each."""
    cluster.pods(pods or name, count, cpu="4", on=on, owner="Job", shape={"pod_group": name}, **more)


def _cluster(*gangs: tuple[str, int]) -> ClusterBuilder:
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0)
    for name, count in gangs:
        members(cluster, count, name)
    return cluster


def seen(cluster: ClusterBuilder, *groups: PodGroup) -> World:
    """The World with these PodGroups."""
    return cluster.world(pod_groups=groups, captured=(*CAPTURED, "PodGroup"))


def _plan(world: World, most: int = 9, rules: PodRules | None = None) -> Plan:
    return plan_of(world, policy(node_group("general", max=most), pods=rules or PodRules()))


@pytest.mark.parametrize(("most", "desired"), [(6, 6), (5, 0)])
def test_all_at_once_or_none(most: int, desired: int) -> None:
    """Six pods, one a node."""
    plan = _plan(seen(_cluster(("train", 6)), train(6)), most)
    assert group(plan, "general").desired == desired
    assert {codes(line)[0] for line in plan.pods} == ({"NewNode"} if desired else {"GangIncomplete"})


def test_what_the_gang_lacks() -> None:
    """The pods say which group, how many fit, and how many have to."""
    line = pod(_plan(seen(_cluster(("train", 6)), train(6)), 4), "shop/train-1")
    assert (line.outcome, line.reasons[0].message) == (
        PodOutcome.UNPLACEABLE,
        "only 4 of 6 pods of gang shop/train (PodGroup) would fit, and it needs all: shop/train-5 fits nowhere",
    )


@pytest.mark.parametrize(("least", "desired"), [(4, 5), (5, 5), (6, 0)])
def test_more_pods_than_the_minimum(least: int, desired: int) -> None:
    """Seven pods and five nodes: the minimum decides whether five are bought."""
    plan = _plan(seen(_cluster(("train", 7)), train(least)), 5)
    assert group(plan, "general").desired == desired
    if not desired:
        assert "of 7 pods of gang shop/train (PodGroup) would fit, and it needs 6" in plan.pods[0].reasons[0].message


@pytest.mark.parametrize(("most", "desired"), [(5, 5), (4, 4), (3, 2)])
def test_members_that_run_count(most: int, desired: int) -> None:
    """Two of the four that it needs run. Two more are needed, one more is of no use."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    for number in (1, 2):
        members(cluster, 1, on=f"general-{number}", pods=f"old{number}")
    members(cluster, 3)
    assert group(_plan(seen(cluster, train(4)), most), "general").desired == desired


def test_a_member_that_ends_does_not_count() -> None:
    """Of two that run, one terminates: another one has to come first."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    members(cluster, 1, on="general-1", pods="old")
    members(cluster, 1)
    cluster.pods("going", 1, cpu="4", on="general-2", owner="Job", shape={"pod_group": "train"})
    world = seen(cluster, train(3))
    rows = [msgspec.structs.replace(one, deletion_seconds=1) if one.name == "going-1" else one for one in world.pods]
    plan = _plan(msgspec.structs.replace(world, pods=type(world.pods)(rows)))
    assert codes(pod(plan, "shop/train-1")) == ["GangWaits"]


def test_two_gangs_for_one_limit() -> None:
    """Four nodes for two gangs of three: one is whole, the other gets nothing."""
    plan = _plan(seen(_cluster(("a", 3), ("b", 3)), train(3, "a"), train(3, "b")), 4)
    assert group(plan, "general").desired == 3
    assert [line.outcome is BOUGHT for line in plan.pods] == [True] * 3 + [False] * 3


@pytest.mark.parametrize("least", [7, 2_147_483_647])
def test_too_few_pods(least: int) -> None:
    """kube-scheduler waits for the others to be created, and so does a purchase."""
    plan = _plan(seen(_cluster(("train", 6)), train(least)))
    assert group(plan, "general").desired == 0
    assert {line.outcome for line in plan.pods} == {PodOutcome.DELAYED}
    assert plan.pods[0].reasons[0].message == (
        f"PodGroup shop/train has 6 pods, and minCount is {least}: none runs before the others are created"
    )


def test_basic() -> None:
    """Each pod by itself: five of six."""
    assert group(_plan(seen(_cluster(("train", 6)), train(1)), 5), "general").desired == 5


def test_many_groups() -> None:
    """Two pods each, and a limit of three nodes."""
    names = [f"g{number:03}" for number in range(60)]
    cluster = _cluster(*((name, 2) for name in names))
    plan = _plan(seen(cluster, *(train(2, name) for name in names)), 3)
    assert group(plan, "general").desired == 2


@pytest.mark.parametrize(
    ("groups", "outcome", "code", "words"),
    [
        ((), PodOutcome.DELAYED, "PodGroupUnknown", "does not exist"),
        ((train(6, problem="spec: odd"),), PodOutcome.NOT_MODELLED, "PodGroupUnknown", "cannot be read: spec: odd"),
        (
            (train(6, not_modelled=("schedulingConstraints",)),),
            PodOutcome.NOT_MODELLED,
            "NotModelled",
            "spec.schedulingConstraints of PodGroup shop/train",
        ),
        ((train(6, priority=5),), PodOutcome.UNPLACEABLE, "PodGroupRejected", "its priority is 5, and that of a pod is 0"),
    ],
)
def test_groups_that_nobody_can_judge(groups: tuple[PodGroup, ...], outcome: PodOutcome, code: str, words: str) -> None:
    """Nothing is bought, and each pod says why."""
    plan = _plan(seen(_cluster(("train", 6)), *groups))
    assert group(plan, "general").desired == 0
    assert {(line.outcome, line.reasons[0].code) for line in plan.pods} == {(outcome, code)}
    assert words in plan.pods[0].reasons[0].message


def test_groups_that_were_not_captured() -> None:
    """Nobody knows how many have to run."""
    plan = _plan(_cluster(("train", 6)).world())
    assert {(line.outcome, line.reasons[0].message) for line in plan.pods} == {
        (PodOutcome.NOT_MODELLED, "its PodGroup shop/train was not captured")
    }


def test_an_older_scheduler_compares_no_priorities() -> None:
    """SOURCE: kube-scheduler 1.36 has no such check."""
    world = seen(_cluster(("train", 6)), train(6, priority=5))
    assert group(_plan(msgspec.structs.replace(world, scheduler_version=(1, 36, 3))), "general").desired == 6


def _one_runs(**more: object) -> ClusterBuilder:
    """A member on a node, unlike those that wait."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    members(cluster, 3)
    cluster.pods("old", 1, cpu="4", on="general-1", owner="Job", shape={"pod_group": "train", **more})
    return cluster


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"priority": 5}, "its priority is 0, and that of a pod is 5"),
        ({"preemption_policy": "Never"}, "differ in spec.preemptionPolicy"),
        ({"scheduler_name": "other"}, "differ in spec.schedulerName"),
    ],
)
def test_a_member_that_runs_differs(more: dict[str, object], words: str) -> None:
    """SOURCE: `validateScheduledPods` of kube-scheduler 1.37. Before, only pods that wait were compared."""
    world = seen(_one_runs(**more), train(3))
    plan = _plan(world)
    assert {line.outcome for line in plan.pods} == {PodOutcome.UNPLACEABLE}
    assert words in plan.pods[0].reasons[0].message
    assert group(_plan(msgspec.structs.replace(world, scheduler_version=(1, 36, 3))), "general").desired == 4


@pytest.mark.parametrize("least", [1, 3])
def test_a_pod_with_gates_keeps_out_its_group(least: int) -> None:
    """SOURCE: kube-scheduler 1.37 takes groups whole from its queue. Before, it tried the others."""
    world = seen(_cluster(("train", 4)), train(least))
    rows = [msgspec.structs.replace(one, gated=one.name == "train-1") for one in world.pods]
    world = msgspec.structs.replace(world, pods=type(world.pods)(rows))
    plan = _plan(world)
    assert group(plan, "general").desired == 0
    line = pod(plan, "shop/train-2")
    assert (line.outcome, line.reasons[0].message) == (
        PodOutcome.DELAYED,
        "1 pod of PodGroup shop/train has scheduling gates, and kube-scheduler binds none of the group before these are gone",
    )
    assert group(_plan(msgspec.structs.replace(world, scheduler_version=(1, 36, 3))), "general").desired == 3


def test_a_group_that_displaces_others() -> None:
    """Its pods say the same, or it is not bound."""
    cluster = _cluster(("train", 6))
    plan = _plan(seen(cluster, train(6, preemption_policy="Never")))
    assert "or from that of the group" in plan.pods[0].reasons[0].message


def test_pods_of_two_schedulers() -> None:
    """kube-scheduler refuses such a group."""
    cluster = _cluster(("train", 3))
    cluster.pods("odd", 3, cpu="4", shape={"pod_group": "train", "scheduler_name": "other"})
    plan = _plan(seen(cluster, train(3)), rules=PodRules(scheduler_names=("default-scheduler", "other")))
    assert {codes(line)[0] for line in plan.pods} == {"PodGroupRejected"}


def test_a_group_counts_instead_of_a_label() -> None:
    """Five of six fit. The label would ask for all, the group asks for four."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0)
    cluster.pods("train", 6, cpu="4", labels={"job": "x"}, shape={"pod_group": "train"})
    plan = _plan(seen(cluster, train(4)), 5, PodRules(gang_labels=("job",)))
    assert group(plan, "general").desired == 5
