"""Claims that kube-scheduler makes for extended resources: of pods that run, and of attempts that ended before the pod ran.

Some pods that wait are copies of pods that run. Some have a claim of their own as well, for devices of the same class.
"""

import copy

from tests.differential.generator.draft import Draft, Object

_RESOURCE, _IMPLICIT, _CLASS = "example.com/board", "deviceclass.resource.kubernetes.io/board", "board"
_DRIVER = "boards.example.com"
_V1 = "resource.k8s.io/v1"
_MARK = {"resource.kubernetes.io/extended-resource-claim": "true"}


def add(draft: Draft) -> None:
    """Make one class, devices on most nodes, pods that ask for them, and their claims."""
    selector = {"cel": {"expression": f'device.driver == "{_DRIVER}"'}}
    spec = {"selectors": [selector], "extendedResourceName": _RESOURCE}
    draft.devices.append({"apiVersion": _V1, "kind": "DeviceClass", "metadata": {"name": _CLASS}, "spec": spec})
    free: dict[str, list[str]] = {}
    for node in draft.some(draft.nodes, 70):
        name = node["metadata"]["name"]
        free[name] = [f"board-{number}" for number in range(draft.random.randint(1, 5))]
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        body = {"driver": _DRIVER, "nodeName": name, "pool": pool, "devices": [{"name": one} for one in free[name]]}
        draft.devices.append({"apiVersion": _V1, "kind": "ResourceSlice", "metadata": {"name": f"{name}-boards"}, "spec": body})
    for node in draft.some(draft.nodes, 25):
        amounts = {draft.random.choice((_RESOURCE, _IMPLICIT)): draft.random.choice(("0", "1", "4"))}
        node["status"]["allocatable"] |= amounts
        node["status"]["capacity"] |= amounts
    running = [pod for pod in draft.some(draft.bound, 40) if _ask(draft, pod)]
    for pod in running:
        node = pod["spec"]["nodeName"]
        count = _count(pod)
        if draft.chance(80) and len(free.get(node, ())) >= count:
            taken, free[node] = free[node][:count], free[node][count:]
            draft.devices.append(_special(pod, _allocation(node, taken)))
    for pod in draft.some(draft.pending, 60):
        if running and draft.chance(50):
            like = draft.random.choice(running)
            pod["metadata"] |= {key: copy.deepcopy(like["metadata"][key]) for key in ("namespace", "labels")}
            pod["spec"] = {key: copy.deepcopy(value) for key, value in like["spec"].items() if key != "nodeName"}
        elif not _ask(draft, pod):
            continue
        if draft.chance(12):
            draft.devices.append(_special(pod, None, empty=draft.chance(25)))
        if draft.chance(25):
            _claim_one(draft, pod)


def _ask(draft: Draft, pod: Object) -> bool:
    resources = pod["spec"]["containers"][0].get("resources")
    if resources is None:
        return False
    for name in draft.subset((_RESOURCE, _IMPLICIT), 1, 1 if draft.chance(80) else 2):
        amount = draft.random.choice(("1", "1", "2", "3"))
        resources.setdefault("requests", {})[name] = amount
        resources.setdefault("limits", {})[name] = amount
    return True


def _asked(pod: Object) -> dict[str, int]:
    requests = pod["spec"]["containers"][0]["resources"]["requests"]
    return {name: int(requests[name]) for name in (_IMPLICIT, _RESOURCE) if name in requests}


def _count(pod: Object) -> int:
    return sum(_asked(pod).values())


def _special(pod: Object, allocation: Object | None, *, empty: bool = False) -> Object:
    owner = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": pod["metadata"]["name"],
        "uid": pod["metadata"]["uid"],
        "controller": True,
    }
    name = f"{pod['metadata']['name']}-extended-resources-x"
    metadata: Object = {"name": name, "namespace": pod["metadata"]["namespace"], "uid": f"uid-{name}"}
    metadata |= {"annotations": dict(_MARK), "ownerReferences": [owner]}
    requests = [
        {
            "name": f"container-0-request-{number}",
            "exactly": {"deviceClassName": _CLASS, "allocationMode": "ExactCount", "count": count},
        }
        for number, count in enumerate(_asked(pod).values())
    ]
    claim: Object = {"apiVersion": _V1, "kind": "ResourceClaim", "metadata": metadata, "spec": {}}
    if not empty:
        claim["spec"] = {"devices": {"requests": requests}}
    if allocation is not None:
        names = [name for one, name in zip(requests, _asked(pod), strict=True) for _ in range(one["exactly"]["count"])]
        by_name = dict(zip(_asked(pod), requests, strict=True))
        for result, asked in zip(allocation["devices"]["results"], names, strict=True):
            result["request"] = by_name[asked]["name"]
        user = {"resource": "pods", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
        claim["status"] = {"allocation": allocation, "reservedFor": [user]}
        mappings = [
            {"containerName": "main", "resourceName": asked, "requestName": one["name"]} for asked, one in by_name.items()
        ]
        pod["status"]["extendedResourceClaimStatus"] = {"resourceClaimName": name, "requestMappings": mappings}
    return claim


def _allocation(node: str, devices: list[str]) -> Object:
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    results = [{"request": "", "driver": _DRIVER, "pool": node, "device": one} for one in devices]
    return {"devices": {"results": results}, "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]}}


def _claim_one(draft: Draft, pod: Object) -> None:
    """A claim that the pod names, for one or two devices of the class."""
    name = f"{pod['metadata']['name']}-own"
    metadata = {"name": name, "namespace": pod["metadata"]["namespace"], "uid": f"uid-{name}"}
    exactly = {"deviceClassName": _CLASS, "allocationMode": "ExactCount", "count": draft.random.choice((1, 2))}
    spec = {"devices": {"requests": [{"name": "own", "exactly": exactly}]}}
    draft.devices.append({"apiVersion": _V1, "kind": "ResourceClaim", "metadata": metadata, "spec": spec})
    pod["spec"].setdefault("resourceClaims", []).append({"name": "own", "resourceClaimName": name})
