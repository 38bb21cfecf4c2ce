"""Extended resources that a DeviceClass serves, that a device plugin serves, that both do, and that nobody does."""

from tests.differential.generator.draft import Draft, Object

_SERVED, _LISTED, _MIXED, _NOBODY = "example.com/card", "example.com/plugin", "example.com/both", "example.com/nowhere"
_IMPLICIT = "deviceclass.resource.kubernetes.io/card"
_DRIVER = "cards.example.com"


def add(draft: Draft) -> None:
    """Make classes, slices with devices on some nodes, and pods that ask for all kinds of resources."""
    for name, resource in (("card", _SERVED), ("both", _MIXED), ("plain", None)):
        spec: Object = {"selectors": [{"cel": {"expression": f'device.driver == "{_DRIVER}"'}}]}
        if resource:
            spec["extendedResourceName"] = resource
        draft.devices.append(
            {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec}
        )
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
            resources.setdefault("requests", {})[name] = amount
            resources.setdefault("limits", {})[name] = amount


def _slice(draft: Draft, node: str) -> Object:
    devices = [{"name": f"card-{number}"} for number in range(draft.random.randint(1, 4))]
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node}-cards"},
        "spec": {"driver": _DRIVER, "nodeName": node, "pool": pool, "devices": devices},
    }
