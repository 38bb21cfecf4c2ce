"""In-tree disks behind CSI drivers; expected values are those of csi-translation-lib 1.36, by hand."""

import pytest

from reconciler.cluster.values.selection import NodeSelectorTerm
from reconciler.cluster.volume import CsiNode, PersistentVolume
from reconciler.scheduling.volumes.migration import (
    driver_of_provisioner,
    inline_handle,
    is_migrated,
    translated_terms,
    volume_handle,
)
from reconciler.values.label_selector import Requirement

ZONE, BETA_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
REGION, BETA_REGION = "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"
EBS_ZONE = "topology.ebs.csi.aws.com/zone"
Pairs = tuple[tuple[str, str], ...]


def _volume(driver: str, handle: str = "disk", labels: Pairs = (), terms: tuple[NodeSelectorTerm, ...] | None = None):
    return PersistentVolume(name="pv", driver=driver, handle=handle, labels=labels, required_terms=terms)


def _term(*items: tuple[str, str]) -> NodeSelectorTerm:
    """`values` with commas; `*` for Exists."""
    return NodeSelectorTerm(
        tuple(
            Requirement(key, "Exists") if values == "*" else Requirement(key, "In", tuple(values.split(",")))
            for key, values in items
        )
    )


@pytest.mark.parametrize(
    ("handle", "found"),
    [
        ("vol-1", "vol-1"),
        ("aws://eu-1a/vol-1", "vol-1"),
        ("aws:///vol-1", "vol-1"),
        ("aws://eu-1a/disk-1", ""),
        ("aws://eu-1a/vol-1/2", ""),
        ("aws://vol-1", ""),
    ],
)
def test_handles_of_amazon_volumes(handle: str, found: str) -> None:
    """The id alone, from an id or from an address with its zone; what is neither has none."""
    assert volume_handle(_volume("AWSElasticBlockStore", handle)) == found
    assert inline_handle("AWSElasticBlockStore", handle) == found


@pytest.mark.parametrize(
    ("labels", "place"),
    [
        ((), "zones/UNSPECIFIED"),
        (((ZONE, "us-1-a"),), "zones/us-1-a"),
        (((BETA_ZONE, "us-1-b"), (ZONE, "us-1-a")), "zones/us-1-b"),
        (((ZONE, "us-1-a__us-1-b"),), "regions/us-1"),
        (((ZONE, "us-1-a__eu-1-a"),), None),
        (((ZONE, "a__b"),), None),
    ],
)
def test_handles_of_google_disks(labels: Pairs, place: str | None) -> None:
    """By zone, or by region where a disk is in several zones of one region; zones of no common region make no handle."""
    found = volume_handle(_volume("GCEPersistentDisk", "disk", labels))
    assert found == ("" if place is None else f"projects/UNSPECIFIED/{place}/disks/disk")


def test_handles_of_others_are_their_own() -> None:
    """A disk that a pod names has no zone."""
    assert volume_handle(_volume("AzureDisk", "/subscriptions/x")) == "/subscriptions/x"
    assert inline_handle("AzureDisk", "aws://eu-1a/vol-1") == "aws://eu-1a/vol-1"
    assert inline_handle("GCEPersistentDisk", "disk") == "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/disk"


@pytest.mark.parametrize(
    ("labels", "terms", "translated"),
    [
        ((), None, None),
        ((), (_term((ZONE, "a")),), (_term((EBS_ZONE, "a")),)),
        (((ZONE, "b"),), (_term((ZONE, "a")),), (_term((EBS_ZONE, "a")),)),
        ((), (_term((BETA_ZONE, "a"), (BETA_REGION, "r")),), (_term((EBS_ZONE, "a"), (REGION, "r")),)),
        ((), (_term((ZONE, "a"), (BETA_REGION, "r")),), (_term((EBS_ZONE, "a"), (BETA_REGION, "r")),)),
        (((ZONE, "a"),), None, (_term((EBS_ZONE, "a")),)),
        (((ZONE, "b__a"),), (), (_term((EBS_ZONE, "a,b")),)),
        (((BETA_ZONE, "a"),), None, (_term((EBS_ZONE, "a")),)),
        (((BETA_ZONE, "a"), (ZONE, "b")), None, (_term((EBS_ZONE, "b")),)),
        (((BETA_ZONE, "a"),), (_term((ZONE, "*")),), (_term((ZONE, "*")),)),
        (((ZONE, "a"),), (_term((ZONE, "*")),), (_term((ZONE, "*"), (EBS_ZONE, "a")),)),
        (((ZONE, "__"),), None, None),
        (
            ((ZONE, "a"),),
            (_term(("pool", "x")), _term(("pool", "y"))),
            (_term(("pool", "x"), (EBS_ZONE, "a")), _term(("pool", "y"), (EBS_ZONE, "a"))),
        ),
        (((BETA_ZONE, "a"),), (_term((BETA_REGION, "r")),), (_term((REGION, "r"), (EBS_ZONE, "a")),)),
        ((), (_term((BETA_REGION, "r")),), (_term((BETA_REGION, "r")),)),
    ],
)
def test_where_an_amazon_volume_can_be_used(
    labels: Pairs, terms: tuple[NodeSelectorTerm, ...] | None, translated: tuple[NodeSelectorTerm, ...] | None
) -> None:
    """The zone in the affinity gets the driver's key; else the zone of the labels is added to every term; old region labels
    become new ones beside old zones only."""
    assert translated_terms(_volume("AWSElasticBlockStore", "vol-1", labels, terms)) == translated


def test_drivers_without_a_key_leave_the_terms() -> None:
    """Azure's and Portworx's driver know no zone of their own."""
    terms = (_term((ZONE, "a")),)
    assert translated_terms(_volume("AzureDisk", labels=((ZONE, "b"),), terms=terms)) == terms


@pytest.mark.parametrize(
    ("provisioner", "driver"),
    [
        ("kubernetes.io/aws-ebs", "ebs.csi.aws.com"),
        ("kubernetes.io/gce-pd", "pd.csi.storage.gke.io"),
        ("kubernetes.io/vsphere-volume", ""),
        ("kubernetes.io/azure-file", ""),
        ("disk.csi.example.com", "disk.csi.example.com"),
    ],
)
def test_the_driver_behind_a_provisioner(provisioner: str, driver: str) -> None:
    assert driver_of_provisioner(provisioner) == driver


def test_a_disk_is_taken_over_where_the_node_says_so() -> None:
    """By the plugin's name in the annotation of its CSINode."""
    node = CsiNode(name="n", migrated=("kubernetes.io/aws-ebs",))

    assert is_migrated("AWSElasticBlockStore", node)
    assert not is_migrated("GCEPersistentDisk", node)
    assert not is_migrated("NFS", node)
    assert not is_migrated("AWSElasticBlockStore", None)
