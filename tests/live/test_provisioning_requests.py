"""ProvisioningRequests on a real API server, with their own definition: all or nothing, kept, and taken by the pods that come."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.live import device_driver
from tests.live.reconciler_process import Reconciler, policy_text, user
from tests.live.run_cluster import Object, all_bound, group, pod_spec, pods, replicas
from tests.live.test_devices import DEVICES
from tests.testbed.api import ApiError
from tests.testbed.control_plane import ControlPlane
from tests.testbed.definitions import served_kinds
from tests.testbed.fixtures import NewCluster
from tests.testbed.manifests import provisioning_request_definition
from tests.testbed.work_cluster import WorkCluster

GROUP = "autoscaling.x-k8s.io"
CHECK, GROW = "check-capacity.autoscaling.x-k8s.io", "best-effort-atomic-scale-up.reconciler.dev"
CPU = "1500m"
"""Two such pods run on a node of 4 CPUs."""


@pytest.fixture(scope="module")
def served(control_plane: ControlPlane) -> Iterator[None]:
    """A server with the kind."""
    with served_kinds(control_plane, provisioning_request_definition()):
        yield


def _request(cluster: WorkCluster, name: str, count: int, class_name: str = GROW, **parameters: str) -> Object:
    metadata = {"name": name, "namespace": cluster.namespace}
    sets = [{"count": count, "podTemplateRef": {"name": "small"}}]
    spec = {"provisioningClassName": class_name, "podSets": sets, "parameters": parameters}
    return {"apiVersion": f"{GROUP}/v1", "kind": "ProvisioningRequest", "metadata": metadata, "spec": spec}


def _template(cluster: WorkCluster, spec: Object | None = None) -> Object:
    metadata = {"name": "small", "namespace": cluster.namespace}
    template = {"metadata": {"labels": {"app": "small"}}, "spec": spec or pod_spec(cluster, CPU)}
    return {"apiVersion": "v1", "kind": "PodTemplate", "metadata": metadata, "template": template}


def _path(cluster: WorkCluster) -> str:
    return f"/apis/{GROUP}/v1/namespaces/{cluster.namespace}/provisioningrequests"


def _conditions(item: Object) -> dict[str, tuple[str, str]]:
    return {one["type"]: (one["status"], one["reason"]) for one in item.get("status", {}).get("conditions", ())}


def _until(cluster: WorkCluster, name: str, kind: str, said: tuple[str, str]) -> Object:
    """The request once it says so."""

    def says(items: list[Object]) -> bool:
        (item,) = (one for one in items if one["metadata"]["name"] == name)
        return _conditions(item).get(kind) == said

    items = cluster.api.wait(_path(cluster), says, f"{name} being {kind} {said}")
    return next(one for one in items if one["metadata"]["name"] == name)


def _line(name: str) -> Callable[[Object], Object]:
    return lambda plan: next(line for line in plan["provisioningRequests"] if line["request"].endswith(f"/{name}"))


@pytest.mark.usefixtures("served")
def test_room_comes_for_all_or_none_and_pods_take_it(
    new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path
) -> None:
    """Of two requests, the older needs more nodes than may be: it gets none. Three pods of the other get two nodes, whose room is
    kept until the pods run. A check of as many finds none after that, and another program's request stays as it is."""
    cluster = new_cluster()
    group(cluster, "general")
    cluster.api.create(_template(cluster))
    theirs = cluster.api.create(_request(cluster, "theirs", 1, CHECK))[0]
    told = {"conditions": [{
        "type": "Accepted", "status": "True", "reason": "Theirs", "message": "", "lastTransitionTime": "2026-11-21T00:00:00Z",
    }]}  # fmt: skip
    path = f"{_path(cluster)}/theirs/status?fieldManager=cluster-autoscaler"
    cluster.api.call("PATCH", path, {"status": told}, "application/merge-patch+json")
    assert theirs["kind"] == "ProvisioningRequest"
    cluster.api.create(_request(cluster, "huge", 9))
    file = tmp_path / "policy.yaml"
    text = policy_text("prod", cluster.namespace, {"general": (0, 3)}, unneeded="0s")
    file.write_text(text.replace("  mode: Enforce\n", "  mode: Enforce\n  requestsFrom: {provisioningRequests: Read}\n"))
    with Reconciler(user(control_plane, "run-requests"), file, f"--namespace={cluster.namespace}", "--period=1") as process:
        item = _until(cluster, "huge", "Provisioned", ("False", "CapacityIsNotFound"))
        assert _conditions(item)["Accepted"] == ("True", "Accepted")
        assert replicas(cluster, "general") == 0

        cluster.api.create(_request(cluster, "train", 3))
        resized = process.said("Resize")
        assert f"3 pods of ProvisioningRequest {cluster.namespace}/train need 2 nodes more" in resized["message"]
        item = _until(cluster, "train", "Provisioned", ("True", "CapacityIsProvisioned"))
        ready = [
            one
            for node in cluster.nodes()
            for one in node["status"]["conditions"]
            if one["type"] == "Ready" and one["status"] == "True"
        ]
        assert (len(ready), replicas(cluster, "general")) == (2, 2)
        assert all(one["observedGeneration"] == item["metadata"]["generation"] for one in item["status"]["conditions"])

        cluster.api.create(_request(cluster, "check", 2, CHECK))
        _until(cluster, "check", "Provisioned", ("False", "CapacityIsNotFound"))
        plan = process.plan(lambda plan: not plan["actions"] and _line("check")(plan)["state"] == "Short")
        assert (_line("train")(plan)["state"], _line("train")(plan)["fits"]) == ("Provisioned", 3)
        assert _line("theirs")(plan)["reasons"][0]["code"] == "RequestAnswered"

        marks = {f"{GROUP}/consume-provisioning-request": "train"}
        pods(cluster, "worker", 3, CPU, annotations=marks)
        all_bound(cluster, 3)
        item = _until(cluster, "train", "BookingExpired", ("True", "CapacityBookingConsumed"))
        assert _conditions(item)["Provisioned"] == ("True", "CapacityIsProvisioned")
        assert replicas(cluster, "general") == 2
    left = cluster.api.get(f"{_path(cluster)}/theirs")
    assert left["status"] == told


@pytest.mark.usefixtures("served")
def test_room_for_pods_with_claims(new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path) -> None:
    """Nodes of 4 devices, of which a DaemonSet takes one. 7 pods of one device each need 3 nodes; 2 would do without it. There is
    room once the drivers have come. The pods, whose claims are made only then, take it, and no node more is asked for."""
    cluster = new_cluster()
    group(cluster, "h100")
    with device_driver.device_class(cluster):
        device_driver.claim_template(cluster, "one", device_driver.exactly(cluster, "h100"))
        device_driver.claiming_daemon_set(cluster, "agent", "one")
        spec = device_driver.claiming(pod_spec(cluster, "100m"), "one")
        cluster.api.create(_template(cluster, spec), _request(cluster, "train", 7))
        file = tmp_path / "policy.yaml"
        text = policy_text("prod", cluster.namespace, {"h100": (0, 6)}, unneeded="0s")
        text = text.replace("  mode: Enforce\n", "  mode: Enforce\n  requestsFrom: {provisioningRequests: Read}\n")
        file.write_text(text + DEVICES.replace("count: 2", "count: 4"))
        account = user(control_plane, "run-requests-devices")
        with Reconciler(account, file, f"--namespace={cluster.namespace}", "--period=1") as process:
            resized = process.said("Resize")
            assert f"7 pods of ProvisioningRequest {cluster.namespace}/train need 3 nodes more" in resized["message"]
            cluster.until_nodes(3)
            plan = process.plan(lambda plan: _line("train")(plan)["upcoming"] == 7)
            assert _line("train")(plan)["fits"] == 0
            assert len(device_driver.publish(cluster, lambda _: device_driver.gpus("gpu", "h100", 4))) == 3
            _until(cluster, "train", "Provisioned", ("True", "CapacityIsProvisioned"))
            marks = {f"{GROUP}/consume-provisioning-request": "train"}
            for number in range(7):
                metadata = {"name": f"worker-{number}", "namespace": cluster.namespace, "annotations": marks}
                cluster.api.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
            # With the three of the DaemonSet.
            all_bound(cluster, 10)
            _until(cluster, "train", "BookingExpired", ("True", "CapacityBookingConsumed"))
            assert replicas(cluster, "h100") == 3


@pytest.mark.usefixtures("served")
def test_what_is_given_up(new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path) -> None:
    """A check that is not to be repeated, and a request that was valid for no time."""
    cluster = new_cluster()
    group(cluster, "general")
    cluster.api.create(_template(cluster), _request(cluster, "once", 1, CHECK, noRetry="true"))
    cluster.api.create(_request(cluster, "late", 1, ValidUntilSeconds="0"))
    file = tmp_path / "policy.yaml"
    text = policy_text("prod", cluster.namespace, {"general": (0, 3)})
    file.write_text(text.replace("  mode: Enforce\n", "  mode: Enforce\n  requestsFrom: {provisioningRequests: Read}\n"))
    with Reconciler(user(control_plane, "run-requests-2"), file, f"--namespace={cluster.namespace}", "--period=1"):
        _until(cluster, "once", "Failed", ("True", "CapacityIsNotFound"))
        _until(cluster, "late", "Failed", ("True", "Expired"))
    assert replicas(cluster, "general") == 0


@pytest.mark.usefixtures("served")
def test_what_the_definition_refuses_is_what_we_refuse(new_cluster: NewCluster) -> None:
    """No set, and a set without pods."""
    cluster = new_cluster()
    none, empty = _request(cluster, "bad", 1), _request(cluster, "bad", 0)
    none["spec"]["podSets"] = []
    for bad in (none, empty):
        with pytest.raises(ApiError) as refused:
            cluster.api.create(bad)
        assert refused.value.status == 422
