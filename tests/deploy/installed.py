"""The shipped manifests on a real API server, and our service account there."""

import time
from typing import Any

import pytest

from tests.deploy.rendered import overlay
from tests.testbed.api import Api, ApiError
from tests.testbed.control_plane import ControlPlane

Object = dict[str, Any]

NAMESPACE = "reconciler"
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:reconciler"
ACCOUNT_GROUPS = ("system:serviceaccounts", f"system:serviceaccounts:{NAMESPACE}")
_KEPT = ("Namespace", "CustomResourceDefinition")
_RUNNING = ("Deployment", "Service", "PodDisruptionBudget")


class Installed:
    """One overlay on one control plane, without what would run. Namespaces and definitions stay after `remove`: to delete
    them takes long, and nothing reads them."""

    def __init__(self, plane: ControlPlane, name: str, objects: list[Object] | None = None) -> None:
        """`objects`: the overlay with a component, where it is not that alone."""
        self._plane = plane
        self._made: list[Object] = []
        self.objects = overlay(name) if objects is None else objects
        for item in self.objects:
            if item["kind"] not in _RUNNING:
                plane.api.apply(item, "kubectl", force=True)
                self._made.append(item)

    def user(self, *groups: str, name: str = ACCOUNT) -> Api:
        """A connection as our service account, or another user, in its groups and these."""
        return Api(self._plane.kubeconfig_of(name, *(ACCOUNT_GROUPS if name == ACCOUNT else ()), *groups))

    def remove(self) -> None:
        """Take away what was applied."""
        for item in reversed(self._made):
            if item["kind"] not in _KEPT:
                self._plane.api.delete(item)

    def wait_for_policies(self, user: Api) -> None:
        """Return when the API server enforces the admission policies: the last of them refuses."""
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "probe"}}
        deadline = time.monotonic() + 300
        while "reconciler-nothing-else" not in _refusal(user, secret):
            if time.monotonic() > deadline:
                pytest.fail("the admission policies were not enforced within 300 s")
            time.sleep(0.05)


def _refusal(user: Api, secret: Object) -> str:
    try:
        user.call("POST", f"/api/v1/namespaces/{NAMESPACE}/secrets?dryRun=All", secret)
    except ApiError as error:
        return str(error)
    return ""
