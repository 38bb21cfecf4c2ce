"""What counts as use of a node: its GPUs alone under a threshold of their own, DaemonSet pods as well as the others."""

import pytest

from reconciler.decisions.memory import Memory
from reconciler.plan.plan import ActionKind
from reconciler.policy.documents import Budget, ScaleDown
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import blocker_codes, node, of_kind, plan_of

OPEN = (Budget(nodes=100),)


@pytest.mark.parametrize(
    ("gpu_percent", "other_percent", "leaves"), [(25, 0, True), (24, 100, False)], ids=["at it", "one percent beyond it"]
)
def test_a_node_with_gpus_goes_by_the_gpu_threshold(gpu_percent: int, other_percent: int, leaves: bool) -> None:
    """1 of 4 GPUs is 25 %, whatever `utilizationThresholdPercent` says and however much cpu is asked for."""
    cluster = ClusterBuilder()
    cluster.group("cards", nodes=2, gpu=4)
    cluster.pods("train", 1, cpu="3", gpu=1, on="cards-1")
    cluster.pods("stays", 1, gpu=3, on="cards-2", traits={"safe_to_evict": "false"})
    rules = ScaleDown(utilization_threshold_percent=other_percent, gpu_utilization_threshold_percent=gpu_percent)
    plan = plan_of(
        cluster.world(),
        policy(node_group("cards", scale_down=rules), budgets=OPEN),
        Memory(unneeded_since={"cards-1": NOW - 3600}),
    )
    assert node(plan, "cards-1").utilization_permille == 250
    assert [action.nodes for action in of_kind(plan, ActionKind.REMOVE_NODE)] == [("cards-1",)] * leaves
    assert blocker_codes(plan, "cards-1") == [] if leaves else ["NotUnderutilized"]


def test_a_node_without_gpus_goes_by_the_other_threshold() -> None:
    """2 of 4 cores: the threshold of GPUs says nothing here."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("web", 1, cpu="2", on="general-1")
    rules = ScaleDown(utilization_threshold_percent=49, gpu_utilization_threshold_percent=100)
    plan = plan_of(cluster.world(), policy(node_group("general", scale_down=rules), budgets=OPEN))
    assert blocker_codes(plan, "general-1") == ["NotUnderutilized"]


@pytest.mark.parametrize("beside", [0, 1], ids=["plain pods only", "with a pod that has no controller"])
def test_daemonset_pods_count_as_use(beside: int) -> None:
    """1600m of web and 500m of a DaemonSet on 4 cores are 52.5 %; without the DaemonSet it would be 40 %."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("web", 1, cpu="1600m", on="general-1")
    cluster.pods("bare", beside, on="general-1", owner=None)
    cluster.daemonset("agent", cpu="500m")
    plan = plan_of(cluster.world(), policy(node_group("general"), budgets=OPEN))
    assert node(plan, "general-1").utilization_permille == 525
    assert "NotUnderutilized" in blocker_codes(plan, "general-1")


def test_a_node_with_daemonset_pods_only_is_empty() -> None:
    """They go with their node: nothing is evicted."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    cluster.daemonset("agent", cpu="3")
    plan = plan_of(cluster.world(), policy(node_group("general"), budgets=OPEN), Memory(unneeded_since={"general-1": NOW - 600}))
    assert node(plan, "general-1").utilization_permille == 750
    assert [action.reason.code for action in of_kind(plan, ActionKind.REMOVE_NODE)] == ["Empty"]
