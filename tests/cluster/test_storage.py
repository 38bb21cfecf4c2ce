"""Volumes, claims, storage classes, CSI nodes."""

from typing import Any

import pytest

from reconciler.cluster.values.selection import NodeSelectorTerm
from reconciler.cluster.volume import CsiDriverLimit, CsiNode, PersistentVolume, PersistentVolumeClaim, StorageClass
from reconciler.values.label_selector import LabelSelector, Requirement
from tests.cluster.objects import Object, obj, world_of

ZONE = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["b", "a"]}


def persistent_volume(**spec: Any) -> PersistentVolume:
    return world_of(obj("PersistentVolume", "v1", "pv", spec=spec, status={"phase": "Bound"})).storage.volumes[0]


def test_persistent_volume() -> None:
    """Everything that binding, zones, limits and access rules look at."""
    found = persistent_volume(
        capacity={"storage": "10Gi"},
        accessModes=["ReadWriteOnce"],
        storageClassName="fast",
        claimRef={"namespace": "data", "name": "db", "uid": "u"},
        csi={"driver": "ebs.csi.aws.com", "volumeHandle": "vol-1"},
        nodeAffinity={"required": {"nodeSelectorTerms": [{"matchExpressions": [ZONE]}]}},
    )
    assert found == PersistentVolume(
        name="pv",
        capacity_bytes=10 << 30,
        access_modes=("ReadWriteOnce",),
        storage_class="fast",
        claim="data/db",
        claim_uid="u",
        required_terms=(NodeSelectorTerm((Requirement("topology.kubernetes.io/zone", "In", ("a", "b")),)),),
        driver="ebs.csi.aws.com",
        handle="vol-1",
        phase="Bound",
    )


@pytest.mark.parametrize(
    ("source", "driver", "handle"),
    [
        ({"awsElasticBlockStore": {"volumeID": "vol-1"}}, "AWSElasticBlockStore", "vol-1"),
        ({"gcePersistentDisk": {"pdName": "pd"}}, "GCEPersistentDisk", "pd"),
        ({"azureDisk": {"diskName": "d"}}, "AzureDisk", "d"),
        ({"local": {"path": "/mnt"}}, "Local", ""),
        ({"nfs": {"server": "x", "path": "/"}}, "NFS", ""),
        ({"example": {}}, "", ""),
    ],
)
def test_sources(source: Object, driver: str, handle: str) -> None:
    """The type of a volume, and what identifies its disk."""
    found = persistent_volume(**source)
    assert (found.driver, found.handle) == (driver, handle)


def test_claim() -> None:
    """A claim with the marks that its binder and the scheduler leave."""
    annotations = {"volume.kubernetes.io/selected-node": "n1", "pv.kubernetes.io/bind-completed": "yes"}
    spec = {
        "accessModes": ["ReadWriteMany"],
        "resources": {"requests": {"storage": "1.5Gi"}},
        "selector": {"matchLabels": {"a": "b"}},
        "volumeName": "pv",
        "storageClassName": "",
    }
    item = obj(
        "PersistentVolumeClaim", "v1", "db", "data", meta={"annotations": annotations}, spec=spec, status={"phase": "Bound"}
    )
    assert world_of(item).storage.claims == (
        PersistentVolumeClaim(
            namespace="data",
            name="db",
            volume="pv",
            storage_class="",
            access_modes=("ReadWriteMany",),
            requested_bytes=1_610_612_736,
            selector=LabelSelector((Requirement("a", "In", ("b",)),)),
            phase="Bound",
            selected_node="n1",
            bind_completed=True,
        ),
    )


def test_claim_without_class() -> None:
    """No class written is not the empty class: the default one applies."""
    item = obj("PersistentVolumeClaim", "v1", "db", "data", spec={})
    assert world_of(item).storage.claims[0].storage_class is None


def test_class_by_the_old_annotation() -> None:
    """The annotation that preceded the field wins over it, on claims and on volumes, as the binder reads them."""
    mark = {"annotations": {"volume.beta.kubernetes.io/storage-class": "old"}}
    storage = world_of(
        obj("PersistentVolumeClaim", "v1", "c", "data", meta=mark, spec={"storageClassName": "new"}),
        obj("PersistentVolume", "v1", "pv", meta=mark, spec={"storageClassName": "new"}),
    ).storage
    assert (storage.claims[0].storage_class, storage.volumes[0].storage_class) == ("old", "old")


def test_storage_class() -> None:
    """When a class binds, and where it may."""
    topology = {"matchLabelExpressions": [{"key": "zone", "values": ["b", "a"]}]}
    mark = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}, "creationTimestamp": "1970-01-01T00:00:09Z"}
    item = obj(
        "StorageClass",
        "storage.k8s.io/v1",
        "fast",
        meta=mark,
        provisioner="ebs.csi.aws.com",
        volumeBindingMode="WaitForFirstConsumer",
        allowedTopologies=[topology],
    )
    assert world_of(item).storage.classes == (
        StorageClass(
            name="fast",
            provisioner="ebs.csi.aws.com",
            binding_mode="WaitForFirstConsumer",
            allowed_topologies=(NodeSelectorTerm((Requirement("zone", "In", ("a", "b")),)),),
            default=True,
            created_seconds=9,
        ),
    )


def test_csi_node() -> None:
    """How many volumes of which driver a node takes."""
    drivers = [{"name": "b", "nodeID": "x"}, {"name": "a", "nodeID": "x", "allocatable": {"count": 3}, "topologyKeys": ["zone"]}]
    item = obj("CSINode", "storage.k8s.io/v1", "n1", spec={"drivers": drivers})
    assert world_of(item).storage.csi_nodes == (
        CsiNode(name="n1", drivers=(CsiDriverLimit(driver="a", count=3, topology_keys=("zone",)), CsiDriverLimit(driver="b"))),
    )
