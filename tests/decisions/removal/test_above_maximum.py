"""A group above its maximum gives back nodes that are in use, not only idle ones."""

from reconciler.plan.plan import ActionKind
from reconciler.policy.documents import Budget, ScaleDown, Toggle
from tests.builders import ClusterBuilder, node_group, policy
from tests.decisions.deciding import blocker_codes, of_kind, plan_of


def test_a_used_node_is_drained_at_once_and_the_others_stay() -> None:
    """Three nodes at 75 %, at most two: one leaves without waiting for `unneededTime`, its pods run in another group."""
    cluster = ClusterBuilder()
    names = cluster.group("general", nodes=3)
    cluster.pods("web", 3, cpu="3", on=list(names))
    cluster.group("spare", nodes=1, cpu="8", memory="32Gi")
    rules = policy(
        node_group("general", max=2),
        node_group("spare", scale_down=ScaleDown(mode=Toggle.DISABLED)),
        budgets=(Budget(nodes=100),),
    )
    plan = plan_of(cluster.world(), rules)
    assert [(action.nodes, action.reason.code) for action in of_kind(plan, ActionKind.REMOVE_NODE)] == [
        (("general-1",), "AboveMax")
    ]
    assert [blocker_codes(plan, name) for name in names[1:]] == [["NotUnderutilized"]] * 2


def test_a_used_node_stays_where_its_pods_have_no_other_place() -> None:
    """Three full nodes, at most two: nothing is evicted into nowhere."""
    cluster = ClusterBuilder()
    cluster.pods("web", 3, cpu="4", on=list(cluster.group("general", nodes=3)))
    plan = plan_of(cluster.world(), policy(node_group("general", max=2), budgets=(Budget(nodes=100),)))
    assert not plan.actions
    assert blocker_codes(plan, "general-1") == ["NoPlaceToMove"]
