"""The kinds of other projects whose controllers size Cluster API's objects.

SOURCE: Rancher's provisioning controller names a MachineDeployment after the Cluster and the pool, in the Cluster's namespace.
It cuts names longer than 63 characters, and its label has the pool's name. HyperShift names it after the NodePool, in the
namespace of the control plane, and annotates it with the NodePool. An AWSManagedMachinePool is the infrastructure of a
MachinePool with the same name in its templates. Its `scaling` bounds the EKS node group.
"""

from reconciler.platforms.clusterapi.kinds import MACHINE_DEPLOYMENT, MACHINE_POOL
from reconciler.values.parent_sizes import ParentSizes

PARENTS = (
    ParentSizes(
        owner="Rancher",
        group="provisioning.cattle.io",
        kind="Cluster",
        entries=("spec", "rkeConfig", "machinePools"),
        sizes=(("quantity",),),
        target_kind=MACHINE_DEPLOYMENT,
        target_name="{name}-{entry}",
        target_namespace="{namespace}",
        mark=("rke.cattle.io/rke-machine-pool-name", "{entry}"),
        mark_cluster="{name}",
    ),
    ParentSizes(
        owner="HyperShift",
        group="hypershift.openshift.io",
        kind="NodePool",
        sizes=(("spec", "replicas"), ("spec", "autoScaling", "min"), ("spec", "autoScaling", "max")),
        target_kind=MACHINE_DEPLOYMENT,
        target_name="{name}",
        target_namespace="{namespace}-{cluster}",
        mark=("hypershift.openshift.io/nodePool", "{namespace}/{name}"),
    ),
    ParentSizes(
        owner="Cluster API's AWS provider",
        group="infrastructure.cluster.x-k8s.io",
        kind="AWSManagedMachinePool",
        sizes=(("spec", "scaling", "minSize"), ("spec", "scaling", "maxSize")),
        target_kind=MACHINE_POOL,
        target_name="{name}",
        target_namespace="{namespace}",
    ),
)
