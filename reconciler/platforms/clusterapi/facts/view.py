"""The Cluster API objects around the targets. The facts of one target are judged with them."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from reconciler.cluster.target import TargetRef
from reconciler.cluster.wire.meta import OwnerReference
from reconciler.platforms.clusterapi.facts import wire
from reconciler.platforms.clusterapi.kinds import CAPI_GROUP, MACHINE_DEPLOYMENT, MACHINE_POOL, MACHINE_SET
from reconciler.values.parent_sizes import DeclaredSize

Key = tuple[str, str]
"""Namespace and name."""


class ClusterApiView(msgspec.Struct, frozen=True, kw_only=True):
    """Clusters and MachineSets by (namespace, name); templates by (group, kind, namespace, name). `declared` has the sizes that
    objects of other projects declare."""

    group: str = CAPI_GROUP
    clusters: Mapping[Key, wire.Cluster] = {}
    deployments: Mapping[Key, wire.Scalable] = {}
    machine_sets: Mapping[Key, wire.Scalable] = {}
    templates: Mapping[tuple[str, str, str, str], wire.InfrastructureTemplate] = {}
    pools_with_machines: frozenset[Key] = frozenset()
    declared: tuple[DeclaredSize[Any], ...] = ()

    def template(self, reference: wire.ObjectReference, namespace: str) -> wire.InfrastructureTemplate | None:
        """The infrastructure template that a target in `namespace` refers to, when it was captured."""
        return self.templates.get((reference.group, reference.kind, reference.namespace or namespace, reference.name))

    def sets_of(self, deployment: wire.Scalable) -> Iterable[wire.Scalable]:
        """The MachineSets that a MachineDeployment controls."""
        meta = deployment.metadata
        for (namespace, _), item in self.machine_sets.items():
            owner = controlling(item.metadata.owner_references)
            if namespace == meta.namespace and owner and owner.kind == "MachineDeployment" and owner.name == meta.name:
                yield item

    def target_of(self, references: list[OwnerReference] | None, labels: Mapping[str, str], namespace: str) -> TargetRef | None:
        """The target that a Machine with these owners belongs to; None for one that no target sizes (a control plane)."""
        owner = controlling(references)
        if owner is None:
            return None
        if owner.kind == "MachinePool":
            return TargetRef(kind=MACHINE_POOL, namespace=namespace, name=owner.name)
        if owner.kind != "MachineSet":
            return None
        machine_set = self.machine_sets.get((namespace, owner.name))
        if machine_set is not None:
            above = controlling(machine_set.metadata.owner_references)
            deployment = above.name if above and above.kind == "MachineDeployment" else ""
        else:
            # The set was not captured. Its Machines have the name of the deployment as a label.
            deployment = labels.get(f"{self.group}/deployment-name", "")
            deployment = deployment if (namespace, deployment) in self.deployments else ""
        if deployment:
            return TargetRef(kind=MACHINE_DEPLOYMENT, namespace=namespace, name=deployment)
        return TargetRef(kind=MACHINE_SET, namespace=namespace, name=owner.name)


def controlling(references: list[OwnerReference] | None) -> OwnerReference | None:
    """The owner reference with `controller: true`."""
    return next((item for item in references or () if item.controller), None)
