"""An empty node of a group that rejects a pod refutes the template that accepts it: another node would not help either."""

import pytest

from reconciler.decisions.memory import Memory
from reconciler.plan.plan import PodOutcome
from reconciler.policy.documents import Budget, Expander, Template
from tests.builders import ClusterBuilder, node_group, policy
from tests.decisions.deciding import codes, group, plan_of, pod

WRITTEN = (("cpu", 4000), ("memory", 16 << 30))


def _cluster() -> ClusterBuilder:
    """One group with one empty node of 4 cpu, and a pod that waits for the disk that its template promises."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, cpu="4", memory="16Gi")
    cluster.pods("web", 1, cpu="1", node_selector={"disk": "fast"})
    return cluster


def _grown(cluster: ClusterBuilder, template: Template, *expanders: Expander) -> tuple[int, list[str], str]:
    rules = policy(
        node_group("general", template=template), budgets=(Budget(nodes=0),), expanders=expanders or (Expander.LEAST_WASTE,)
    )
    plan = plan_of(cluster.world(), rules, Memory())
    line = pod(plan, "shop/web-1")
    return group(plan, "general").desired, codes(line), line.reasons[-1].message


FAST = Template(capacity=WRITTEN, labels=(("disk", "fast"),))


@pytest.mark.parametrize("expander", [Expander.LEAST_WASTE, Expander.LEAST_COST])
def test_a_label_that_the_empty_node_lacks(expander: Expander) -> None:
    desired, told, message = _grown(_cluster(), FAST, expander)
    assert (desired, told) == (1, ["NoGroupFits", "TemplateRefuted"])
    assert message == (
        "general would not help, though its template accepts the pod: its node general-1 is empty and rejects it: "
        "wants disk=fast; the node has no disk"
    )


def test_a_node_with_pods_refutes_nothing() -> None:
    """Its template may be another one by now: one try is due."""
    cluster = _cluster()
    cluster.pods("base", 1, cpu="3", on="general-1")
    assert _grown(cluster, FAST)[0] == 2


def test_what_goes_with_every_node_takes_its_room() -> None:
    """A static pod of 2 cpu, which no template knows: 2 of 4 are left, and the pod needs 3."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, cpu="4", memory="16Gi")
    cluster.pods("static", 1, cpu="2", on="general-1", owner=None, traits={"mirror": True})
    cluster.pods("web", 1, cpu="3")
    desired, told, message = _grown(cluster, Template())
    assert (desired, told) == (1, ["NoGroupFits", "TemplateRefuted"])
    assert message.endswith("needs 3 cpu; 2 free")


def test_another_group_serves_the_pod() -> None:
    """Its nodes have the disk; the one with the empty node would have come first by name."""
    cluster = _cluster()
    cluster.group("other", nodes=0, cpu="4", memory="16Gi")
    rules = policy(node_group("general", template=FAST), node_group("other", template=FAST), budgets=(Budget(nodes=0),))
    plan = plan_of(cluster.world(), rules, Memory())
    assert (group(plan, "general").desired, group(plan, "other").desired) == (1, 1)
    assert pod(plan, "shop/web-1").outcome is PodOutcome.TRIGGERS_SCALE_UP
