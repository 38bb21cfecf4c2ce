"""Reading snapshots from disk."""

import errno
import gzip
import json
import os
from pathlib import Path

import pytest

from reconciler.cli.inputs import cluster_files
from reconciler.cli.inputs.cluster_files import load_world
from reconciler.cli.outputs.failure import InputError
from tests.cluster.objects import files_of, node, pod, world_of

BODY = files_of(pod("a"), node("n1"))["all.json"]


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as refused:
        load_world(path)
    return refused.value.message


def test_one_file(tmp_path: Path) -> None:
    """A file alone is a snapshot."""
    (tmp_path / "x.json").write_bytes(BODY)
    assert load_world(tmp_path / "x.json") == world_of(pod("a"), node("n1"))


@pytest.mark.parametrize("name", ["x.json.gz", "x.gz"])
def test_gzipped(tmp_path: Path, name: str) -> None:
    """So is a gzipped one, whatever it is called."""
    (tmp_path / name).write_bytes(gzip.compress(BODY))
    assert load_world(tmp_path / name).digest == world_of(pod("a"), node("n1")).digest


def test_directory(tmp_path: Path) -> None:
    """All documents below a directory, plain and gzipped; other files and hidden ones are left alone."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "node.yaml.gz").write_bytes(gzip.compress(json.dumps(node("n1")).encode()))
    (tmp_path / "pod.json").write_text(json.dumps(pod("a")))
    (tmp_path / "README.md").write_text("not read")
    (tmp_path / ".hidden.json").write_text("not read")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "x.json").write_text("not read")
    assert load_world(tmp_path) == world_of(pod("a"), node("n1"))


def test_missing_path(tmp_path: Path) -> None:
    """A path that is not there is told with what should be."""
    assert "nowhere: no such file or directory" in refusal(tmp_path / "nowhere")


def test_empty_directory(tmp_path: Path) -> None:
    """A directory without documents is no snapshot."""
    assert refusal(tmp_path) == f"{tmp_path}: the snapshot has no documents (.json, .yaml or .yml, also .gz)"


@pytest.mark.parametrize(
    ("files", "told"),
    [
        (
            {"prod.yaml": "apiVersion: reconciler.dev/v1alpha1\nkind: NodeGroupPolicy\nmetadata: {name: prod}\n"},
            "1 file (prod.yaml) holds NodeGroupPolicy",
        ),
        ({"nodes.json": '{"kind": "List", "apiVersion": "v1", "items": []}'}, "1 file (nodes.json) holds no object"),
        (
            {f"{name}.yaml": f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}\n" for name in "fedcba"},
            "6 files (a.yaml, b.yaml, c.yaml, d.yaml, e.yaml, …) hold Namespace",
        ),
    ],
)
def test_files_without_a_cluster(tmp_path: Path, files: dict[str, str], told: str) -> None:
    """Nothing to decide about is no cluster in which nothing is pending: what was seen, what was looked for, what to do."""
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    said = refusal(tmp_path)
    assert said.startswith(f"{tmp_path}: no cluster in it: {told}, and none of Node, Pod, MachineDeployment, ")
    assert "Give the output of `kubectl get nodes,pods,machinedeployments,… -A -o json` prints" in said


def test_one_object_of_a_cluster_is_enough(tmp_path: Path) -> None:
    """Also an empty list that says what it is a list of: it was captured, and nothing is there."""
    (tmp_path / "pods.json").write_text('{"kind": "PodList", "apiVersion": "v1", "items": []}')
    assert load_world(tmp_path).captured == ("Pod",)


def test_damage_names_the_file_as_the_user_gave_it(tmp_path: Path) -> None:
    """The sentence of a damaged snapshot begins with the path of the file."""
    (tmp_path / "pods.json").write_bytes(BODY[:-40])
    assert refusal(tmp_path).startswith(f"{tmp_path / 'pods.json'}: item 2 (after shop/a): the JSON ends")
    assert refusal(tmp_path / "pods.json").startswith(f"{tmp_path / 'pods.json'}: item 2")


@pytest.mark.parametrize("body", [gzip.compress(BODY)[:-20], b"\x1f\x8bnonsense", b"not gzip at all"])
def test_damaged_gzip(tmp_path: Path, body: bytes) -> None:
    """Compressed data that ends early or is none is told as such."""
    (tmp_path / "x.json.gz").write_bytes(body)
    assert f"{tmp_path / 'x.json.gz'}: damaged or cut-off gzip data" in refusal(tmp_path)


def test_file_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file beyond the bound is refused before it fills the memory, also when it only unpacks to that."""
    monkeypatch.setattr(cluster_files, "LARGEST_FILE_BYTES", 1000)
    (tmp_path / "x.json.gz").write_bytes(gzip.compress(b" " * 1001))
    (tmp_path / "y.json").write_bytes(b" " * 1001)
    assert "Capture in several files" in refusal(tmp_path / "x.json.gz")
    assert "Capture in several files" in refusal(tmp_path / "y.json")


def test_too_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory that is no snapshot (a home directory, say) is refused instead of being read."""
    monkeypatch.setattr(cluster_files, "MOST_FILES", 2)
    for number in range(3):
        (tmp_path / f"{number}.json").write_bytes(BODY)
    assert "at most 2" in refusal(tmp_path)


def test_folder_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Part of a snapshot never passes for the whole: a folder that cannot be read is told instead of being left out."""
    (tmp_path / "x.json").write_bytes(BODY)
    closed = tmp_path / "closed"
    closed.mkdir()
    (closed / "y.json").write_bytes(BODY)
    real = os.scandir

    # Permissions do not stop root, who may run the tests.
    def scandir(path: str) -> object:
        if str(path) == str(closed):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert refusal(tmp_path) == f"{closed}: cannot be read (Permission denied)"


def test_plain_and_gzipped_copy(tmp_path: Path) -> None:
    """The same document plain and gzipped: nobody knows which is newer."""
    (tmp_path / "x.json").write_bytes(BODY)
    (tmp_path / "x.json.gz").write_bytes(gzip.compress(BODY))
    assert "twice, plain and gzipped" in refusal(tmp_path)


def test_link_out_of_the_snapshot(tmp_path: Path) -> None:
    """A link to a file elsewhere is not followed: a snapshot may come from a stranger's branch."""
    (tmp_path / "secret.json").write_bytes(BODY)
    snapshot = tmp_path / "snapshot"
    snapshot.mkdir()
    (snapshot / "x.json").symlink_to(tmp_path / "secret.json")
    assert "a link to a file outside the snapshot" in refusal(snapshot)


def test_dangling_link(tmp_path: Path) -> None:
    """A link into nowhere is no document."""
    (tmp_path / "x.json").symlink_to(tmp_path / "gone")
    assert "has no documents" in refusal(tmp_path)
