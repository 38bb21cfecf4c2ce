"""Which pods ask for a place and which hold room: other schedulers, young pods, pods at the cut-off of priority."""

import pytest

from reconciler.plan.plan import PodOutcome
from reconciler.policy.documents import PodRules
from tests.builders import ClusterBuilder, node_group, policy
from tests.decisions.deciding import codes, group, plan_of, pod


@pytest.mark.parametrize(("names", "bought"), [(("default-scheduler",), 0), (("default-scheduler", "batch"), 1), (("batch",), 1)])
def test_pods_of_a_scheduler_that_is_not_listed_buy_nothing(names: tuple[str, ...], bought: int) -> None:
    """A pod of the scheduler `batch` counts where `schedulerNames` has it."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0)
    cluster.pods("job", 1, cpu="1", shape={"scheduler_name": "batch"})
    plan = plan_of(cluster.world(), policy(node_group("general"), pods=PodRules(scheduler_names=names)))
    assert group(plan, "general").desired == bought
    if not bought:
        assert pod(plan, "shop/job-1").outcome is PodOutcome.NOT_MODELLED
        assert codes(pod(plan, "shop/job-1")) == ["OtherScheduler"]


@pytest.mark.parametrize(("age_seconds", "outcome"), [(59, PodOutcome.DELAYED), (60, PodOutcome.TRIGGERS_SCALE_UP)])
def test_a_new_pod_waits_exactly_its_delay(age_seconds: int, outcome: PodOutcome) -> None:
    """`newPodDelay: 60s`: nothing is bought a second before."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0)
    cluster.pods("web", 1, cpu="1", age=age_seconds)
    plan = plan_of(cluster.world(), policy(node_group("general"), pods=PodRules(new_pod_delay_seconds=60)))
    assert pod(plan, "shop/web-1").outcome is outcome


@pytest.mark.parametrize(("priority", "outcome"), [(-10, PodOutcome.TRIGGERS_SCALE_UP), (-11, PodOutcome.FITS_EXISTING)])
def test_a_running_pod_holds_room_down_to_the_cut_off(priority: int, outcome: PodOutcome) -> None:
    """At -10, the cut-off, its node is full; below it the node is free for the pod that waits."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    cluster.pods("filler", 1, cpu="4", on="general-1", priority=priority)
    cluster.pods("web", 1, cpu="4")
    plan = plan_of(cluster.world(), policy(node_group("general")))
    assert pod(plan, "shop/web-1").outcome is outcome
