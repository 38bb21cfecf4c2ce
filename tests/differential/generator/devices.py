"""Extended resources that a DeviceClass serves, that a device plugin serves, that both do, and that nobody does."""

from tests.differential.generator.draft import Draft, Object

_SERVED, _LISTED, _MIXED, _NOBODY = "example.com/card", "example.com/plugin", "example.com/both", "example.com/nowhere"
_IMPLICIT = "deviceclass.resource.kubernetes.io/card"
_DRIVER = "cards.example.com"
_V1 = "resource.k8s.io/v1"
_MOST_RESULTS = 32
"""So many devices a claim may have."""


def add(draft: Draft) -> None:
    """Make classes, slices with devices on some nodes, and pods that ask for all kinds of resources."""
    for name, resource in (("card", _SERVED), ("both", _MIXED), ("plain", None)):
        spec: Object = {"selectors": [{"cel": {"expression": f'device.driver == "{_DRIVER}"'}}]}
        if resource:
            spec["extendedResourceName"] = resource
        draft.devices.append({"apiVersion": _V1, "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec})
    for node in draft.some(draft.nodes, 60):
        draft.devices.append(_slice(draft, node["metadata"]["name"]))
    for node in draft.some(draft.nodes, 40):
        amounts = {draft.random.choice((_LISTED, _MIXED)): draft.random.choice(("0", "1", "4"))}
        node["status"]["allocatable"] |= amounts
        node["status"]["capacity"] |= amounts
    for pod in draft.some(draft.pods, 60):
        resources = pod["spec"]["containers"][0]["resources"]
        for name in draft.subset((_SERVED, _LISTED, _MIXED, _NOBODY, _IMPLICIT), 1, 1 if draft.chance(75) else 2):
            amount = draft.random.choice(("0", "1", "1", "2"))
            if name == _SERVED and draft.chance(15):
                # Not as many as it may have: where they are not to be had, the plugin tries them in every order.
                amount = str(_MOST_RESULTS + 1)
            resources.setdefault("requests", {})[name] = amount
            resources.setdefault("limits", {})[name] = amount
    for number, pod in enumerate(draft.some(draft.pending, 15)):
        _claim_all(draft, pod, f"all-{number}")


def _claim_all(draft: Draft, pod: Object, name: str) -> None:
    """A claim for all cards of a node, which may be more than one claim may have. What the pod asks for besides finds none."""
    exactly = {"deviceClassName": "plain", "allocationMode": "All"}
    spec = {"devices": {"requests": [{"name": "cards", "exactly": exactly}]}}
    metadata = {"name": name, "namespace": pod["metadata"]["namespace"], "uid": f"uid-{name}"}
    draft.devices.append({"apiVersion": _V1, "kind": "ResourceClaim", "metadata": metadata, "spec": spec})
    pod["spec"]["resourceClaims"] = [{"name": "cards", "resourceClaimName": name}]


def _slice(draft: Draft, node: str) -> Object:
    count = _MOST_RESULTS + draft.random.randint(0, 2) if draft.chance(20) else draft.random.randint(1, 4)
    devices = [{"name": f"card-{number}"} for number in range(count)]
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    return {
        "apiVersion": _V1,
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node}-cards"},
        "spec": {"driver": _DRIVER, "nodeName": node, "pool": pool, "devices": devices},
    }
