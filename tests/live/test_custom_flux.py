"""`reconciler run --flux-source`: the artifact that an object of Flux's form names, from a real server, on a real cluster."""

import hashlib
import io
import json
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from tests.gitops.servers import served
from tests.kube.objects import definition
from tests.live.reconciler_process import policy_text
from tests.testbed.cluster_api import ClusterApi
from tests.testbed.cluster_documents import Group
from tests.testbed.control_plane import ControlPlane
from tests.testbed.fixtures import NewCluster

Object = dict[str, Any]
GROUP = "source.toolkit.fluxcd.io"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Storage:
    """A server of artifacts, as source-controller keeps one, with the object that names the newest."""

    def __init__(self, url: str, archives: dict[str, bytes], cluster_api: ClusterApi) -> None:
        self._url, self._archives, self._api = url, archives, cluster_api.api

    def publish(self, namespace: str, commit: str, files: dict[str, str]) -> None:
        """Another commit."""
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
            for name, text in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(text.encode())
                tar.addfile(info, io.BytesIO(text.encode()))
        data = buffer.getvalue()
        self._archives[f"/{commit}.tar.gz"] = data
        item = {
            "apiVersion": f"{GROUP}/v1",
            "kind": "GitRepository",
            "metadata": {"name": "policies", "namespace": namespace},
            "status": {
                "artifact": {
                    "url": f"{self._url}/{commit}.tar.gz",
                    "digest": f"sha256:{hashlib.sha256(data).hexdigest()}",
                    "revision": f"main@sha1:{commit}",
                    "size": len(data),
                }
            },
        }
        self._api.apply(item, "source-controller", force=True)


@pytest.fixture
def storage(cluster_api: ClusterApi) -> Iterator[Storage]:
    """The definition of a GitRepository, and a server of artifacts."""
    archives: dict[str, bytes] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            data = archives[self.path]
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            return

    (item,) = cluster_api.api.create(definition(GROUP, "GitRepository", "gitrepositories", "v1"))

    def served_now(items: list[Object]) -> bool:
        found = next(one for one in items if one["metadata"]["name"] == item["metadata"]["name"])
        conditions = found.get("status", {}).get("conditions") or ()
        return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)

    cluster_api.api.wait(DEFINITIONS, served_now, "the definition being established")
    with served(Handler) as url:
        yield Storage(url, archives, cluster_api)
    cluster_api.api.delete(item)


def test_policy_of_an_artifact(storage: Storage, new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path) -> None:
    """The plan is made by the policy in the artifact and names the commit; a bad one is told with file, line and column, and the
    last good one decides on."""
    cluster = new_cluster()
    cluster.machine_deployment(Group("g", replicas=1))
    good = policy_text("flux", cluster.namespace, {"g": (3, 5)})
    kept = tmp_path / "last-good"
    place = f"{cluster.namespace}/policies"

    def once(*more: str) -> subprocess.CompletedProcess[str]:
        words = [
            f"--kubeconfig={control_plane.kubeconfig}", f"--flux-source={place}", "--path=prod", "--once", "--read-only",
            f"--target-namespace={cluster.namespace}", f"--namespace={cluster.namespace}", f"--last-good={kept}", *more,
        ]  # fmt: skip
        command = [sys.executable, "-m", "reconciler", "run", *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    storage.publish(cluster.namespace, "a" * 40, {"prod/policy.yaml": good, "other/x.yaml": "no policy"})
    plan = json.loads(once().stdout)
    assert (plan["policyRevision"], plan["policy"]) == ("a" * 40, "flux")
    assert [(line["name"], line["min"], line["desired"]) for line in plan["groups"]] == [("g", 3, 3)]

    storage.publish(cluster.namespace, "b" * 40, {"prod/policy.yaml": good.replace("min: 3", "min: 9")})
    ran = once("--name=flux")
    assert json.loads(ran.stdout)["policyRevision"] == "a" * 40
    assert "prod/policy.yaml:" in ran.stderr
    assert "aaaaaaaaaaaa stays in force" in ran.stderr

    ran = once("--flux-verified", "--name=flux")
    assert "is not verified by Flux" in ran.stderr
