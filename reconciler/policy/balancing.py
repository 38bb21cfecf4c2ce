"""Labels that siblings of `balanceWith: Auto` may differ in, by platform.

SOURCE: the labels that the Cluster Autoscaler's providers ignore when they compare groups, and the list that the
documentation of its Cluster API provider recommends per platform; zones, regions and the host name are always ignored.
"""

from collections.abc import Mapping

PRESETS: Mapping[str, tuple[str, ...]] = {
    "Alibaba": ("topology.diskplugin.csi.alibabacloud.com/zone",),
    "AWS": (
        "alpha.eksctl.io/instance-id",
        "alpha.eksctl.io/nodegroup-name",
        "eks.amazonaws.com/nodegroup",
        "k8s.amazonaws.com/eniConfig",
        "lifecycle",
        "topology.ebs.csi.aws.com/zone",
        "topology.k8s.aws/zone-id",
    ),
    "Azure": ("agentpool", "kubernetes.azure.com/agentpool", "topology.disk.csi.azure.com/zone"),
    "GCP": ("topology.gke.io/zone",),
    "IBM": (
        "ibm-cloud.kubernetes.io/vpc-instance-id",
        "ibm-cloud.kubernetes.io/worker-id",
        "vpc-block-csi-driver-labels",
    ),
}

ALWAYS_IGNORED: tuple[str, ...] = (
    "kubernetes.io/hostname",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
)
ALWAYS_IGNORED_PREFIX = "beta.kubernetes.io/"
