"""What the API server lets our service account change on Machines, Nodes and everything else, were it an administrator."""

from collections.abc import Iterator

import pytest

from reconciler.kube.connection.transport import connect
from reconciler.kube.drain import NodeDrain
from tests.deploy.attempt import Attempt, Guarded, Object, deleted, json_patch, merge
from tests.deploy.installed import ACCOUNT, ACCOUNT_GROUPS, NAMESPACE
from tests.live.ownership import NO_NODES
from tests.testbed.api import path_of
from tests.testbed.cluster_api import ClusterApi
from tests.testbed.cluster_documents import Group
from tests.testbed.control_plane import MASTERS, ControlPlane
from tests.testbed.definitions import served_kinds
from tests.testbed.manifests import capacity_buffer_definition, provisioning_request_definition
from tests.testbed.work_cluster import WorkCluster

MARK = "cluster.x-k8s.io/delete-machine"
ONLY_MARK = "only the annotation cluster.x-k8s.io/delete-machine of a Machine may be changed"
FOREIGN_MARK = "a delete mark that somebody else has set may not be changed"
ONLY_TAINT = "only the taint reconciler.dev/deleting of a node may be changed"
NODE_METADATA = "labels, annotations, finalizers and owners of a node may not be changed"
NOTHING_ELSE = "the reconciler writes no objects of this kind"
OUR_TAINT = {"key": "reconciler.dev/deleting", "value": "prod.1795000000", "effect": "NoSchedule"}


@pytest.fixture(scope="module")
def cluster(cluster_api: ClusterApi) -> Iterator[WorkCluster]:
    """One Machine with a node, one that never becomes one."""
    made = WorkCluster(cluster_api.api, "admission-rest")
    made.machine_deployment(Group("noded", replicas=1))
    made.machine_deployment(Group("nodeless", replicas=1), NO_NODES)
    made.api.wait(
        made.path("machines"),
        lambda items: len(items) == 2 and any("nodeRef" in one.get("status", {}) for one in items),
        "one Machine becoming a node",
    )
    yield made
    made.delete()


@pytest.fixture(scope="module")
def machine(cluster: WorkCluster) -> Object:
    """The Machine with a node."""
    return next(one for one in cluster.machines() if "nodeRef" in one.get("status", {}))


@pytest.fixture(scope="module")
def nodeless(cluster: WorkCluster) -> Object:
    """The Machine without."""
    return next(one for one in cluster.machines() if "nodeRef" not in one.get("status", {}))


@pytest.fixture(scope="module")
def node(control_plane: ControlPlane) -> Iterator[Object]:
    """A node of nobody with a taint of somebody."""
    taint = {"key": "example.org/kept", "effect": "NoExecute"}
    body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "admission-node", "labels": {"a": "b"}}}
    (made,) = control_plane.api.create(body | {"spec": {"taints": [taint], "providerID": "sim:///x"}})
    yield made
    control_plane.api.delete(made)


def annotated(**marks: str | None) -> Object:
    return {"metadata": {"annotations": {MARK: marks["mark"]}}}


@pytest.mark.parametrize("value", ["nodegroup-reconciler.prod.g4.r3", None])
def test_our_mark_on_a_machine_may_come_and_go(guarded: Guarded, machine: Object, value: str | None) -> None:
    """Set, and removed where it is ours."""
    guarded.allowed(merge(machine, annotated(mark=value)))


@pytest.mark.parametrize(("change", "why"), [
    (annotated(mark="yes"), FOREIGN_MARK),
    ({"spec": {"version": "v1.35.0"}}, ONLY_MARK),
    ({"spec": {"deletion": {"nodeDrainTimeoutSeconds": 1}}}, ONLY_MARK),
    ({"metadata": {"labels": {"x": "y"}}}, ONLY_MARK),
    ({"metadata": {"annotations": {"x": "y"}}}, ONLY_MARK),
    ({"metadata": {"annotations": {"machine.cluster.x-k8s.io/exclude-node-draining": ""}}}, ONLY_MARK),
    ({"metadata": {"finalizers": []}}, ONLY_MARK),
], ids=str)  # fmt: skip
def test_nothing_else_of_a_machine_may_be_written(guarded: Guarded, machine: Object, change: Object, why: str) -> None:
    """No other annotation, no spec, no finalizer, no mark in another's name."""
    guarded.refused(merge(machine, change), why)


@pytest.mark.parametrize("value", ["nodegroup-reconciler.prod.g4.r3", None])
def test_the_mark_of_somebody_else_stays(guarded: Guarded, cluster: WorkCluster, nodeless: Object, value: str | None) -> None:
    """Neither replaced nor removed."""
    cluster.api.merge(nodeless, annotated(mark="yes"))
    try:
        guarded.refused(merge(nodeless, annotated(mark=value)), FOREIGN_MARK)
    finally:
        cluster.api.merge(nodeless, annotated(mark=None))


def test_only_a_machine_without_node_may_be_deleted(guarded: Guarded, machine: Object, nodeless: Object) -> None:
    """A running node goes by mark and replicas, after its drain; a Machine that never became one may be deleted."""
    guarded.allowed(deleted(nodeless))
    guarded.refused(deleted(machine), "only a Machine that never became a node may be deleted")


def test_the_product_marks_and_opens_a_node(guarded: Guarded, control_plane: ControlPlane, node: Object) -> None:
    """Our taint comes beside the others and goes again."""
    api = connect(control_plane.kubeconfig_of(ACCOUNT, *ACCOUNT_GROUPS, MASTERS), environment={})
    drain = NodeDrain(api, "prod", lambda: 1795000000)
    name = node["metadata"]["name"]
    drain.begin(name)
    assert OUR_TAINT in control_plane.api.read(node)["spec"]["taints"]
    drain.undo(name)
    taints = control_plane.api.read(node)["spec"]["taints"]
    assert [taint["key"] for taint in taints if taint["key"].startswith(("example.org", "reconciler.dev"))] == [
        "example.org/kept"
    ]


@pytest.mark.parametrize(("change", "why"), [
    ({"spec": {"unschedulable": True}}, ONLY_TAINT),
    ({"spec": {"taints": None}}, ONLY_TAINT),
    ({"spec": {"taints": [OUR_TAINT]}}, ONLY_TAINT),
    ({"metadata": {"labels": {"x": "y"}}}, NODE_METADATA),
    ({"metadata": {"annotations": {"x": "y"}}}, NODE_METADATA),
    ({"metadata": {"finalizers": ["example.org/x"]}}, NODE_METADATA),
], ids=str)  # fmt: skip
def test_nothing_else_of_a_node_may_be_written(guarded: Guarded, node: Object, change: Object, why: str) -> None:
    """No cordon, no labels, and no taint of others."""
    guarded.refused(merge(node, change), why)


@pytest.mark.parametrize(("taint", "why"), [
    (OUR_TAINT | {"effect": "NoExecute"}, "the taint reconciler.dev/deleting keeps pods away and removes none"),
    ({"key": "example.org/x", "effect": "NoSchedule"}, ONLY_TAINT),
], ids=["ours that evicts", "another"])  # fmt: skip
def test_no_other_taint_is_added(guarded: Guarded, node: Object, taint: Object, why: str) -> None:
    """Ours with NoExecute would remove pods past their budgets."""
    guarded.refused(json_patch(node, {"op": "add", "path": "/spec/taints/-", "value": taint}), why)


def test_a_node_is_not_deleted(guarded: Guarded, node: Object) -> None:
    """Its Machine is what goes."""
    guarded.refused(deleted(node), NOTHING_ELSE)


def lease(name: str) -> Object:
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}}


def config_map(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


LEASES, CONFIG_MAPS = "/apis/coordination.k8s.io/v1/namespaces/{}/leases", "/api/v1/namespaces/{}/configmaps"


@pytest.mark.parametrize(("path", "item"), [
    (LEASES, lease("reconciler-prod")), (CONFIG_MAPS, config_map("reconciler-state-prod")),
])  # fmt: skip
def test_lease_and_state_lie_in_our_namespace(guarded: Guarded, path: str, item: Object) -> None:
    """Under our names they may be made there and nowhere else."""
    guarded.allowed(Attempt("POST", path.format(NAMESPACE), item))
    elsewhere = Attempt("POST", path.format("kube-system"), item)
    guarded.refused(elsewhere, "Lease and state lie in the namespace of the service account")


@pytest.mark.parametrize(("path", "item"), [(LEASES, lease("other")), (CONFIG_MAPS, config_map("other"))])
def test_other_objects_in_our_namespace_are_not_ours(guarded: Guarded, path: str, item: Object) -> None:
    """Nor are those that merely lie beside, such as the one that says where the policy comes from."""
    guarded.refused(Attempt("POST", path.format(NAMESPACE), item), "a Lease of ours is called reconciler-*")


def test_nothing_of_another_kind_is_written(guarded: Guarded, cluster: WorkCluster) -> None:
    """Clusters, their templates, Secrets, Deployments, namespaces, roles."""
    api, namespace = cluster.api, cluster.namespace
    template = cluster.templates()[0]
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}}
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "x"}, "rules": []}
    assert api.read(cluster.cluster)
    for attempt in (
        merge(cluster.cluster, {"spec": {"paused": True}}),
        merge(template, {"metadata": {"annotations": {"x": "y"}}}),
        Attempt("POST", f"/api/v1/namespaces/{namespace}/secrets", secret),
        Attempt("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}}),
        Attempt("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", role),
    ):
        guarded.refused(attempt, NOTHING_ELSE)


def test_pods_go_by_eviction_only(guarded: Guarded, cluster: WorkCluster) -> None:
    """A deletion asks no disruption budget."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": cluster.namespace}}
    (made,) = cluster.api.create(pod | {"spec": {"containers": [{"name": "c", "image": "none"}], "schedulerName": "none"}})
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p", "namespace": cluster.namespace}}
    guarded.allowed(Attempt("POST", f"{path_of(made)}/eviction", eviction))
    guarded.refused(deleted(made), NOTHING_ELSE)


def test_only_the_status_of_what_asks_for_room_is_written(
    guarded: Guarded, cluster: WorkCluster, control_plane: ControlPlane
) -> None:
    """CapacityBuffers and ProvisioningRequests are of their teams. We answer them and do nothing else to them."""
    api, group = cluster.api, "autoscaling.x-k8s.io"
    reference = {"podTemplateRef": {"name": "small"}}
    asking = (
        ("v1beta1", "CapacityBuffer", {**reference, "replicas": 1}),
        ("v1", "ProvisioningRequest", {
            "provisioningClassName": "check-capacity.reconciler.dev", "podSets": [{**reference, "count": 1}],
        }),
    )  # fmt: skip
    condition = {"type": "X", "status": "True", "reason": "X", "message": "", "lastTransitionTime": "2026-11-25T08:00:00Z"}
    with served_kinds(control_plane, capacity_buffer_definition(), provisioning_request_definition()):
        for version, kind, spec in asking:
            metadata = {"name": "x", "namespace": cluster.namespace}
            (made,) = api.create({"apiVersion": f"{group}/{version}", "kind": kind, "metadata": metadata, "spec": spec})
            guarded.allowed(merge(made, {"status": {"conditions": [condition]}}, "/status"))
            guarded.refused(merge(made, {"metadata": {"annotations": {"x": "y"}}}), NOTHING_ELSE)
            guarded.refused(deleted(made), NOTHING_ELSE)


def test_events_and_questions_pass(guarded: Guarded, cluster: WorkCluster) -> None:
    """Events of ours (tests/security/test_own_events.py says which) and questions, which are stored nowhere."""
    event = {
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e", "namespace": cluster.namespace},
        "eventTime": "2026-11-21T12:00:00.000000Z", "reportingController": "reconciler.dev/nodegroup-reconciler",
        "reportingInstance": "x", "action": "x", "reason": "TriggeredScaleUp", "type": "Normal",
        "regarding": {"apiVersion": "v1", "kind": "Pod", "name": "p", "namespace": cluster.namespace},
    }  # fmt: skip
    guarded.allowed(Attempt("POST", f"/apis/events.k8s.io/v1/namespaces/{cluster.namespace}/events", event))
    token = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": "x"}}
    guarded.allowed(Attempt("POST", "/apis/authentication.k8s.io/v1/tokenreviews", token))
    spec = {"user": "x", "nonResourceAttributes": {"path": "/plan", "verb": "get"}}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    guarded.allowed(Attempt("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review))


def test_the_server_finds_no_fault_in_the_expressions(guarded: Guarded, control_plane: ControlPlane) -> None:
    """The type check of the control plane has looked at every policy and warns of none."""
    policies = control_plane.api.wait(
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
        lambda items: all(one.get("status", {}).get("typeChecking") is not None for one in items),
        "the type check",
    )
    found = {one["metadata"]["name"]: one["status"]["typeChecking"].get("expressionWarnings", []) for one in policies}
    ours = {name: warnings for name, warnings in found.items() if name.startswith("reconciler-")}
    assert len(ours) == 6
    assert ours == {name: [] for name in ours}
