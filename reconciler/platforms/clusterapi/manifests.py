"""Cluster API's objects in manifests, and the kinds of other projects whose controllers size them.

SOURCE: Rancher's provisioning controller names a MachineDeployment after the Cluster and the pool, in the Cluster's namespace.
HyperShift names it after the NodePool, in the namespace of the control plane. An AWSManagedMachinePool is the infrastructure of a
MachinePool that its templates call by the same name; its `scaling` bounds the EKS node group.
"""

from reconciler.policy.platform_parts import ParentSizes, PlatformManifests

MANIFESTS = PlatformManifests(
    provider="clusterAPI",
    group="cluster.x-k8s.io",
    renamed=True,
    sized=("MachineDeployment", "MachineSet", "MachinePool"),
    kept=("MachineDeployment", "MachineSet"),
    topology="Cluster",
    workers=("MachineDeployment", "MachinePool"),
    parents=(
        ParentSizes(
            owner="Rancher",
            group="provisioning.cattle.io",
            kind="Cluster",
            entries=("spec", "rkeConfig", "machinePools"),
            sizes=(("quantity",),),
            target_kind="MachineDeployment",
            target_name="{name}-{entry}",
            target_namespace="{namespace}",
        ),
        ParentSizes(
            owner="HyperShift",
            group="hypershift.openshift.io",
            kind="NodePool",
            sizes=(("spec", "replicas"), ("spec", "autoScaling", "min"), ("spec", "autoScaling", "max")),
            target_kind="MachineDeployment",
            target_name="{name}",
            target_namespace="{namespace}-{cluster}",
        ),
        ParentSizes(
            owner="Cluster API's AWS provider",
            group="infrastructure.cluster.x-k8s.io",
            kind="AWSManagedMachinePool",
            sizes=(("spec", "scaling", "minSize"), ("spec", "scaling", "maxSize")),
            target_kind="MachinePool",
            target_name="{name}",
            target_namespace="{namespace}",
        ),
    ),
)
