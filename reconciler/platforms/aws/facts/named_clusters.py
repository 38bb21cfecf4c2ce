"""The clusters that the tags of an Auto Scaling group name.

Its instances join these clusters. SOURCE: Amazon EKS tags its own groups with `eks:cluster-name` (and `aws:eks:cluster-name`),
eksctl with `alpha.eksctl.io/cluster-name`, kOps with `KubernetesCluster`. The cloud provider of Kubernetes reads
`kubernetes.io/cluster/NAME`, and the Cluster Autoscaler's auto-discovery reads `k8s.io/cluster-autoscaler/NAME`.
"""

from collections.abc import Iterable, Iterator

_NAMED_BY_VALUE = ("eks:cluster-name", "aws:eks:cluster-name", "alpha.eksctl.io/cluster-name", "KubernetesCluster")
_NAMED_BY_KEY = ("kubernetes.io/cluster/", "k8s.io/cluster-autoscaler/")
_SWITCHES = ("enabled", "disabled")
"""Words that follow the Cluster Autoscaler's prefix but do not name a cluster."""


def clusters(tags: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Sorted names, each once; empty if no tag names a cluster. Tags of one group may name several (`shared`)."""
    return tuple(sorted(set(_named(tags)) - {""}))


def _named(tags: Iterable[tuple[str, str]]) -> Iterator[str]:
    for key, value in tags:
        if key in _NAMED_BY_VALUE:
            yield value
        for prefix in _NAMED_BY_KEY:
            name = key.removeprefix(prefix) if key.startswith(prefix) else ""
            # `node-template/label/...` has the same prefix. Names of clusters have no slash.
            if "/" not in name and name not in _SWITCHES:
                yield name
