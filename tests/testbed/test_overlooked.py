"""What kwok has overlooked is found by those who wait for it."""

from collections.abc import Iterator

import pytest

from tests.testbed.api import Object, path_of
from tests.testbed.control_plane import FAKE_NODE, ControlPlane
from tests.testbed.overlooked import SHOWN, Overlooked

NAMESPACE = "overlooked"


@pytest.fixture(scope="module")
def pod(control_plane: ControlPlane) -> Iterator[Object]:
    """A pod that kwok does not know: its node became kwok's after the pod was there, and kwok looks at pods when a node comes,
    not when one changes."""
    api = control_plane.api
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    metadata = {"name": NAMESPACE}
    amounts = {"cpu": "4", "pods": "10"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"capacity": amounts, "allocatable": amounts}}
    api.create(node)
    spec = {"nodeName": NAMESPACE, "containers": [{"name": "main", "image": "x"}], "terminationGracePeriodSeconds": 0}
    api.wait(f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", bool, "the default service account")
    metadata = {"name": "one", "namespace": NAMESPACE}
    (made,) = api.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    api.merge(node, {"metadata": {"annotations": FAKE_NODE}})
    api.wait("/api/v1/nodes", _ready, "kwok having taken the node")
    yield made
    api.delete(made)
    api.delete(node)


def _ready(nodes: list[Object]) -> bool:
    (node,) = (item for item in nodes if item["metadata"]["name"] == NAMESPACE)
    return any(one["type"] == "Ready" and one["status"] == "True" for one in node["status"].get("conditions") or ())


def test_a_pod_that_kwok_does_not_know_runs_once_it_was_shown(control_plane: ControlPlane, pod: Object) -> None:
    """It is Pending until then, and is not touched while it has waited for less than the patience."""
    api = control_plane.api
    Overlooked(api, patience_seconds=3600).look([pod])
    assert SHOWN not in api.get(path_of(pod))["metadata"].get("annotations", {})
    Overlooked(api, patience_seconds=0).look([pod])
    api.wait(f"/api/v1/namespaces/{NAMESPACE}/pods", lambda pods: pods[0]["status"]["phase"] == "Running", "the pod running")


def test_a_pod_that_is_gone_needs_nothing(control_plane: ControlPlane, pod: Object) -> None:
    """Between the list and the look it may have been deleted; that is no error."""
    gone = pod | {"metadata": pod["metadata"] | {"name": "gone"}}
    Overlooked(control_plane.api, patience_seconds=0).look([gone])
