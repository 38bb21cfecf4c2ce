"""Pods that end, ended, wait behind a gate, were promised a node, belong to another scheduler; nodes that go away."""

from tests.differential.generator.draft import NAMESPACES, Draft, Object


def add(draft: Draft) -> None:
    """Change what state some pods are in."""
    for pod in draft.some(draft.pods, 12):
        pod["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:30Z", "deletionGracePeriodSeconds": 30}
    for pod in draft.some(draft.pods, 12):
        pod["status"]["phase"] = draft.random.choice(("Succeeded", "Failed"))
    for pod in draft.some(draft.pending, 20):
        pod["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
    for pod in draft.some(draft.pods, 40):
        pod["spec"]["priority"] = draft.random.choice((-10, 0, 100, 1000))
    for pod in draft.some(draft.pending, 30):
        pod["status"]["nominatedNodeName"] = draft.random.choice([*draft.node_names(), "node-gone"])
    for pod in draft.some(draft.pods, 10):
        pod["spec"]["schedulerName"] = "another-scheduler"
    for pod in draft.some(draft.bound, 6):
        pod["spec"]["nodeName"] = "node-gone"
    for pod in draft.some(draft.bound, 5):
        pod["status"]["phase"] = "Unknown"
    draft.devices.extend(_claim(namespace) for namespace in NAMESPACES)
    for pod in draft.some(draft.pending, 5):
        # Pods with resource claims are not modelled; promised ones count like others, once their claim is there.
        pod["spec"]["resourceClaims"] = [{"name": "device", "resourceClaimName": "card"}]
    for node in draft.some(draft.nodes, 6):
        # Waiting for a finalizer: the scheduler goes on using it until somebody taints it.
        node["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["example.com/drain"]}
    for pod in draft.some(draft.bound, 20):
        _started(pod)


def _claim(namespace: str) -> Object:
    request = {"name": "card", "exactly": {"deviceClassName": "card", "allocationMode": "ExactCount", "count": 1}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "card", "namespace": namespace, "uid": f"claim-uid-{namespace}"},
        "spec": {"devices": {"requests": [request]}},
    }


def _started(pod: Object) -> None:
    pod["status"]["startTime"] = "2026-01-01T00:00:01Z"
    pod["status"]["conditions"] = [
        *pod["status"].get("conditions", []),
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-01T00:00:01Z"},
    ]
