"""Pods that are being resized in place: their status says what they hold, beside what their spec asks for."""

from tests.differential.generator.draft import Draft, Object

_CPU = ("50m", "800m", "1500m", "3")
_MEMORY = ("64Mi", "900Mi", "4Gi")


def add(draft: Draft) -> None:
    """Give pods on nodes container and pod statuses that differ from their spec; only a kubelet writes those."""
    for pod in draft.some(draft.bound, 60):
        _resize(draft, pod)


def _amounts(draft: Draft) -> dict[str, str]:
    return {"cpu": draft.random.choice(_CPU), "memory": draft.random.choice(_MEMORY)}


def _resize(draft: Draft, pod: Object) -> None:
    status = pod["status"]
    status["containerStatuses"] = [_status(draft, container["name"]) for container in pod["spec"]["containers"]]
    if "initContainers" in pod["spec"]:
        status["initContainerStatuses"] = [_status(draft, container["name"]) for container in pod["spec"]["initContainers"]]
    # Whole pods are resized, and have such a status, from 1.36 on.
    if "resources" in pod["spec"] and draft.chance(60) and draft.minor >= 36:
        status["resources"] = {"requests": _amounts(draft)}
        status["allocatedResources"] = _amounts(draft)
    condition = draft.random.choice((None, "Infeasible", "Deferred", "InProgress"))
    if condition == "InProgress":
        status["conditions"] = [{"type": "PodResizeInProgress", "status": "True"}]
    elif condition:
        status["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": condition}]


def _status(draft: Draft, name: str) -> Object:
    status: Object = {
        "name": name,
        "image": "registry.example/app:1",
        "imageID": "",
        "ready": True,
        "restartCount": 0,
    }
    if draft.chance(80):
        status["resources"] = {"requests": _amounts(draft)}
    if draft.chance(70):
        status["allocatedResources"] = _amounts(draft)
    return status
