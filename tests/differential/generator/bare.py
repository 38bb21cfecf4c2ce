"""Objects as people write them by hand: what an API server would fill in is left out, quantities are plain numbers."""

from tests.differential.generator.draft import Draft, Object


def add(draft: Draft) -> None:
    """Take away defaults here and there."""
    for pod in draft.some(draft.pods, 70):
        _bare_pod(draft, pod)
    for node in draft.some(draft.nodes, 50):
        node["status"].pop("conditions", None)
        node["status"].pop("capacity", None)
        node["status"]["allocatable"]["pods"] = int(node["status"]["allocatable"]["pods"])
        node["metadata"].pop("uid", None)
    for item in draft.some(draft.storage, 60):
        spec = item.get("spec", {})
        for key in ("volumeMode", "persistentVolumeReclaimPolicy"):
            spec.pop(key, None)
        item.pop("reclaimPolicy", None)
        if item["kind"] == "StorageClass" and item["volumeBindingMode"] == "Immediate":
            del item["volumeBindingMode"]


def _bare_pod(draft: Draft, pod: Object) -> None:
    spec = pod["spec"]
    spec.pop("schedulerName", None) if spec.get("schedulerName") == "default-scheduler" else None
    if spec.get("priority") == 0:
        del spec["priority"]
    if pod["status"] == {"phase": "Pending"}:
        pod["status"] = {}
    if draft.chance(50):
        pod["metadata"].pop("creationTimestamp", None)
    for container in spec["containers"]:
        requests = container.get("resources", {}).get("requests", {})
        if requests.get("cpu") in ("1", "2"):
            requests["cpu"] = int(requests["cpu"])
        elif requests.get("cpu") == "0.5":
            requests["cpu"] = 0.5
        if requests.get("memory") == "1Gi":
            requests["memory"] = 1 << 30
        for port in container.get("ports", ()):
            if port.get("protocol") == "TCP":
                del port["protocol"]
