"""Taints that a node carries for a while only: until it is usable, while something is wrong with it, or when it is to go."""

from collections.abc import Iterable
from functools import cache

from reconciler.cluster.nodes.node import Taint
from reconciler.cluster.platform_reading import readings, starting_taints

# Until a node is usable, whoever lists them: one may be Ready, and carry one for some seconds more.
# SOURCE: Kubernetes' well-known taints (kubelet, cloud providers); the Node Readiness Controller (`readiness.k8s.io/`);
# the prefix by which the Cluster Autoscaler knows startup taints; the volume drivers of AWS and Azure that take a taint of
# theirs off (`agent-not-ready`: ebs, efs, FSx for Lustre, Mountpoint for S3, Azure Disk and Azure Managed Lustre). Those of a
# platform are in its reading (Cluster API's contract for bootstrap providers).
_STARTING_KEYS = frozenset(
    {
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/network-unavailable",
        "node.cloudprovider.kubernetes.io/uninitialized",
        "ebs.csi.aws.com/agent-not-ready",
        "efs.csi.aws.com/agent-not-ready",
        "fsx.csi.aws.com/agent-not-ready",
        "s3.csi.aws.com/agent-not-ready",
        "disk.csi.azure.com/agent-not-ready",
        "azurelustre.csi.azure.com/agent-not-ready",
    }
)
_STARTING_PREFIXES = ("readiness.k8s.io/", "startup-taint.cluster-autoscaler.kubernetes.io/")

# While something is wrong, or the node is to go: a new node must not inherit them.
# SOURCE: the node lifecycle controller (on conditions), the Cluster Autoscaler, the termination handlers of GKE, AWS and AKS
# (`cloud.google.com/impending-node-termination`, `aws-node-termination-handler/`, node auto-drain's
# `remediator.kubernetes.azure.com/`), Karpenter (`karpenter.sh/disrupted`).
_PASSING_PREFIXES = (
    "node.kubernetes.io/",
    "node.cloudprovider.kubernetes.io/",
    "reconciler.dev/",
    "status-taint.cluster-autoscaler.kubernetes.io/",
    "ignore-taint.cluster-autoscaler.kubernetes.io/",
    "aws-node-termination-handler/",
    "cloud.google.com/impending-node-termination",
    "remediator.kubernetes.azure.com/",
)
_PASSING_KEYS = ("ToBeDeletedByClusterAutoscaler", "DeletionCandidateOfClusterAutoscaler", "karpenter.sh/disrupted")


def transient(taint: Taint) -> bool:
    """Whether a node carries this taint only for a while, so that new nodes of its group will not."""
    return taint.key in _PASSING_KEYS or is_starting(taint.key) or taint.key.startswith(_prefixes())


def is_starting(key: str) -> bool:
    """Whether a node carries a taint of this key until it is usable, though it may be Ready."""
    return key in _STARTING_KEYS or key in starting_taints() or key.startswith(_STARTING_PREFIXES)


def starts_with(key: str, startup_taints: Iterable[str]) -> bool:
    """Whether nodes of a group have a taint of this key until they are set up: it is a known one, or `template.startupTaints`
    names it."""
    return is_starting(key) or any(covers(one, key) for one in startup_taints)


def covers(named: str, key: str) -> bool:
    """Whether a key of `template.startupTaints` is this one; one that ends with `*` is all that begin so."""
    return key.startswith(named.removesuffix("*")) if named.endswith("*") else key == named


@cache
def _prefixes() -> tuple[str, ...]:
    return (*_PASSING_PREFIXES, *(prefix for reading in readings() for prefix in reading.passing_taints))
