"""Snapshot documents in all the forms in which kubectl, the API and the AWS command line print them."""

import json
import random
from typing import Any

import pytest
import yaml

from reconciler.cluster.snapshots.snapshot import SnapshotError, read_snapshot
from reconciler.cluster.world import World
from tests.cluster.objects import Object, node, obj, pod, scalable, world_of

GROUP: Object = {
    "AutoScalingGroupName": "workers",
    "AutoScalingGroupARN": "arn:aws:autoscaling:eu-central-1:1:autoScalingGroup:u:autoScalingGroupName/workers",
    "MinSize": 1,
    "MaxSize": 5,
    "DesiredCapacity": 2,
}


def dump(value: Any) -> bytes:
    return json.dumps(value).encode()


def bare(item: Object) -> Object:
    return {key: value for key, value in item.items() if key not in ("kind", "apiVersion")}


def names(world: World) -> list[str]:
    return [item.key for item in world.pods] + [item.name for item in world.nodes]


OBJECTS = [pod("a"), node("n1"), pod("b")]
WANTED = ["shop/a", "shop/b", "n1"]


@pytest.mark.parametrize(
    "files",
    [
        {"all.json": dump({"apiVersion": "v1", "kind": "List", "items": OBJECTS})},
        {
            "p.json": dump({"apiVersion": "v1", "kind": "PodList", "items": [bare(OBJECTS[0]), bare(OBJECTS[2])]}),
            "n.json": dump({"apiVersion": "v1", "kind": "NodeList", "items": [bare(OBJECTS[1])]}),
        },
        {f"{number}.json": dump(item) for number, item in enumerate(OBJECTS)},
        {"all.yaml": yaml.safe_dump_all(OBJECTS).encode()},
        {"list.yml": yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": OBJECTS}).encode()},
        {"deep/er/x.json": dump(OBJECTS[0]), "y.yaml": yaml.safe_dump_all([None, *OBJECTS[1:]]).encode()},
        {"capture": dump({"apiVersion": "v1", "kind": "List", "items": OBJECTS})},
        {"capture": yaml.safe_dump_all(OBJECTS).encode()},
        {"all.json": b"\xef\xbb\xbf" + dump({"kind": "List", "apiVersion": "v1", "items": OBJECTS})},
        {"all.json": dump({"kind": "List", "apiVersion": "v1", "items": OBJECTS}).decode().encode("utf-16")},
        {"all.json": json.dumps({"kind": "List", "apiVersion": "v1", "items": OBJECTS}, indent=4).encode()},
    ],
    ids=[
        "List",
        "typed lists",
        "single objects",
        "documents",
        "YAML list",
        "mix",
        "no suffix",
        "no suffix YAML",
        "BOM",
        "UTF-16",
        "indented",
    ],
)
def test_forms(files: dict[str, bytes]) -> None:
    """Every form gives the same World, down to its digest."""
    world = read_snapshot(files)
    assert names(world) == WANTED
    assert world.digest == world_of(*OBJECTS).digest


def test_yaml_and_json_read_alike() -> None:
    """Texts that look like numbers, truth values and dates keep their type in YAML as kubectl writes it."""
    item = pod("a", meta={"labels": {"version": "1.10", "on": "true", "hash": "1e3", "null": "null"}}, priority=7)
    world = read_snapshot({"a.yaml": yaml.safe_dump(item).encode()})
    assert world.digest == world_of(item).digest


def test_unquoted_time_in_yaml() -> None:
    """A hand-written time without quotes is a time."""
    text = b"apiVersion: v1\nkind: Namespace\nmetadata: {name: a, creationTimestamp: 1970-01-01T00:01:00Z}\n"
    assert read_snapshot({"a.yaml": text}).captured_seconds == 60


def test_typed_list_and_single_object_are_captured() -> None:
    """A kind is captured when a list of it is there, even an empty one."""
    world = read_snapshot(
        {
            "pdb.json": dump({"apiVersion": "policy/v1", "kind": "PodDisruptionBudgetList", "items": []}),
            "null.json": dump({"apiVersion": "v1", "kind": "NamespaceList", "items": None}),
            "node.json": dump(node()),
        }
    )
    assert world.captured == ("Namespace", "Node", "PodDisruptionBudget")


def test_auto_scaling_groups() -> None:
    """What `aws autoscaling describe-auto-scaling-groups` prints."""
    world = read_snapshot({"asg.json": dump({"AutoScalingGroups": [GROUP]})})
    assert [str(target.ref) for target in world.targets] == ["AutoScalingGroup eu-central-1/workers"]
    assert world.captured == ("AutoScalingGroup",)


def test_unknown_kinds_are_skipped_and_counted() -> None:
    """Kinds that nobody reads are counted by name; a kind of the same name in another group is such a kind."""
    others = [
        obj("ConfigMap", "v1", "a", "x"),
        obj("ConfigMap", "v1", "b", "x"),
        obj("Machine", "machine.example.org/v1", "m", "x"),
    ]
    assert world_of(node(), *others).skipped == (("ConfigMap", 2), ("Machine", 1))


def test_object_with_a_field_called_items() -> None:
    """A custom object may have any field of its own."""
    assert world_of(node()).digest != ""
    world = read_snapshot({"a.json": dump({"apiVersion": "example.com/v1", "kind": "Shelf", "items": 3}), "n.json": dump(node())})
    assert world.skipped == (("Shelf", 1),)


def test_other_cluster_api_group() -> None:
    """The group of the Cluster API kinds is a parameter."""
    item = json.loads(json.dumps(scalable()).replace("cluster.x-k8s.io", "cluster.example.com"))
    world = read_snapshot({"a.json": dump(item)}, capi_group="cluster.example.com")
    assert [target.ref.name for target in world.targets] == ["pool"]


def test_not_captured_without_anything_but_nodes() -> None:
    """All that a decision needs and that is not there is listed."""
    assert world_of(node()).not_captured == (
        "CSINode",
        "Cluster",
        "DaemonSet",
        "Job",
        "Machine",
        "MachineDeployment",
        "MachineSet",
        "Namespace",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "Pod",
        "PodDisruptionBudget",
        "PriorityClass",
        "ReplicaSet",
        "StatefulSet",
        "StorageClass",
    )


def test_cluster_api_is_not_needed_beside_auto_scaling_groups() -> None:
    """Where Auto Scaling groups are the targets, nobody asks for Machines."""
    world = read_snapshot({"asg.json": dump({"AutoScalingGroups": [GROUP]})})
    assert not {"MachineDeployment", "Machine", "Cluster"} & set(world.not_captured)


def test_replication_controllers_are_needed_where_a_pod_has_one() -> None:
    """The old kind is asked for only where it is used."""
    reference = {"apiVersion": "v1", "kind": "ReplicationController", "name": "rc", "uid": "u", "controller": True}
    assert "ReplicationController" in world_of(pod(meta={"ownerReferences": [reference]})).not_captured
    assert "ReplicationController" not in world_of(pod()).not_captured


def test_two_clusters() -> None:
    """Below management/ only targets are read; the nodes and pods there are those of another cluster."""
    world = read_snapshot(
        {
            "management/pods.json": dump(
                {"apiVersion": "v1", "kind": "PodList", "items": [bare(pod("capi-manager", "capi-system"))]}
            ),
            "management/nodes.json": dump(node("management-1")),
            "management/md.json": dump(scalable()),
            "workload/all.json": dump({"apiVersion": "v1", "kind": "List", "items": [pod("a"), node("n1")]}),
        }
    )
    assert names(world) == ["shop/a", "n1"]
    assert [target.ref.name for target in world.targets] == ["pool"]
    assert world.skipped == (("management/Node", 1), ("management/Pod", 1))


def test_now_is_the_newest_instant() -> None:
    """Creation, conditions and field managers count; what lies ahead (deletion, expiry, annotations) does not."""
    late = "2030-01-01T00:00:00Z"
    item = pod(
        meta={"deletionTimestamp": late, "annotations": {"until": late}, "managedFields": [{"time": "1970-01-01T00:03:00Z"}]},
        status={"phase": "Pending", "conditions": [{"type": "Ready", "lastTransitionTime": "1970-01-01T00:05:00Z"}]},
    )
    item["metadata"]["creationTimestamp"] = "1970-01-01T00:01:00Z"
    machine = obj("Machine", "cluster.x-k8s.io/v1beta2", "m", "capi", spec={}, status={"certificatesExpiryDate": late})
    machine["metadata"]["creationTimestamp"] = "1970-01-01T00:02:00Z"
    assert world_of(item).captured_seconds == 300
    item["status"]["conditions"] = []
    assert world_of(item).captured_seconds == 180
    assert world_of(machine).captured_seconds == 120


def test_no_time_at_all_is_told() -> None:
    """Objects without any time are read, and that ages mean nothing is said."""
    item = node()
    del item["metadata"]["creationTimestamp"]
    item["status"]["conditions"] = []
    world = world_of(item)
    assert (world.captured_seconds, [problem.code for problem in world.problems]) == (0, ["NoTimestamp"])


def test_two_states_of_one_node_contradict() -> None:
    """Of two files that disagree about an object neither is believed."""
    files = {"a.json": dump(node("n1")), "b.json": dump(node("n1", cpu="8"))}
    with pytest.raises(SnapshotError) as refused:
        read_snapshot(files)
    assert str(refused.value) == "b.json: Node n1: the same name with other content is in a.json, Node n1"
    assert len(read_snapshot({**files, "b.json": files["a.json"]}).nodes) == 1


def test_order_of_files_and_items_does_not_matter() -> None:
    """The same objects give the same World, byte for byte, in whatever files and order they are."""
    random_order = random.Random(7)
    objects = [
        *(pod(f"p{number}", f"ns{number % 3}", priority=number % 4, nodeName=f"n{number % 5}") for number in range(30)),
        *(node(f"n{number}", labels={"zone": str(number % 2)}) for number in range(4)),
        *(scalable(name=f"pool{number}") for number in range(3)),
        obj("ReplicaSet", "apps/v1", "r", "ns1", spec={"replicas": 2}),
        obj("Namespace", "v1", "ns1"),
        obj("PersistentVolume", "v1", "pv", spec={"capacity": {"storage": "1Gi"}}),
    ]
    wanted = world_of(*objects)
    for _ in range(10):
        random_order.shuffle(objects)
        cut = random_order.randrange(1, len(objects))
        halves = {
            f"{random_order.random()}.json": dump({"apiVersion": "v1", "kind": "List", "items": part})
            for part in (objects[:cut], objects[cut:])
        }
        assert read_snapshot(halves) == wanted


def test_digest_moves_with_content_and_not_with_time() -> None:
    """The digest is that of the cluster: another instant of capture leaves it, another priority does not."""
    plain = {"a.json": dump(pod("a")), "snapshot.yaml": b"formatVersion: '1.0'\ncapturedAt: '2026-01-01T00:00:00Z'"}
    later = {**plain, "snapshot.yaml": b"formatVersion: '1.0'\ncapturedAt: '2026-01-02T00:00:00Z'"}
    other = {**plain, "a.json": dump(pod("a", priority=1))}
    digests = [read_snapshot(files).digest for files in (plain, later, other)]
    assert digests[0] == digests[1] != digests[2]
    assert digests[0].startswith("sha256:")
    assert len(digests[0]) == 7 + 64


def test_pages_of_a_list() -> None:
    """Pages of one list may be in several files, as long as the last one is there."""
    page = {"apiVersion": "v1", "kind": "PodList", "metadata": {"continue": "x"}, "items": [bare(pod("a"))]}
    last = {"apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": [bare(pod("b"))]}
    assert names(read_snapshot({"1.json": dump(page), "2.json": dump(last)})) == ["shop/a", "shop/b"]
    with pytest.raises(SnapshotError, match=r"1\.json: the list of Pod continues"):
        read_snapshot({"1.json": dump(page)})


def test_files_are_asked_for_one_by_one() -> None:
    """A mapping that reads lazily is asked once a file, in order, and never for a file before its turn."""

    asked: list[str] = []

    class Watched(dict[str, bytes]):
        def __getitem__(self, key: str) -> bytes:
            asked.append(key)
            return super().__getitem__(key)

    files = Watched({"b.json": dump(node("b")), "a.json": dump(node("a")), "snapshot.yaml": b"formatVersion: '1.0'"})
    read_snapshot(files)
    assert asked == ["snapshot.yaml", "a.json", "b.json"]
