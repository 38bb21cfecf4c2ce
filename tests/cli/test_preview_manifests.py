"""`reconciler preview` over a tree that holds manifests beside the policies: what a change of them does to replicas."""

import json
from pathlib import Path

from click.testing import CliRunner, Result

from reconciler.cli.main import cli
from tests.gitops.repositories import BASE, NOW, write_cluster

MANIFEST = """\
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: general, namespace: capi}
spec:
  clusterName: c1
"""


def _preview(tmp_path: Path, *arguments: str) -> Result:
    """The head drops the two replicas that the base declares for `general`, of which two nodes run."""
    for side, manifest in (("base", f"{MANIFEST}  replicas: 2\n"), ("head", MANIFEST)):
        for name, text in (*BASE.items(), ("manifests/general.yaml", manifest)):
            path = tmp_path / side / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    cluster = write_cluster(tmp_path / "cluster")
    words = ["preview", "--base-dir", str(tmp_path / "base"), "--head-dir", str(tmp_path / "head"), "--cluster", str(cluster)]
    return CliRunner().invoke(cli, [*words, "--now", NOW, *arguments], prog_name="reconciler", standalone_mode=False)


def test_dropped_replicas_are_a_warning(tmp_path: Path) -> None:
    """Two replicas would become one, and nothing is refused for it."""
    result = _preview(tmp_path)
    told = " ".join(result.stdout.split())
    assert result.exception is None
    assert "this change takes replicas 2 out of MachineDeployment capi/general" in told
    assert "they become 1: without both size annotations" in told


def test_dropped_replicas_in_json(tmp_path: Path) -> None:
    """With the code and the place in the head's tree."""
    (warning,) = json.loads(_preview(tmp_path, "-o", "json").stdout)["policyProblems"]
    assert (warning["code"], warning["line"], warning["severity"]) == ("ReplicasDropped", 3, "warning")
    assert warning["file"].endswith("head/manifests/general.yaml")
