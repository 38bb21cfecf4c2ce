"""Which kubeconfig leads to the workload cluster (nodes, pods) and which to the management cluster (Cluster API's objects).

SOURCE: the five topologies that Cluster Autoscaler's Cluster API provider documents, with its fallbacks: no kubeconfig means
the pod's own cluster, no cloud-config means the kubeconfig, unless the cloud-config is authoritative.
"""

import msgspec

IN_CLUSTER = ""


class ClusterConnections(msgspec.Struct, frozen=True):
    """Paths of kubeconfig files; `IN_CLUSTER` stands for the service account of the pod."""

    workload: str
    management: str

    @property
    def joined(self) -> bool:
        """Whether one cluster is both."""
        return self.workload == self.management


def connections(kubeconfig: str = "", cloud_config: str = "", *, cloud_config_authoritative: bool = False) -> ClusterConnections:
    """The two connections of one set of options.

    | runs in | kubeconfig | cloud-config | authoritative | workload | management |
    |---|---|---|---|---|---|
    | the joined cluster | - | - | no | in-cluster | in-cluster |
    | the workload cluster | - | management | no | in-cluster | cloud-config |
    | the management cluster | workload | - | yes | kubeconfig | in-cluster |
    | anywhere | workload | management | any | kubeconfig | cloud-config |
    | anywhere, one for both | common | - | no | kubeconfig | kubeconfig |
    """
    fallback = IN_CLUSTER if cloud_config_authoritative else kubeconfig
    return ClusterConnections(workload=kubeconfig, management=cloud_config or fallback)
