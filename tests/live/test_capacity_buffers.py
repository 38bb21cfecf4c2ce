"""CapacityBuffers on a real API server, with their own definition: nodes come, pods take the room, and it is filled again."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.reconciler_process import Reconciler, policy_text, user
from tests.live.run_cluster import Object, all_bound, group, pod_spec, pods, replicas
from tests.testbed.api import ApiError
from tests.testbed.control_plane import ControlPlane
from tests.testbed.definitions import served_kinds
from tests.testbed.fixtures import NewCluster
from tests.testbed.manifests import capacity_buffer_definition
from tests.testbed.work_cluster import WorkCluster

GROUP = "autoscaling.x-k8s.io"
CPU = "1500m"
"""Two such pods run on a node of 4 CPUs."""


@pytest.fixture(scope="module")
def served(control_plane: ControlPlane) -> Iterator[None]:
    """A server with the kind."""
    with served_kinds(control_plane, capacity_buffer_definition()):
        yield


def _buffer(cluster: WorkCluster, name: str, **spec: object) -> Object:
    metadata = {"name": name, "namespace": cluster.namespace}
    return {"apiVersion": f"{GROUP}/v1beta1", "kind": "CapacityBuffer", "metadata": metadata, "spec": spec}


def _template(cluster: WorkCluster) -> Object:
    metadata = {"name": "small", "namespace": cluster.namespace}
    template = {"metadata": {"labels": {"app": "small"}}, "spec": pod_spec(cluster, CPU)}
    return {"apiVersion": "v1", "kind": "PodTemplate", "metadata": metadata, "template": template}


def _path(cluster: WorkCluster) -> str:
    return f"/apis/{GROUP}/v1beta1/namespaces/{cluster.namespace}/capacitybuffers"


def _conditions(item: Object) -> dict[str, tuple[str, str]]:
    return {one["type"]: (one["status"], one["reason"]) for one in item.get("status", {}).get("conditions", ())}


def _until(cluster: WorkCluster, name: str, provisioning: tuple[str, str], count: int) -> Object:
    """The buffer once it says so."""

    def says(items: list[Object]) -> bool:
        (item,) = (one for one in items if one["metadata"]["name"] == name)
        return _conditions(item).get("Provisioning") == provisioning and item["status"].get("replicas") == count

    items = cluster.api.wait(_path(cluster), says, f"{name} being {provisioning[1]} with {count} pods")
    return next(one for one in items if one["metadata"]["name"] == name)


@pytest.mark.usefixtures("served")
def test_room_comes_is_taken_and_is_filled_again(new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path) -> None:
    """Room for three pods is two nodes. Two pods start there at once, and their room and the three make three nodes. A quota
    that the two pods use up leaves no room to ask for. Another program's buffer stays as it is."""
    cluster = new_cluster()
    group(cluster, "general")
    theirs = _buffer(cluster, "theirs", podTemplateRef={"name": "small"}, replicas=9)
    cluster.api.create(_template(cluster), theirs)
    told = {"conditions": [{
        "type": "Provisioning", "status": "True", "reason": "Theirs", "message": "", "lastTransitionTime": "2026-11-21T00:00:00Z",
    }]}  # fmt: skip
    path = f"{_path(cluster)}/theirs/status?fieldManager=cluster-autoscaler"
    cluster.api.call("PATCH", path, {"status": told}, "application/merge-patch+json")
    cluster.api.create(_buffer(cluster, "spare", podTemplateRef={"name": "small"}, replicas=3))
    file = tmp_path / "policy.yaml"
    text = policy_text("prod", cluster.namespace, {"general": (0, 9)}, unneeded="0s")
    file.write_text(text.replace("  mode: Enforce\n", "  mode: Enforce\n  headroomFrom: {capacityBuffers: Read}\n"))
    with Reconciler(user(control_plane, "run-buffers"), file, f"--namespace={cluster.namespace}", "--period=1") as process:
        resized = process.said("Resize")
        assert f"CapacityBuffer {cluster.namespace}/spare" in resized["message"]
        item = _until(cluster, "spare", ("True", "FitsExistingCapacity"), 3)
        assert replicas(cluster, "general") == 2
        assert item["status"]["podTemplateRef"] == {"name": "small"}
        assert item["status"]["podTemplateGeneration"] == 0 or item["status"]["podTemplateGeneration"] == 1
        assert _conditions(item)["ReadyForProvisioning"] == ("True", "Resolved")
        assert all(one["observedGeneration"] == item["metadata"]["generation"] for one in item["status"]["conditions"])

        nodes = {node["metadata"]["name"] for node in cluster.nodes()}
        pods(cluster, "web", 2, CPU)
        bound = all_bound(cluster, 2)
        assert {pod["spec"]["nodeName"] for pod in bound} <= nodes
        cluster.until_nodes(3)
        _until(cluster, "spare", ("True", "FitsExistingCapacity"), 3)
        plan = process.plan(lambda plan: not plan["actions"] and plan["groups"][0]["current"] == 3)
        lines = {line["buffer"].partition("/")[2]: line for line in plan["buffers"]}
        assert (lines["spare"]["state"], lines["spare"]["fits"]) == ("Fits", 3)
        assert (lines["theirs"]["state"], lines["theirs"]["reasons"][0]["code"]) == ("Ignored", "BufferAnswered")

        metadata = {"name": "team", "namespace": cluster.namespace}
        quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": {"requests.cpu": "4"}}}
        cluster.api.create(quota)
        item = _until(cluster, "spare", ("True", "BufferEmpty"), 0)
        assert _conditions(item)["LimitedByQuotas"] == ("True", "ResourceQuotasAllocated")
        cluster.until_nodes(2)
    left = cluster.api.get(f"{_path(cluster)}/theirs")
    assert left["status"] == told


@pytest.mark.usefixtures("served")
def test_what_the_definition_refuses_is_what_we_refuse(new_cluster: NewCluster) -> None:
    """Neither replicas nor limits for a template; a template and a scalable object at once."""
    cluster = new_cluster()
    scalable = {"apiGroup": "apps", "kind": "Deployment", "name": "web"}
    for spec in (
        {"podTemplateRef": {"name": "small"}},
        {"podTemplateRef": {"name": "small"}, "scalableRef": scalable, "replicas": 1},
    ):
        with pytest.raises(ApiError) as refused:
            cluster.api.create(_buffer(cluster, "bad", **spec))
        assert refused.value.status == 422
