"""Who decides the replicas of a target: each class of owner has its state and its evidence."""

import pytest

from reconciler.cluster.target import FieldOwner, OwnerEvidence, TargetFacts
from reconciler.decisions.ownership.owner import Terms, judge
from reconciler.plan.plan import OwnerState
from reconciler.platforms.aws.facts.group import facts
from reconciler.platforms.aws.facts.wire import AutoScalingGroup
from tests.builders import NOW
from tests.values import machine_deployment

APPLY_KUBECTL = FieldOwner(manager="kubectl", operation="Apply", time_seconds=NOW - 10_000)
TOPOLOGY = FieldOwner(manager="capi-topology", operation="Apply", time_seconds=NOW - 10_000)
OURS = FieldOwner(manager="nodegroup-reconciler", operation="Apply", time_seconds=NOW - 10_000)
SCALE_BY_PERSON = FieldOwner(manager="kubectl", operation="Update", subresource="scale")
PATCH_BY_PERSON = FieldOwner(manager="kubectl-edit", operation="Update", time_seconds=NOW - 600)
SCRIPT = FieldOwner(manager="nightly-script", operation="Update", time_seconds=NOW - 600)


def _facts(replicas: int | None = 3, **evidence: object) -> TargetFacts:
    return TargetFacts(ref=machine_deployment("general"), replicas=replicas, owner=OwnerEvidence(**evidence))


def _terms(*adopt_from: str, first_seen: int = NOW) -> Terms:
    return Terms(adopt_from=adopt_from, human_hold_seconds=3600, now_seconds=NOW, first_seen_seconds=first_seen)


# The expected states are rule 1 of the product, on managedFields as kube-apiserver 1.36 writes them.
CASES = {
    "nobody owns the field": (_facts(), (), OwnerState.OURS, ""),
    "we own it": (_facts(owners=(OURS,)), (), OwnerState.OURS, "nodegroup-reconciler"),
    "kubectl apply declares it": (_facts(owners=(APPLY_KUBECTL,)), (), OwnerState.HELD, "kubectl"),
    "kubectl apply, adoption allowed": (_facts(owners=(APPLY_KUBECTL,)), ("kubectl",), OwnerState.ADOPTABLE, "kubectl"),
    "we and kubectl apply own it together": (_facts(owners=(APPLY_KUBECTL, OURS)), (), OwnerState.HELD, "kubectl"),
    "argocd applies it": (
        _facts(owners=(FieldOwner(manager="argocd-controller", operation="Apply"),), tracking=("argocd:prod",)),
        ("kubectl",),
        OwnerState.HELD,
        "argocd-controller",
    ),
    "argocd updates it": (
        _facts(owners=(FieldOwner(manager="argocd-controller", operation="Update", time_seconds=NOW - 9999),)),
        (),
        OwnerState.HELD,
        "argocd-controller",
    ),
    "the Cluster Autoscaler updates it": (
        _facts(owners=(FieldOwner(manager="cluster-autoscaler", operation="Update", subresource="scale"),)),
        (),
        OwnerState.HELD,
        "cluster-autoscaler",
    ),
    "the Cluster Autoscaler, adoption allowed": (
        _facts(owners=(FieldOwner(manager="cluster-autoscaler", operation="Update", subresource="scale"),)),
        ("cluster-autoscaler",),
        OwnerState.ADOPTABLE,
        "cluster-autoscaler",
    ),
    "a last-applied manifest carries replicas": (
        _facts(last_applied_replicas=3),
        (),
        OwnerState.HELD,
        "kubectl-client-side-apply",
    ),
    "a person edited it ten minutes ago": (_facts(owners=(PATCH_BY_PERSON,)), (), OwnerState.HELD, "kubectl-edit"),
    "a script wrote it once": (_facts(owners=(SCRIPT,)), (), OwnerState.HELD, "nightly-script"),
    "a script wrote it once, adoption allowed": (
        _facts(owners=(SCRIPT,)),
        ("nightly-script",),
        OwnerState.ADOPTABLE,
        "nightly-script",
    ),
    "the topology declares it": (
        _facts(owners=(TOPOLOGY,), topology_owned=True, topology_deployment="fixed", topology_replicas=3),
        ("capi-topology",),
        OwnerState.HELD,
        "topology controller",
    ),
    "the topology leaves it unset and nobody owns it": (
        _facts(topology_owned=True, topology_deployment="auto"),
        (),
        OwnerState.OURS,
        "",
    ),
    "the topology declares it but does not own the field": (
        _facts(topology_owned=True, topology_deployment="fixed", topology_replicas=3),
        (),
        OwnerState.UNKNOWN,
        "topology",
    ),
    "the topology owns the field but does not declare it": (
        _facts(owners=(TOPOLOGY,), topology_owned=True, topology_deployment="fixed"),
        (),
        OwnerState.UNKNOWN,
        "topology",
    ),
    "the Cluster of a topology could not be read": (
        _facts(topology_owned=True, topology_read=False),
        (),
        OwnerState.UNKNOWN,
        "topology",
    ),
    "managedFields are stripped": (_facts(managed_fields_present=False), (), OwnerState.UNKNOWN, ""),
    "managedFields are stripped on a topology's object": (
        _facts(managed_fields_present=False, topology_owned=True),
        (),
        OwnerState.UNKNOWN,
        "topology",
    ),
    "replicas are missing": (_facts(replicas=None), (), OwnerState.UNKNOWN, ""),
    "paused": (_facts(paused="annotation cluster.x-k8s.io/paused is set"), (), OwnerState.HELD, "pause"),
    "deleting": (_facts(deleting=True), (), OwnerState.HELD, "deletion"),
    "a MachineSet of a MachineDeployment": (
        _facts(controller="MachineDeployment general"),
        (),
        OwnerState.HELD,
        "MachineDeployment general",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_each_owner_class_has_its_state(case: str) -> None:
    """Every class of owner is judged as rule 1 says, and names who it is."""
    facts, adopt_from, state, owner = CASES[case]
    ownership = judge(facts, _terms(*adopt_from)).ownership
    assert (ownership.state, ownership.by) == (state, owner)
    assert ownership.evidence


def test_a_scale_write_without_time_holds_from_its_first_sight() -> None:
    """`kubectl scale` leaves no time in managedFields, so the hold runs from when it was first seen."""
    facts = _facts(owners=(SCALE_BY_PERSON,))
    assert judge(facts, _terms(first_seen=NOW)).ownership.state is OwnerState.HELD
    assert judge(facts, _terms(first_seen=NOW - 3599)).ownership.state is OwnerState.HELD
    assert judge(facts, _terms(first_seen=NOW - 3600)).ownership.state is OwnerState.ADOPTABLE


def test_a_target_that_is_not_there_is_unknown() -> None:
    """Nothing is written to what cannot be read."""
    assert judge(None, _terms()).ownership.state is OwnerState.UNKNOWN


def test_the_digest_binds_the_evidence() -> None:
    """Another owner, another digest; the same evidence, the same digest."""
    one, same, other = (judge(_facts(owners=owners), _terms()).digest for owners in ((OURS,), (OURS,), (APPLY_KUBECTL,)))
    assert one == same != other


def test_a_conflict_holds_what_would_be_ours() -> None:
    """A second writer that undid our writes makes the group held, with the sentence that says so."""
    ownership = judge(_facts(), _terms(), conflict="x set replicas back 3 times").ownership
    assert ownership.state is OwnerState.HELD
    assert ownership.evidence == ("x set replicas back 3 times",)


def test_an_auto_scaling_group_is_ours_in_its_own_words() -> None:
    """It has a desired capacity and no managed fields, so that nothing is said of spec.replicas."""
    item = AutoScalingGroup(auto_scaling_group_name="spot", min_size=0, max_size=5, desired_capacity=3)
    ownership = judge(facts(item), _terms()).ownership
    assert (ownership.state, "desired capacity" in ownership.evidence[0]) == (OwnerState.OURS, True)
    assert "spec.replicas" not in ownership.evidence[0]
