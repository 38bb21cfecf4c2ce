"""Volumes as the scheduler sees them: persistent volumes, claims, storage classes, and what nodes can attach."""

from collections.abc import Iterable

import msgspec

from reconciler.cluster.pods.traits_reading import controlling_owner
from reconciler.cluster.values import quantity
from reconciler.cluster.values.instant import unix_seconds
from reconciler.cluster.values.selection import NodeSelectorTerm, label_pairs, label_selector, node_terms
from reconciler.cluster.values.unreadable import UnreadableError
from reconciler.cluster.wire import volume as wire
from reconciler.cluster.wire.pod import Amounts
from reconciler.values.label_selector import LabelSelector, Requirement


class PersistentVolume(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """A PersistentVolume. `claim` is `namespace/name` of the claim that uses or has reserved it, or empty.

    `required_terms` None means usable everywhere. `driver` is the CSI driver or an in-tree type: `AWSElasticBlockStore`,
    `GCEPersistentDisk`, `AzureDisk`, `Cinder`, `VsphereVolume`, `ISCSI`, `RBD`, `Local`, `HostPath` or `NFS`. `handle` is the
    identity of the disk for the driver. `labels` keep zone and region.
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


_STORAGE = "storage"
_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_SELECTED_NODE = "volume.kubernetes.io/selected-node"
_BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
_DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
_MIGRATED = "storage.alpha.kubernetes.io/migrated-plugins"


def persistent_volume(item: wire.PersistentVolume) -> PersistentVolume:
    """One volume. Raises `UnreadableError`."""
    meta, spec = item.metadata, item.spec
    claim = spec.claim_ref or wire.ClaimRef()
    driver, handle = _source(spec)
    return PersistentVolume(
        name=meta.name,
        uid=meta.uid,
        labels=label_pairs(meta.labels),
        capacity_bytes=_bytes(spec.capacity, "spec.capacity"),
        access_modes=tuple(sorted(set(spec.access_modes or ()))),
        storage_class=(meta.annotations or {}).get(_BETA_CLASS, spec.storage_class_name),
        volume_mode=spec.volume_mode or "Filesystem",
        claim=f"{claim.namespace}/{claim.name}" if claim.name else "",
        claim_uid=claim.uid,
        required_terms=node_terms(spec.node_affinity.required) if spec.node_affinity else None,
        driver=driver,
        handle=handle,
        phase=item.status.phase if item.status else "",
        deleting=meta.deletion_timestamp is not None,
        attributes_class=spec.volume_attributes_class_name or "",
    )


def claim(item: wire.Claim) -> PersistentVolumeClaim:
    """One claim. Raises `UnreadableError`."""
    meta, spec = item.metadata, item.spec
    marks = meta.annotations or {}
    owner = controlling_owner(meta.owner_references)
    return PersistentVolumeClaim(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        volume=spec.volume_name,
        storage_class=marks.get(_BETA_CLASS, spec.storage_class_name),
        access_modes=tuple(sorted(set(spec.access_modes or ()))),
        volume_mode=spec.volume_mode or "Filesystem",
        requested_bytes=_bytes(spec.resources.requests if spec.resources else None, "spec.resources.requests"),
        selector=label_selector(spec.selector),
        phase=item.status.phase if item.status else "",
        selected_node=marks.get(_SELECTED_NODE, ""),
        bind_completed=_BIND_COMPLETED in marks,
        owner_uid=owner.uid if owner else "",
        deleting=meta.deletion_timestamp is not None,
        attributes_class=spec.volume_attributes_class_name or "",
    )


def storage_class(item: wire.StorageClass) -> StorageClass:
    """One class."""
    marks = item.metadata.annotations or {}
    created = item.metadata.creation_timestamp
    return StorageClass(
        name=item.metadata.name,
        provisioner=item.provisioner,
        binding_mode=item.volume_binding_mode or "Immediate",
        allowed_topologies=tuple(sorted({_topology(term) for term in item.allowed_topologies or ()})),
        default=any(marks.get(key) == "true" for key in _DEFAULT_CLASS),
        created_seconds=unix_seconds(created) if created else 0,
    )


def csi_node(item: wire.CsiNode) -> CsiNode:
    """What CSI drivers say about one node."""
    drivers = (
        CsiDriverLimit(
            driver=driver.name,
            count=driver.allocatable.count if driver.allocatable else None,
            topology_keys=tuple(sorted(set(driver.topology_keys or ()))),
        )
        for driver in item.spec.drivers or ()
    )
    migrated = (item.metadata.annotations or {}).get(_MIGRATED, "")
    return CsiNode(
        name=item.metadata.name,
        drivers=tuple(sorted(drivers, key=lambda driver: driver.driver)),
        migrated=tuple(sorted({name.strip() for name in migrated.split(",")} - {""})),
    )


def _topology(term: wire.AllowedTopology) -> NodeSelectorTerm:
    requirements: Iterable[Requirement] = (
        Requirement(item.key, "In", tuple(sorted(set(item.values)))) for item in term.match_label_expressions or ()
    )
    return NodeSelectorTerm(expressions=tuple(sorted(set(requirements))))


def _source(spec: wire.PersistentVolumeSpec) -> tuple[str, str]:
    if spec.csi is not None:
        return spec.csi.driver, spec.csi.volume_handle
    for kind, disk, identity in (*wire.in_tree_disks(spec), ("RBD", spec.rbd, "image")):
        if disk is not None:
            return kind, getattr(disk, identity) or ""
    for kind, present in (("Local", spec.local), ("HostPath", spec.host_path), ("NFS", spec.nfs)):
        if present is not None:
            return kind, ""
    return "", ""


def _bytes(amounts: Amounts | None, path: str) -> int:
    text = (amounts or {}).get(_STORAGE)
    if text is None:
        return 0
    try:
        return quantity.whole(str(text))
    except quantity.QuantityRangeError as error:
        return error.limit
    except UnreadableError as error:
        raise error.at(f"{path}.{_STORAGE}") from None
