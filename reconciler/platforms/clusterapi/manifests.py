"""Cluster API's objects in manifests, and the kinds of other projects whose controllers size those objects."""

from reconciler.platforms.clusterapi.parents import PARENTS
from reconciler.policy.platform.manifests import PlatformManifests

MANIFESTS = PlatformManifests(
    provider="clusterAPI",
    group="cluster.x-k8s.io",
    renamed=True,
    sized=("MachineDeployment", "MachineSet", "MachinePool"),
    kept=("MachineDeployment", "MachineSet"),
    topology="Cluster",
    workers=("MachineDeployment", "MachinePool"),
    parents=PARENTS,
)
