"""What decisions ask about Auto Scaling groups."""

from collections.abc import Mapping

from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.cluster.world import World
from reconciler.decisions.platform_rules import PlatformRules
from reconciler.platforms.aws.facts.named_clusters import clusters
from reconciler.platforms.aws.kinds import AUTO_SCALING_GROUP, READ_LAG_SECONDS, RESOURCE
from reconciler.policy.documents import Discovery
from reconciler.values.cluster_identity import ClusterIdentity

_EKS_CLUSTER, _CLUSTER = "eks:cluster-name", "kubernetes.io/cluster/"
_MARKS = (_EKS_CLUSTER, _CLUSTER, "k8s.io/")


def takes(item: Discovery, facts: TargetFacts) -> bool:
    """Whether the group is in the region and has every tag; an empty value takes any."""
    tags = dict(facts.labels)
    return item.region in ("", facts.ref.region) and all(
        tags.get(key) == value if value else key in tags for key, value in item.tags
    )


def clusters_named(item: Discovery) -> tuple[str, ...]:
    """The clusters that its tags ask for."""
    return clusters(item.tags)


def strangers(world: World) -> frozenset[TargetRef]:
    """Groups without evidence that they belong to this cluster: they have no node in it and no cluster's tag, or another
    cluster's tag.

    An AWS account has groups for many purposes, and a listing has all of them. Only its tags show whether a group without nodes
    is ours. If nodes were not captured, a missing node proves nothing. SOURCE: the tags of EKS (`eks:cluster-name`), of
    cloud-provider-aws (`kubernetes.io/cluster/NAME`) and of the Cluster Autoscaler's discovery and node templates
    (`k8s.io/cluster-autoscaler/…`).
    """
    if "Node" not in world.captured:
        return frozenset()
    groups = [facts for facts in world.targets if facts.ref.kind == AUTO_SCALING_GROUP]
    inhabited = {machine.target for machine in world.machines if machine.node}
    own = frozenset[str]().union(*(facts.clusters for facts in groups if facts.ref in inhabited))
    return frozenset(facts.ref for facts in groups if facts.ref not in inhabited and not _ours(facts, own))


def _ours(facts: TargetFacts, own: frozenset[str]) -> bool:
    if facts.clusters and own:
        return not own.isdisjoint(facts.clusters)
    return any(key.startswith(_MARKS) for key, _ in facts.labels)


def policy_value(ref: TargetRef) -> Mapping[str, Mapping[str, str]]:
    """`spec.target` of a NodeGroup."""
    return {"aws": {"autoScalingGroup": ref.name, "region": ref.region}}


def declares(resource: str) -> str:
    """As the Cluster Autoscaler has it."""
    return f"the tag {RESOURCE}{resource}"


def cluster_names(identity: ClusterIdentity) -> tuple[str, ...]:
    """What tags call a cluster: what the label of its Cluster object says, else the name of that object, also with its namespace.

    SOURCE: Cluster API Provider AWS (`pkg/eks/names.go`) calls an EKS cluster NAMESPACE_NAME, with dashes instead of dots.
    """
    if identity.cloud_name:
        return (identity.cloud_name,)
    with_namespace = f"{identity.namespace}_{identity.name}".replace(".", "-")
    return (identity.name, *((with_namespace,) if identity.namespace else ()))


def names_cluster(identity: ClusterIdentity) -> str:
    """The tag of cloud-provider-aws."""
    return f"the tag {_CLUSTER}{cluster_names(identity)[0]}: owned"


RULES = PlatformRules(
    provider="aws",
    kinds=(AUTO_SCALING_GROUP,),
    takes=takes,
    policy_value=policy_value,
    size_origin="its own MinSize and MaxSize",
    clusters_named=clusters_named,
    declares=declares,
    cluster_names=cluster_names,
    names_cluster=names_cluster,
    read_lag_seconds=READ_LAG_SECONDS,
    unsigned_writer="a writer that Auto Scaling does not record",
    strangers=strangers,
    writer_evidence="CloudTrail names who called SetDesiredCapacity or UpdateAutoScalingGroup",
)
