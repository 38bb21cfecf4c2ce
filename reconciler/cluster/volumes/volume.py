"""Volumes as the scheduler sees them: persistent volumes, claims, storage classes, and what nodes can attach."""

import msgspec

from reconciler.cluster.values.selector import NodeSelectorTerm
from reconciler.values.label_selector import LabelSelector


class PersistentVolume(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """A PersistentVolume. `claim` is `namespace/name` of the claim that holds or has reserved it, or empty.

    `required_terms` None means usable everywhere. `driver` is the CSI driver, or the name of an in-tree type
    (`AWSElasticBlockStore`, `GCEPersistentDisk`, `AzureDisk`, `Cinder`, `VsphereVolume`, `ISCSI`, `RBD`, `Local`,
    `HostPath`, `NFS`), `handle` the disk's identity there. `labels` keep zone and region.
    """

    name: str
    uid: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    capacity_bytes: int = 0
    access_modes: tuple[str, ...] = ()
    storage_class: str = ""
    volume_mode: str = "Filesystem"
    claim: str = ""
    claim_uid: str = ""
    required_terms: tuple[NodeSelectorTerm, ...] | None = None
    driver: str = ""
    handle: str = ""
    phase: str = ""
    deleting: bool = False
    attributes_class: str = ""


class PersistentVolumeClaim(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """A claim. `storage_class` None: not written (the default class), empty: none on purpose. `volume` empty: not bound.

    `selected_node` is where the scheduler has decided to provision; `bind_completed` the binder's mark. `owner_uid` is
    the controlling pod of an ephemeral volume's claim.
    """

    namespace: str
    name: str
    uid: str = ""
    volume: str = ""
    storage_class: str | None = None
    access_modes: tuple[str, ...] = ()
    volume_mode: str = "Filesystem"
    requested_bytes: int = 0
    selector: LabelSelector | None = None
    phase: str = ""
    selected_node: str = ""
    bind_completed: bool = False
    owner_uid: str = ""
    deleting: bool = False
    attributes_class: str = ""


class StorageClass(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """A StorageClass. `allowed_topologies` are terms of which one must match; empty: everywhere."""

    name: str
    provisioner: str
    binding_mode: str = "Immediate"
    allowed_topologies: tuple[NodeSelectorTerm, ...] = ()
    default: bool = False
    created_seconds: int = 0


class CsiDriverLimit(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """One CSI driver on one node; `count` None: no limit was reported."""

    driver: str
    count: int | None = None
    topology_keys: tuple[str, ...] = ()


class CsiNode(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """A CSINode. `migrated` names the in-tree plugins whose volumes count for a CSI driver on this node."""

    name: str
    drivers: tuple[CsiDriverLimit, ...] = ()
    migrated: tuple[str, ...] = ()
