"""Persistent volumes, claims, storage classes and CSI nodes, pruned."""

import msgspec

from reconciler.cluster.wire.meta import Int64, LabelSelector, ObjectMeta
from reconciler.cluster.wire.pod import Amounts, InTreeDisk, NodeSelector, Present, Volume


class CsiSource(msgspec.Struct, rename="camel", gc=False):
    """A volume of a CSI driver."""

    driver: str
    volume_handle: str = ""


class ClaimRef(msgspec.Struct, rename="camel", gc=False):
    """The claim that a volume belongs to."""

    namespace: str = ""
    name: str = ""
    uid: str = ""


class VolumeNodeAffinity(msgspec.Struct, rename="camel"):
    """Where a volume can be used."""

    required: NodeSelector | None = None


class PersistentVolumeSpec(msgspec.Struct, rename="camel"):
    """`spec` of a PersistentVolume."""

    capacity: Amounts | None = None
    access_modes: list[str] | None = None
    claim_ref: ClaimRef | None = None
    storage_class_name: str = ""
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None
    node_affinity: VolumeNodeAffinity | None = None
    csi: CsiSource | None = None
    gce_persistent_disk: InTreeDisk | None = msgspec.field(default=None, name="gcePersistentDisk")
    aws_elastic_block_store: InTreeDisk | None = msgspec.field(default=None, name="awsElasticBlockStore")
    azure_disk: InTreeDisk | None = None
    cinder: InTreeDisk | None = None
    vsphere_volume: InTreeDisk | None = None
    iscsi: InTreeDisk | None = None
    rbd: InTreeDisk | None = None
    portworx_volume: InTreeDisk | None = None
    local: Present | None = None
    host_path: Present | None = None
    nfs: Present | None = None


class PhaseStatus(msgspec.Struct, rename="camel", gc=False):
    """`status` of which only the phase is read."""

    phase: str = ""


class PersistentVolume(msgspec.Struct, rename="camel"):
    """A PersistentVolume."""

    metadata: ObjectMeta
    spec: PersistentVolumeSpec
    status: PhaseStatus | None = None
    kind: str = ""


class ClaimResources(msgspec.Struct, rename="camel"):
    """`spec.resources` of a claim."""

    requests: Amounts | None = None


class ClaimSpec(msgspec.Struct, rename="camel"):
    """`spec` of a PersistentVolumeClaim."""

    access_modes: list[str] | None = None
    selector: LabelSelector | None = None
    resources: ClaimResources | None = None
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None


class Claim(msgspec.Struct, rename="camel"):
    """A PersistentVolumeClaim."""

    metadata: ObjectMeta
    spec: ClaimSpec
    status: PhaseStatus | None = None
    kind: str = ""


class TopologyRequirement(msgspec.Struct, rename="camel", gc=False):
    """One requirement of an allowed topology; the operator is always In."""

    key: str
    values: list[str]


class AllowedTopology(msgspec.Struct, rename="camel"):
    """One item of `allowedTopologies`: all of its requirements must hold."""

    match_label_expressions: list[TopologyRequirement] | None = None


class StorageClass(msgspec.Struct, rename="camel"):
    """A StorageClass."""

    metadata: ObjectMeta
    provisioner: str
    volume_binding_mode: str | None = None
    allowed_topologies: list[AllowedTopology] | None = None
    kind: str = ""


class Allocatable(msgspec.Struct, rename="camel", gc=False):
    """How many volumes of a driver a node takes."""

    count: Int64 | None = None


class CsiDriver(msgspec.Struct, rename="camel"):
    """One driver on a node."""

    name: str
    node_id: str = msgspec.field(default="", name="nodeID")
    topology_keys: list[str] | None = None
    allocatable: Allocatable | None = None


class CsiNodeSpec(msgspec.Struct, rename="camel"):
    """`spec` of a CSINode."""

    drivers: list[CsiDriver] | None = None


class CsiNode(msgspec.Struct, rename="camel"):
    """A CSINode."""

    metadata: ObjectMeta
    spec: CsiNodeSpec
    kind: str = ""


def in_tree_disks(named: Volume | PersistentVolumeSpec) -> tuple[tuple[str, InTreeDisk | None, str], ...]:
    """The disks that a volume may name without a driver: the kind, the disk, and the attribute that tells disks apart."""
    return (
        ("GCEPersistentDisk", named.gce_persistent_disk, "pd_name"),
        ("AWSElasticBlockStore", named.aws_elastic_block_store, "volume_id"),
        ("AzureDisk", named.azure_disk, "disk_name"),
        ("Cinder", named.cinder, "volume_id"),
        ("PortworxVolume", named.portworx_volume, "volume_id"),
        ("VsphereVolume", named.vsphere_volume, "volume_path"),
        ("ISCSI", named.iscsi, "iqn"),
    )
