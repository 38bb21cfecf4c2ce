"""Which clusters the tags of an Auto Scaling group name: those that its instances are to become nodes of.

SOURCE: Amazon EKS tags the groups that it keeps with `eks:cluster-name` (and `aws:eks:cluster-name`), eksctl with
`alpha.eksctl.io/cluster-name`, kOps with `KubernetesCluster`. The cloud provider of Kubernetes reads
`kubernetes.io/cluster/NAME`, the auto-discovery of the Cluster Autoscaler `k8s.io/cluster-autoscaler/NAME`.
"""

from collections.abc import Iterable, Iterator

_NAMED_BY_VALUE = ("eks:cluster-name", "aws:eks:cluster-name", "alpha.eksctl.io/cluster-name", "KubernetesCluster")
_NAMED_BY_KEY = ("kubernetes.io/cluster/", "k8s.io/cluster-autoscaler/")
_SWITCHES = ("enabled", "disabled")
"""What follows the prefix of the Cluster Autoscaler and names no cluster."""


def clusters(tags: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Their names, sorted, each once; empty where no tag names one. A tag of one group may name several (`shared`)."""
    return tuple(sorted(set(_named(tags)) - {""}))


def _named(tags: Iterable[tuple[str, str]]) -> Iterator[str]:
    for key, value in tags:
        if key in _NAMED_BY_VALUE:
            yield value
        for prefix in _NAMED_BY_KEY:
            name = key.removeprefix(prefix) if key.startswith(prefix) else ""
            # `node-template/label/...` stands below the same prefix; names of clusters have no slash.
            if "/" not in name and name not in _SWITCHES:
                yield name
