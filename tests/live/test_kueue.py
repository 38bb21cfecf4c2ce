"""Kueue admits a Job once this loop has made the room that its ProvisioningRequest asks for, and gives up what gets none."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.reconciler_process import Reconciler, policy_text, user
from tests.live.run_cluster import Object, group, pod_spec, replicas
from tests.testbed.control_plane import ControlPlane
from tests.testbed.fixtures import NewCluster
from tests.testbed.kueue import GROUP, Kueue, skip_unless_built
from tests.testbed.work_cluster import WorkCluster

CPU = "1500m"
"""Two such pods run on a node of 4 CPUs."""
CHECK = "kueue.x-k8s.io/provisioning-request"


@pytest.fixture(scope="module")
def kueue(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kueue]:
    """Kueue with a queue for as many CPUs as anybody wants, whose jobs need a ProvisioningRequest."""
    skip_unless_built()
    started = Kueue(control_plane, tmp_path_factory.mktemp("kueue"))
    try:
        started.start()
        started.api.create(
            _object("ResourceFlavor", "any"),
            _object("ProvisioningRequestConfig", "room", {
                "provisioningClassName": "best-effort-atomic-scale-up.reconciler.dev",
                "retryStrategy": {"backoffLimitCount": 1, "backoffBaseSeconds": 1, "backoffMaxSeconds": 1},
            }),
            _object("AdmissionCheck", "room", {
                "controllerName": CHECK,
                "parameters": {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": "room"},
            }),
            _object("ClusterQueue", "all", {
                "namespaceSelector": {},
                "admissionChecksStrategy": {"admissionChecks": [{"name": "room"}]},
                "resourceGroups": [{
                    "coveredResources": ["cpu"],
                    "flavors": [{"name": "any", "resources": [{"name": "cpu", "nominalQuota": "100"}]}],
                }],
            }),
        )  # fmt: skip
        yield started
    finally:
        started.stop()


def _object(kind: str, name: str, spec: Object | None = None, namespace: str = "") -> Object:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": GROUP, "kind": kind, "metadata": metadata, "spec": spec or {}}


def _job(cluster: WorkCluster, name: str, pods: int, **selector: str) -> Object:
    metadata = {"name": name, "namespace": cluster.namespace, "labels": {"kueue.x-k8s.io/queue-name": "team"}}
    template = {"spec": {**pod_spec(cluster, CPU, **selector), "restartPolicy": "Never"}}
    spec = {"suspend": True, "parallelism": pods, "completions": pods, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def _requests(cluster: WorkCluster) -> str:
    return f"/apis/autoscaling.x-k8s.io/v1/namespaces/{cluster.namespace}/provisioningrequests"


def _holds(item: Object, kind: str) -> bool:
    return any(one["type"] == kind and one["status"] == "True" for one in item.get("status", {}).get("conditions", ()))


def _policy(cluster: WorkCluster, file: Path) -> Path:
    text = policy_text("prod", cluster.namespace, {"general": (0, 9)})
    file.write_text(text.replace("  mode: Enforce\n", "  mode: Enforce\n  requestsFrom: {provisioningRequests: Read}\n"))
    return file


def test_a_job_is_admitted_when_its_nodes_are_ready(
    new_cluster: NewCluster, control_plane: ControlPlane, kueue: Kueue, tmp_path: Path
) -> None:
    """Three pods are two nodes. The Job starts once both are ready, its pods take the room, and the request is over."""
    cluster = new_cluster()
    group(cluster, "general")
    api, namespace = cluster.api, cluster.namespace
    api.create(_object("LocalQueue", "team", {"clusterQueue": "all"}, namespace))
    api.create(_job(cluster, "train", 3))
    with Reconciler(
        user(control_plane, "run-kueue"), _policy(cluster, tmp_path / "policy.yaml"), f"--namespace={namespace}", "--period=1"
    ) as process:
        try:
            jobs = api.wait(
                f"/apis/batch/v1/namespaces/{namespace}/jobs",
                lambda items: bool(items[0].get("status", {}).get("startTime")),
                "the Job being admitted",
                120,
            )
        except TimeoutError as error:
            error.add_note(kueue.diagnosis())
            raise
        resized = process.said("Resize")["message"]
        ready = [
            one["lastTransitionTime"]
            for node in cluster.nodes()
            for one in node["status"]["conditions"]
            if (one["type"], one["status"]) == ("Ready", "True")
        ]
        assert len(ready) == 2
        assert max(ready) <= jobs[0]["status"]["startTime"]
        # The pods of Jobs complete at once here. Then Kueue deletes the request, unless the booking ends before that.
        api.wait(_requests(cluster), lambda items: all(_holds(one, "BookingExpired") for one in items), "the booking being over")
        pods = api.get(f"/api/v1/namespaces/{namespace}/pods")["items"]
        consumed = {pod["metadata"]["annotations"]["autoscaling.x-k8s.io/consume-provisioning-request"] for pod in pods}
        assert len(pods) == 3
        (name,) = consumed
        assert f"3 pods of ProvisioningRequest {namespace}/{name} need 2 nodes more" in resized
        assert replicas(cluster, "general") == 2


def test_a_job_that_no_group_can_run_gives_its_quota_back(
    new_cluster: NewCluster, control_plane: ControlPlane, kueue: Kueue, tmp_path: Path
) -> None:
    """Its request fails. Kueue tries once more, as it is told to, and then deactivates the workload."""
    cluster = new_cluster()
    group(cluster, "general")
    api, namespace = cluster.api, cluster.namespace
    api.create(_object("LocalQueue", "team", {"clusterQueue": "all"}, namespace))
    api.create(_job(cluster, "nowhere", 1, pool="none"))
    with Reconciler(
        user(control_plane, "run-kueue-2"), _policy(cluster, tmp_path / "policy.yaml"), f"--namespace={namespace}", "--period=1"
    ):
        workloads = f"/apis/{GROUP}/namespaces/{namespace}/workloads"
        try:
            (workload,) = api.wait(
                workloads,
                lambda items: any(one["spec"].get("active") is False and not _holds(one, "QuotaReserved") for one in items),
                "the workload being deactivated without its quota",
                120,
            )
        except TimeoutError as error:
            error.add_note(kueue.diagnosis())
            raise
    # By then Kueue has deleted the requests. It rejects its check for one reason only: a request failed for the last time.
    evicted = [one["reason"] for one in workload["status"]["conditions"] if (one["type"], one["status"]) == ("Evicted", "True")]
    assert len(evicted) == 1
    assert "AdmissionCheck" in evicted[0], workload["status"]
    assert replicas(cluster, "general") == 0
