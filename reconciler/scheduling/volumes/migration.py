"""In-tree disks that a CSI driver has taken over on a node (CSI migration, csi-translation-lib 1.36).

The scheduler treats five of the plugins that can be translated as migrated. VolumeBinding follows the node's CSINode.
NodeVolumeLimits assumes that all five are migrated on every node that has a CSINode.
"""

import msgspec

from reconciler.cluster.values.selection import NodeSelectorTerm
from reconciler.cluster.volume import CsiNode, PersistentVolume
from reconciler.values.label_selector import Requirement

ZONE, BETA_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
REGION, BETA_REGION = "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"
_ZONE_SEPARATOR = "__"
_AWS_SCHEME = "aws://"


class Migration(msgspec.Struct, frozen=True):
    """One in-tree plugin: its provisioner name, the driver that takes over, the driver's topology key (empty: volumes keep
    the topology that they have)."""

    plugin: str
    driver: str
    topology_key: str


MIGRATIONS: dict[str, Migration] = {
    "AWSElasticBlockStore": Migration("kubernetes.io/aws-ebs", "ebs.csi.aws.com", "topology.ebs.csi.aws.com/zone"),
    "GCEPersistentDisk": Migration("kubernetes.io/gce-pd", "pd.csi.storage.gke.io", "topology.gke.io/zone"),
    "AzureDisk": Migration("kubernetes.io/azure-disk", "disk.csi.azure.com", ""),
    "Cinder": Migration("kubernetes.io/cinder", "cinder.csi.openstack.org", "topology.cinder.csi.openstack.org/zone"),
    "PortworxVolume": Migration("kubernetes.io/portworx-volume", "pxd.portworx.com", ""),
}
# Volume types that are no CSI driver and that no driver takes over; vSphere's migration is not counted by the scheduler.
NOT_ATTACHED_BY_CSI = frozenset({"", "VsphereVolume", "ISCSI", "RBD", "Local", "HostPath", "NFS"})
_BY_PLUGIN = {item.plugin: item for item in MIGRATIONS.values()}
_TRANSLATED_BUT_OFF = frozenset({"kubernetes.io/vsphere-volume", "kubernetes.io/azure-file"})


def is_migrated(kind: str, node: CsiNode | None) -> bool:
    """Has a CSI driver taken over this in-tree type on the node?"""
    migration = MIGRATIONS.get(kind)
    return migration is not None and node is not None and migration.plugin in node.migrated


def driver_of_provisioner(provisioner: str) -> str:
    """The CSI driver behind a provisioner; empty when its volumes are not attached by one."""
    migration = _BY_PLUGIN.get(provisioner)
    if migration is not None:
        return migration.driver
    return "" if provisioner in _TRANSLATED_BUT_OFF else provisioner


def inline_handle(kind: str, identity: str) -> str:
    """The handle of a disk that a pod names itself; empty when the name cannot be read."""
    return _handle(kind, identity, ())


def volume_handle(volume: PersistentVolume) -> str:
    """The handle of an in-tree volume that was taken over."""
    labels = dict(volume.labels)
    text = labels.get(BETA_ZONE) or labels.get(ZONE)
    return _handle(volume.driver, volume.handle, tuple(text.split(_ZONE_SEPARATOR)) if text else ())


def translated_terms(volume: PersistentVolume) -> tuple[NodeSelectorTerm, ...] | None:
    """Where an in-tree volume can be used after migration to the driver.

    Source: csi-translation-lib. The zone label in the node affinity becomes the driver's topology key. Without it, the volume's
    own zone label becomes a requirement. The old region label becomes the new one if zones are old.
    """
    terms, key = volume.required_terms, MIGRATIONS[volume.driver].topology_key
    if not key:
        return terms
    used = {item.key for term in terms or () for item in term.expressions}
    labels = dict(volume.labels)
    beta = ZONE not in used and (BETA_ZONE in used or (ZONE not in labels and BETA_ZONE in labels))
    zone = BETA_ZONE if beta else ZONE
    renamed = {BETA_REGION: REGION} if beta else {}
    added: tuple[Requirement, ...] = ()
    if any(item.key == zone and item.values for term in terms or () for item in term.expressions):
        renamed[zone] = key
    elif zone in labels:
        zones = sorted({part.strip() for part in labels[zone].split(_ZONE_SEPARATOR)} - {""})
        added = (Requirement(key, "In", tuple(zones)),) if zones else ()
    if added and not terms:
        terms = (NodeSelectorTerm(),)
    if terms is None:
        return None
    return tuple(
        NodeSelectorTerm(
            (*(Requirement(renamed.get(item.key, item.key), item.operator, item.values) for item in term.expressions), *added),
            term.fields,
        )
        for term in terms
    )


def _handle(kind: str, identity: str, zones: tuple[str, ...]) -> str:
    if kind == "AWSElasticBlockStore" and identity.startswith(_AWS_SCHEME):
        disk = identity.removeprefix(_AWS_SCHEME).partition("/")[2].strip("/")
        return disk if disk.startswith("vol-") and "/" not in disk else ""
    if kind == "GCEPersistentDisk":
        if len(zones) > 1:
            regions = sorted({zone.rpartition("-")[0] for zone in zones})
            return f"projects/UNSPECIFIED/regions/{regions[0]}/disks/{identity}" if len(regions) == 1 and regions[0] else ""
        return f"projects/UNSPECIFIED/zones/{zones[0] if zones else 'UNSPECIFIED'}/disks/{identity}"
    return identity
