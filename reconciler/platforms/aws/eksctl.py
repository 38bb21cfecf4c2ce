"""eksctl's ClusterConfig: its node groups are discovered by the tags that eksctl and EKS write, and written as groups without the
names of their Auto Scaling groups, which CloudFormation and EKS choose.

SOURCE: the schema `eksctl.io/v1alpha5`; `alpha.eksctl.io/…` are tags of eksctl, `eks:…` those of EKS on managed node groups.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from reconciler.policy.import_fragment import Fragment, Leftover, ObjectPart, Piece, TargetlessGroup
from reconciler.policy.platform_parts import PlaceNeededError

CLUSTER_CONFIG = ("eksctl.io", "ClusterConfig")
_LISTS = {
    "nodeGroups": ("alpha.eksctl.io/cluster-name", "alpha.eksctl.io/nodegroup-name"),
    "managedNodeGroups": ("eks:cluster-name", "eks:nodegroup-name"),
}
_TYPE_LABEL, _ZONE_LABEL = "node.kubernetes.io/instance-type", "topology.kubernetes.io/zone"
_MIXED = "mixed"
_OF_THE_CLUSTER = "it says how the cluster is made"
_OF_THE_NODES = "it says how nodes are made, not how many"
_OF_THE_GROUP = "the Auto Scaling group says it"
_CLUSTER_KEYS = (
    "metadata.version", "metadata.tags", "iam", "iamIdentityMappings", "vpc", "addons", "addonsConfig", "cloudWatch", "gitops",
    "secretsEncryption", "privateCluster", "identityProviders", "kubernetesNetworkConfig", "accessConfig", "availabilityZones",
    "localZones", "zonalShiftConfig", "outpost", "upgradePolicy", "remoteNetworkConfig", "autoModeConfig",
    "capabilities", "controlPlaneScalingConfig", "metadata.accountID",
)  # fmt: skip
_NODE_KEYS = (
    "additionalVolumes", "ami", "amiFamily", "asgMetricsCollection", "bottlerocket", "capacityReservation", "clusterDNS",
    "containerRuntime", "cpuCredits", "disableIMDSv1", "disablePodIMDS", "ebsOptimized", "efaEnabled",
    "enableDetailedMonitoring", "enclaveEnabled", "iam", "instanceName", "instancePrefix", "instanceSelector",
    "kubeletExtraConfig", "launchTemplate", "maxPodsPerNode", "nodeRepairConfig", "outpostARN", "overrideBootstrapCommand",
    "placement", "preBootstrapCommands", "privateNetworking", "releaseVersion", "securityGroups", "ssh", "subnets",
    "updateConfig", "volumeEncrypted", "volumeIOPS", "volumeKmsKeyID", "volumeName", "volumeSize", "volumeThroughput",
    "volumeType",
)  # fmt: skip
_GROUP_KEYS = (
    "asgSuspendProcesses", "classicLoadBalancerNames", "instanceMarketOptions", "instancesDistribution", "localZones",
    "propagateASGTags", "tags", "targetGroupARNs",
)  # fmt: skip
_REASONS = {
    **dict.fromkeys(_CLUSTER_KEYS, _OF_THE_CLUSTER),
    **{f"{kind}[].{key}": _OF_THE_NODES for kind in _LISTS for key in _NODE_KEYS},
    **{f"{kind}[].{key}": _OF_THE_GROUP for kind in _LISTS for key in _GROUP_KEYS},
    **{f"{kind}[].desiredCapacity": "pods decide the size; a group starts from the size that it has" for kind in _LISTS},
    **{f"{kind}[].spot": "write a tier for spot nodes above the one on demand" for kind in _LISTS},
    **{f"{kind}[].maxInstanceLifetime": "no node is replaced for its age" for kind in _LISTS},
    "fargateProfiles": "pods on Fargate need no node group",
    "karpenter": "`import` reads Karpenter's NodePools: name their file too",
}


def cluster_config(item: Mapping[str, Any], place: Callable[[], str]) -> Fragment:
    """What a ClusterConfig becomes. Raises `PlaceNeededError`."""
    whole = ObjectPart(item)
    whole.value("apiVersion"), whole.value("kind")
    meta = whole.part("metadata")
    cluster = meta.text("name")
    region = meta.text("region") or _asked(place)
    pieces: list[Piece] = []
    groups: list[TargetlessGroup] = []
    left: list[Leftover] = []
    for kind, tags in _LISTS.items():
        for part in whole.parts(kind):
            name = part.text("name")
            pair = dict(zip(tags, (cluster, name), strict=True))
            if cluster and name:
                rule = {"name": name, "aws": {"region": region, "tags": pair}}
                pieces.append(part.piece("name", {"discovery": [rule]}))
            else:
                left.append(part.leftover("name", "the node group is not discovered: name it, and the cluster in metadata.name"))
            by = " and ".join(f"{key}={value}" for key, value in pair.items())
            missing = f"the name of its Auto Scaling group is not in the file; the group has the tags {by}"
            target = {"aws": {"region": region}}
            own = tuple(_pieces(part, left))
            groups.append(TargetlessGroup(name=name or kind, missing=missing, target=target, pieces=own))
    return Fragment(
        title=f"ClusterConfig {cluster}".strip(),
        pieces=tuple(pieces),
        groups=tuple(groups),
        leftovers=(*left, *whole.leftovers(_REASONS)),
    )


def _asked(place: Callable[[], str]) -> str:
    try:
        return place()
    except PlaceNeededError:
        raise PlaceNeededError("no text in metadata.region") from None


def _pieces(part: ObjectPart, left: list[Leftover]) -> Iterator[Piece]:
    for key, end in (("minSize", "min"), ("maxSize", "max")):
        if (count := part.whole(key)) is not None:
            yield part.piece(key, {"size": {end: count}})
    labels = part.part("labels")
    for key in labels.keys():  # noqa: SIM118 - no mapping: it says which keys were asked for
        yield labels.piece(key, {"template": {"labels": {key: labels.value(key)}}})
    one_type = part.text("instanceType")
    if one_type and one_type != _MIXED:
        yield part.piece("instanceType", {"template": {"labels": {_TYPE_LABEL: one_type}}})
    elif one_type:
        left.append(part.leftover("instanceType", _OF_THE_GROUP))
    yield from _only(part, "instanceTypes", _TYPE_LABEL, left)
    yield from _only(part, "availabilityZones", _ZONE_LABEL, left)
    yield from _taints(part)


def _only(part: ObjectPart, key: str, label: str, left: list[Leftover]) -> Iterator[Piece]:
    """A list of one value is what every node has."""
    values = part.values(key)
    if len(values) == 1:
        yield part.piece(key, {"template": {"labels": {label: values[0]}}})
    elif values:
        left.append(part.leftover(key, f"the nodes differ in it: {_OF_THE_GROUP}"))


def _taints(part: ObjectPart) -> Iterator[Piece]:
    """A list of taints, or in older files a mapping of keys to `value:effect`."""
    if isinstance(part.value("taints"), dict):
        older = part.part("taints")
        for key in older.keys():  # noqa: SIM118 - no mapping: it says which keys were asked for
            value, _, effect = older.text(key).rpartition(":")
            taint = {"key": key, **({"value": value} if value else {}), "effect": effect}
            yield older.piece(key, {"template": {"taints": [taint]}})
    else:
        for number, one in enumerate(part.values("taints")):
            yield Piece(path=f"{part.path('taints')}[{number}]", value=one, tree={"template": {"taints": [one]}})
