"""Words of Cluster API that decisions compare. A redacted snapshot keeps them."""

_WORDS = """
KubeadmControlPlane DockerMachineTemplate cluster.x-k8s.io/v1beta1 cluster.x-k8s.io/v1beta2
infrastructure.cluster.x-k8s.io infrastructure.cluster.x-k8s.io/v1beta1 infrastructure.cluster.x-k8s.io/v1beta2
controlplane.cluster.x-k8s.io/v1beta1 controlplane.cluster.x-k8s.io/v1beta2

InfrastructureReady BootstrapReady NodeHealthy NodeReady Updating Deleting UpToDate HealthCheckSucceeded Provisioning Provisioned

cluster-api/accelerator node.cluster.x-k8s.io/uninitialized cluster.x-k8s.io/cluster-name cluster.x-k8s.io/deployment-name
cluster.x-k8s.io/set-name cluster.x-k8s.io/pool-name topology.cluster.x-k8s.io/owned
topology.cluster.x-k8s.io/deployment-name topology.cluster.x-k8s.io/pool-name cluster.x-k8s.io/control-plane

capi-topology capi-machinedeployment capi-machineset capi-machinepool clusterctl RollingUpdate OnDelete
"""
WORDS = tuple(_WORDS.split())
"""In addition to its kinds and its group."""
