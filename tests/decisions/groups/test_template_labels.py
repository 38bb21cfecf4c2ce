"""Which labels of the nodes that are there a new node of their group is taken to bear."""

import pytest

from reconciler.cluster.nodes.attachment import CsiDriver
from reconciler.cluster.nodes.node import ZONE_LABEL
from reconciler.cluster.snapshots.pseudonyms import Pseudonyms
from reconciler.cluster.target import TargetTemplate
from reconciler.cluster.volume import CsiDriverLimit, CsiNode, StorageClass
from reconciler.cluster.world import Storage
from reconciler.decisions.groups.template_labels import ZONE_KEYS, LabelEvidence, labels_of
from reconciler.policy.documents import GroupFields, Template
from tests.builders import ClusterBuilder

AZURE, AZURE_ZONE = "disk.csi.azure.com", "topology.disk.csi.azure.com/zone"
ZONAL, REGIONAL = {ZONE_LABEL: "eu-1", AZURE_ZONE: "eu-1"}, {ZONE_LABEL: "0", AZURE_ZONE: ""}
EBS, EBS_ZONE = "ebs.csi.aws.com", "topology.ebs.csi.aws.com/zone"
DISK, DISK_NODE = "lvm.example.com", "topology.lvm.example.com/node"
REGION = "topology.kubernetes.io/region"
BASE = {"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", "pool": "p"}
SSD = "ssd.csi.crusoe.ai/location"
BY_DRIVER = TargetTemplate(driver_labels=(("ssd.csi.crusoe.ai", SSD, "l"),))
SOMEWHERE = TargetTemplate(zones=("a", "b", "c"), fills_zones=True)


def _labels(
    *nodes: dict[str, str],
    others: tuple[dict[str, str], ...] = (),
    target: TargetTemplate | None = None,
    written: tuple[tuple[str, str], ...] = (),
    drivers: tuple[str, ...] = (),
    keys: tuple[str, ...] = (),
    classes: tuple[str, ...] = (),
) -> dict[str, str]:
    """Of a group with these nodes, beside which there are others; without what every node bears."""
    cluster = ClusterBuilder()
    for number, labels in enumerate(nodes):
        cluster.node(f"n{number}", labels={"pool": "p", **labels})
    for number, labels in enumerate(others):
        cluster.node(f"other-{number}", labels=labels)
    csi = tuple(CsiNode(name="n0", drivers=(CsiDriverLimit(driver=DISK, topology_keys=(key,)),)) for key in keys)
    storage = Storage(
        csi_nodes=csi,
        csi_drivers=tuple(CsiDriver(name=driver) for driver in drivers),
        classes=tuple(StorageClass(name=name, provisioner=name) for name in classes),
    )
    world = cluster.world(storage=storage)
    members = [node for node in world.nodes if not node.name.startswith("other")]
    found = labels_of(
        (GroupFields(template=Template(labels=written)),), target or TargetTemplate(), LabelEvidence.of(world), world, members
    )
    return dict(found)


ELSEWHERE = ({ZONE_LABEL: "z2"},)
A, B = {ZONE_LABEL: "a"}, {ZONE_LABEL: "b"}
CASES = {
    "a value that is the only member's name": (_labels({"rack.example.com/id": "n0", "x": "1"}), {"x": "1"}),
    "a key of a volume driver": (_labels({DISK_NODE: "k7"}, {DISK_NODE: "k7"}, keys=(DISK_NODE,)), {}),
    "the zone of the only member": (_labels(A, others=ELSEWHERE), {}),
    "the zone of the only node of a cluster": (_labels(A), A),
    "the zone of the only node of a cluster, in a group in several": (_labels(A, target=SOMEWHERE), {}),
    "the zone of all nodes": (_labels(A, others=(A,)), A),
    "the zone of two members, of which the platform says nothing": (_labels(A, A, others=ELSEWHERE), A),
    "the zone of two members of a group in several": (_labels(A, A, others=ELSEWHERE, target=SOMEWHERE), {}),
    "another name of the zone in a group in several": (
        _labels({"topology.k8s.aws/zone-id": "euc1-az1"}, {"topology.k8s.aws/zone-id": "euc1-az1"}, target=SOMEWHERE),
        {},
    ),
    "the zone that the platform says": (_labels(B, target=TargetTemplate(zone="a")), A),
    "the zone that the policy says": (_labels(B, target=SOMEWHERE, written=((ZONE_LABEL, "a"),)), A),
    "the region": (_labels({REGION: "r"}, target=SOMEWHERE), {REGION: "r"}),
    "the region, by which a driver tells nodes apart": (_labels({REGION: "r"}, keys=(REGION,)), {REGION: "r"}),
    "the zone under the name of a driver that is at work": (
        _labels(target=TargetTemplate(zone="a"), drivers=(EBS,)),
        {**A, EBS_ZONE: "a"},
    ),
    "the zone under the name of a driver, of which a class alone tells": (
        _labels(target=TargetTemplate(zone="a"), classes=("kubernetes.io/aws-ebs",)),
        {**A, EBS_ZONE: "a"},
    ),
    "Azure's zone, beside machines outside of zones": (
        _labels(ZONAL, ZONAL, others=(REGIONAL,), drivers=(AZURE,), keys=(AZURE_ZONE,)),
        ZONAL,
    ),
    "Azure's empty zone": (_labels(REGIONAL, REGIONAL, others=(ZONAL,), drivers=(AZURE,), keys=(AZURE_ZONE,)), REGIONAL),
    "Azure's empty zone on the only member": (
        _labels(REGIONAL, others=(ZONAL,), drivers=(AZURE,), keys=(AZURE_ZONE,)),
        {AZURE_ZONE: ""},
    ),
    "Azure's empty zone in several fault domains": (
        _labels(REGIONAL, {**REGIONAL, ZONE_LABEL: "1"}, drivers=(AZURE,), keys=(AZURE_ZONE,)),
        {AZURE_ZONE: ""},
    ),
    "Azure's empty zone in a group without nodes": (
        _labels(target=TargetTemplate(zone="0"), others=(REGIONAL, ZONAL), drivers=(AZURE,), keys=(AZURE_ZONE,)),
        REGIONAL,
    ),
    "a label that the platform's driver puts on nodes": (_labels(target=BY_DRIVER, drivers=("ssd.csi.crusoe.ai",)), {SSD: "l"}),
    "no such label without the driver": (_labels(target=BY_DRIVER), {}),
    "such a label on a group with nodes": (
        _labels({SSD: "l"}, target=BY_DRIVER, drivers=("ssd.csi.crusoe.ai",), keys=(SSD,)),
        {SSD: "l"},
    ),
    "no such name without the driver": (_labels(target=TargetTemplate(zone="a")), A),
    "the zone under the name of a driver, as nodes of others have it": (
        _labels(target=TargetTemplate(zone="a"), others=({ZONE_LABEL: "b", DISK_NODE: "b"},), keys=(DISK_NODE,)),
        {**A, DISK_NODE: "a"},
    ),
    "a driver's name of something smaller than a zone": (
        _labels(target=TargetTemplate(zone="a"), others=({ZONE_LABEL: "b", DISK_NODE: "rack-1"},), keys=(DISK_NODE,)),
        A,
    ),
}


def test_a_redacted_snapshot_keeps_the_zone_under_the_names_of_drivers() -> None:
    """The key and its value, which new nodes get by the name of the driver."""
    words = Pseudonyms(b"s" * 32)
    for driver, key in ZONE_KEYS.items():
        assert (words.word(driver), words.word(key), words.value(key, "zone-17")) == (driver, key, "zone-17")
    for _, key, value in (("", SSD, "us-east1-a"), ("", "fs.csi.crusoe.ai/supports-shared-disks", "true")):
        assert (words.word(key), words.value(key, value)) == (key, value)


@pytest.mark.parametrize("name", CASES)
def test_labels_of_a_new_node(name: str) -> None:
    found, expected = CASES[name]
    added = {key: value for key, value in found.items() if key not in BASE}
    assert added == expected
