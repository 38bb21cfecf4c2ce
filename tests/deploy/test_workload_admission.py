"""What the API server of a workload cluster lets the account of a loop elsewhere write, were it an administrator there."""

import uuid
from collections.abc import Iterator

import pytest

from tests.deploy.attempt import MERGE, Attempt, Guarded, Object
from tests.deploy.installed import ACCOUNT, NAMESPACE, Installed
from tests.deploy.rendered import ACCOUNTS, chart
from tests.testbed.control_plane import MASTERS, ControlPlane

NODE = "/api/v1/nodes/workload-admission"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
TAINT = {"key": "reconciler.dev/deleting", "value": "prod.1795000000", "effect": "NoSchedule"}
RIGHTS = {"workload-cluster": "Enforce", "workload-cluster-observe": "Observe"}


@pytest.fixture(scope="module", params=[(name, made) for name in ACCOUNTS for made in ("overlay", "chart")], ids="-".join)
def variant(
    request: pytest.FixtureRequest, control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Guarded]]:
    """Each account, from the overlay and from the chart, as an administrator besides; `somebody` is another one."""
    name, made = request.param
    objects = None
    if made == "chart":
        account = {"rights": RIGHTS[name], "workloadCluster": {"enabled": True, "token": False}}
        objects = chart(account, tmp_path_factory.mktemp("chart"))
    installed = Installed(control_plane, name, objects)
    ours = installed.user(MASTERS, name=ACCOUNT)
    body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE.rpartition("/")[2]}}
    control_plane.api.apply(body, "kubectl", force=True)
    installed.wait_for_policies()
    yield name, Guarded(ours, installed.user(MASTERS, name="somebody"))
    installed.remove()
    control_plane.api.delete(body)


def _node(**change: object) -> Attempt:
    return Attempt("PATCH", NODE, change, MERGE)


def _event(controller: str, **fields: object) -> Attempt:
    body: Object = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": f"e-{uuid.uuid4()}", "namespace": "default"},
        "eventTime": "2026-11-29T10:00:00.000000Z",
        "reportingController": controller,
        "reportingInstance": "x",
        "action": "x",
        "reason": "NotTriggerScaleUp",
        "type": "Normal",
        "regarding": {"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": "p"},
        **fields,
    }
    return Attempt("POST", EVENTS, body)


def test_what_the_loop_writes_there(variant: tuple[str, Guarded]) -> None:
    """Our taint, and our own Events about pods."""
    _, guarded = variant
    guarded.allowed(_event("reconciler.dev/nodegroup-reconciler"))
    guarded.allowed(_node(spec={"taints": [TAINT]}))


@pytest.mark.parametrize("controller", ["kubelet", "default-scheduler", "cluster-autoscaler"])
def test_no_events_in_the_name_of_others(variant: tuple[str, Guarded], controller: str) -> None:
    _, guarded = variant
    guarded.refused(_event(controller), "an Event of ours names the reconciler as its controller")


NODE_WRITES = {
    "the role of a control plane": (
        {"metadata": {"labels": {"node-role.kubernetes.io/control-plane": ""}}},
        "labels, annotations",
    ),
    "an annotation": ({"metadata": {"annotations": {"a": "b"}}}, "labels, annotations"),
    "a finalizer": ({"metadata": {"finalizers": ["example.org/a"]}}, "labels, annotations"),
    "a taint of somebody": ({"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}, "only the taint"),
    "our taint as NoExecute": ({"spec": {"taints": [{**TAINT, "effect": "NoExecute"}]}}, "keeps pods away and removes none"),
    "a cordon": ({"spec": {"unschedulable": True}}, "only the taint"),
}
OTHERS = {
    "a ConfigMap": Attempt("POST", f"/api/v1/namespaces/{NAMESPACE}/configmaps", {"metadata": {"name": "x"}}),
    "a Secret": Attempt("POST", f"/api/v1/namespaces/{NAMESPACE}/secrets", {"metadata": {"name": "x"}}),
    "a Namespace": Attempt("POST", "/api/v1/namespaces", {"metadata": {"name": "workload-admission-x"}}),
    "a Lease": Attempt("POST", f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases", {"metadata": {"name": "x"}}),
    "a Node's end": Attempt("DELETE", NODE),
    "a Node's status": Attempt("PATCH", f"{NODE}/status", {"status": {"capacity": {"cpu": "9"}}}, MERGE),
    "a role": Attempt(
        "POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", {"metadata": {"name": "workload-admission"}, "rules": []}
    ),
}


@pytest.mark.parametrize("what", NODE_WRITES)
def test_nothing_else_of_a_node(variant: tuple[str, Guarded], what: str) -> None:
    """In mode Observe RBAC lets the account patch no node at all."""
    name, guarded = variant
    if RIGHTS[name] == "Enforce":
        change, why = NODE_WRITES[what]
        guarded.refused(_node(**change), why)


@pytest.mark.parametrize("what", OTHERS)
def test_nothing_of_another_kind(variant: tuple[str, Guarded], what: str) -> None:
    name, guarded = variant
    if RIGHTS[name] == "Enforce":
        guarded.refused(OTHERS[what], "the reconciler writes no objects of this kind")
