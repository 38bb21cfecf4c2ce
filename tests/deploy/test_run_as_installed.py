"""`reconciler run` as the service account of the shipped manifests: no request that it makes is refused."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.deploy.installed import ACCOUNT, ACCOUNT_GROUPS, NAMESPACE, Installed
from tests.live.reconciler_process import Reconciler, policy_text
from tests.testbed.api import Api, ApiError, Object
from tests.testbed.audit import Request
from tests.testbed.cluster_api import ClusterApi
from tests.testbed.cluster_documents import Group, Shape
from tests.testbed.fixtures import NewCluster
from tests.testbed.stand_in.kinds import MACHINE_TEMPLATE
from tests.testbed.work_cluster import WorkCluster

TEMPLATES: Object = {
    "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
    "metadata": {"name": "sim-templates", "labels": {"reconciler.dev/aggregate-to-templates-read": "true"}},
    "rules": [{"apiGroups": [MACHINE_TEMPLATE.group], "resources": [MACHINE_TEMPLATE.plural], "verbs": ["get", "list", "watch"]}],
}  # fmt: skip
# Questions, which store nothing.
REVIEWS = {"tokenreviews", "subjectaccessreviews", "selfsubjectaccessreviews"}


@pytest.fixture
def kubeconfig(cluster_api: ClusterApi, request: pytest.FixtureRequest) -> Iterator[Path]:
    """That of our service account under the overlay that the test names."""
    plane = cluster_api.plane
    installed = Installed(plane, request.param)
    plane.api.create(TEMPLATES)
    if request.param == "enforce":
        installed.wait_for_policies()
    user = installed.user()
    path = f"{MACHINE_TEMPLATE.path}?limit=1"
    plane.api.wait("/api/v1/namespaces", lambda _: readable(user, path), "the rights being in force")
    yield plane.kubeconfig_of(ACCOUNT, *ACCOUNT_GROUPS)
    plane.api.delete(TEMPLATES)
    installed.remove()


def readable(user: Api, path: str) -> bool:
    try:
        user.get(path)
    except ApiError:
        return False
    return True


def since(cluster_api: ClusterApi, before: int) -> list[Request]:
    return cluster_api.plane.audit(ACCOUNT, mutating=False)[before:]


def refused(requests: list[Request]) -> list[Request]:
    """Denied by RBAC, or by an admission policy."""
    return [one for one in requests if one.code in (401, 403, 422)]


def pods(cluster: WorkCluster) -> list[Object]:
    spec = {"nodeSelector": {"test": cluster.namespace}}
    container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": "3"}}}
    return [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": cluster.namespace}}
        | {"spec": {**spec, "containers": [container]}}
        for name in ("a", "b")
    ]


def demand(cluster: WorkCluster) -> list[Object]:
    """Two pods that need a node each, of a group that has none."""
    labels = {"capacity.cluster-autoscaler.kubernetes.io/labels": f"test={cluster.namespace}"}
    cluster.machine_deployment(Group("general", replicas=0, annotations=labels), Shape(labels={"test": cluster.namespace}))
    return cluster.api.create(*pods(cluster))


@pytest.mark.parametrize("kubeconfig", ["enforce"], indirect=True)
def test_a_rise_and_a_fall_with_the_rights_of_enforce(
    kubeconfig: Path, cluster_api: ClusterApi, new_cluster: NewCluster, tmp_path: Path
) -> None:
    """Nodes come, are drained and go again; everything that was asked for was allowed, and it was these writes."""
    cluster, before = new_cluster(), len(cluster_api.plane.audit(ACCOUNT, mutating=False))
    waiting = demand(cluster)
    (tmp_path / "policy.yaml").write_text(policy_text("rise", cluster.namespace, {"general": (0, 5)}, unneeded="0s"))
    with Reconciler(kubeconfig, tmp_path, f"--namespace={NAMESPACE}", "--period=1") as process:
        path = f"/api/v1/namespaces/{cluster.namespace}/pods"
        cluster.api.wait(path, lambda items: all(one["spec"].get("nodeName") for one in items), "the pods being bound")
        for pod in waiting:
            cluster.api.delete(pod)
        cluster.api.wait(cluster.path("machines"), lambda items: not items, "the machines being gone", 600)
        process.signal(signal.SIGTERM)
        assert process.ended() == 0
    requests = since(cluster_api, before)
    assert refused(requests) == []
    written = {(one.verb, one.resource) for one in requests if one.body is not None} - {("create", item) for item in REVIEWS}
    assert written >= {
        ("patch", "machinedeployments"), ("patch", "machines"), ("patch", "nodes"), ("create", "leases"), ("update", "leases"),
        ("create", "configmaps"), ("update", "configmaps"), ("create", "events"),
    }  # fmt: skip


@pytest.mark.parametrize("kubeconfig", ["read-only"], indirect=True)
def test_a_plan_with_the_rights_of_read_only(
    kubeconfig: Path, cluster_api: ClusterApi, new_cluster: NewCluster, tmp_path: Path
) -> None:
    """One turn decides on the whole view, writes nothing, and nothing that it reads is refused."""
    cluster, before = new_cluster(), len(cluster_api.plane.audit(ACCOUNT, mutating=False))
    demand(cluster)
    (tmp_path / "policy.yaml").write_text(policy_text("look", cluster.namespace, {"general": (0, 5)}))
    with Reconciler(kubeconfig, tmp_path, f"--namespace={NAMESPACE}", "--read-only", "--once") as process:
        assert process.ended() == 0, process.lines
    requests = since(cluster_api, before)
    assert refused(requests) == []
    assert {"pods", "nodes", "machinedeployments", "machines", "clusters"} <= {one.resource for one in requests}
    assert [one for one in requests if one.verb not in ("get", "list", "watch") and one.resource not in REVIEWS] == []


@pytest.mark.parametrize("kubeconfig", ["observe"], indirect=True)
def test_custom_resources_with_the_rights_of_observe(kubeconfig: Path, cluster_api: ClusterApi, new_cluster: NewCluster) -> None:
    """The policy is read from the API server and its status, state and Lease are written; nothing asked for is refused."""
    cluster, before = new_cluster(), len(cluster_api.plane.audit(ACCOUNT, mutating=False))
    cluster.machine_deployment(Group("general", replicas=0), Shape(labels={"test": cluster.namespace}))
    objects = list(yaml.safe_load_all(policy_text("seen", cluster.namespace, {"general": (0, 5)}, mode="Observe")))
    objects[0]["spec"]["groupNamespaces"] = [{"name": cluster.namespace}]
    paths = []
    for item in objects:
        namespace = item["metadata"].get("namespace")
        top = f"/apis/{item['apiVersion']}" + (f"/namespaces/{namespace}" if namespace else "")
        paths.append(f"{top}/{'nodegroups' if namespace else 'nodegrouppolicies'}")
        cluster.api.call("POST", paths[-1], item)
    arguments = ("--custom-resources", "--name=seen", f"--namespace={NAMESPACE}", "--period=1")
    with Reconciler(kubeconfig, None, *arguments) as process:
        for path in paths:
            cluster.api.wait(path, lambda items: all(ready(one) for one in items), "the status being written")
        process.signal(signal.SIGTERM)
        assert process.ended() == 0
    requests = since(cluster_api, before)
    assert refused(requests) == []
    written = {(one.verb, one.resource) for one in requests if one.body is not None} - {("create", item) for item in REVIEWS}
    assert written >= {("patch", "nodegroups/status"), ("patch", "nodegrouppolicies/status"), ("create", "configmaps")}
    assert {resource for _, resource in written} <= {
        "nodegroups/status", "nodegrouppolicies/status", "configmaps", "leases", "events",
    }  # fmt: skip
    for item, path in zip(objects, paths, strict=True):
        cluster.api.call("DELETE", f"{path}/{item['metadata']['name']}")


def ready(item: Object) -> bool:
    return any(one["type"] == "Ready" and one["status"] == "True" for one in item.get("status", {}).get("conditions", ()))
