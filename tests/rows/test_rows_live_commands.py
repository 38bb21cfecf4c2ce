"""Rows of topic `live` that a command answers, on a real API server."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reconciler.cluster.values.instant import unix_seconds
from reconciler.control.live.live_memory_store import LiveMemoryStore
from reconciler.decisions.memory import Memory
from reconciler.kube.connection.transport import connect
from reconciler.kube.leading.state import StateObject
from tests.live.command_line import CommandLine
from tests.live.reader import reader
from tests.live.reconciler_process import policy_text
from tests.testbed.api import path_of
from tests.testbed.cluster_api import ClusterApi
from tests.testbed.cluster_documents import Group
from tests.testbed.control_plane import ControlPlane
from tests.testbed.stand_in.kinds import MACHINE_TEMPLATE
from tests.testbed.work_cluster import WorkCluster

Object = dict[str, Any]
NAMESPACE = "rows-of-commands"


@pytest.fixture(scope="module")
def cluster(cluster_api: ClusterApi) -> Iterator[WorkCluster]:
    """One group with one node."""
    made = WorkCluster(cluster_api.api, NAMESPACE)
    made.machine_deployment(Group("general", replicas=1, min_size=1, max_size=3))
    made.until_nodes(1)
    yield made
    made.delete()


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    (tmp_path / "policy.yaml").write_text(policy_text(NAMESPACE, NAMESPACE, {"general": (1, 3)}))
    return tmp_path / "policy.yaml"


@pytest.fixture
def where(policy: Path) -> tuple[object, ...]:
    return ("--policy", policy, "--namespace", NAMESPACE, "--target-namespace", NAMESPACE)


def check(document: Object, code: str) -> Object:
    """One check of `doctor -o json`."""
    (found,) = (item for item in document["checks"] if item["code"] == code)
    return found


def doctor(kubeconfig: Path, *arguments: object) -> Object:
    return CommandLine(kubeconfig).json("doctor", *arguments)


def test_s7_nodes_that_come_back_and_the_autoscaler_that_brings_them(
    cluster: WorkCluster, control_plane: ControlPlane, where: tuple[object, ...]
) -> None:
    """A node that joined a moment after our last removal, and an autoscaler's Deployment with replicas: both are named."""
    (node,) = cluster.nodes()
    joined = unix_seconds(node["metadata"]["creationTimestamp"])
    store = LiveMemoryStore(StateObject(connect(control_plane.kubeconfig), NAMESPACE, NAMESPACE))
    before = store.load()
    store.save(Memory(last_removed_seconds=joined - 5))
    labels = {"app": "cluster-autoscaler"}
    (deployment,) = cluster.api.create(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "cluster-autoscaler", "namespace": NAMESPACE},
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"containers": [{"name": "c", "image": "x/cluster-autoscaler:v1"}]},
                },
            },
        }
    )
    try:
        document = doctor(control_plane.kubeconfig, *where)
    finally:
        cluster.api.delete(deployment)
        store.save(before)
    found = check(document, "NodesComeBack")
    assert found["state"] == "Warn"
    assert node["metadata"]["name"] in found["message"]
    assert f"Deployment {NAMESPACE}/cluster-autoscaler has 1 replica" in found["message"]
    assert check(document, "OtherAutoscalers")["state"] == "Warn"


def test_s8_a_pause_with_reason_and_expiry_that_restores_what_was(
    cluster: WorkCluster, control_plane: ControlPlane, where: tuple[object, ...], policy: Path
) -> None:
    """The group is held until the instant; released, the target is byte for byte as before but for its version and status."""
    command_line = CommandLine(control_plane.kubeconfig)
    cluster.until_quiet()
    (target,) = cluster.api.items(cluster.path("machinedeployments"))
    before = {**target, "metadata": {**target["metadata"], "resourceVersion": "", "managedFields": []}, "status": {}}
    command_line.done("hold", "general", "--reason", "changing the pool", "--until", "1h", "--policy", policy)
    (line,) = command_line.json("plan", *where, "--no-settled")["groups"]
    assert line["held"], (line, cluster.api.get(path_of(target))["metadata"])
    assert any("changing the pool" in reason["message"] for reason in line["reasons"])
    command_line.done("hold", "general", "--release", "--policy", policy)
    after = cluster.api.get(path_of(target))
    assert {**after, "metadata": {**after["metadata"], "resourceVersion": "", "managedFields": []}, "status": {}} == before


def test_s10_rights_are_checked_beforehand(cluster: WorkCluster, control_plane: ControlPlane, where: tuple[object, ...]) -> None:
    """Who may only read passes for ReadOnly; for Enforce every missing right is named, and the exit code says so."""
    kubeconfig = reader(control_plane, "s10")
    assert check(doctor(kubeconfig, *where, "--mode", "ReadOnly"), "Rights")["state"] == "Pass"
    result = CommandLine(kubeconfig).run("doctor", *where, "--mode", "Enforce")
    text = " ".join(result.stdout.split())
    assert result.return_value == 1
    for right in ("create pods/eviction", "patch nodes", f"create, update leases.coordination.k8s.io in namespace {NAMESPACE}"):
        assert right in text


def test_s50_the_range_of_supported_versions_is_said(
    cluster: WorkCluster, control_plane: ControlPlane, where: tuple[object, ...]
) -> None:
    """The server of the tests is within it, and its version is named."""
    found = check(doctor(control_plane.kubeconfig, *where), "ServerVersion")
    version = cluster.api.get("/version")["gitVersion"]
    assert found["state"] == "Pass"
    assert f"Kubernetes {version}, and 1.30 to 1.37 are supported" in found["message"]


def test_s114_a_plan_needs_no_right_to_write(
    cluster: WorkCluster, control_plane: ControlPlane, where: tuple[object, ...]
) -> None:
    """Plan and drain report of a user who may only read: which nodes can go, and not one write, refused or not."""
    command_line = CommandLine(reader(control_plane, "s114"))
    (node,) = cluster.nodes()
    assert command_line.json("plan", *where, "--no-settled")["notCaptured"] == []
    assert node["metadata"]["name"] in command_line.done("drain-report", *where).stdout
    assert control_plane.audit("s114") == []


def test_s124_templates_that_cannot_be_read_are_named(
    cluster: WorkCluster, control_plane: ControlPlane, where: tuple[object, ...]
) -> None:
    """Who may read everything but the infrastructure templates is told of them by name, and what they are for."""
    everything = ("", "apps", "batch", "policy", "scheduling.k8s.io", "storage.k8s.io", "coordination.k8s.io", "cluster.x-k8s.io")
    everything += ("resource.k8s.io", "node.k8s.io")
    result = CommandLine(reader(control_plane, "s124", *everything)).run("doctor", *where, "--mode", "ReadOnly", "-o", "json")
    document = json.loads(result.stdout)
    found = check(document, "Rights")
    assert (found["state"], result.return_value) == ("Warn", 0)
    assert (
        f"simmachinetemplates.{MACHINE_TEMPLATE.group} in namespace {NAMESPACE} (for nodes of groups at zero)" in found["message"]
    )
    assert "SimMachineTemplate" in result.stderr


def test_a_clock_that_is_right(cluster: WorkCluster, control_plane: ControlPlane, where: tuple[object, ...]) -> None:
    """Server and command run on one machine: their clocks agree."""
    assert check(doctor(control_plane.kubeconfig, *where), "Clock")["state"] == "Pass"
    server = connect(control_plane.kubeconfig).server_seconds()
    assert server is not None
    assert abs(server - time.time()) < 30
