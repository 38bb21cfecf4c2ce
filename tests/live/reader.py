"""A user who may read what a plan needs, and write nothing."""

from pathlib import Path

from tests.testbed.api import ApiError, Object
from tests.testbed.control_plane import ControlPlane

_TOP = "rbac.authorization.k8s.io"


def reader(plane: ControlPlane, user: str, *api_groups: str) -> Path:
    """The kubeconfig of such a user, who reads what these API groups have (none: all)."""
    verbs = ["get", "list", "watch"]
    role: Object = {
        "apiVersion": f"{_TOP}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": f"reader-{user}"},
        "rules": [{"apiGroups": [*api_groups] or ["*"], "resources": ["*"], "verbs": verbs}],
    }
    binding: Object = {
        "apiVersion": f"{_TOP}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"reader-{user}"},
        "roleRef": {"apiGroup": _TOP, "kind": "ClusterRole", "name": f"reader-{user}"},
        "subjects": [{"apiGroup": _TOP, "kind": "Group", "name": f"reader-{user}"}],
    }
    for item in (role, binding):
        try:
            plane.api.create(item)
        except ApiError as error:
            if error.status != 409:
                raise
    return plane.kubeconfig_of(user, f"reader-{user}")
