"""Why a pod has no place on the nodes that are there: every rule that says no, with on how many of them."""

from reconciler.plan.plan import PodLine
from tests.builders import ClusterBuilder, node_group, policy
from tests.decisions.deciding import plan_of, pod


def _waiting(max_size: int = 9, cpu: str = "20") -> PodLine:
    """Three full nodes, two tainted empty ones, one that is not ready."""
    cluster = ClusterBuilder()
    names = cluster.group("general", nodes=3)
    cluster.pods("full", 3, cpu="4", on=list(names))
    for number in range(2):
        cluster.node(f"master-{number}", "32", "64Gi", taints=["node-role.kubernetes.io/control-plane:NoSchedule"])
    cluster.node("down", "32", "64Gi", ready=False)
    cluster.pods("web", 1, cpu=cpu)
    return pod(plan_of(cluster.world(), policy(node_group("general", max=max_size))), "shop/web-1")


def test_a_pod_that_fits_no_group_says_what_each_node_has_against_it() -> None:
    """Three nodes are too small, two tainted, one is down."""
    reason = _waiting().reasons[0]
    assert (reason.code, reason.data["nodes"]) == ("NoGroupFits", 6)
    assert reason.data["rejections"] == ("3 NodeResourcesFit", "2 TaintToleration", "1 leaving or not usable")
    assert reason.message.endswith("; 6 nodes there: 3 NodeResourcesFit, 2 TaintToleration, 1 leaving or not usable")


def test_a_pod_whose_groups_are_exhausted_says_the_same() -> None:
    """The group is at its maximum of 3."""
    reason = _waiting(max_size=3, cpu="4").reasons[0]
    assert reason.code == "GroupsExhausted"
    assert reason.data["rejections"] == ("3 NodeResourcesFit", "2 TaintToleration", "1 leaving or not usable")


def test_a_node_counts_for_every_rule_that_rejects_it() -> None:
    """One node, too small and tainted: it stands in both numbers."""
    cluster = ClusterBuilder()
    cluster.node("small", "1", "1Gi", taints=["dedicated=db:NoSchedule"])
    cluster.group("general", nodes=0)
    cluster.pods("web", 1, cpu="20")
    reason = pod(plan_of(cluster.world(), policy(node_group("general"))), "shop/web-1").reasons[0]
    assert reason.data["rejections"] == ("1 NodeResourcesFit", "1 TaintToleration")
