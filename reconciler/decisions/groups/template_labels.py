"""The labels of a new node of a group: none that belong to a single node, and zones as the platform promises them."""

from collections.abc import Iterable, Sequence

import msgspec

from reconciler.cluster.nodes.node import HOSTNAME_LABEL, ZONE_LABEL, Node, NodeShape
from reconciler.cluster.target import TargetTemplate
from reconciler.cluster.world import World
from reconciler.policy.documents import GroupFields
from reconciler.policy.levels import ZONES, merged_labels
from reconciler.scheduling.volumes.migration import MIGRATIONS, driver_of_provisioner

ARCH_LABEL, OS_LABEL, REGION_LABEL = "kubernetes.io/arch", "kubernetes.io/os", "topology.kubernetes.io/region"
_OLD_ZONE, _OLD_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
_OWN_LABELS = frozenset({HOSTNAME_LABEL, "node.kubernetes.io/exclude-from-external-load-balancers"})
_OF_A_REGION = frozenset({REGION_LABEL, _OLD_REGION})
_OF_A_ZONE = frozenset({ZONE_LABEL, _OLD_ZONE})
_TOPOLOGY = "topology."
"""How the domain of a label begins that says where a node is: `topology.kubernetes.io/`, `topology.k8s.aws/`."""
# The cloud node controller writes both names of a label with one value. Where some node carries both, new ones will.
_RENAMED_LABELS = ((ZONE_LABEL, _OLD_ZONE), (REGION_LABEL, _OLD_REGION))
# SOURCE: the volume drivers of the clouds, which name a node's zone by a key of their own: those that took over an in-tree disk
# (aws-ebs-csi-driver, gcp-compute-persistent-disk-csi-driver, cloud-provider-openstack's Cinder driver), and Azure's.
ZONE_KEYS = {
    **{item.driver: item.topology_key for item in MIGRATIONS.values() if item.topology_key},
    "disk.csi.azure.com": "topology.disk.csi.azure.com/zone",
}

Labels = tuple[tuple[str, str], ...]


class LabelEvidence(msgspec.Struct, frozen=True):
    """What the nodes of a cluster show about labels. `of_volumes` are keys by which volume drivers distinguish nodes, without
    zones and regions. `same_as_zone` are labels that equal the zone wherever a node has both; new nodes have them too.
    `only_zone` is the zone of all nodes, empty if there are several. `drivers` are the volume drivers in use. `nowhere` are keys
    of drivers, each with a zone whose nodes have an empty value of it."""

    of_volumes: frozenset[str] = frozenset()
    same_as_zone: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    only_zone: str = ""
    drivers: frozenset[str] = frozenset()
    nowhere: frozenset[tuple[str, str]] = frozenset()

    @staticmethod
    def of(world: World) -> "LabelEvidence":
        """Of the nodes, their CSINodes and the volume drivers that are at work."""
        keys = {key for node in world.storage.csi_nodes for driver in node.drivers for key in driver.topology_keys}
        of_volumes = frozenset(keys - _OF_A_ZONE - _OF_A_REGION)
        labels = [dict(shape.labels) for shape in world.node_shapes]
        storage = world.storage
        at_work = {volume.driver for volume in storage.volumes} | {driver.name for driver in storage.csi_drivers}
        at_work |= {driver_of_provisioner(item.provisioner) for item in storage.classes}
        named = {key for driver, key in ZONE_KEYS.items() if driver in at_work}
        seen = [key for key in sorted(of_volumes | named) if _like_the_zone(key, labels, expected=key in named)]
        zones = {one.get(ZONE_LABEL, "") for one in labels}
        return LabelEvidence(
            of_volumes,
            tuple(seen),
            tuple((new, old) for new, old in _RENAMED_LABELS if any(_same(one, new, old) for one in labels)),
            min(zones) if len(zones) == 1 else "",
            frozenset(at_work),
            frozenset(
                (key, one[ZONE_LABEL]) for key in of_volumes | named for one in labels if one.get(key) == "" and ZONE_LABEL in one
            ),
        )


def _like_the_zone(key: str, labels: Iterable[dict[str, str]], *, expected: bool) -> bool:
    """Whether a label has the zone's value on all nodes that have both; without such a node, the `expected` answer.

    SOURCE: Azure's volume driver leaves the value empty on machines outside availability zones. Their zone is a number, of the
    fault domain (kubernetes-sigs/azuredisk-csi-driver#891).
    """
    pairs = {one[key] == one[ZONE_LABEL] for one in labels if one.get(key) and ZONE_LABEL in one}
    return all(pairs) if pairs else expected


def _same(labels: dict[str, str], new: str, old: str) -> bool:
    return old in labels and labels[old] == labels.get(new)


def labels_of(
    levels: Sequence[GroupFields], target: TargetTemplate, evidence: LabelEvidence, world: World, members: Sequence[Node]
) -> Labels:
    """What all members share, overlaid by the target's, overlaid by the policy's.

    Values that belong to a single member do not count: its name, and the keys by which volume drivers distinguish nodes. The
    location of the members counts only if the platform does not determine it. In a group of several zones it never counts. If
    there is only one member, only labels that all nodes of the cluster share count.
    """
    merged = _shared(target, evidence, world, members)
    if not members:
        merged[OS_LABEL] = "linux"
    if target.architecture:
        merged[ARCH_LABEL] = target.architecture
    if target.zone:
        merged[ZONE_LABEL] = target.zone
    merged.update((key, value) for driver, key, value in target.driver_labels if driver in evidence.drivers)
    merged.update(target.labels)
    written = merged_labels(levels)
    merged.update(written)
    merged.setdefault(ARCH_LABEL, "amd64")
    return _with_zone(merged, evidence, frozenset(written))


def _with_zone(labels: dict[str, str], evidence: LabelEvidence, written: frozenset[str]) -> Labels:
    """The labels with those that say the same as the zone; what is `written` of them stays."""
    if ZONE_LABEL in labels:
        zone = labels[ZONE_LABEL]
        values = {key: "" if (key, zone) in evidence.nowhere else zone for key in evidence.same_as_zone}
        labels |= {key: value for key, value in values.items() if key not in written}
    labels |= {old: labels[new] for new, old in evidence.renamed if new in labels and old not in labels}
    return tuple(sorted(labels.items()))


def with_zones(target: TargetTemplate, levels: Sequence[GroupFields]) -> TargetTemplate:
    """The template with the zones that the policy states, without those in which nodes did not come."""
    _, written = ZONES.nearest(levels) or (0, ())
    if not written:
        return target
    left = tuple(zone for zone in written if zone not in target.avoided_zones)
    return msgspec.structs.replace(target, zones=left or written, fills_zones=True)


def in_zones(template: NodeShape | None, target: TargetTemplate, evidence: LabelEvidence) -> tuple[tuple[str, NodeShape], ...]:
    """What a new node is in each of the zones that the platform fills; empty where the template has the zone."""
    if template is None or not target.fills_zones or not target.zones or template.label(ZONE_LABEL) is not None:
        return ()
    stated_keys = frozenset(key for key, _ in template.labels)
    return tuple(
        (
            zone,
            msgspec.structs.replace(
                template, labels=_with_zone({**dict(template.labels), ZONE_LABEL: zone}, evidence, stated_keys)
            ),
        )
        for zone in target.zones
    )


def _shared(target: TargetTemplate, evidence: LabelEvidence, world: World, members: Sequence[Node]) -> dict[str, str]:
    shared: set[tuple[str, str]] | None = None
    for index in {node.shape for node in members}:
        labels = set(world.node_shapes[index].labels)
        shared = labels if shared is None else shared & labels
    if not shared:
        return {}
    names = {members[0].name, members[0].hostname} - {""} if len(members) == 1 else set()
    return {
        key: value
        for key, value in shared
        if key not in _OWN_LABELS and value not in names and _goes_with_the_group(key, value, target, evidence, len(members))
    }


def _goes_with_the_group(key: str, value: str, target: TargetTemplate, evidence: LabelEvidence, members: int) -> bool:
    # An empty value distinguishes no nodes.
    if not value:
        return True
    if key in evidence.of_volumes:
        return False
    if key in _OF_A_REGION or not (key in _OF_A_ZONE or key.startswith(_TOPOLOGY)):
        return True
    if len(target.zones) > 1:
        return False
    return members > 1 or bool(evidence.only_zone and key in _OF_A_ZONE and value == evidence.only_zone)
