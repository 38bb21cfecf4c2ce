"""Commands that need a cluster, from the wheel in an empty folder, on a real control plane."""

import json
import re
from pathlib import Path

from tests.gitops.conftest import first_commit, repo
from tests.gitops.hosts import TOKEN
from tests.gitops.previewing import MORE, Place, github
from tests.live.reconciler_process import Reconciler, policy_text
from tests.openshift.conftest import NewSet, new_set
from tests.testbed.cluster_documents import Group
from tests.testbed.control_plane import ControlPlane
from tests.testbed.fixtures import NewCluster
from tests.testbed.work_cluster import NAME
from tests.wheel.conftest import Installed, asking_others

__all__ = ["first_commit", "github", "new_set", "repo"]

# What these ask for is not there beside a first cluster: a loop, a server of git, OpenShift's objects (below), Flux, approvals.
_ELSEWHERE = re.compile(
    r"^reconciler record\b|"  # it goes on until it is stopped
    r"--live|https://|--cluster-ref|^reconciler (?:status|report|run|handover|previewer)\b|--approved-by|--readable-policy"
)
_GROUP = "from-a-wheel"


def installed_for(plane: ControlPlane, packages: Path, folder: Path) -> Installed:
    """An empty folder, and a kubeconfig with a context `prod`."""
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(plane.kubeconfig.read_text().replace("testbed", "prod"))
    (folder / "empty").mkdir()
    return Installed(packages, folder / "empty", folder / "programs", kubeconfig)


def test_examples(control_plane: ControlPlane, new_cluster: NewCluster, packages: Path, tmp_path: Path) -> None:
    """Each does what it says, with exit code 0 unless it has something to tell. No trace, no defect."""
    cluster = new_cluster()
    cluster.machine_deployment(Group(_GROUP, 0, 0, 3))
    spec = {"containers": [{"name": "main", "image": "none.invalid/none"}], "nodeSelector": {"never": "there"}}
    cluster.api.create(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "giant-0", "namespace": cluster.namespace}, "spec": spec}
    )
    installed = installed_for(control_plane, packages, tmp_path)
    lines = [line for line in asking_others() if not _ELSEWHERE.search(line)]
    assert {line.split()[1] for line in lines} == {
        "init", "plan", "bounds", "apply", "explain", "fit", "drain-report", "doctor", "snapshot", "hold",
    }  # fmt: skip
    for before, after in (
        ("general-a", _GROUP), ("batch/", f"{cluster.namespace}/"), ("2026-12-24", "2126-12-24"),
        ("--out snapshot/", "--out snapshot/ --force"), ("apply plan.json", f"apply plan.json --namespace {cluster.namespace}"),
        ("reconciler doctor", f"reconciler doctor --namespace {cluster.namespace}"),
        ("infra/west", f"{cluster.namespace}/{NAME}"),
    ):  # fmt: skip
        lines = [line.replace(before, after) for line in lines]
    assert lines[0].startswith("reconciler init")
    *answers, lost = installed.commands([*lines, "reconciler apply plan.json --context prod --namespace not-there"])
    assert "kubectl create namespace not-there" in lost.errors
    by_command = {one.line.split()[1]: one for one in answers}
    # The testbed wrote the replicas, and the policy of `init` names nobody: `apply` has nothing to do.
    # `doctor` may find something in targets of others.
    assert "The plan has no actions." in by_command["apply"].output
    assert "Pass" in by_command["doctor"].output
    told = [one for one in answers if one.code and one.line.split()[1] not in ("apply", "doctor")]
    assert [*told, *(one for one in answers if re.search("Traceback|unexpected|error: ", one.errors))] == []


def test_a_loop_and_who_asks_it(
    control_plane: ControlPlane, new_cluster: NewCluster, new_set: NewSet, packages: Path, tmp_path: Path
) -> None:
    """`run` in its folder, and what `status`, `explain`, `hold` and `handover` say beside it; the one turn of `run --once`."""
    cluster = new_cluster()
    cluster.machine_deployment(Group(_GROUP, 0, 0, 3))
    machine_set = new_set(0, namespace=cluster.namespace, adopted=False).name
    installed = installed_for(control_plane, packages, tmp_path)
    (installed.folder / "policies").mkdir()
    text = policy_text(_GROUP, cluster.namespace, {_GROUP: (0, 3)}, mode="Observe")
    (installed.folder / "policies" / "policy.yaml").write_text(text)
    home = f"--namespace {cluster.namespace}"
    where = ("--context=prod", f"--namespace={cluster.namespace}")
    # In its folder the checkout is not there; where it is installed in place the wheel comes before it.
    environment = installed.environment | {"PYTHONSAFEPATH": "1"}
    with Reconciler(None, Path("policies"), *where, environment=environment, directory=installed.folder) as loop:
        loop.plan(lambda plan: [group["name"] for group in plan["groups"]] == [_GROUP])
        live = f"http://127.0.0.1:{loop.port()}"
        lines = [
            f"reconciler status --context prod {home}",
            f"reconciler status --live {live} {home} -o json",
            f"reconciler explain group {_GROUP} --live {live}",
            f"reconciler hold {_GROUP} --reason repair --until 2h --context prod",
            f"reconciler run --policy policies/ --context prod --read-only --once {home}",
            f"reconciler handover openshift {machine_set} --policy policies/ --context prod {home}",
        ]
        answers = installed.commands(lines)
    assert [one.code for one in answers] == [0] * len(lines), answers
    assert [one for one in answers if re.search("Traceback|unexpected|error: ", one.errors)] == []
    status, asked, explained, _, once, handover = (one.output for one in answers)
    assert _GROUP in status
    assert json.loads(asked)["plan"]["summary"] == "Plan: 1 adopted."
    assert "owner: " in explained
    assert json.loads(once)["groups"][0]["held"]  # by the hold of the line before
    assert f"{cluster.namespace}/{machine_set}" in handover
    assert "next  1." in handover


def test_a_previewer_beside_a_cluster(control_plane: ControlPlane, packages: Path, github: Place, tmp_path: Path) -> None:
    """One round over a server of pull requests: the comment tells of the cluster that the kubeconfig names."""
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    github.push(7, MORE)
    installed = installed_for(control_plane, packages, tmp_path)
    line = (
        f"reconciler previewer --api-url {github.host.url} --repository team/policies --git {github.url} --git-protocol http"
        f" --token-file {tmp_path / 'token'} --cluster-name prod --context prod --once"
    )
    first, again = installed.commands([line, line])
    assert (first.code, again.code) == (0, 0), first.errors
    assert first.output.startswith("#7 prod Created ")
    assert again.output == "#7 Recent\n"
