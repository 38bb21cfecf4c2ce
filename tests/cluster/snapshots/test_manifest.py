"""snapshot.yaml."""

import json

import pytest

from reconciler.cluster.snapshots.snapshot import SnapshotError, read_snapshot
from reconciler.cluster.values.kubernetes_version import kubernetes_version
from reconciler.cluster.world import World
from tests.cluster.objects import node

NODE = json.dumps(node()).encode()


def read(text: str, name: str = "snapshot.yaml") -> World:
    return read_snapshot({"node.json": NODE, name: text.encode()})


def test_all_fields() -> None:
    """Instant, name and kinds come from the manifest; a listed kind without items is captured and empty."""
    world = read("formatVersion: '1.0'\ncapturedAt: '2026-11-21T00:16:41Z'\ncluster: prod\nkinds: [Node, Pod]\n")
    assert (world.captured_seconds, world.name) == (1_795_220_201, "prod")
    assert world.captured == ("Node", "Pod")
    assert "Pod" not in world.not_captured


def test_a_kind_with_items_is_captured_without_being_listed() -> None:
    """What is there was captured, whatever the list of kinds says."""
    assert "Node" in read("formatVersion: '1.0'\nkinds: [Pod]\n").captured


def test_without_instant_the_objects_tell() -> None:
    """A manifest without capturedAt leaves now to the objects."""
    assert read("formatVersion: '1.2'").captured_seconds == read_snapshot({"node.json": NODE}).captured_seconds


@pytest.mark.parametrize("version", ["1", "1.0", "'1.7'"])
def test_known_major(version: str) -> None:
    """Within a major version readers go on."""
    assert read(f"formatVersion: {version}").nodes


@pytest.mark.parametrize("version", ["2.0", "'0.9'", "10", "one"])
def test_unknown_major_is_refused(version: str) -> None:
    """Another major version is refused with the version and what is read."""
    with pytest.raises(SnapshotError, match=r"snapshot\.yaml: formatVersion .*: this version reads 1\.x"):
        read(f"formatVersion: {version}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cluster: prod", "formatVersion"),
        ("formatVersion: '1.0'\ncapturedAt: yesterday", 'capturedAt: invalid time "yesterday"'),
        ("formatVersion: '1.0'\nkinds: Pod", "kinds: must be a list or empty, not a text"),
        ("formatVersion: '1.0'\nkinds: [1]", "kinds[0]: must be a text, not a whole number"),
        ("", "0 documents instead of one"),
        ("formatVersion: '1.0'\n---\nformatVersion: '1.0'", "2 documents instead of one"),
        ("{", "invalid YAML"),
    ],
)
def test_broken_manifest(text: str, message: str) -> None:
    """A manifest that cannot be read is refused, naming it."""
    with pytest.raises(SnapshotError) as refused:
        read(text)
    assert str(refused.value).startswith("snapshot.yaml: ")
    assert message in str(refused.value)


def test_manifest_of_a_folder() -> None:
    """The two folders may have a manifest each; their kinds add up."""
    manifest = b"formatVersion: '1.0'\ncluster: %s\nkinds: [%s]\n"
    world = read_snapshot(
        {
            "workload/node.json": NODE,
            "management/snapshot.yaml": manifest % (b"m", b"Machine"),
            "workload/snapshot.yaml": manifest % (b"w", b"Pod"),
        }
    )
    assert world.captured == ("Machine", "Node", "Pod")


def test_a_deeper_file_of_that_name_is_no_manifest() -> None:
    """Only the snapshot's own folders have one: the other is told as what holds no object."""
    unused: list[SnapshotError] = []
    files = {"x/snapshot.yaml": b"formatVersion: '1.0'\ncluster: other", "node.json": NODE}
    assert read_snapshot(files, "", unused).name == ""
    assert [one.file for one in unused] == ["x/snapshot.yaml"]


def test_the_version_of_the_control_plane() -> None:
    """It says which rules kube-scheduler follows; without it the newest kubelet tells, and other texts are no version."""
    told = node() | {"status": node()["status"] | {"nodeInfo": {"kubeletVersion": "v1.35.4-eks-3c60543"}}}
    newer = node("n2") | {"status": node()["status"] | {"nodeInfo": {"kubeletVersion": "v1.36.0+k3s1"}}}
    files = {"node.json": json.dumps(told).encode(), "other.json": json.dumps(newer).encode()}
    assert read("formatVersion: '1.0'\nkubernetesVersion: v1.36.5\n").scheduler_version == (1, 36, 5)
    assert read("formatVersion: '1.0'\n").scheduler_version is None
    assert read_snapshot(files).scheduler_version == (1, 36, 0)
    assert kubernetes_version("1.30") == (1, 30, 0)
    assert kubernetes_version("unknown") is kubernetes_version("") is kubernetes_version("v1.2.3.4") is None
    with pytest.raises(SnapshotError, match=r"invalid kubernetesVersion 'latest'. Write it like v1\.36\.3"):
        read("formatVersion: '1.0'\nkubernetesVersion: latest\n")
