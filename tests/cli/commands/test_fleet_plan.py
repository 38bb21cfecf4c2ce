"""`plan --fleet`: a line for each cluster, those that need somebody first."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler.cli.main import cli
from reconciler.cli.outputs.failure import guarded
from tests.gitops.repositories import BASE
from tests.gitops.test_fleet_preview import OVERRIDE, snapshot
from tests.schemas.conftest import validator

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Exit code, output and errors of `plan --fleet` in the clusters a to c; b has a minimum of four."""
    for name in "abc":
        snapshot(tmp_path / "snapshots", name)
    raised = OVERRIDE.replace("NAMES", "b")
    low = {name: text.replace("size: {min: 1, max: 5}", "size: {max: 5}") for name, text in BASE.items()}
    for name, text in {**low, "eu.yaml": raised}.items():
        path = tmp_path / "policies" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def call(*words: str) -> tuple[int, str, str]:
        places = ("--cluster", str(tmp_path / "snapshots"), "--policy", str(tmp_path / "policies"))
        code = guarded(cli, ["plan", "--fleet", *places, *words])
        told = capsys.readouterr()
        return code, told.out, told.err

    return call


def test_every_cluster_has_its_own_policy(run: Run) -> None:
    """Only b has the minimum that its override raises: two nodes more of `general` and three of `quiet`."""
    code, out, _ = run("-o", "json", "--detailed-exitcode")
    document = json.loads(out)
    assert not list(validator("fleet-plans").iter_errors(document))
    changing = {one["cluster"]: one["changes"] for one in document["clusters"]}
    assert (code, changing) == (2, {"a": False, "b": True, "c": False})
    assert "(+5 nodes)" in document["clusters"][1]["summary"]
    assert document["summary"] == "3 clusters: 1 changes, 2 stay as they are"


def test_what_cannot_be_read_stands_first_and_fails(run: Run, tmp_path: Path) -> None:
    """The other clusters are told all the same."""
    (tmp_path / "snapshots" / "c" / "all.json").write_text("{")
    code, out, _ = run()
    lines = [line for line in out.splitlines() if line.strip()]
    assert code == 1
    assert lines[0] == "3 clusters: 1 changes, 1 stays as it is, 1 was not decided"
    assert lines[3].split()[:3] == ["c", "no", "plan:"]


@pytest.mark.parametrize("words", [("--rollout", "general"), ("--group", "general"), ("-o", "html"), ("--out", "x.json")])
def test_what_belongs_to_one_cluster_is_refused(run: Run, words: tuple[str, ...]) -> None:
    code, _, told = run(*words)
    assert code == 1
    assert "--fleet shows one line for each cluster" in told


def test_targets_of_other_clusters_are_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both snapshots hold the MachineDeployments of cluster c1. A policy that names no clusters finds them in c1 only."""
    group = "cluster.x-k8s.io/cluster-api-autoscaler-node-group"
    sizes = f'"annotations": {{"{group}-min-size": "3", "{group}-max-size": "5"}}'
    for name in ("c1", "other"):
        objects = snapshot(tmp_path / "snapshots", name) / "all.json"
        objects.write_text(objects.read_text().replace('"annotations": {}', sizes))
    found = "discovery: [{name: capi, clusterAPI: {}}]\n"
    head = "apiVersion: reconciler.dev/v1alpha1\nkind: NodeGroupPolicy\nmetadata: {name: prod}\nspec:\n  "
    (tmp_path / "policy.yaml").write_text(head + found)
    places = ("--cluster", str(tmp_path / "snapshots"), "--policy", str(tmp_path / "policy.yaml"))
    guarded(cli, ["plan", "--fleet", *places, "-o", "json"])
    clusters = json.loads(capsys.readouterr().out)["clusters"]
    assert {one["cluster"]: one["changes"] for one in clusters} == {"c1": True, "other": False}
