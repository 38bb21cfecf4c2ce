"""Pods that are of use only together get a place all, or none is bought for them."""

import pytest

from reconciler.plan.plan import Plan, PodOutcome
from reconciler.policy.documents import PodRules
from tests.builders import ClusterBuilder, node_group, policy
from tests.decisions.deciding import codes, group, plan_of, pod

LABEL = "scheduling.x-k8s.io/pod-group"
ASKED = PodRules(gang_labels=(LABEL,))


def _cluster(*gangs: tuple[str, int], nodes: int = 0) -> ClusterBuilder:
    """Gangs of pods that take a node of 4 cores each; `nodes` empty ones are there."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=nodes)
    for name, pods in gangs:
        cluster.pods(name, pods, cpu="4", labels={"app": name, LABEL: name})
    return cluster


def _plan(cluster: ClusterBuilder, most: int, rules: PodRules = ASKED) -> Plan:
    return plan_of(cluster.world(), policy(node_group("general", max=most), pods=rules))


@pytest.mark.parametrize(("most", "desired"), [(4, 4), (3, 0)])
def test_all_or_none(most: int, desired: int) -> None:
    """Four pods, one a node: with four nodes to have they are bought, with three none is."""
    assert group(_plan(_cluster(("job", 4)), most), "general").desired == desired


def test_each_pod_says_what_its_gang_lacks() -> None:
    """Three of four would get a place; the one that would not carries its own reasons as well."""
    plan = _plan(_cluster(("job", 4)), 3)
    assert [codes(line) for line in plan.pods] == [["GangIncomplete"]] * 3 + [["GangIncomplete", "GroupsExhausted", "AtMaxSize"]]
    assert {line.outcome for line in plan.pods} == {PodOutcome.UNPLACEABLE}
    assert pod(plan, "shop/job-1").reasons[0].message == (
        f"only 3 of 4 pods of gang shop/job (label {LABEL}) would fit, and it needs all: shop/job-4 fits nowhere"
    )


def test_without_being_asked_pods_are_served_one_by_one() -> None:
    """No gangLabels in the policy: three of four."""
    assert group(_plan(_cluster(("job", 4)), 3, PodRules()), "general").desired == 3


def test_what_one_gang_leaves_may_complete_another() -> None:
    """Two gangs of three and four nodes for both: the first is served whole, the second not at all."""
    plan = _plan(_cluster(("a", 3), ("b", 3)), 4)
    assert group(plan, "general").desired == 3
    assert [line.outcome is PodOutcome.TRIGGERS_SCALE_UP for line in plan.pods] == [True] * 3 + [False] * 3


def test_the_gang_of_higher_priority_is_kept() -> None:
    """Four nodes for two gangs of three: the later name has the higher priority."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0)
    for name, priority in (("a", 0), ("b", 100)):
        cluster.pods(name, 3, cpu="4", labels={"app": name, LABEL: name}, priority=priority)
    plan = _plan(cluster, 4)
    assert [line.outcome is PodOutcome.TRIGGERS_SCALE_UP for line in plan.pods] == [False] * 3 + [True] * 3


def test_nodes_that_are_there_count_for_the_gang() -> None:
    """Two free nodes and one to be had: three places."""
    plan = _plan(_cluster(("job", 3), nodes=2), 3)
    assert group(plan, "general").desired == 3
    assert "Unplaceable" not in {line.outcome.value for line in plan.pods}


def test_a_gang_with_a_pod_that_must_wait_waits_whole() -> None:
    """One pod is younger than the delay: nothing is bought for the others before."""
    cluster = _cluster(("job", 2))
    cluster.pods("late", 1, cpu="4", labels={"app": "late", LABEL: "job"}, age=5)
    plan = _plan(cluster, 9, PodRules(gang_labels=(LABEL,), new_pod_delay_seconds=30))
    assert group(plan, "general").desired == 0
    assert pod(plan, "shop/late-1").outcome is PodOutcome.DELAYED
    assert codes(pod(plan, "shop/job-1")) == ["GangIncomplete"]


def test_gangs_of_one_name_in_two_namespaces_are_two() -> None:
    """The value of the label is told apart by namespace."""
    cluster = _cluster(("job", 2))
    cluster.pods("job", 2, cpu="4", namespace="lab", labels={"app": "job", LABEL: "job"})
    plan = _plan(cluster, 3)
    assert group(plan, "general").desired == 2
    assert [line.pod for line in plan.pods if line.outcome is PodOutcome.TRIGGERS_SCALE_UP] == ["lab/job-1", "lab/job-2"]


def test_many_hopeless_gangs_end_in_one_more_try() -> None:
    """Forty gangs that no group fits, beside one that does: the one is served."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0)
    for number in range(40):
        cluster.pods(f"big-{number:02d}", 2, cpu="64", labels={"app": "big", LABEL: f"big-{number:02d}"})
    cluster.pods("fine", 2, cpu="4", labels={"app": "fine", LABEL: "fine"})
    assert group(_plan(cluster, 9), "general").desired == 2


def test_a_gang_says_what_it_lacks_when_those_after_it_are_given_up() -> None:
    """Room for four; the larger pods of b are served first, and given up first since that name is the last: five of a would
    get all four places then."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0)
    for name, pods, cpu in (("a", 5, "3"), ("b", 6, "4")):
        cluster.pods(name, pods, cpu=cpu, labels={"app": name, LABEL: name})
    plan = _plan(cluster, 4)
    assert group(plan, "general").desired == 0
    told = {line.pod: line.reasons[0].data for line in plan.pods}
    assert (told["shop/a-1"]["placed"], told["shop/b-1"]["placed"]) == (4, 4)


def test_gangs_of_one_pod_each() -> None:
    """Room for two of three: all are whole or without a place."""
    plan = _plan(_cluster(("a", 1), ("b", 1), ("c", 1)), 2)
    assert [line.outcome is PodOutcome.TRIGGERS_SCALE_UP for line in plan.pods] == [True, True, False]
    assert codes(pod(plan, "shop/c-1"))[0] == "GangIncomplete"
    none = _plan(_cluster(("a", 1), ("b", 1)), 0)
    assert [codes(line)[0] for line in none.pods] == ["GangIncomplete"] * 2


def test_hopeless_gangs_take_no_second_chance_away() -> None:
    """Sixteen of higher priority, each with a pod that no group fits and one that would take the only node: the gang given up
    before all of them gets it, once they are given up too."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0)
    for number in range(16):
        name = f"big-{number:02}"
        cluster.pods(f"{name}-no", 1, cpu="64", labels={"app": "no", LABEL: name}, priority=100)
        cluster.pods(f"{name}-yes", 1, cpu="4", labels={"app": "yes", LABEL: name}, priority=100)
    cluster.pods("fine", 1, cpu="4", labels={"app": "fine", LABEL: "fine"})
    plan = _plan(cluster, 1)
    assert pod(plan, "shop/fine-1").outcome is PodOutcome.TRIGGERS_SCALE_UP
