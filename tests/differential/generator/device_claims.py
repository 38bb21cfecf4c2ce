"""Claims of devices: everything that the DynamicResources plugin filters by.

Devices are of two drivers. Pools are of one node, of a zone, of all nodes, or have nodes for each device. Some are incomplete, of
two generations, or invalid. Devices have taints, shared counters, or capacity that several claims share. Claims have one request
or several, alternatives, constraints and selectors, a few of which fail. Some claims have devices already.
"""

from tests.differential.generator.draft import NAMESPACES, ZONE, ZONES, Draft, Object, name_of

GPU, NIC = "gpu.example.com", "nic.example.com"
_V1 = "resource.k8s.io/v1"
_MODELS = ("a100", "h100", "l4")
_CLASSES = ("gpu", "nic", "any", "big")
_SELECTORS = (
    f'device.attributes["{GPU}"].model == "a100"',
    f'device.attributes["{GPU}"].model in ["a100", "h100"]',
    f'device.attributes["{GPU}"].index >= 1 && !(device.attributes["{GPU}"].index > 2)',
    f'"{GPU}" in device.attributes && device.attributes["{GPU}"].model.startsWith("h")',
    f'device.capacity["{GPU}"].memory.compareTo(quantity("40Gi")) >= 0',
    f'device.capacity["{GPU}"].memory.isGreaterThan(quantity("10Gi"))',
    f'device.attributes["{GPU}"].driverVersion.isGreaterThan(semver("1.9.0"))',
    f'has(device.attributes["{GPU}"].healthy) && device.attributes["{GPU}"].healthy',
    f'device.attributes["{GPU}"].?model.orValue("none") != "l4"',
    f'cel.bind(gpu, device.attributes["{GPU}"], gpu.model == "h100" || gpu.index == 0)',
    f'device.attributes["{GPU}"].model.matches("^[ah]100$")',
    f'device.driver == "{NIC}" ? device.attributes["{NIC}"].speed >= 100 : true',
    'device.attributes["topology.example.com"].root == "r0"',
    "device.allowMultipleAllocations",
    "true",
)
_FAILING = (
    f'device.attributes["{GPU}"].unheard == 1',
    f'device.attributes["{GPU}"].model > 5',
    f'device.attributes["{GPU}"].model',
)
_ATTRIBUTES = ("topology.example.com/root", f"{GPU}/model", f"{GPU}/index", f"{NIC}/speed")


def add(draft: Draft) -> None:
    """Make classes, slices of both drivers, claims in several states, and pods that use them."""
    _classes(draft)
    for node in draft.some(draft.nodes, 70):
        _node_pools(draft, node["metadata"]["name"])
    _shared_pools(draft)
    claims = [_claim(draft, f"claim-{number}", draft.random.choice(NAMESPACES)) for number in range(draft.random.randint(6, 12))]
    for claim in draft.some(claims, 35):
        _allocate(draft, claim)
    draft.devices.extend(claims)
    _ballast(draft)
    for pod in draft.some(draft.pending, 70):
        _use(draft, pod, claims)


def _classes(draft: Draft) -> None:
    selectors = {
        "gpu": [f'device.driver == "{GPU}"'],
        "nic": [f'device.driver == "{NIC}"'],
        "any": [],
        "big": [f'device.driver == "{GPU}"', f'device.capacity["{GPU}"].memory.compareTo(quantity("40Gi")) >= 0'],
    }
    for name, expressions in selectors.items():
        spec = {"selectors": [{"cel": {"expression": one}} for one in expressions]}
        draft.devices.append({"apiVersion": _V1, "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec})


def _slice(draft: Draft, name: str, driver: str, pool: Object, **spec: object) -> None:
    body = {"driver": driver, "pool": {"generation": 1, "resourceSliceCount": 1, **pool}, **spec}
    draft.devices.append({"apiVersion": _V1, "kind": "ResourceSlice", "metadata": {"name": name}, "spec": body})


def _node_pools(draft: Draft, node: str) -> None:
    kind = draft.random.choice(("plain", "plain", "counters", "shared", "two", "incomplete", "old", "invalid"))
    gpus = [_gpu(draft, number, shared=kind == "shared") for number in range(draft.random.randint(1, 4))]
    pool: Object = {"name": node}
    if kind == "counters":
        pool["resourceSliceCount"] = 2
        counters = {"memory": {"value": draft.random.choice(("40Gi", "80Gi"))}, "engines": {"value": "4"}}
        named = "board" if draft.chance(97) else "other"
        for gpu in gpus:
            consumed = {"memory": {"value": draft.random.choice(("20Gi", "40Gi"))}, "engines": {"value": "1"}}
            gpu["consumesCounters"] = [{"counterSet": named, "counters": consumed}]
        _slice(draft, f"{node}-counters", GPU, pool, nodeName=node, sharedCounters=[{"name": "board", "counters": counters}])
    elif kind == "two":
        pool["resourceSliceCount"] = 2
        _slice(draft, f"{node}-gpus-2", GPU, pool, nodeName=node, devices=[_gpu(draft, number) for number in (8, 9)])
    elif kind == "incomplete":
        pool["resourceSliceCount"] = 2
    elif kind == "old":
        _slice(draft, f"{node}-gpus-old", GPU, pool, nodeName=node, devices=[_gpu(draft, number) for number in range(6)])
        pool["generation"] = 2
    elif kind == "invalid":
        pool["resourceSliceCount"] = 2
        _slice(draft, f"{node}-gpus-2", GPU, pool, nodeName=node, devices=[_gpu(draft, 0)])
    _slice(draft, f"{node}-gpus", GPU, pool, nodeName=node, devices=gpus)
    if draft.chance(50):
        _slice(draft, f"{node}-nics", NIC, {"name": node}, nodeName=node, devices=[_nic(draft, n) for n in range(2)])


def _gpu(draft: Draft, number: int, *, shared: bool = False) -> Object:
    random = draft.random
    attributes: Object = {
        "model": {"string": random.choice(_MODELS)},
        "index": {"int": number},
        "driverVersion": {"version": random.choice(("1.9.0", "1.10.0", "2.0.0-rc.1"))},
    }
    if draft.chance(90):
        attributes["topology.example.com/root"] = {"string": f"r{random.randrange(2)}"}
    if draft.chance(40):
        attributes["healthy"] = {"bool": draft.chance(70)}
    memory: Object = {"value": random.choice(("10Gi", "40Gi", "80Gi"))}
    gpu: Object = {"name": f"gpu-{number}", "attributes": attributes, "capacity": {"memory": memory}}
    if shared:
        gpu["allowMultipleAllocations"] = True
        if draft.chance(70):
            memory["requestPolicy"] = random.choice(
                (
                    {"default": "1Gi", "validRange": {"min": "1Gi", "step": "3Gi"}},
                    {"default": "1Gi", "validRange": {"min": "1Gi", "max": "8Gi"}},
                    {"default": "2Gi", "validValues": ["2Gi", "5Gi", "9Gi"]},
                    {"default": "4Gi"},
                )
            )
            if memory["requestPolicy"].get("validRange", {}).get("step"):
                memory["requestPolicy"]["validRange"]["max"] = "10Gi"
    if draft.chance(15):
        effect = random.choice(("NoSchedule", "NoExecute", "None"))
        gpu["taints"] = [{"key": random.choice(("broken", "slow")), "value": random.choice(("x", "y")), "effect": effect}]
    if draft.chance(8):
        gpu["bindingConditions"], gpu["bindingFailureConditions"] = ["Attached"], ["Failed"]
    return gpu


def _nic(draft: Draft, number: int) -> Object:
    attributes = {
        "speed": {"int": draft.random.choice((25, 100, 400))},
        "topology.example.com/root": {"string": f"r{draft.random.randrange(2)}"},
    }
    return {"name": f"nic-{number}", "attributes": attributes}


def _shared_pools(draft: Draft) -> None:
    """Devices that several nodes reach."""
    random = draft.random
    if draft.chance(50):
        terms = [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": draft.subset(ZONES, 1, 2)}]}]
        _slice(
            draft,
            "zone-nics",
            NIC,
            {"name": "zone"},
            nodeSelector={"nodeSelectorTerms": terms},
            devices=[_nic(draft, n) for n in range(3)],
        )
    if draft.chance(40):
        _slice(draft, "all-nics", NIC, {"name": "everywhere"}, allNodes=True, devices=[_nic(draft, n) for n in range(2)])
    if draft.chance(40):
        devices = []
        for number in range(4):
            term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [random.choice(ZONES)]}]}
            where = random.choice(
                (
                    {"nodeName": random.choice(draft.node_names())},
                    {"allNodes": True},
                    {"nodeSelector": {"nodeSelectorTerms": [term]}},
                )
            )
            devices.append(_gpu(draft, number) | where)
        _slice(draft, "fabric", GPU, {"name": "fabric"}, perDeviceNodeSelection=True, devices=devices)
    if draft.chance(30):
        count = 2 if draft.chance(70) else 3
        for number in range(2):
            node = random.choice(draft.node_names())
            devices = [_gpu(draft, index + 4 * number) for index in range(2)]
            pool = {"name": "rack", "resourceSliceCount": count, "generation": 1 + (number and draft.chance(15))}
            _slice(draft, f"rack-{number}", GPU, pool, nodeName=node, devices=devices)


def _claim(draft: Draft, name: str, namespace: str) -> Object:
    random = draft.random
    requests = [_request(draft, f"r{number}") for number in range(random.choice((1, 1, 1, 2, 2, 3)))]
    if any("adminAccess" in one.get("exactly", {}) for one in requests):
        namespace = _admin_namespace(draft, namespace)
    devices: Object = {"requests": requests}
    if draft.chance(30):
        attribute = random.choice(_ATTRIBUTES)
        constraint: Object = {random.choice(("matchAttribute", "distinctAttribute")): attribute}
        if draft.chance(40):
            constraint["requests"] = [one["name"] for one in draft.subset(requests, 1)]
        devices["constraints"] = [constraint]
    metadata: Object = {"name": name, "namespace": namespace, "uid": f"uid-{namespace}-{name}"}
    return {"apiVersion": _V1, "kind": "ResourceClaim", "metadata": metadata, "spec": {"devices": devices}}


def _admin_namespace(draft: Draft, namespace: str) -> str:
    for item in draft.namespaces:
        if item["metadata"]["name"] == namespace:
            item["metadata"]["labels"]["resource.kubernetes.io/admin-access"] = "true"
    return namespace


def _request(draft: Draft, name: str) -> Object:
    if draft.chance(25):
        options = [{"name": f"o{number}", **_asked(draft, first=number)} for number in range(draft.random.randint(1, 3))]
        return {"name": name, "firstAvailable": options}
    exactly = _asked(draft)
    if draft.chance(10):
        exactly["adminAccess"] = True
    return {"name": name, "exactly": exactly}


def _asked(draft: Draft, first: int = 1) -> Object:
    random = draft.random
    asked: Object = {"deviceClassName": random.choice(_CLASSES) if draft.chance(98) else "missing"}
    if draft.chance(15):
        asked["allocationMode"] = "All"
    else:
        asked |= {"allocationMode": "ExactCount", "count": random.choice((1, 1, 1, 2, 3, 20)) if first else 2}
    if draft.chance(45):
        expressions = [_expression(draft)]
        if draft.chance(20):
            expressions.insert(0, f'device.driver == "{GPU}"')
        asked["selectors"] = [{"cel": {"expression": one}} for one in expressions]
    if draft.chance(25):
        toleration = random.choice(
            (
                {"operator": "Exists"},
                {"key": "broken", "operator": "Equal", "value": "x", "effect": "NoSchedule"},
                {"key": "slow", "operator": "Exists", "effect": "NoExecute"},
                {"key": "broken", "operator": "Equal", "value": "y"},
            )
        )
        asked["tolerations"] = [toleration]
    if draft.chance(25):
        amount = random.choice(("1Gi", "2500Mi", "6Gi", "12Gi", "500M"))
        asked["capacity"] = {"requests": {random.choice(("memory", "memory", "memory", "bandwidth")): amount}}
    return asked


def _expression(draft: Draft, depth: int = 0) -> str:
    """One of those above, or several of them with an operator; a failing one may be absorbed."""
    random = draft.random
    if depth > 2 or draft.chance(70):
        return random.choice(_SELECTORS if draft.chance(96) else _FAILING)
    parts = [_expression(draft, depth + 1) for _ in range(3)]
    form = random.choice(("({0}) && ({1})", "({0}) || ({1})", "!({0})", "({0}) ? ({1}) : ({2})", "({0}) || ({1}) && ({2})"))
    return form.format(*parts)


def _devices(draft: Draft) -> list[tuple[Object, Object]]:
    slices = [item for item in draft.devices if item["kind"] == "ResourceSlice"]
    return [(item["spec"], device) for item in slices for device in item["spec"].get("devices", ())]


def _allocate(draft: Draft, claim: Object) -> None:
    """Give the claim some devices, whether or not they are what it asks for."""
    random = draft.random
    results = []
    nodes = []
    taken = {name for item in draft.devices if item["kind"] == "ResourceClaim" for name in _taken(item)}
    for spec, device in draft.subset(_devices(draft), 1, 2):
        key = spec["driver"], spec["pool"]["name"], device["name"]
        if key in taken and not device.get("allowMultipleAllocations"):
            continue
        result = {"request": claim["spec"]["devices"]["requests"][0]["name"], "driver": key[0], "pool": key[1], "device": key[2]}
        if device.get("allowMultipleAllocations"):
            share = f"{random.randrange(16**8):08x}-0000-4000-8000-000000000000"
            result |= {"shareID": share}
            if draft.chance(90):
                result["consumedCapacity"] = {"memory": random.choice(("1Gi", "4Gi", "8Gi"))}
        elif draft.chance(10):
            result["adminAccess"] = True
        if draft.chance(15):
            result |= {"bindingConditions": ["Attached"], "bindingFailureConditions": ["Failed"]}
        results.append(result)
        if "nodeName" in spec:
            nodes.append(spec["nodeName"])
    allocation: Object = {"devices": {"results": results}}
    if nodes:
        field = {"key": "metadata.name", "operator": "In", "values": [nodes[0]]}
        allocation["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    elif draft.chance(50):
        term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [random.choice(ZONES)]}]}
        allocation["nodeSelector"] = {"nodeSelectorTerms": [term]}
    claim["status"] = {"allocation": allocation}
    conditional = [_ready_or_failed(draft, one) for one in results if "bindingConditions" in one]
    if conditional:
        claim["status"]["devices"] = conditional
    users = draft.subset(draft.bound, 1, 3) if draft.bound else []
    claim["status"]["reservedFor"] = [
        {"resource": "pods", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]} for pod in users
    ]


def _ready_or_failed(draft: Draft, result: Object) -> Object:
    """What the driver says of a device with binding conditions. Nobody knows the end where it says neither."""
    since = {"lastTransitionTime": "2026-01-01T00:00:00Z", "reason": "Said", "message": ""}
    said = [{"type": draft.random.choice(("Attached", "Attached", "Failed")), "status": "True", **since}]
    if draft.chance(20):
        said = [{"type": kind, "status": "True", **since} for kind in ("Attached", "Failed")]
    named = {key: result[key] for key in ("driver", "pool", "device")}
    if "shareID" in result:
        named["shareID"] = result["shareID"]
    return named | {"conditions": said}


def _taken(claim: Object) -> list[tuple[str, str, str]]:
    results = claim.get("status", {}).get("allocation", {}).get("devices", {}).get("results", ())
    return [(one["driver"], one["pool"], one["device"]) for one in results]


def _ballast(draft: Draft) -> None:
    """Claims of nobody in particular that have devices."""
    for number in range(len(draft.nodes) // 2):
        claim = _claim(draft, f"taken-{number}", draft.random.choice(NAMESPACES))
        _allocate(draft, claim)
        draft.devices.append(claim)


def _use(draft: Draft, pod: Object, claims: list[Object]) -> None:
    namespace = pod["metadata"]["namespace"]
    here = [claim["metadata"]["name"] for claim in claims if claim["metadata"]["namespace"] == namespace]
    used: list[Object] = []
    statuses: list[Object] = []
    for number in range(draft.random.choice((1, 1, 1, 2))):
        name = f"c{number}"
        if here and draft.chance(55):
            used.append({"name": name, "resourceClaimName": draft.random.choice(here) if draft.chance(97) else "nowhere"})
            continue
        used.append({"name": name, "resourceClaimTemplateName": "template"})
        state = draft.random.choice(("made", "made", "made", "made", "made", "later", "needless", "foreign", "deleting"))
        if state == "later":
            continue
        if state == "needless":
            statuses.append({"name": name})
            continue
        claim = _claim(draft, f"{pod['metadata']['name']}-{name}", namespace)
        statuses.append({"name": name, "resourceClaimName": claim["metadata"]["name"]})
        uid = pod["metadata"]["uid"] if state != "foreign" else "another"
        owner = {"apiVersion": "v1", "kind": "Pod", "name": name_of(pod).partition("/")[2], "uid": uid, "controller": True}
        claim["metadata"]["ownerReferences"] = [owner]
        if state == "deleting":
            claim["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["example.com/kept"]}
        elif draft.chance(10):
            _allocate(draft, claim)
        draft.devices.append(claim)
    pod["spec"]["resourceClaims"] = used
    if statuses:
        pod["status"]["resourceClaimStatuses"] = statuses
