"""The examples of the help that need a cluster, from the wheel, on a real control plane."""

import re
from pathlib import Path

from tests.testbed.cluster_documents import Group
from tests.testbed.control_plane import ControlPlane
from tests.testbed.fixtures import NewCluster
from tests.wheel.conftest import Installed, asking_others

# What these ask for is not here: a loop, a server of git, OpenShift's objects, Flux, approvals. tests/live, tests/gitops and
# tests/openshift have them.
_ELSEWHERE = re.compile(
    r"--live|https://|--cluster-ref|^reconciler (?:status|run|handover|previewer)\b|--approved-by|--readable-policy"
)
_GROUP = "from-a-wheel"


def test_examples(control_plane: ControlPlane, new_cluster: NewCluster, packages: Path, tmp_path: Path) -> None:
    """Each does what it says, with exit code 0 unless it has something to tell. No trace, no defect."""
    cluster = new_cluster()
    cluster.machine_deployment(Group(_GROUP, 0, 0, 3))
    spec = {"containers": [{"name": "main", "image": "none.invalid/none"}], "nodeSelector": {"never": "there"}}
    cluster.api.create(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "giant-0", "namespace": cluster.namespace}, "spec": spec}
    )
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(control_plane.kubeconfig.read_text().replace("testbed", "prod"))
    (tmp_path / "empty").mkdir()
    installed = Installed(packages, tmp_path / "empty", tmp_path / "programs", kubeconfig)
    lines = [line for line in asking_others() if not _ELSEWHERE.search(line)]
    assert {line.split()[1] for line in lines} == {
        "init", "plan", "bounds", "apply", "explain", "fit", "drain-report", "doctor", "snapshot", "hold",
    }  # fmt: skip
    for before, after in (
        ("general-a", _GROUP), ("batch/", f"{cluster.namespace}/"), ("2026-12-24", "2126-12-24"),
        ("--out snapshot/", "--out snapshot/ --force"), ("apply plan.json", f"apply plan.json --namespace {cluster.namespace}"),
        ("reconciler doctor", f"reconciler doctor --namespace {cluster.namespace}"),
    ):  # fmt: skip
        lines = [line.replace(before, after) for line in lines]
    assert lines[0].startswith("reconciler init")
    *answers, lost = installed.commands([*lines, "reconciler apply plan.json --context prod --namespace not-there"])
    assert "kubectl create namespace not-there" in lost.errors
    by_command = {one.line.split()[1]: one for one in answers}
    # Mode Observe: what `apply` may not write it names. `doctor` may find something in targets of others.
    assert "not done" in by_command["apply"].output
    assert "Pass" in by_command["doctor"].output
    told = [one for one in answers if one.code and one.line.split()[1] not in ("apply", "doctor")]
    assert [*told, *(one for one in answers if re.search("Traceback|unexpected|error: ", one.errors))] == []
