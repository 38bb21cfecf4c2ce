from tests.testbed.control_plane import FAKE_NODE, ControlPlane
from tests.testbed.overlooked import until_seen_to


def test_a_pod_runs_on_a_fake_node(control_plane: ControlPlane) -> None:
    """The scheduler binds a pod to a kwok node and kwok runs it."""
    api = control_plane.api
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "first", "annotations": FAKE_NODE, "labels": {"for": "one"}},
        "status": {"capacity": {"cpu": "4", "pods": "10"}, "allocatable": {"cpu": "4", "pods": "10"}},
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "one", "namespace": "default"},
        # Nodes of tests before this one may still be going.
        "spec": {"nodeSelector": {"for": "one"}, "containers": [{"name": "main", "image": "x"}]},
    }
    api.create(node)
    api.wait("/api/v1/namespaces/default/serviceaccounts", bool, "the default service account")
    api.create(pod)
    pods = "/api/v1/namespaces/default/pods"
    (seen,) = until_seen_to(api, pods, lambda pods: all(one["status"]["phase"] == "Running" for one in pods), "running")
    assert seen["spec"]["nodeName"] == "first"
    api.delete(pod)
    until_seen_to(api, pods, lambda pods: not pods, "deletion of the pod")
    api.delete(node)
