"""What CSI drivers report: how much storage is left where, and what is attached."""

import msgspec

from reconciler.cluster.values import quantity
from reconciler.cluster.values.selection import label_selector
from reconciler.cluster.values.unreadable import UnreadableError
from reconciler.cluster.wire import attachment as wire
from reconciler.values.label_selector import LabelSelector


class CsiDriver(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """A CSIDriver. `storage_capacity` says that its capacity objects are to be believed. `required`: pods with volumes of it run
    only on nodes that have the driver."""

    name: str
    storage_capacity: bool = False
    required: bool = False


class StorageCapacity(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """A CSIStorageCapacity: the largest volume of a class for the nodes that `nodes` selects (None: for none).

    `limit_bytes` is `maximumVolumeSize`, else `capacity`, `left_bytes` is `capacity`; None: not known.
    """

    namespace: str
    name: str
    storage_class: str
    nodes: LabelSelector | None = None
    limit_bytes: int | None = None
    left_bytes: int | None = None


class VolumeAttachment(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """A volume that a driver has attached to a node, whether a pod uses it or not."""

    name: str
    driver: str
    node: str
    volume: str


def csi_driver(item: wire.CsiDriver) -> CsiDriver:
    """One driver."""
    spec = item.spec
    return CsiDriver(
        name=item.metadata.name,
        storage_capacity=bool(spec.storage_capacity),
        required=bool(spec.prevent_pod_scheduling_if_missing),
    )


def storage_capacity(item: wire.StorageCapacity) -> StorageCapacity:
    """One capacity. Raises `UnreadableError`."""
    limit = item.capacity if item.maximum_volume_size is None else item.maximum_volume_size
    return StorageCapacity(
        namespace=item.metadata.namespace,
        name=item.metadata.name,
        storage_class=item.storage_class_name,
        nodes=label_selector(item.node_topology),
        limit_bytes=_bytes(limit),
        left_bytes=_bytes(item.capacity),
    )


def volume_attachment(item: wire.VolumeAttachment) -> VolumeAttachment:
    """One attachment."""
    return VolumeAttachment(
        name=item.metadata.name,
        driver=item.spec.attacher,
        node=item.spec.node_name,
        volume=item.spec.source.persistent_volume_name or "",
    )


def _bytes(amount: str | int | None) -> int | None:
    try:
        return None if amount is None else quantity.whole(str(amount))
    except quantity.QuantityRangeError as error:
        return error.limit
    except UnreadableError as error:
        raise error.at("capacity") from None
