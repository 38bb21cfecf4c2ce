"""What decisions ask about Cluster API's targets."""

from collections.abc import Mapping

from reconciler.cluster.target import Machine, TargetFacts, TargetRef
from reconciler.cluster.targets.capacity import DISK_KEY, GPU_COUNT_KEY, GPU_TYPE_KEY
from reconciler.cluster.values.resources import EPHEMERAL_STORAGE
from reconciler.decisions.platform_rules import PlatformRules
from reconciler.platforms.clusterapi.kinds import KINDS
from reconciler.policy.documents import Discovery


def takes(item: Discovery, facts: TargetFacts) -> bool:
    """As in the Cluster Autoscaler, discovery takes only targets with both size annotations. A MachineSet of a MachineDeployment
    is never a target of its own. Conditions inside one item are AND-ed."""
    labels = dict(facts.labels)
    return (
        facts.max_size is not None
        and not facts.owner.controller
        and (not item.namespaces or facts.ref.namespace in item.namespaces)
        and item.cluster_name in ("", facts.cluster_name)
        and all(labels.get(key) == value for key, value in item.labels)
    )


def policy_value(ref: TargetRef) -> Mapping[str, Mapping[str, str]]:
    """`spec.target` of a NodeGroup."""
    return {"clusterAPI": {"kind": ref.kind, "namespace": ref.namespace, "name": ref.name}}


def declares(resource: str) -> str:
    """As the Cluster Autoscaler has it: one kind of device a target, and the disk."""
    if resource == EPHEMERAL_STORAGE:
        return f"the annotation {DISK_KEY}"
    return "" if resource.startswith("hugepages-") else f"the annotations {GPU_TYPE_KEY}: {resource} and {GPU_COUNT_KEY}"


def lifts_mark(facts: TargetFacts, machine: Machine) -> str:
    """The mark is an annotation of the Machine."""
    return f"kubectl annotate machine {machine.name} -n {machine.namespace} {facts.api_group}/delete-machine-"


def updates_in_place(ref: TargetRef) -> str:
    """SOURCE: Cluster API since 1.12, gate InPlaceUpdates. It asks update extensions when it looks for what a rollout of a
    MachineDeployment changes (hooks `CanUpdateMachineSet` and `CanUpdateMachine`). Nobody can ask them before."""
    return "an update extension of Cluster API accepts the change" if ref.kind == "MachineDeployment" else ""


RULES = PlatformRules(
    provider="clusterAPI",
    kinds=KINDS,
    takes=takes,
    policy_value=policy_value,
    declared_in_manifests=True,
    machines_are_objects=True,
    declares=declares,
    lifts_mark=lifts_mark,
    updates_in_place=updates_in_place,
)
