"""Taints that a node has for a while only, on whatever platform: which keys and beginnings of keys are known."""

# A node has these until it is usable, whichever component adds them. A Ready node may have one for a few more seconds. SOURCE:
# Kubernetes' well-known taints (kubelet, cloud providers); the Node Readiness Controller (`readiness.k8s.io/`); the prefix that
# marks startup taints for the Cluster Autoscaler; the volume drivers of AWS and Azure, which remove their own taint
# (`agent-not-ready`: ebs, efs, FSx for Lustre, Mountpoint for S3, Azure Disk and Azure Managed Lustre). A platform's own taints
# are in its reading (Cluster API's contract for bootstrap providers).
STARTING_KEYS = frozenset(
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
STARTING_PREFIXES = ("readiness.k8s.io/", "startup-taint.cluster-autoscaler.kubernetes.io/")

# A node has these while something is wrong, or before it is removed. A new node must not inherit them. SOURCE: the node lifecycle
# controller (on conditions), the Cluster Autoscaler, the termination handlers of GKE, AWS and AKS
# (`cloud.google.com/impending-node-termination`, `aws-node-termination-handler/`, node auto-drain's
# `remediator.kubernetes.azure.com/`), Karpenter (`karpenter.sh/disrupted`).
PASSING_PREFIXES = (
    "node.kubernetes.io/",
    "node.cloudprovider.kubernetes.io/",
    "reconciler.dev/",
    "status-taint.cluster-autoscaler.kubernetes.io/",
    "ignore-taint.cluster-autoscaler.kubernetes.io/",
    "aws-node-termination-handler/",
    "cloud.google.com/impending-node-termination",
    "remediator.kubernetes.azure.com/",
)
PASSING_KEYS = ("ToBeDeletedByClusterAutoscaler", "DeletionCandidateOfClusterAutoscaler", "karpenter.sh/disrupted")
