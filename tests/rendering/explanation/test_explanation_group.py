"""The story of a group: what only some groups have."""

from reconciler.cluster.target import FieldOwner, OwnerEvidence
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import BackoffState, LeadTime, LeadTimes, Memory
from reconciler.policy.documents import Hold, PolicySet
from reconciler.rendering.documents.explanation.case import Case
from reconciler.rendering.printers.text.explanation.group import explain_group
from reconciler.values.instant import instant_text
from tests.builders import NOW, ClusterBuilder
from tests.policies import node_group, policy


def story(rules: PolicySet, memory: Memory | None = None, evidence: OwnerEvidence | None = None) -> str:
    """Lines about the group `general` of two nodes of four cores, with a pod that waits for 3."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2, cpu="4", memory="16Gi", evidence=evidence)
    cluster.pods("web", 2, cpu="3", on=["general-1", "general-2"])
    cluster.pods("more", 1, cpu="3", on=[None])
    world = cluster.world()
    plan, after = decide(world, rules, memory or Memory(), NOW)
    return "\n".join(explain_group(Case.of(world, rules, plan, NOW, after), "general", 0))


def test_a_back_off_is_told_with_its_end():
    """Two failures, five more minutes; the pod waits because of it."""
    state = BackoffState(failures=2, failed_seconds=NOW - 60, until_seconds=NOW + 300, reason="out of stock")
    text = story(policy(node_group("general")), Memory(backoffs={"general": state}))
    assert f"backed off until {instant_text(NOW + 300)} after 2 failures: out of stock" in text


def test_a_hold_is_told_with_its_reason():
    """Until when, why, and what it would do."""
    held = node_group("general", hold=Hold(reason="recovering general-1", until_seconds=NOW + 3_600))
    text = story(policy(held))
    assert f"on hold until {instant_text(NOW + 3_600)}: recovering general-1" in text
    assert "held. Without the hold, it would go 2 -> 3" in text


def test_a_reason_of_an_action_is_told_once():
    """The line of this plan carries it already."""
    text = story(policy(node_group("general")))
    assert "this plan: general: resize 2 -> 3: 1 pending pod on 1 new node" in text
    assert text.count("1 pending pod on 1 new node") == 1


def test_a_group_of_a_topology_is_told_how_it_is_handed_over():
    """Where to write, the annotations with the bounds of the group, and what the webhook makes of the two replicas."""
    evidence = OwnerEvidence(
        owners=(FieldOwner(manager="capi-topology", operation="Apply"),),
        topology_owned=True, topology_deployment="md-0", topology_replicas=2,
    )  # fmt: skip
    text = story(policy(node_group("general", max=6)), evidence=evidence)
    assert "in one change of its Cluster, spec.topology.workers.machineDeployments[name=md-0]: remove replicas" in text
    assert 'cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size: "6"' in text
    assert "The webhook then keeps 2, and without both annotations sets 1 [FromTopology]" in text


def test_what_new_nodes_took_is_told_with_when_a_request_is_overdue():
    """Twenty took 300 s to join and 310 to 329 s to be usable: one and a half times 300 s are 7m30s. Of 19, the policy's 15 m."""
    took = tuple(LeadTime(NOW - 86_400 + number * 3600, 300, 310 + number) for number in range(20))
    target, rules = "MachineDeployment prod/general", policy(node_group("general"))
    text = story(rules, Memory(lead_times={target: LeadTimes(requests=took)}))
    assert "new nodes: usable after 5m19s (median) and 5m28s (95th percentile) of the last 20 requests" in text
    assert "a request without a node is overdue after 7m30s, learned from 20 requests. The policy allows 15m" in text
    text = story(
        policy(node_group("general")), Memory(lead_times={"MachineDeployment prod/general": LeadTimes(requests=took[1:])})
    )
    assert "a request without a node is overdue after 15m\n" in text
    assert "a request without a node" not in story(rules)


def test_idle_capacity_names_the_line_of_the_policy():
    """Each of two nodes of 0.10 is used by 75%: a quarter of 146 a month. Without a price, nothing is told."""
    text = story(policy(node_group("general", price_per_hour="0.10")))
    told = "  - $36.50 on 2 nodes: NotUnderutilized, scaleDown.utilizationThresholdPercent (built-in)"
    assert f"Idle capacity, a month:\n{told}" in text
    assert "Idle capacity" not in story(policy(node_group("general")))
