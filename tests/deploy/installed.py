"""The shipped manifests on a real API server, and our service account there."""

import time
import uuid
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

    def wait_for_policies(self) -> None:
        """Return when the API server enforces what was applied, and what an earlier installation left no more.

        It takes policies and bindings over from time to time, each kind in the order of its changes, so that a policy of a name
        that was never there refuses only when all before it counts. One of ours would not do: it may still be the one that was
        deleted a moment ago, and the next look sees the deletion alone."""
        name = f"probe-{uuid.uuid4()}"
        for item in _refusing(name):
            self._plane.api.create(item)
            self._made.append(item)
        probe = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
        deadline = time.monotonic() + 300
        while name not in _refusal(self._plane.api, probe):
            if time.monotonic() > deadline:
                pytest.fail("the admission policies were not enforced within 300 s")
            time.sleep(0.05)


def _refusing(name: str) -> tuple[Object, Object]:
    """A policy that refuses ConfigMaps of its own name, and its binding."""
    group, metadata = "admissionregistration.k8s.io/v1", {"name": name}
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    policy = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": f"object.metadata.name != '{name}'", "message": name}],
    }
    binding = {"policyName": name, "validationActions": ["Deny"]}
    return (
        {"apiVersion": group, "kind": "ValidatingAdmissionPolicy", "metadata": metadata, "spec": policy},
        {"apiVersion": group, "kind": "ValidatingAdmissionPolicyBinding", "metadata": metadata, "spec": binding},
    )


def _refusal(user: Api, item: Object) -> str:
    try:
        user.call("POST", f"/api/v1/namespaces/{NAMESPACE}/configmaps?dryRun=All", item)
    except ApiError as error:
        return str(error)
    return ""
