"""What CSI drivers report reaches the filters from a snapshot as the API gives it."""

import json

from reconciler.cluster.nodes.attachment import CsiDriver, StorageCapacity, VolumeAttachment
from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.cluster.world import Storage
from reconciler.values.label_selector import LabelSelector, Requirement


def _read(*items: dict[str, object]) -> Storage:
    body = {"apiVersion": "v1", "kind": "List", "items": items}
    return read_snapshot({"storage.json": json.dumps(body).encode()}).storage


def _object(kind: str, name: str, **fields: object) -> dict[str, object]:
    metadata = {"name": name, "namespace": "x"} if kind == "CSIStorageCapacity" else {"name": name}
    return {"apiVersion": "storage.k8s.io/v1", "kind": kind, "metadata": metadata, **fields}


def test_drivers_say_whether_they_track_capacity() -> None:
    """Only an explicit true counts."""
    found = _read(
        _object("CSIDriver", "no", spec={}),
        _object("CSIDriver", "off", spec={"storageCapacity": False}),
        _object("CSIDriver", "on", spec={"storageCapacity": True}),
    )

    assert found.csi_drivers == (CsiDriver(name="no"), CsiDriver(name="off"), CsiDriver(name="on", storage_capacity=True))


def test_the_largest_volume_comes_before_the_capacity() -> None:
    """maximumVolumeSize is the more exact number; without both nothing is known, without topology no node is meant."""
    topology = {"matchLabels": {"zone": "a"}}
    found = _read(
        _object("CSIStorageCapacity", "a", storageClassName="s", nodeTopology=topology, capacity="9Gi", maximumVolumeSize="2Gi"),
        _object("CSIStorageCapacity", "b", storageClassName="s", capacity="1Gi"),
        _object("CSIStorageCapacity", "c", storageClassName="s", nodeTopology={}),
    )

    zone_a = LabelSelector((Requirement("zone", "In", ("a",)),))
    assert found.capacities == (
        StorageCapacity(namespace="x", name="a", storage_class="s", nodes=zone_a, limit_bytes=2 << 30, left_bytes=9 << 30),
        StorageCapacity(namespace="x", name="b", storage_class="s", nodes=None, limit_bytes=1 << 30, left_bytes=1 << 30),
        StorageCapacity(namespace="x", name="c", storage_class="s", nodes=LabelSelector(), limit_bytes=None),
    )


def test_attachments_name_driver_node_and_volume() -> None:
    """An inline volume's attachment has no volume name."""
    spec = {"attacher": "d", "nodeName": "n", "source": {"persistentVolumeName": "pv"}}
    inline = {"attacher": "d", "nodeName": "n", "source": {"inlineVolumeSpec": {}}}
    found = _read(_object("VolumeAttachment", "a", spec=spec), _object("VolumeAttachment", "b", spec=inline))

    assert found.attachments == (
        VolumeAttachment(name="a", driver="d", node="n", volume="pv"),
        VolumeAttachment(name="b", driver="d", node="n", volume=""),
    )
