"""A pod may ask for a delay of its own before nodes are added for it; the longer of its own and the policy's counts."""

import pytest

from reconciler.decisions.memory import Memory
from reconciler.plan.plan import PodOutcome
from reconciler.policy.documents import PodRules
from tests.builders import ClusterBuilder, node_group, policy
from tests.decisions.deciding import plan_of, pod

DELAYS = [
    ("5m", 0, 299, True),
    ("5m", 0, 300, False),
    ("5m", 600, 400, True),
    ("20m", 600, 700, True),
    ("0s", 0, 0, False),
    ("soon", 0, 0, False),
    ("soon", 60, 30, True),
]


@pytest.mark.parametrize(("asked", "rule", "age", "waits"), DELAYS)
def test_a_pod_waits_as_long_as_it_asks(asked: str, rule: int, age: int, waits: bool) -> None:
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, cpu="1")
    marks = (("cluster-autoscaler.kubernetes.io/pod-scale-up-delay", asked),)
    cluster.pods("web", 1, cpu="1", age=age, traits={"annotations": marks})
    cluster.pods("base", 1, cpu="1", on="general-1")
    plan = plan_of(cluster.world(), policy(node_group("general"), pods=PodRules(new_pod_delay_seconds=rule)), Memory())
    assert pod(plan, "shop/web-1").outcome is (PodOutcome.DELAYED if waits else PodOutcome.TRIGGERS_SCALE_UP)
