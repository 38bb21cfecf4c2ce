"""What the defaulting webhook makes of replicas left unset, and how replicas change hands.

Expected values are those measured on Cluster API 1.14 with its webhooks.
"""

import msgspec
import pytest

from reconciler.cluster.target import FieldOwner, OwnerEvidence, TargetFacts
from reconciler.decisions.ownership.handover import back, from_topology, to_us, when_unset
from reconciler.policy.manifests.defaulted_replicas import defaulted
from tests.values import machine_deployment

TOPOLOGY = FieldOwner(manager="capi-topology", operation="Apply", time_seconds=1)


@pytest.mark.parametrize(
    ("before", "bounds", "after"),
    [
        (None, (None, None), 1),
        (None, (2, 5), 2),
        (3, (None, None), 1),
        (40, (None, None), 1),
        (3, (1, 9), 3),
        (6, (1, 4), 4),
        (1, (2, 5), 2),
        (3, (1, None), 1),
        (3, (None, 9), 1),
        (0, (0, 3), 0),
    ],
)
def test_what_the_webhook_sets(before: int | None, bounds: tuple[int | None, int | None], after: int) -> None:
    """1 without both annotations; the minimum on a new object; else the old value in the range."""
    assert defaulted(before, *bounds) == after


def _facts(replicas: int, *owners: FieldOwner, bounds: tuple[int, int] | None = None) -> TargetFacts:
    evidence = OwnerEvidence(owners=owners, topology_owned=True, topology_deployment="e", topology_replicas=replicas)
    facts = TargetFacts(ref=machine_deployment("c1-e"), replicas=replicas, cluster_name="c1", owner=evidence)
    return msgspec.structs.replace(facts, min_size=bounds[0], max_size=bounds[1]) if bounds else facts


def test_unset_on_a_topology_falls_to_one() -> None:
    """Three nodes, no annotations: the reason says 1 before the commit is merged."""
    reason = when_unset(_facts(3, TOPOLOGY), "capi-topology").reason()
    assert (reason.code, reason.data["before"], reason.data["after"]) == ("ReplicasUnset", 3, 1)
    assert "they become 1: without both size annotations" in reason.message


def test_unset_with_both_annotations_stays_in_the_range() -> None:
    """Six with a maximum of four become four; three stay three."""
    assert "they become 4: with both" in when_unset(_facts(6, TOPOLOGY, bounds=(1, 4)), "capi-topology").sentence()
    assert "they stay 3: with both" in when_unset(_facts(3, TOPOLOGY, bounds=(1, 9)), "capi-topology").sentence()


def test_a_second_owner_keeps_the_value() -> None:
    """Who applied the same value before keeps it."""
    ours = FieldOwner(manager="nodegroup-reconciler", operation="Apply")
    found = when_unset(_facts(3, TOPOLOGY, ours), "capi-topology")
    assert found.after == 3
    assert "stay 3, since nodegroup-reconciler owns them as well" in found.sentence()


def test_the_way_to_us_names_the_cluster_and_the_lines() -> None:
    """One change of the Cluster's topology, never of the MachineDeployment; the risk of half of it is said."""
    found = to_us(_facts(3, TOPOLOGY), 2, 9)
    assert found.where == "Cluster prod/c1, spec.topology.workers.machineDeployments[name=e]"
    assert found.lines[2:] == (
        '    cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size: "2"',
        '    cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size: "9"',
    )
    assert (found.replicas, found.risk) == (3, "removing replicas alone sets 1")


def test_the_way_to_us_says_when_the_range_changes_the_size() -> None:
    """Six with a maximum of four."""
    found = to_us(_facts(6, TOPOLOGY), 1, 4)
    assert (found.replicas, found.risk) == (4, "6 is outside 1 to 4 and becomes 4")


def test_the_way_back_declares_what_is_there() -> None:
    """Release first, then exactly the present value."""
    found = back(_facts(5))
    assert (found.replicas, found.lines) == (5, ("replicas: 5",))
    assert found.sentence().startswith("remove the NodeGroup from the policy")
    assert "overwritten by the topology controller" in found.risk


def test_a_reason_for_what_a_topology_declares() -> None:
    """Three stay three in 2 to 9, and would be one without the annotations; six become four in 1 to 4."""
    found = from_topology(_facts(3, TOPOLOGY), 2, 9)
    assert found is not None
    assert (found.before, found.after, found.alone) == (3, 3, 1)
    assert found.sentence().endswith(". The webhook then keeps 3, and without both annotations sets 1")
    clamped = from_topology(_facts(6, TOPOLOGY), 1, 4)
    assert clamped is not None
    assert "The webhook then sets 6 replicas 4, to be in 1 to 4" in clamped.sentence()


def test_no_reason_where_the_topology_leaves_replicas_out() -> None:
    """There is nothing to hand over."""
    evidence = OwnerEvidence(topology_owned=True, topology_deployment="e")
    assert from_topology(TargetFacts(ref=machine_deployment("c1-e"), replicas=3, owner=evidence), 1, 9) is None
