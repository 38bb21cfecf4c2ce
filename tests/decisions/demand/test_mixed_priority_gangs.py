"""Which of several gangs is kept when not all can be whole."""

from reconciler.plan.plan import PodOutcome
from reconciler.policy.documents import PodRules
from tests.builders import ClusterBuilder, node_group, policy
from tests.decisions.deciding import plan_of

LABEL = "scheduling.x-k8s.io/pod-group"


def test_the_gang_of_the_most_important_pod_is_kept_though_its_others_are_served_last() -> None:
    """Four nodes. `leader` has a pod of 100 and two of 0, `middle` four of 50: by priority one of the first and three of the
    second get a place, so both lack some; without `middle` the other is whole."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0)
    for app, gang, pods, priority in (("a", "leader", 1, 100), ("b", "leader", 2, 0), ("c", "middle", 4, 50)):
        cluster.pods(app, pods, cpu="4", labels={"app": app, LABEL: gang}, priority=priority)
    rules = policy(node_group("general", max=4), pods=PodRules(gang_labels=(LABEL,)))
    plan = plan_of(cluster.world(), rules)
    served = [line.pod for line in plan.pods if line.outcome is PodOutcome.TRIGGERS_SCALE_UP]
    assert served == ["shop/a-1", "shop/b-1", "shop/b-2"]


def test_a_gang_that_can_never_be_whole_starves_no_other_one() -> None:
    """Six nodes' worth of an important gang and three of a lesser one, four nodes at most: the first gets none, the second is
    given up before it and is whole once it is gone."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0)
    for gang, pods, priority in (("high", 6, 100), ("low", 3, 0)):
        cluster.pods(gang, pods, cpu="4", labels={"app": gang, LABEL: gang}, priority=priority)
    plan = plan_of(cluster.world(), policy(node_group("general", max=4), pods=PodRules(gang_labels=(LABEL,))))
    served = [line.pod for line in plan.pods if line.outcome is PodOutcome.TRIGGERS_SCALE_UP]
    assert served == ["shop/low-1", "shop/low-2", "shop/low-3"]
