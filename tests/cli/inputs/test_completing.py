"""Shells complete groups, nodes, pods and namespaces from the snapshot or cluster that the options name."""

import json
import os
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
import yaml
from click.testing import CliRunner

from reconciler.cli.inputs import known_names
from reconciler.cli.main import cli

ROOT = Path(__file__).resolve().parents[3]
CLUSTER = f"--cluster {ROOT / 'examples' / 'quickstart'}"
POLICY = f"--policy {ROOT / 'policies'}"


def completed(line: str) -> tuple[list[str], str]:
    """What bash is told of a line whose last word is begun, and what reaches the terminal beside."""
    words = line.split(" ")
    environment = {"_RECONCILER_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    result = CliRunner().invoke(cli, [], prog_name="reconciler", env=environment)
    return [word.removeprefix("plain,") for word in result.stdout.split()], result.stderr


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (f"reconciler explain {CLUSTER} {POLICY} node big", ["big-cvpqs-75zr8", "big-cvpqs-fjrmx", "big-cvpqs-wlrs7"]),
        (f"reconciler explain {CLUSTER} {POLICY} group ", ["auto", "big", "fixed", "spot"]),
        (f"reconciler explain {CLUSTER} {POLICY} value sp", ["spot/"]),
        (f"reconciler explain {CLUSTER} {POLICY} value spot/size.", ["spot/size.max", "spot/size.min"]),
        (f"reconciler plan {CLUSTER} {POLICY} --group b", ["big"]),
        (f"reconciler plan {CLUSTER} {POLICY} --pod-namespace b", ["batch"]),
        (f"reconciler fit {CLUSTER} --group c1", ["c1-auto-45vz8", "c1-fixed-bq6lz"]),
        (f"reconciler fit {CLUSTER} batch/gi", ["batch/giant-76c5fdf9f8-9jrqj", "batch/giant-76c5fdf9f8-q86nv"]),
        ("reconciler explain --cluster nothing/there node b", []),
    ],
)
def test_names_of_a_snapshot(line: str, words: list[str]):
    """As the policy calls groups; `fit` reads none and takes the names of targets. What is not there says nothing."""
    assert completed(line) == (words, "")


def test_contexts_of_a_kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Of the file that is named, else of all in KUBECONFIG; one that cannot be read has none."""
    files = {"one": {"contexts": [{"name": "prod"}, {"name": "play"}]}, "two": {"contexts": [{"name": "prod-b"}]}, "bad": "- ["}
    for name, content in files.items():
        (tmp_path / name).write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(str(tmp_path / name) for name in (*files, "none")))
    assert completed("reconciler plan --context pr") == (["prod", "prod-b"], "")
    assert completed(f"reconciler plan --kubeconfig {tmp_path / 'one'} --context p") == (["play", "prod"], "")
    assert completed("reconciler hold --management-context pl") == (["play"], "")


def test_fit_completes_pods_that_wait():
    """A pod that has a node is nothing that `fit` could be asked about; `explain` tells of any."""
    waiting = set(completed(f"reconciler fit {CLUSTER} ")[0])
    every = set(completed(f"reconciler explain {CLUSTER} {POLICY} pod ")[0])
    assert waiting < every
    assert len(waiting) == 19


class _Api(BaseHTTPRequestHandler):
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        names = {"/api/v1/nodes": [("", "n-1"), ("", "n-2"), ("", "other")], "/api/v1/namespaces/shop/pods": [("shop", "web-1")]}
        items = [{"metadata": {"namespace": one, "name": name}} for one, name in names.get(self.path.partition("?")[0], [])]
        body = json.dumps({"items": items}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing."""


def kubeconfig(path: Path, port: int) -> Path:
    path.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1", "kind": "Config", "current-context": "c",
                "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
                "users": [{"name": "u", "user": {}}],
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            }
        )
    )  # fmt: skip
    return path


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Path]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Api)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    _Api.asked.clear()
    yield kubeconfig(tmp_path / "kubeconfig", server.server_address[1])
    server.shutdown()
    server.server_close()


def test_names_of_a_cluster(cluster: Path, monkeypatch: pytest.MonkeyPatch):
    """Nodes, and pods of the namespace that is typed already; a page of them, not all."""
    monkeypatch.setattr(known_names, "PATIENCE_SECONDS", 60)
    assert completed(f"reconciler explain --kubeconfig {cluster} node n-") == (["n-1", "n-2"], "")
    assert completed(f"reconciler fit --kubeconfig {cluster} shop/w") == (["shop/web-1"], "")
    assert _Api.asked == ["/api/v1/nodes?limit=500", "/api/v1/namespaces/shop/pods?limit=500&fieldSelector=spec.nodeName%3D"]


def test_a_cluster_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Somebody waits in front of it: nothing is completed, and nothing is said."""
    monkeypatch.setattr(known_names, "PATIENCE_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        file = kubeconfig(tmp_path / "kubeconfig", silent.getsockname()[1])
        assert completed(f"reconciler explain --kubeconfig {file} node ") == ([], "")


def test_a_large_snapshot_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """It would take longer than anybody waits."""
    monkeypatch.setattr(known_names, "LARGEST_SNAPSHOT_BYTES", 10)
    assert completed(f"reconciler explain {CLUSTER} {POLICY} node big") == ([], "")
