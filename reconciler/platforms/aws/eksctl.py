"""eksctl's ClusterConfig. Its node groups are discovered by the tags that eksctl and EKS write.

The imported groups do not name their Auto Scaling groups: CloudFormation and EKS choose those names.

SOURCE: the schema `eksctl.io/v1alpha5`; `alpha.eksctl.io/…` are tags of eksctl, `eks:…` those of EKS on managed node groups.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from reconciler.policy.import_fragment import Fragment, Leftover, Piece, TargetlessGroup
from reconciler.policy.object_part import ObjectPart
from reconciler.policy.platform.autoscaler_flags import PlaceNeededError

CLUSTER_CONFIG = ("eksctl.io", "ClusterConfig")
_LISTS = {
    "nodeGroups": ("alpha.eksctl.io/cluster-name", "alpha.eksctl.io/nodegroup-name"),
    "managedNodeGroups": ("eks:cluster-name", "eks:nodegroup-name"),
}
_TYPE_LABEL, _ZONE_LABEL = "node.kubernetes.io/instance-type", "topology.kubernetes.io/zone"
_MIXED = "mixed"
_OF_THE_CLUSTER = "it describes how the cluster is made"
_OF_THE_NODES = "it describes how nodes are made, not how many"
_OF_THE_GROUP = "the Auto Scaling group has it"
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
    **{f"{kind}[].desiredCapacity": "pods decide the size, and a group begins with its current size" for kind in _LISTS},
    **{f"{kind}[].spot": "add a tier for spot nodes above the on-demand tier" for kind in _LISTS},
    **{f"{kind}[].maxInstanceLifetime": "the loop does not replace nodes because of their age" for kind in _LISTS},
    "fargateProfiles": "pods on Fargate need no node group",
    "karpenter": "`import` reads Karpenter's NodePools: name their file as well",
}


def cluster_config(item: Mapping[str, Any], place: Callable[[], str]) -> Fragment:
    """The policy fragment for a ClusterConfig. Raises `PlaceNeededError`."""
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
                left.append(
                    part.leftover("name", "cannot discover the node group: set its name, and metadata.name of the cluster")
                )
            by = " and ".join(f"{key}={value}" for key, value in pair.items())
            missing = f"the name of its Auto Scaling group is not in the file. The group has the tags {by}"
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
        raise PlaceNeededError("metadata.region is missing") from None


def _pieces(part: ObjectPart, left: list[Leftover]) -> Iterator[Piece]:
    for key, end in (("minSize", "min"), ("maxSize", "max")):
        if (count := part.whole(key)) is not None:
            yield part.piece(key, {"size": {end: count}})
    labels = part.part("labels")
    for key in labels.keys():  # noqa: SIM118 - not a mapping: it records which keys were asked for
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
    """A list with one value holds for every node."""
    values = part.values(key)
    if len(values) == 1:
        yield part.piece(key, {"template": {"labels": {label: values[0]}}})
    elif values:
        left.append(part.leftover(key, f"nodes differ in this value: {_OF_THE_GROUP}"))


def _taints(part: ObjectPart) -> Iterator[Piece]:
    """A list of taints, or in older files a mapping of keys to `value:effect`."""
    if isinstance(part.value("taints"), dict):
        older = part.part("taints")
        for key in older.keys():  # noqa: SIM118 - not a mapping: it records which keys were asked for
            value, _, effect = older.text(key).rpartition(":")
            taint = {"key": key, **({"value": value} if value else {}), "effect": effect}
            yield older.piece(key, {"template": {"taints": [taint]}})
    else:
        for number, one in enumerate(part.values("taints")):
            yield Piece(path=f"{part.path('taints')}[{number}]", value=one, tree={"template": {"taints": [one]}})
