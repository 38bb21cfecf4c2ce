"""Narrows the discovery of one cluster to its own targets."""

import msgspec

from reconciler.policy.documents import Discovery, NodeGroupPolicy
from reconciler.policy.platform.policy_keys import platform_keys
from reconciler.policy.problems.findings import Findings
from reconciler.policy.reading.draft import Drafts
from reconciler.values.cluster_identity import ClusterIdentity


def in_cluster(policy: NodeGroupPolicy, cluster: ClusterIdentity) -> NodeGroupPolicy:
    """The policy with each discovery item that can name a cluster narrowed to this one."""
    return msgspec.structs.replace(policy, discovery=tuple(_narrowed(item, cluster) for item in policy.discovery))


def _narrowed(item: Discovery, cluster: ClusterIdentity) -> Discovery:
    if item.provider not in _naming_clusters() or item.cluster_name:
        return item
    namespaces = item.namespaces or ((cluster.namespace,) if cluster.namespace else ())
    return msgspec.structs.replace(item, cluster_name=cluster.name, namespaces=namespaces)


def check_discovery(drafts: Drafts, cluster: ClusterIdentity, findings: Findings) -> None:
    """No discovery item of a policy finds the targets of another cluster than the one where it counts."""
    for draft in drafts.policies:
        for index, item in enumerate(draft.document.discovery):
            if item.cluster_name in ("", cluster.name):
                continue
            where = f"spec.discovery[{index}].{item.provider}.clusterName"
            message = f"this item finds targets of {item.cluster_name}, and the policy applies in {cluster.title}"
            draft.report(findings, "OtherCluster", where, message, "remove clusterName: each cluster finds its own targets")


def _naming_clusters() -> frozenset[str]:
    """The platforms whose discovery can name a cluster."""
    return frozenset(
        keys.provider
        for keys in platform_keys()
        if any(child.attribute == "cluster_name" for child in (keys.discovery.children if keys.discovery is not None else ()))
    )
