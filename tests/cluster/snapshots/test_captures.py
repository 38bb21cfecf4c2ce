"""Captures as people bring them: dumps, bundles, streams of jq, arrays, messages of kubectl in the file, any name."""

import gzip
import io
import json
import random
import tarfile
from pathlib import Path

import pytest

from reconciler.cli.inputs import cluster_files
from reconciler.cli.inputs.cluster_files import load_world
from reconciler.cli.outputs.failure import InputError
from reconciler.cluster.snapshots.snapshot import SnapshotError, read_snapshot
from reconciler.cluster.world import World
from tests.cluster.objects import Object, node, pod, scalable, world_of

OBJECTS = (pod("a"), pod("b"), node("n1"), node("n2"), scalable())
WHOLE = world_of(*OBJECTS)
WARNINGS = (
    "Warning: v1 ComponentStatus is deprecated in v1.19+\n",
    "W1125 12:00:00.123456   17 loader.go:221] Config not found: /x\n",
    "Flag --export has been deprecated, it will be removed\n",
    "\n",
)
LOGS = (
    "==== START logs for container main of pod shop/a ====\n"
    '{"kind": "PodList", "items": [{]}\nWarning: apiVersion: v1\n==== not the end ====\n'
    "==== END logs for container main of pod shop/a ====\n"
)
GROUP: Object = {
    "AutoScalingGroupName": "general", "AutoScalingGroupARN": "arn:aws:autoscaling:eu-west-3:1:autoScalingGroup:x:y/general",
    "MinSize": 1, "MaxSize": 5, "DesiredCapacity": 2, "Instances": [], "Tags": [], "AvailabilityZones": ["eu-west-3a"],
    "CreatedTime": "2026-10-01T00:00:00Z",
}  # fmt: skip


def _same(world: World) -> None:
    assert (world.digest, world.captured) == (WHOLE.digest, WHOLE.captured)


def _list(kind: str, *items: Object) -> Object:
    return {"kind": f"{kind}List", "apiVersion": items[0]["apiVersion"], "metadata": {}, "items": list(items)}


def _typed() -> list[Object]:
    return [_list("Pod", *OBJECTS[:2]), _list("Node", *OBJECTS[2:4]), _list("MachineDeployment", OBJECTS[4])]


def test_documents_one_after_the_other() -> None:
    """As jq, `cat` and `>>` leave them: on lines of their own, indented, or with nothing between."""
    for between, indent in (("\n", None), ("", None), ("\n\n", 2)):
        text = between.join(json.dumps(one, indent=indent) for one in _typed())
        for name in ("all.json", "all.txt", "all"):
            _same(read_snapshot({name: text.encode()}))
    _same(read_snapshot({"stream.json": "\n".join(map(json.dumps, OBJECTS)).encode()}))


def test_an_array_of_objects() -> None:
    """What `kubectl get … -o json | jq .items` prints; alone, and several of them."""
    _same(read_snapshot({"items.json": json.dumps(OBJECTS).encode()}))
    _same(read_snapshot({"items.json": b"\n".join(json.dumps([one]).encode() for one in OBJECTS)}))
    _same(read_snapshot({"items.yaml": json.dumps(OBJECTS).encode()}))


def test_yaml_in_flow_style_is_no_stream_of_json() -> None:
    """It begins as JSON does, and goes on as YAML; JSON of several values under a YAML name is read as well."""
    yaml = "\n---\n".join(json.dumps(one) for one in OBJECTS) + "\n---\n{kind: Namespace, apiVersion: v1, metadata: {name: x}}\n"
    world = read_snapshot({"x.yaml": yaml.encode()})
    assert [one.name for one in world.nodes] == ["n1", "n2"]
    assert "Namespace" in world.captured
    _same(read_snapshot({"x.yaml": "\n".join(map(json.dumps, _typed())).encode()}))


def test_an_array_of_a_cloud() -> None:
    """`aws … --query AutoScalingGroups` leaves the key out: the groups are known by their own keys."""
    whole = read_snapshot({"asg.json": json.dumps({"AutoScalingGroups": [GROUP]}).encode()})
    bare = read_snapshot({"asg.json": json.dumps([GROUP]).encode()})
    assert (bare.digest, bare.captured) == (whole.digest, whole.captured)
    assert bare.targets[0].ref.name == "general"


def test_messages_of_kubectl_in_the_file() -> None:
    """`2>&1` puts them in front of the objects, and between them."""
    seed = random.randrange(1 << 30)
    draw = random.Random(seed)
    for _ in range(20):
        parts = [json.dumps(one) + "\n" for one in _typed()]
        text = "".join("".join(draw.choices(WARNINGS, k=draw.randint(0, 3))) + part for part in parts)
        _same(read_snapshot({"x.json": (draw.choice(WARNINGS) + text).encode()}))


def test_messages_in_front_of_yaml() -> None:
    """In YAML a warning would be a key, or no YAML at all."""
    text = f"{WARNINGS[1]}{WARNINGS[0]}apiVersion: v1\nkind: Node\nmetadata: {{name: n1}}\nstatus: {{capacity: {{cpu: 1}}}}\n"
    assert [one.name for one in read_snapshot({"x.yaml": text.encode()}).nodes] == ["n1"]


def test_only_messages() -> None:
    """Then there was no capture."""
    with pytest.raises(SnapshotError, match="only messages of kubectl"):
        read_snapshot({"x.json": WARNINGS[0].encode()})


def test_a_dump_on_one_stream() -> None:
    """`kubectl cluster-info dump` puts logs between the lists, whatever the logs say."""
    text = LOGS.join(json.dumps(one, indent=4) + "\n" for one in _typed()) + LOGS
    _same(read_snapshot({"dump.txt": text.encode()}))


def test_a_dump_that_ends_in_the_logs() -> None:
    """Objects may have come behind them."""
    text = json.dumps(_typed()[0]) + "\n" + LOGS[:-60]
    with pytest.raises(SnapshotError, match=r"line 2, column 1: container logs without an end"):
        read_snapshot({"dump.txt": text.encode()})


def test_a_stream_that_breaks_off() -> None:
    """The document and the item are named."""
    text = "\n".join(map(json.dumps, _typed()))
    cut = text[: text.index('"n2"')]
    with pytest.raises(SnapshotError, match=r"document 2, item 2 \(after n1\): the JSON ends") as refused:
        read_snapshot({"x.json": cut.encode()})
    assert refused.value.file == "x.json"


def test_the_place_of_damage_is_line_and_column() -> None:
    """As an editor counts them: here the fourth character of the third line."""
    with pytest.raises(SnapshotError, match=r"\(line 3, column 4\)"):
        read_snapshot({"x.json": b'{"kind": "PodList",\n"items": [\n   !\n]}'})


def test_something_else_between_documents() -> None:
    """Its line is named, and nothing behind it is guessed at."""
    text = f"{json.dumps(_typed()[0])}\nerror: unable to connect\n{json.dumps(_typed()[1])}"
    with pytest.raises(SnapshotError, match="line 2, column 1: 'error: unable to connect' is not JSON"):
        read_snapshot({"x.json": text.encode()})


def test_what_is_no_object_is_named_and_left_out() -> None:
    """A version, a list of names, an empty array, in files and in streams: the rest of both is read."""
    foreign = {"version.json": b'{"gitVersion":"v1.34.1"}', "names.json": b'["a","b"]', "none.json": b"[]", "n.json": b"7"}
    text = b'{"gitVersion":"v1.34.1"}\n' + "\n".join(map(json.dumps, _typed())).encode() + b'\n["a"]'
    unused: list[SnapshotError] = []
    _same(read_snapshot({"all.json": text, **foreign}, "", unused))
    assert sorted((one.file, one.item) for one in unused) == [
        ("all.json", "document 1"), ("all.json", "document 5"), ("n.json", ""), ("names.json", ""), ("none.json", ""),
        ("version.json", ""),
    ]  # fmt: skip


def test_objects_without_a_kind_are_no_foreign_text() -> None:
    """Nobody knows of what they are, and it may be what matters."""
    bare = {key: value for key, value in pod("a").items() if key not in ("kind", "apiVersion")}
    for body in (bare, [bare], {"items": [bare]}):
        with pytest.raises(SnapshotError):
            read_snapshot({"x.json": json.dumps(body).encode(), "all.json": json.dumps(_typed()[1]).encode()})
    _same(read_snapshot({"x.json": json.dumps({"items": list(OBJECTS), "metadata": {}}).encode()}))


def test_everything_that_is_wrong_is_listed(tmp_path: Path) -> None:
    """In one run: two items of one file, a file that was cut off, and one that is no object."""
    bad = [pod("a", containers="x"), pod("b", containers=3), pod("c")]
    (tmp_path / "pods.json").write_text(json.dumps(_list("Pod", *bad)))
    (tmp_path / "nodes.json").write_text(json.dumps(_list("Node", node("n1")))[:-5])
    (tmp_path / "version.json").write_text('{"gitVersion": "v1"}')
    with pytest.raises(InputError) as refused:
        load_world(tmp_path)
    first, *listed = refused.value.message.splitlines()
    assert first == f"{tmp_path}: 3 parts of it cannot be used. Fix or remove them:"
    assert [line.split(": ")[0].strip() for line in listed] == [str(tmp_path / "nodes.json"), *[str(tmp_path / "pods.json")] * 2]
    assert ["item 1 (Pod shop/a)" in listed[1], "item 2 (Pod shop/b)" in listed[2]] == [True, True]


def _bundle(top: str) -> dict[str, bytes]:
    """As `kubectl cluster-info dump --output-directory` and support bundles lay it out."""
    return {
        f"{top}nodes.json": json.dumps(_typed()[1]).encode(),
        f"{top}shop/pods.json": json.dumps(_typed()[0]).encode(),
        f"{top}shop/a/logs.txt": b'{"level":"info","kind":"x"}\nnot JSON\n',
        f"{top}cluster-resources/custom-resources/machinedeployments.cluster.x-k8s.io": json.dumps(_typed()[2]).encode(),
        f"{top}cluster-resources/pods-errors.json": b'["pods is forbidden"]',
        f"{top}version.yaml": b"versionNumber: 0.92.1\n",
        f"{top}README": b"# a bundle\nof a cluster\n",
    }


def test_a_bundle_in_a_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files of any name are read where objects are in them; what is none is named."""
    for name, body in _bundle("").items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(body) if name == "nodes.json" else body)
    _same(load_world(tmp_path))
    told = capsys.readouterr().err.splitlines()
    assert [line.split(": ")[2] for line in told] == [
        str(tmp_path / name) for name in ("cluster-resources/pods-errors.json", "version.yaml")
    ]


@pytest.mark.parametrize("name", ["bundle.tar.gz", "bundle.tgz", "bundle.tar", "upload.bin", "bundle"])
@pytest.mark.parametrize("top", ["", "support-bundle-2026-11-25/", "a/b/"])
def test_a_bundle_as_one_file(tmp_path: Path, name: str, top: str) -> None:
    """Whatever it is called, and whatever folder it is in; our own manifest is found below that folder as well."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path, body in {**_bundle(top), f"{top}snapshot.yaml": b"formatVersion: '1.0'\ncluster: c9\n"}.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(body)
            archive.addfile(entry, io.BytesIO(body))
    data = packed.getvalue()
    (tmp_path / name).write_bytes(data if name.endswith(".tar") else gzip.compress(data))
    world = load_world(tmp_path / name)
    assert (world.name, len(world.nodes), world.captured) == ("c9", 2, WHOLE.captured)


@pytest.mark.parametrize("name", ["x", "x.txt", "x.json.bak", "x.out"])
def test_one_file_of_any_name(tmp_path: Path, name: str) -> None:
    """Plain or packed; also in a directory."""
    for body in (json.dumps(OBJECTS).encode(), gzip.compress(json.dumps(OBJECTS).encode())):
        (tmp_path / name).write_bytes(body)
        _same(load_world(tmp_path / name))
        _same(load_world(tmp_path))


def test_a_zip_is_called_one(tmp_path: Path) -> None:
    """With what to do."""
    (tmp_path / "x.zip").write_bytes(b"PK\x03\x04rest")
    with pytest.raises(InputError, match=r"a zip archive\. Unpack it"):
        load_world(tmp_path / "x.zip")


@pytest.mark.parametrize("name", ["bomb", "bomb.json", "bomb.tar.gz"])
def test_a_bomb_of_any_name_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """What unpacks to far more than objects do never fills the memory."""
    monkeypatch.setattr("reconciler.cluster.snapshots.unpacking_bound._LEAST_BYTES", 1 << 20)
    zeros = io.BytesIO()
    with tarfile.open(fileobj=zeros, mode="w") as archive:
        entry = tarfile.TarInfo("x/pods.json")
        entry.size = 20 << 20
        archive.addfile(entry, io.BytesIO(bytes(20 << 20)))
    body = zeros.getvalue() if name.endswith(".tar.gz") else b" " * (20 << 20)
    (tmp_path / name).write_bytes(gzip.compress(body))
    with pytest.raises(InputError, match="MiB"):
        load_world(tmp_path / name)
    assert cluster_files.LARGEST_FILE_BYTES == 4 << 30
