"""What decisions ask about MachineSets."""

from collections.abc import Mapping

from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.decisions.platform_rules import PlatformRules
from reconciler.platforms.openshift.kinds import MACHINE_SET
from reconciler.policy.documents import Discovery


def takes(item: Discovery, facts: TargetFacts) -> bool:
    """As OpenShift's Cluster Autoscaler has it, a set must carry both size annotations (or have a MachineAutoscaler)."""
    labels = dict(facts.labels)
    return (
        facts.max_size is not None
        and not facts.owner.controller
        and (not item.namespaces or facts.ref.namespace in item.namespaces)
        and all(labels.get(key) == value for key, value in item.labels)
    )


def policy_value(ref: TargetRef) -> Mapping[str, Mapping[str, str]]:
    """`spec.target` of a NodeGroup."""
    return {"openshift": {"namespace": ref.namespace, "machineSet": ref.name}}


RULES = PlatformRules(
    provider="openshift", kinds=(MACHINE_SET,), takes=takes, policy_value=policy_value, declared_in_manifests=True
)
