"""What decisions ask about MachineSets."""

from collections.abc import Mapping

from reconciler.cluster.target import Machine, TargetFacts, TargetRef
from reconciler.cluster.targets.capacity import DISK_KEY
from reconciler.cluster.values.resources import EPHEMERAL_STORAGE
from reconciler.decisions.platform_rules import PlatformRules
from reconciler.platforms.openshift.kinds import DELETE_MARKS, GROUP, MACHINE_SET, TWIN
from reconciler.policy.documents import Discovery

_TWINS = "openshift-cluster-api"


def takes(item: Discovery, facts: TargetFacts) -> bool:
    """As in OpenShift's Cluster Autoscaler, a set must have both size annotations (or a MachineAutoscaler)."""
    labels = dict(facts.labels)
    return (
        facts.max_size is not None
        and not facts.owner.controller
        and (not item.namespaces or facts.ref.namespace in item.namespaces)
        and all(labels.get(key) == value for key, value in item.labels)
    )


def doubles(targets: tuple[TargetFacts, ...]) -> frozenset[TargetRef]:
    """Sets that another API decides about: if two APIs hold the same machines, a set has a twin of its name in the other API.

    SOURCE: openshift/cluster-capi-operator: the twin in `openshift-cluster-api` is a MachineSet of Cluster API.
    """
    others = {facts.ref.name: facts.ref for facts in targets if (facts.ref.kind, facts.ref.namespace) == ("MachineSet", _TWINS)}
    pairs = [(facts, others[facts.ref.name]) for facts in targets if facts.ref.kind == MACHINE_SET and facts.ref.name in others]
    return frozenset(facts.ref if _decided_by_twin(facts) else other for facts, other in pairs)


def _decided_by_twin(facts: TargetFacts) -> bool:
    return any(writer.by == TWIN for writer in facts.writers)


def policy_value(ref: TargetRef) -> Mapping[str, Mapping[str, str]]:
    """`spec.target` of a NodeGroup."""
    return {"openshift": {"namespace": ref.namespace, "machineSet": ref.name}}


def declares(resource: str) -> str:
    """Of devices its Cluster Autoscaler knows NVIDIA's alone."""
    annotation = {EPHEMERAL_STORAGE: DISK_KEY, "nvidia.com/gpu": f"{GROUP}/GPU"}.get(resource, "")
    return f"the annotation {annotation}" if annotation else ""


def lifts_mark(_facts: TargetFacts, machine: Machine) -> str:
    """The mark may have either spelling, or both."""
    keys = " ".join(f"{key}-" for key in DELETE_MARKS)
    return f"oc annotate machine {machine.name} -n {machine.namespace} {keys}"


RULES = PlatformRules(
    provider="openshift",
    kinds=(MACHINE_SET,),
    takes=takes,
    policy_value=policy_value,
    declared_in_manifests=True,
    machines_are_objects=True,
    doubles=doubles,
    declares=declares,
    lifts_mark=lifts_mark,
)
