"""Cluster API's objects in manifests."""

from reconciler.policy.platform_manifests import PlatformManifests

MANIFESTS = PlatformManifests(
    provider="clusterAPI",
    group="cluster.x-k8s.io",
    renamed=True,
    sized=("MachineDeployment", "MachineSet", "MachinePool"),
    kept=("MachineDeployment", "MachineSet"),
    topology="Cluster",
    workers=("MachineDeployment", "MachinePool"),
)
