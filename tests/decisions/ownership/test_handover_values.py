"""How replicas change hands, with every value: what is said where nothing is lost, and outside a topology.

Values are those of Cluster API 1.14's webhook: both size annotations keep the old value in the range, else it sets 1.
"""

import msgspec
import pytest

from reconciler.cluster.target import FieldOwner, OwnerEvidence, TargetFacts
from reconciler.decisions.ownership.handover import HandOver, ReplicasUnset, back, from_topology, place, to_us, when_unset
from tests.values import machine_deployment

KUBECTL = FieldOwner(manager="kubectl", operation="Apply")
US = FieldOwner(manager="nodegroup-reconciler", operation="Apply")
DEFAULT = "become 1: without both size annotations that is Cluster API's default, whatever runs"


def _facts(replicas: int | None, *owners: FieldOwner, least: int | None = None, most: int | None = None) -> TargetFacts:
    ref = machine_deployment("general")
    return TargetFacts(ref=ref, replicas=replicas, min_size=least, max_size=most, owner=OwnerEvidence(owners=owners))


def _of_topology(replicas: int, **evidence: object) -> TargetFacts:
    fields = {"topology_owned": True, "topology_deployment": "e", "topology_replicas": replicas, **evidence}
    return msgspec.structs.replace(_facts(replicas), owner=OwnerEvidence(**fields))


@pytest.mark.parametrize(
    ("facts", "keeping", "after", "said"),
    [
        (_facts(3, KUBECTL), True, 1, DEFAULT),
        (_facts(None, KUBECTL), True, 1, DEFAULT),
        (_facts(3, KUBECTL, least=1), True, 1, DEFAULT),
        (_facts(3, KUBECTL, most=9), True, 1, DEFAULT),
        (_facts(3, KUBECTL, least=1, most=9), True, 3,
         "stay 3: with both size annotations the old value is brought into the range"),
        (_facts(3, KUBECTL, least=4, most=9), True, 4,
         "become 4: with both size annotations the old value is brought into the range"),
        (_facts(3, KUBECTL, least=4, most=9), False, 1, "become 1, the default of its definition, whatever runs"),
        (_facts(3, KUBECTL, US), True, 3, "stay 3, since nodegroup-reconciler owns them as well"),
        (_facts(3, KUBECTL, US, least=4, most=9), False, 3, "stay 3, since nodegroup-reconciler owns them as well"),
        (_facts(0, KUBECTL, least=0, most=9), True, 0,
         "stay 0: with both size annotations the old value is brought into the range"),
    ],
)  # fmt: skip
def test_when_its_manager_leaves_replicas_out(facts: TargetFacts, keeping: bool, after: int, said: str) -> None:
    """What becomes of them, and why."""
    found = when_unset(facts, "kubectl", keeping=keeping)
    assert (found.before, found.after) == (facts.replicas or 0, after)
    assert found.sentence() == f"when kubectl leaves replicas out, they {said}"
    assert isinstance(found, ReplicasUnset)


@pytest.mark.parametrize(
    ("replicas", "after", "risk"),
    [
        (3, 3, "removing replicas alone sets 1"),
        (1, 1, ""),
        (9, 5, "9 is outside 1 to 5 and becomes 5"),
        (None, 1, "0 is outside 1 to 5 and becomes 1"),
    ],
)
def test_the_way_to_us_outside_a_topology(replicas: int | None, after: int, risk: str) -> None:
    """On the object itself, with both annotations in one change."""
    found = to_us(_facts(replicas), 1, 5)
    assert (found.where, found.replicas, found.risk) == ("MachineDeployment prod/general", after, risk)
    assert found.steps == (
        "in one change of MachineDeployment prod/general, remove replicas and add both size annotations",
        "the next loop owns the field",
    )
    assert found.sentence() == ", then ".join(found.steps) + (f" ({risk})" if risk else "")


@pytest.mark.parametrize(
    ("facts", "forced", "where"),
    [
        (_facts(4), "is a conflict, or forced", "MachineDeployment prod/general"),
        (_of_topology(4), "is overwritten by the topology controller",
         "its Cluster, spec.topology.workers.machineDeployments[name=e]"),
    ],
)  # fmt: skip
def test_the_way_back(facts: TargetFacts, forced: str, where: str) -> None:
    """Exactly the value that is there."""
    assert back(facts) == HandOver(
        steps=(
            "remove the NodeGroup from the policy: the target is released and keeps its size",
            f"in one change of {where}, remove both size annotations and declare replicas: 4",
        ),
        where=where,
        lines=("replicas: 4",),
        replicas=4,
        risk=f"another value {forced}",
    )
    assert back(_facts(None)).replicas == 0


def test_where_replicas_are_written() -> None:
    """On the Cluster where a topology makes the target."""
    named = msgspec.structs.replace(_of_topology(3), cluster_name="c1")
    assert place(named) == "Cluster prod/c1, spec.topology.workers.machineDeployments[name=e]"
    assert place(msgspec.structs.replace(_facts(3), cluster_name="c1")) == "MachineDeployment prod/general"


def test_what_a_topology_declares_is_handed_over_on_the_cluster() -> None:
    """Not for a copy that another target controls, and not for what declares nothing."""
    found = from_topology(_of_topology(1), 1, 5)
    assert found is not None
    assert (found.before, found.after, found.alone, found.min, found.max) == (1, 1, 1, 1, 5)
    assert found.sentence() == (
        "to hand it over, in one change of its Cluster, spec.topology.workers.machineDeployments[name=e]: remove replicas and "
        'add to metadata.annotations cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size: "1" and '
        'cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size: "5". The webhook then keeps 1'
    )
    assert from_topology(_of_topology(1, controller="MachineDeployment a"), 1, 5) is None
    assert from_topology(_facts(1), 1, 5) is None
    assert from_topology(_of_topology(1, topology_owned=False), 1, 5) is None
    unread = from_topology(msgspec.structs.replace(_of_topology(1), replicas=None), 2, 5)
    assert unread is not None
    assert (unread.before, unread.after) == (0, 2)
    zero = from_topology(_of_topology(0), 0, 5)
    assert zero is not None
    assert (zero.before, zero.after, zero.alone) == (0, 0, 1)


@pytest.mark.parametrize(("api_group", "prefix"), [("", "cluster.x-k8s.io"), ("capi.example.org", "capi.example.org")])
def test_annotations_are_those_of_the_targets_own_api_group(api_group: str, prefix: str) -> None:
    """The usual one where it does not say."""
    lines = to_us(msgspec.structs.replace(_facts(3), api_group=api_group), 1, 5).lines
    assert [line.strip() for line in lines if "node-group" in line] == [
        f'{prefix}/cluster-api-autoscaler-node-group-min-size: "1"',
        f'{prefix}/cluster-api-autoscaler-node-group-max-size: "5"',
    ]
