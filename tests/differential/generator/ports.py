"""Host ports: protocols, addresses, and the wildcard that clashes with them all."""

from tests.differential.generator.draft import Draft, Object

_NUMBERS = (80, 443, 5353)


def add(draft: Draft) -> None:
    """Let containers and sidecars of many pods take ports of their node."""
    for pod in draft.some(draft.pods, 60):
        # One pod may not name the same port twice.
        pod["spec"]["containers"][0]["ports"] = [_port(draft, number) for number in draft.subset(_NUMBERS, 1, 2)]
        if draft.chance(15):
            container = {
                "name": "beside",
                "image": "registry.example/app:1",
                "ports": [_port(draft, draft.random.choice(_NUMBERS))],
            }
            if draft.chance(60):
                container["restartPolicy"] = "Always"
            pod["spec"].setdefault("initContainers", []).append(container)
        if draft.chance(10) or pod["spec"].get("hostNetwork"):
            _host_network(pod)


def _port(draft: Draft, number: int) -> Object:
    port: Object = {"containerPort": number, "protocol": draft.random.choice(("TCP", "TCP", "UDP", "SCTP"))}
    if draft.chance(85):
        port["hostPort"] = number
    address = draft.random.choice(("", "", "0.0.0.0", "127.0.0.1", "10.0.0.7", "::"))
    return port | {"hostIP": address} if address else port


def _host_network(pod: Object) -> None:
    # The API server gives every port of such a pod the same number on the host.
    pod["spec"]["hostNetwork"] = True
    for container in pod["spec"]["containers"] + pod["spec"].get("initContainers", []):
        for port in container.get("ports", []):
            port["hostPort"] = port["containerPort"]
