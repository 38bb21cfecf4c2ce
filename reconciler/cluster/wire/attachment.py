"""CSI drivers, storage capacities and volume attachments, pruned."""

import msgspec

from reconciler.cluster.wire.meta import LabelSelector, ObjectMeta


class CsiDriverSpec(msgspec.Struct, rename="camel", gc=False):
    """`spec` of a CSIDriver."""

    storage_capacity: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None


class CsiDriver(msgspec.Struct, rename="camel"):
    """A CSIDriver."""

    metadata: ObjectMeta
    kind: str = ""
    spec: CsiDriverSpec = msgspec.field(default_factory=CsiDriverSpec)


class StorageCapacity(msgspec.Struct, rename="camel"):
    """A CSIStorageCapacity. Its fields are next to the metadata."""

    metadata: ObjectMeta
    storage_class_name: str
    kind: str = ""
    node_topology: LabelSelector | None = None
    capacity: str | int | None = None
    maximum_volume_size: str | int | None = None


class AttachmentSource(msgspec.Struct, rename="camel", gc=False):
    """What is attached."""

    persistent_volume_name: str | None = None


class AttachmentSpec(msgspec.Struct, rename="camel"):
    """`spec` of a VolumeAttachment."""

    attacher: str = ""
    node_name: str = ""
    source: AttachmentSource = msgspec.field(default_factory=AttachmentSource)


class VolumeAttachment(msgspec.Struct, rename="camel"):
    """A VolumeAttachment."""

    metadata: ObjectMeta
    spec: AttachmentSpec
    kind: str = ""
