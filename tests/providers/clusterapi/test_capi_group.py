"""Cluster API under another group: what is read, and what is printed for people to write."""

import json
from pathlib import Path

import pytest

from reconciler.cli.inputs.cluster_files import load_world
from reconciler.cli.outputs.failure import InputError
from reconciler.decisions.ownership.handover import from_topology, to_us

GROUP = "cluster.example.org"
_SIZE = "cluster-api-autoscaler-node-group"


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    """A group of a topology that declares three replicas, in the other group; its own entry says the range."""
    version = f"{GROUP}/v1beta2"
    entry = {"class": "default", "name": "e", "replicas": 3}
    cluster = {
        "apiVersion": version,
        "kind": "Cluster",
        "metadata": {"name": "c1", "namespace": "prod"},
        "spec": {"topology": {"workers": {"machineDeployments": [entry]}}},
    }
    labels = {"topology.cluster.x-k8s.io/owned": "", "topology.cluster.x-k8s.io/deployment-name": "e"}
    deployment = {
        "apiVersion": version,
        "kind": "MachineDeployment",
        "metadata": {"name": "workers", "namespace": "prod", "labels": labels, "annotations": _sizes("2", "9")},
        "spec": {"clusterName": "c1", "replicas": 3, "template": {"spec": {"clusterName": "c1"}}},
    }
    (tmp_path / "objects.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": [cluster, deployment]}))
    return tmp_path


def _sizes(least: str, most: str) -> dict[str, str]:
    return {f"{GROUP}/{_SIZE}-min-size": least, f"{GROUP}/{_SIZE}-max-size": most}


def test_the_printed_lines_name_the_group(snapshot: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The annotations that Cluster API would read there, not those of the usual group."""
    monkeypatch.setenv("CAPI_GROUP", GROUP)
    (facts,) = load_world(snapshot).targets
    assert (facts.min_size, facts.max_size, facts.api_group) == (2, 9, GROUP)
    reason = from_topology(facts, 2, 9)
    assert reason is not None
    assert to_us(facts, 2, 9).lines == reason.lines
    assert reason.lines[2:] == (f'    {GROUP}/{_SIZE}-min-size: "2"', f'    {GROUP}/{_SIZE}-max-size: "9"')


def test_without_the_variable_another_group_is_none_of_ours(snapshot: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Objects of a group that nobody named are skipped."""
    monkeypatch.delenv("CAPI_GROUP", raising=False)
    with pytest.raises(InputError, match="no cluster in it"):
        load_world(snapshot)
