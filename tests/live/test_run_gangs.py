"""PodGroups under a running loop: nodes are bought for a whole gang or for none, and drains keep its minimum."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.demand import HealthWatcher, until_running
from tests.live.reconciler_process import Reconciler, policy_text, user
from tests.live.run_cluster import Object, group, pod_spec, replicas
from tests.testbed import progress
from tests.testbed.cluster_api import ClusterApi
from tests.testbed.control_plane import ControlPlane, running_control_plane
from tests.testbed.missing import not_run
from tests.testbed.toolchain import NotAvailableError
from tests.testbed.work_cluster import WorkCluster

API = "scheduling.k8s.io/v1alpha2"


@pytest.fixture(scope="module")
def plane(request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """A control plane of its own with pod groups, and Cluster API on it."""
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        progress.write_to(sys.stderr)
        try:
            context = running_control_plane(("GenericWorkload", "GangScheduling"), (API,))
            plane = context.__enter__()
            running = ClusterApi(plane)
            running.start()
        except NotAvailableError as error:
            not_run("testbed", str(error))
    yield plane
    running.stop()
    context.__exit__(None, None, None)


@pytest.fixture
def cluster(plane: ControlPlane, request: pytest.FixtureRequest) -> Iterator[WorkCluster]:
    """A cluster of this test."""
    made = WorkCluster(plane.api, request.node.name.removeprefix("test_").replace("_", "-"))
    yield made
    made.delete()


def _gang(cluster: WorkCluster, name: str, pods: int, least: int, cpu: str, zone: str = "") -> None:
    """A Deployment whose pods are a PodGroup."""
    metadata = {"name": name, "namespace": cluster.namespace}
    policy = {"gang": {"minCount": least}}
    selector = {"topology.kubernetes.io/zone": zone} if zone else {}
    spec: Object = pod_spec(cluster, cpu, **selector) | {"schedulingGroup": {"podGroupName": name}}
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": spec}
    cluster.api.create(
        {"apiVersion": API, "kind": "PodGroup", "metadata": metadata, "spec": {"schedulingPolicy": policy}},
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": metadata,
            "spec": {"replicas": pods, "selector": {"matchLabels": labels}, "template": template},
        },
    )


def test_a_gang_gets_all_its_nodes_or_none(cluster: WorkCluster, plane: ControlPlane, tmp_path: Path) -> None:
    """Of three nodes at most, a gang of four gets none, and one of three gets all."""
    group(cluster, "general")
    _gang(cluster, "four", 4, 4, "3")
    file = tmp_path / "policy.yaml"
    file.write_text(policy_text("prod", cluster.namespace, {"general": (0, 3)}))
    with Reconciler(user(plane, "run-gangs"), file, f"--namespace={cluster.namespace}", "--period=1") as process:
        process.plan(lambda plan: _codes(plan) == ["GangIncomplete"] * 4)
        turns = process.turns()
        process.until_page("/metrics", lambda *_: process.turns() >= turns + 3)
        assert replicas(cluster, "general") == 0
        _gang(cluster, "three", 3, 3, "3")

        def bound(items: list[Object]) -> bool:
            return sum(bool(one["spec"].get("nodeName")) for one in items) == 3

        items = plane.api.wait(f"/api/v1/namespaces/{cluster.namespace}/pods", bound, "the pods of three being bound")
        assert {one["metadata"]["labels"]["app"] for one in items if one["spec"].get("nodeName")} == {"three"}
        process.plan(lambda plan: plan["groups"][0]["current"] == 3 and not plan["actions"])
        assert [line["group"] for line in process.lines if line["code"] == "Resize"] == ["general"]


def test_drains_keep_the_minimum(cluster: WorkCluster, plane: ControlPlane, tmp_path: Path) -> None:
    """One gang may miss a pod and moves together on one node; the other needs all three, which stay where they are."""
    for zone in ("loose", "tight"):
        group(cluster, zone, 3, zone=zone)
    cluster.until_nodes(6)
    _gang(cluster, "loose", 3, 2, "500m", "loose")
    _gang(cluster, "tight", 3, 3, "500m", "tight")
    until_running(cluster, 6)
    before = _places(cluster, "tight")
    file = tmp_path / "policy.yaml"
    file.write_text(policy_text("prod", cluster.namespace, {"loose": (0, 3), "tight": (0, 3)}, unneeded="0s"))
    with (
        HealthWatcher(cluster) as watcher,
        Reconciler(user(plane, "run-keeps"), file, f"--namespace={cluster.namespace}", "--period=1") as process,
    ):
        plan = process.plan(lambda plan: plan["groups"][0]["current"] == 1 and not plan["actions"])
        until_running(cluster, 6)
    kept = {line["node"]: [one["code"] for one in line["blockers"]] for line in plan["nodes"]}
    assert all(kept[node] == ["GangMinimum"] for node in before.values())
    assert _places(cluster, "tight") == before
    assert watcher.fewest >= 5


def _codes(plan: Object) -> list[str]:
    return [line["reasons"][0]["code"] for line in plan["pods"]]


def _places(cluster: WorkCluster, app: str) -> dict[str, str]:
    """The node of each pod of a gang."""
    items = cluster.api.items(f"/api/v1/namespaces/{cluster.namespace}/pods")
    return {
        one["metadata"]["name"]: one["spec"]["nodeName"]
        for one in items
        if one["metadata"]["labels"]["app"] == app and one["spec"].get("nodeName")
    }
