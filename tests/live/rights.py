"""A user who may do what the reconciler does, and no more."""

from tests.testbed.api import ApiError, Object
from tests.testbed.control_plane import ControlPlane

GROUP = "reconcilers"
_READ = ["get", "list", "watch"]
_RULES: list[Object] = [
    {"apiGroups": ["*"], "resources": ["*"], "verbs": _READ},
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["patch"]},
    {"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]},
    {"apiGroups": ["cluster.x-k8s.io"], "resources": ["machinedeployments", "machinesets", "machinepools"], "verbs": ["patch"]},
    {"apiGroups": ["cluster.x-k8s.io"], "resources": ["machines"], "verbs": ["patch", "delete"]},
    {"apiGroups": ["machine.openshift.io"], "resources": ["machinesets"], "verbs": ["patch"]},
    {"apiGroups": ["machine.openshift.io"], "resources": ["machines"], "verbs": ["patch", "delete"]},
    {"apiGroups": ["reconciler.dev"], "resources": ["nodegrouppolicies/status", "nodegroups/status"], "verbs": ["patch"]},
    {
        "apiGroups": ["autoscaling.x-k8s.io"],
        "resources": ["capacitybuffers/status", "provisioningrequests/status"],
        "verbs": ["patch"],
    },
    {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create", "update"]},
    {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "update", "patch", "delete"]},
    {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]},
]
GUARDED = frozenset({"machinedeployments", "machinesets", "machinepools", "machines", "clusters", "nodes", "pods/eviction"})
"""What a held group is not written on: with their subresources, see `writes_of`."""


def grant(plane: ControlPlane) -> None:
    """Give the group its rights; again changes nothing."""
    top = "rbac.authorization.k8s.io"
    role: Object = {"apiVersion": f"{top}/v1", "kind": "ClusterRole", "metadata": {"name": GROUP}, "rules": _RULES}
    binding: Object = {
        "apiVersion": f"{top}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": GROUP},
        "roleRef": {"apiGroup": top, "kind": "ClusterRole", "name": GROUP},
        "subjects": [{"apiGroup": top, "kind": "Group", "name": GROUP}],
    }
    for item in (role, binding):
        try:
            plane.api.create(item)
        except ApiError as error:
            if error.status != 409:
                raise


def writes_of(plane: ControlPlane, user: str) -> list[str]:
    """What a user asked to change of targets, machines, clusters, nodes and pods, refused requests included: `verb resource
    name`, in order."""
    return [
        f"{request.verb} {request.resource} {request.name}"
        for request in plane.audit(user)
        if request.resource in GUARDED or request.resource.partition("/")[0] in GUARDED
    ]
