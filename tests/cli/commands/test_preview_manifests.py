"""`reconciler preview` over a tree that holds manifests beside the policies: what a change of them does to replicas."""

import json
from pathlib import Path

from click.testing import CliRunner, Result

from reconciler.cli.main import cli
from tests.gitops.repositories import BASE, NOW, GitRepo, write_cluster

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


MIN = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size"
MAX = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"
RANCHER = """\
apiVersion: provisioning.cattle.io/v1
kind: Cluster
metadata: {name: gen, namespace: capi}
spec: {rkeConfig: {machinePools: [{name: eral, quantity: QUANTITY}]}}
"""
TOPOLOGY = """\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: gen, namespace: capi}
spec: {topology: {workers: {machinePools: [{class: w, name: pool-a, replicas: QUANTITY}]}}}
"""


def _between(tmp_path: Path, base: str | None, head: str, *arguments: str, place: str = "manifests/all.yaml") -> Result:
    """A preview of a change of one manifest beside the policies, which do not change."""
    for side, manifest in (("base", base), ("head", head)):
        for name, text in (*BASE.items(), *([(place, manifest)] if manifest is not None else [])):
            path = tmp_path / side / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    cluster = write_cluster(tmp_path / "cluster")
    words = ["preview", "--base-dir", str(tmp_path / "base"), "--head-dir", str(tmp_path / "head"), "--cluster", str(cluster)]
    return CliRunner().invoke(cli, [*words, "--now", NOW, *arguments], prog_name="reconciler", standalone_mode=False)


def _sizes(tmp_path: Path, base: str | None, head: str) -> list[dict[str, object]]:
    document = json.loads(_between(tmp_path, base, head, "-o", "json").stdout)
    assert document["changed"] is bool(document["sizes"])
    return document["sizes"]


def _annotated(high: int) -> str:
    marks = f'annotations: {{{MIN}: "1", {MAX}: "{high}"}}'
    return MANIFEST.replace("namespace: capi", f"namespace: capi, {marks}")


def test_a_new_manifest_that_declares_a_size_of_ours(tmp_path: Path) -> None:
    """The message and the code are those of `validate --manifests`."""
    (size,) = _sizes(tmp_path, None, f"{MANIFEST}  replicas: 9\n")
    assert (size["object"], size["path"], size["before"], size["after"]) == (
        "MachineDeployment capi/general", "spec.replicas", None, "9",
    )  # fmt: skip
    problem = size["problem"]
    assert problem["code"] == "ReplicasInManifest"
    assert problem["message"].startswith("MachineDeployment capi/general declares replicas 9, and NodeGroup general decides them")
    assert (problem["line"], problem["column"]) == (6, 3)


def test_a_manifest_that_stays_as_it_is(tmp_path: Path) -> None:
    """What a change does not touch is not told at each change."""
    text = f"{MANIFEST}  replicas: 9\n"
    assert _sizes(tmp_path, text, text) == []


def test_a_size_that_another_project_declares(tmp_path: Path) -> None:
    """Rancher's pool `eral` of the Cluster `gen` is the MachineDeployment `gen-eral`, which no group here sizes: it changed."""
    (size,) = _sizes(tmp_path, RANCHER.replace("QUANTITY", "2"), RANCHER.replace("QUANTITY", "5"))
    assert (size["object"], size["path"]) == ("Cluster capi/gen", "spec.rkeConfig.machinePools[name=eral].quantity")
    assert (size["before"], size["after"], size["problem"]) == ("2", "5", None)


def test_a_machine_pool_of_a_topology(tmp_path: Path) -> None:
    """It is named where it stands, among machinePools."""
    (size,) = _sizes(tmp_path, TOPOLOGY.replace("QUANTITY", "2"), TOPOLOGY.replace("QUANTITY", "5"))
    assert size["path"] == "spec.topology.workers.machinePools[name=pool-a].replicas"


def test_a_bound_that_changes(tmp_path: Path) -> None:
    """Both size annotations are what bounds a target: a change of one is told."""
    (size,) = _sizes(tmp_path, _annotated(5), _annotated(50))
    assert (size["path"], size["before"], size["after"]) == (f"metadata.annotations[{MAX}]", "5", "50")


def test_a_size_that_goes(tmp_path: Path) -> None:
    """Declared before and not declared now."""
    (size,) = _sizes(tmp_path, f"{_annotated(5)}  replicas: 2\n", _annotated(5))
    assert (size["before"], size["after"]) == ("2", None)


def test_declared_sizes_are_told_in_words(tmp_path: Path) -> None:
    """In the text and, unfolded, in the comment; nothing says then that all stays as it is."""
    result = _between(tmp_path, f"{MANIFEST}  replicas: 2\n", f"{MANIFEST}  replicas: 9\n")
    told = " ".join(result.stdout.split())
    assert "Declared sizes: 1" in told
    assert "MachineDeployment capi/general: spec.replicas 2 -> 9, " in told
    assert "NodeGroup general decides them: every sync would write it" in told
    markdown = _between(tmp_path, f"{MANIFEST}  replicas: 2\n", f"{MANIFEST}  replicas: 9\n", "-o", "markdown").stdout
    assert "### Declared sizes (1)" in markdown
    assert "The decision does not differ." not in markdown
    code = _between(tmp_path, f"{MANIFEST}  replicas: 2\n", f"{MANIFEST}  replicas: 9\n", "--detailed-exitcode").return_value
    assert code == 2


def test_manifests_elsewhere_in_the_repository(tmp_path: Path) -> None:
    """A pull request changes them beside the policies: they are read wherever they are, at both commits."""
    repository = GitRepo(tmp_path / "repo")
    other = {"README.md": "x", "clusters/general.yaml": f"{MANIFEST}  replicas: 2\n"}
    repository.commit({**BASE, **other}, "before")
    repository.git("branch", "before")
    repository.commit({"clusters/general.yaml": f"{MANIFEST}  replicas: 9\n"}, "after")
    cluster = write_cluster(tmp_path / "cluster")
    words = ["preview", "--repo", str(repository.root), "--base", "before", "--cluster", str(cluster), "--now", NOW, "-o", "json"]
    result = CliRunner().invoke(cli, words, prog_name="reconciler", standalone_mode=False)
    assert result.exception is None, result.output
    (size,) = json.loads(result.stdout)["sizes"]
    assert (size["before"], size["after"], size["problem"]["file"]) == ("2", "9", "clusters/general.yaml")


def test_a_manifest_that_changes_and_still_declares_the_size(tmp_path: Path) -> None:
    """Whoever touches it is told, though the size stays."""
    text = f"{MANIFEST}  replicas: 9\n"
    (size,) = _sizes(tmp_path, text, f"{text}  paused: false\n")
    assert (size["before"], size["after"], size["problem"]["code"]) == ("9", "9", "ReplicasInManifest")


def test_a_policy_that_newly_claims_a_declared_size(tmp_path: Path) -> None:
    """The manifest stays as it is: it is the new group that makes it a conflict."""
    text = f"{MANIFEST}  replicas: 9\n"
    for side in ("base", "head"):
        for name, content in (*BASE.items(), ("manifests/all.yaml", text)):
            if side == "head" or name != "policies/general.yaml":
                (tmp_path / side / name).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / side / name).write_text(content)
    cluster = write_cluster(tmp_path / "cluster")
    words = ["preview", "--base-dir", str(tmp_path / "base"), "--head-dir", str(tmp_path / "head"), "--cluster", str(cluster)]
    done = CliRunner().invoke(cli, [*words, "--now", NOW, "-o", "json"], prog_name="reconciler", standalone_mode=False)
    (size,) = json.loads(done.stdout)["sizes"]
    assert (size["after"], size["problem"]["code"]) == ("9", "ReplicasInManifest")


def test_a_change_of_terraform_names_the_size_at_its_line(tmp_path: Path) -> None:
    """The name is in a file of the same directory that does not change."""
    policy = """\
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {name: workers, namespace: reconciler}
spec:
  policyRef: {name: prod}
  target: {aws: {autoScalingGroup: workers-a, region: eu-central-1}}
  size: {min: 1, max: 9}
"""
    group = 'resource "aws_autoscaling_group" "workers" {\n  name = local.name\n  desired_capacity = SIZE\n}\n'
    repository = GitRepo(tmp_path / "repo")
    other = {"infra/locals.tf": 'locals { name = "workers-a" }\n', "infra/main.tf": group.replace("SIZE", "2")}
    repository.commit({**BASE, "policies/workers.yaml": policy, **other}, "before")
    repository.git("branch", "before")
    repository.commit({"infra/main.tf": group.replace("SIZE", "5")}, "after")
    cluster = write_cluster(tmp_path / "cluster")
    words = ["preview", "--repo", str(repository.root), "--base", "before", "--cluster", str(cluster), "--now", NOW, "-o", "json"]
    result = CliRunner().invoke(cli, words, prog_name="reconciler", standalone_mode=False)
    assert result.exception is None, result.output
    (size,) = json.loads(result.stdout)["sizes"]
    assert (size["before"], size["after"], size["path"]) == ("2", "5", "desired_capacity")
    assert (size["problem"]["file"], size["problem"]["line"], size["problem"]["code"]) == (
        "infra/main.tf",
        3,
        "ReplicasInManifest",
    )
    assert "NodeGroup workers" in size["problem"]["message"]
