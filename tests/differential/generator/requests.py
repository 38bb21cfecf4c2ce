"""Requests in every form: init containers, sidecars, overhead, pod-level, extended, huge pages, none at all."""

from tests.differential.generator.draft import Draft, Object

GPU, CARD = "nvidia.com/gpu", "example.com/card"


def add(draft: Draft) -> None:
    """Give nodes more kinds of resources, and pods more ways to ask for them."""
    for node in draft.some(draft.nodes, 40):
        _offer(draft, node)
    for pod in draft.some(draft.pods, 70):
        draft.random.choice(_WAYS)(draft, pod)
    for pod in draft.some(draft.pods, 15):
        pod["spec"]["overhead"] = {"cpu": "250m", "memory": "120Mi"}


def _offer(draft: Draft, node: Object) -> None:
    allocatable = node["status"]["allocatable"]
    allocatable[GPU] = draft.random.choice(("0", "1", "4"))
    if draft.chance(50):
        allocatable["hugepages-2Mi"] = "512Mi"
        allocatable["hugepages-1Gi"] = "0"
    if draft.chance(50):
        allocatable[CARD] = "2"
    if draft.chance(30):
        allocatable["ephemeral-storage"] = "5Gi"
    if draft.chance(20):
        allocatable["cpu"] = "1999m"
    if draft.chance(10):
        allocatable["pods"] = "0"
    node["status"]["capacity"] |= allocatable


def _container(draft: Draft, name: str, requests: Object) -> Object:
    return {"name": name, "image": "registry.example/app:1", "resources": {"requests": requests}}


def _several(draft: Draft, pod: Object) -> None:
    for index in range(draft.random.randint(1, 3)):
        pod["spec"]["containers"].append(_container(draft, f"more-{index}", {"cpu": "100m", "memory": "100Mi"}))


def _init(draft: Draft, pod: Object) -> None:
    containers = []
    for index in range(draft.random.randint(1, 3)):
        requests = {"cpu": draft.random.choice(("10m", "1500m", "3")), "memory": draft.random.choice(("10Mi", "5Gi"))}
        container = _container(draft, f"init-{index}", requests)
        if draft.chance(50):
            container["restartPolicy"] = "Always"
        containers.append(container)
    pod["spec"]["initContainers"] = containers


def _pod_level(draft: Draft, pod: Object) -> None:
    # The API server refuses less for the pod than for its containers together.
    if draft.chance(40):
        _init(draft, pod)
    requests = {"cpu": draft.random.choice(("9", "9500m")), "memory": draft.random.choice(("20Gi", "24Gi"))}
    if draft.chance(50):
        del requests[draft.random.choice(("cpu", "memory"))]
    pod["spec"]["resources"] = {"requests": requests}


def _extended(draft: Draft, pod: Object) -> None:
    resource = draft.random.choice((GPU, CARD, "example.com/nowhere"))
    amount = draft.random.choice(("0", "1", "2"))
    container = draft.random.choice(pod["spec"]["containers"])
    container["resources"]["requests"][resource] = amount
    container["resources"]["limits"] = {resource: amount}


def _huge_pages(draft: Draft, pod: Object) -> None:
    amount = draft.random.choice(("100Mi", "600Mi"))
    resources = pod["spec"]["containers"][0]["resources"]
    resources["requests"]["hugepages-2Mi"] = amount
    resources["limits"] = {"hugepages-2Mi": amount}


def _scratch(draft: Draft, pod: Object) -> None:
    pod["spec"]["containers"][0]["resources"]["requests"]["ephemeral-storage"] = draft.random.choice(("2Gi", "6Gi", "60Gi"))


def _nothing(draft: Draft, pod: Object) -> None:
    pod["spec"]["containers"][0]["resources"] = draft.random.choice(({}, {"requests": {"cpu": "0"}}))


def _odd_units(draft: Draft, pod: Object) -> None:
    requests = pod["spec"]["containers"][0]["resources"]["requests"]
    requests["cpu"] = draft.random.choice(("100.5m", "0.0001", "1e0", "1500000u", "2.5"))
    requests["memory"] = draft.random.choice(("1e9", "128974848", "129e6", "123Mi", "1.5Gi", "1000.5Ki"))


_WAYS = (_several, _init, _pod_level, _extended, _huge_pages, _scratch, _nothing, _odd_units)
