"""The rights of each variant on the real API server, asked as the service account itself (SelfSubjectAccessReview).

What must be allowed is what the code asks for: reflectors get, list and watch; the Lease, the state and the events by the verbs
of their writers; targets, Machines and nodes by patch. What must be refused is written down as well: a role that grants too
much passes every test of the product.
"""

from collections.abc import Iterator
from itertools import product

import pytest

from reconciler.kube.connection.token_review import may
from reconciler.kube.connection.transport import KubernetesApi, connect
from tests.deploy.installed import ACCOUNT, ACCOUNT_GROUPS, NAMESPACE, Installed
from tests.testbed.cluster_documents import namespace
from tests.testbed.control_plane import ControlPlane

Right = tuple[str, str, str, str]
"""Verb, API group, resource with its subresource, namespace (empty: all)."""

CAPI = "cluster.x-k8s.io"
CLUSTERS = "clusters"
READ = ("get", "list", "watch")
WORKLOAD = {
    "": (
        "nodes",
        "pods",
        "namespaces",
        "replicationcontrollers",
        "persistentvolumes",
        "persistentvolumeclaims",
        "limitranges",
        "services",
        "podtemplates",
        "resourcequotas",
    ),
    "apps": ("replicasets", "statefulsets", "daemonsets", "deployments"),
    "batch": ("jobs",),
    "policy": ("poddisruptionbudgets",),
    "scheduling.k8s.io": ("priorityclasses", "podgroups"),
    "storage.k8s.io": ("storageclasses", "csinodes", "csidrivers", "csistoragecapacities", "volumeattachments"),
    "node.k8s.io": ("runtimeclasses",),
    "resource.k8s.io": ("deviceclasses", "resourceclaims", "resourceclaimtemplates", "resourceslices"),
    "autoscaling.x-k8s.io": ("capacityquotas", "capacitybuffers", "provisioningrequests"),
    "reconciler.dev": ("nodegrouppolicies", "nodegroups"),
}
TARGETS = ("machinedeployments", "machinesets", "machinepools", "machines", "clusters")
SIZED = TARGETS[:3]


def read_targets(where: str) -> set[Right]:
    templates = ("awsmachinetemplates", "kubemarkmachinetemplates", "dockermachinetemplates")
    found = {(verb, CAPI, resource, where) for verb, resource in product(READ, TARGETS)}
    return found | {(verb, "infrastructure.cluster.x-k8s.io", item, where) for verb, item in product(READ, templates)}


def write_targets(where: str) -> set[Right]:
    return {("patch", CAPI, resource, where) for resource in (*SIZED, "machines")} | {("delete", CAPI, "machines", where)}


# Of the same cluster as the policies and the loop itself.
POLICIES: set[Right] = {(verb, "reconciler.dev", item, "") for verb, item in product(READ, WORKLOAD["reconciler.dev"])}
READ_WORKLOAD = {(verb, group, item, "") for group, items in WORKLOAD.items() for verb, item in product(READ, items)}
REVIEWS = {
    ("create", "authentication.k8s.io", "tokenreviews", ""),
    ("create", "authorization.k8s.io", "subjectaccessreviews", ""),
    ("create", "authorization.k8s.io", "selfsubjectaccessreviews", ""),
}
OWN = {
    *(((verb, "coordination.k8s.io", "leases", NAMESPACE)) for verb in ("get", "create", "update")),
    *(((verb, "", "configmaps", NAMESPACE)) for verb in ("get", "list", "create", "update", "delete")),
    *(((verb, "events.k8s.io", "events", "")) for verb in ("create", "patch")),
    *((("patch", "reconciler.dev", f"{item}/status", "")) for item in WORKLOAD["reconciler.dev"]),
}
MAPI, AUTOSCALING = "machine.openshift.io", "autoscaling.openshift.io"
MACHINE_API: set[Right] = {
    *((verb, MAPI, resource, "") for verb, resource in product(READ, ("machinesets", "machines"))),
    *((verb, AUTOSCALING, "machineautoscalers", "") for verb in READ),
    *(("patch", MAPI, resource, "") for resource in ("machinesets", "machines")),
    ("delete", MAPI, "machines", ""),
}
WRITE_WORKLOAD: set[Right] = {
    ("patch", "", "nodes", ""),
    ("create", "", "pods/eviction", ""),
    ("patch", "autoscaling.x-k8s.io", "capacitybuffers/status", ""),
    ("patch", "autoscaling.x-k8s.io", "provisioningrequests/status", ""),
}
# What a fleet asks of the management cluster: who holds what, and whether another autoscaler is at work there.
FLEET: set[Right] = {("list", "coordination.k8s.io", "leases", NAMESPACE), ("list", "apps", "deployments", "")}

GRANTED: dict[str, set[Right]] = {
    "read-only": READ_WORKLOAD | REVIEWS | read_targets(""),
    "observe": READ_WORKLOAD | REVIEWS | read_targets("") | OWN,
    "enforce": READ_WORKLOAD | REVIEWS | read_targets("") | OWN | write_targets("") | WRITE_WORKLOAD,
    "namespaced": READ_WORKLOAD | REVIEWS | read_targets(CLUSTERS) | OWN | write_targets(CLUSTERS) | WRITE_WORKLOAD,
    "openshift": READ_WORKLOAD | REVIEWS | read_targets("") | OWN | write_targets("") | WRITE_WORKLOAD | MACHINE_API,
    "fleet": POLICIES | REVIEWS | read_targets("") | OWN | write_targets("") | FLEET,
}
EVERYTHING = GRANTED["openshift"] | GRANTED["namespaced"] | GRANTED["fleet"]
WRITES = ("create", "update", "patch", "delete", "deletecollection")
# Granted to nobody.
NEVER: set[Right] = {
    *((verb, CAPI, f"{resource}/scale", "") for verb, resource in product(("get", "update", "patch"), SIZED)),
    *((verb, CAPI, f"{resource}/status", "") for verb, resource in product(("update", "patch"), TARGETS)),
    *((verb, CAPI, resource, "") for verb, resource in product(("create", "update", "delete", "deletecollection"), SIZED)),
    *((verb, CAPI, "machines", "") for verb in ("create", "update", "deletecollection")),
    *((verb, MAPI, "machinesets/scale", "") for verb in ("get", "update", "patch")),
    *(
        (verb, MAPI, resource, "")
        for verb, resource in product(("create", "update", "deletecollection"), ("machinesets", "machines"))
    ),
    ("delete", MAPI, "machinesets", ""),
    *((verb, AUTOSCALING, resource, "") for verb, resource in product(WRITES, ("machineautoscalers", "clusterautoscalers"))),
    *((verb, CAPI, "clusters", "") for verb in WRITES),
    *((verb, "infrastructure.cluster.x-k8s.io", "awsmachinetemplates", "") for verb in WRITES),
    *((verb, "", "nodes", "") for verb in ("create", "update", "delete", "deletecollection")),
    *((verb, "", "nodes/status", "") for verb in ("update", "patch")),
    ("get", "", "nodes/proxy", ""),
    *((verb, "", "pods", "") for verb in WRITES),
    *((verb, "", f"pods/{part}", "") for verb, part in product(("create", "get"), ("exec", "attach", "portforward", "log"))),
    ("create", "", "pods/binding", ""),
    *((verb, "", "secrets", "") for verb in (*READ, *WRITES)),
    *((verb, "", "secrets", NAMESPACE) for verb in READ),
    *((verb, "", "configmaps", "kube-system") for verb in (*READ, *WRITES)),
    *((verb, "coordination.k8s.io", "leases", "kube-system") for verb in (*READ, *WRITES)),
    *((verb, "reconciler.dev", item, "") for verb, item in product(WRITES, WORKLOAD["reconciler.dev"])),
    *((verb, "apps", "deployments", "") for verb in WRITES),
    *((verb, "policy", "poddisruptionbudgets", "") for verb in WRITES),
    *((verb, "autoscaling.x-k8s.io", item, "") for verb, item in product(WRITES, ("capacitybuffers", "provisioningrequests"))),
    *((verb, "", item, "") for verb, item in product(WRITES, ("podtemplates", "resourcequotas"))),
    ("create", "", "serviceaccounts/token", ""),
    ("impersonate", "", "users", ""),
    ("impersonate", "", "serviceaccounts", ""),
    *((verb, "rbac.authorization.k8s.io", "clusterroles", "") for verb in ("create", "update", "patch", "bind", "escalate")),
    *((verb, "admissionregistration.k8s.io", "validatingadmissionpolicies", "") for verb in WRITES),
    *((verb, "admissionregistration.k8s.io", "validatingadmissionpolicybindings", "") for verb in WRITES),
}


@pytest.fixture(scope="module", params=GRANTED)
def variant(control_plane: ControlPlane, request: pytest.FixtureRequest) -> Iterator[tuple[str, KubernetesApi]]:
    """One variant installed, and a connection as its service account."""
    control_plane.api.apply(namespace(CLUSTERS), "kubectl")
    installed = Installed(control_plane, request.param)
    api = connect(control_plane.kubeconfig_of(ACCOUNT, *ACCOUNT_GROUPS), environment={})
    # The authorizer learns of a binding by a watch; the aggregated role is filled by a controller.
    sought: Right = ("list", "infrastructure.cluster.x-k8s.io", "awsmachinetemplates", CLUSTERS)
    control_plane.api.wait("/api/v1/namespaces", lambda _: allowed(api, sought), "the rights being in force")
    yield request.param, api
    installed.remove()
    control_plane.api.wait("/api/v1/namespaces", lambda _: not allowed(api, sought), "the rights being gone")


def allowed(api: KubernetesApi, right: Right, name: str = "") -> bool:
    verb, group, resource, where = right
    return may(api, verb, group, resource, where, name)


def test_everything_that_the_variant_needs_is_allowed(variant: tuple[str, KubernetesApi]) -> None:
    """Each request of the product."""
    name, api = variant
    assert [right for right in sorted(GRANTED[name]) if not allowed(api, right)] == []


def test_nothing_of_a_stronger_variant_is_allowed(variant: tuple[str, KubernetesApi]) -> None:
    """What enforce or namespaced grant and this one does not; a right in all namespaces includes one of them."""
    name, api = variant
    mine = GRANTED[name]
    beyond = {right for right in EVERYTHING - mine if (*right[:3], "") not in mine}
    assert [right for right in sorted(beyond) if allowed(api, right)] == []


def test_what_nobody_needs_is_refused(variant: tuple[str, KubernetesApi]) -> None:
    """No scale, no secrets, no deletion of nodes or pods, no rights about rights."""
    _, api = variant
    assert [right for right in sorted(NEVER) if allowed(api, right)] == []


def test_another_autoscaler_is_seen_by_name_only(variant: tuple[str, KubernetesApi]) -> None:
    """Its Lease and its status, wherever it lives; no other Lease or ConfigMap there."""
    _, api = variant
    assert allowed(api, ("get", "coordination.k8s.io", "leases", "kube-system"), "cluster-autoscaler")
    assert allowed(api, ("get", "", "configmaps", "autoscaling"), "cluster-autoscaler-status")
    assert not allowed(api, ("get", "", "configmaps", "kube-system"), "extension-apiserver-authentication")


def test_a_provider_adds_its_template_kind_by_a_label(variant: tuple[str, KubernetesApi], control_plane: ControlPlane) -> None:
    """A ClusterRole with the label is gathered; no binding is touched."""
    _, api = variant
    sought: Right = ("list", "infrastructure.cluster.x-k8s.io", "simmachinetemplates", CLUSTERS)
    assert not allowed(api, sought)
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": "sim-templates", "labels": {"reconciler.dev/aggregate-to-templates-read": "true"}},
        "rules": [{"apiGroups": [sought[1]], "resources": [sought[2]], "verbs": list(READ)}],
    }  # fmt: skip
    control_plane.api.create(role)
    try:
        control_plane.api.wait("/api/v1/namespaces", lambda _: allowed(api, sought), "the role being gathered")
    finally:
        control_plane.api.delete(role)
