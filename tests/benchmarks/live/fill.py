"""Fills a control plane for `make bench-live`: one object of each kind by the API server and kwok, the others as copies."""

import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from tests.benchmarks.live import objects
from tests.benchmarks.live.stored import Etcd, copied, uids
from tests.testbed.api import Api, ApiError, Object, collection, path_of
from tests.testbed.connections import Connections, Request
from tests.testbed.control_plane import MASTERS, ControlPlane
from tests.testbed.manifests import served_manifests
from tests.testbed.progress import step
from tests.testbed.stand_in.kinds import definitions

Stored = tuple[str, bytes]

_SETTLE_SECONDS = 300
_PODS = f"/api/v1/namespaces/{objects.NAMESPACE}/pods"
_CONTROLLERS = f"/api/v1/namespaces/{objects.NAMESPACE}/replicationcontrollers"
_ZONE_LABEL = "topology.kubernetes.io/zone"
# In the stored form: field 2 of a map entry, one byte long.
_ZONE = f"{_ZONE_LABEL}\x12\x01{{}}"


def fill(plane: ControlPlane, nodes: int, pods: int, pending: int) -> list[str]:
    """Make everything, and wait until the API server shows all of it and the scheduler knows it; the names of the pods on
    nodes. All nodes are kwok's and Ready, all these pods Running, as kwok made the first ones."""
    # The audit log leaves this user out: the bodies of all these objects are of no use there.
    api, etcd = Api(plane.kubeconfig_of("kwok", MASTERS)), Etcd(plane.etcd)
    with step("definitions and groups"):
        sets = _groups(api, nodes)
    with step("the first nodes, and the first pod of every owner"):
        machines = objects.machines(sets, nodes)
        first_nodes = _first_nodes(api, machines[: objects.first_nodes(pods, nodes)])
        owners = _owners(api, pods)
        bound = objects.bound_pods(owners, pods, nodes)
        first_pods = _first_pods(api, bound, list(first_nodes)[-1])
    first_machines = {item["metadata"]["name"]: item for item in api.items(collection(machines[0]))}
    copies = (
        *_like_the_first(etcd, "/registry/minions/", first_nodes, nodes),
        *_like_the_first(etcd, f"/registry/{objects.MACHINE_GROUP}/machines/{objects.NAMESPACE}/", first_machines, nodes),
        *_pod_copies(etcd, first_pods, bound),
    )
    # Watches begin anew then: see `Etcd.put`.
    with step(f"{len(copies):,} copies, and the API server again"), plane.api_server_away():
        etcd.put(copies)
    with step("all of it being served"):
        _until(api, "/api/v1/nodes", nodes)
        _until(api, collection(machines[0]), nodes)
        _until(api, _PODS, pods)
    with step(f"{pending:,} pods that wait"):
        _pending(api, pending, nodes)
    return [pod["metadata"]["name"] for pod in bound]


def _groups(api: Api, nodes: int) -> list[Object]:
    """The MachineSets of the node groups."""
    create(api, definitions_alone())
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": objects.NAMESPACE}})
    account = f"/api/v1/namespaces/{objects.NAMESPACE}/serviceaccounts"
    api.wait(account, lambda found: any(item["metadata"]["name"] == "default" for item in found), "the service account")
    groups = objects.groups(nodes)
    for path in sorted({collection(item) for item in groups}):
        until_served(api, path)
    deployments = [item for item in api.create(*groups) if item["kind"] == "MachineDeployment"]
    return api.create(*objects.machine_sets(deployments))


def _first_nodes(api: Api, machines: list[Object]) -> dict[str, Object]:
    """The nodes that kwok makes Ready, each with its Machine, by name and in order."""
    create(api, objects.nodes(len(machines)))
    create(api, machines)
    _send(api, (Request("PATCH", f"{path_of(item)}/status", {"status": item["status"]}) for item in machines))
    made = api.wait("/api/v1/nodes", lambda found: all(map(_usable, found)), "the first nodes being ready", _SETTLE_SECONDS)
    return {str(item["metadata"]["name"]): item for item in sorted(made, key=lambda item: str(item["metadata"]["name"]))}


def _owners(api: Api, pods: int) -> list[Object]:
    """The ReplicationControllers, some with a budget."""
    _send(api, (Request("POST", _CONTROLLERS, item) for item in objects.controllers(pods)))
    kind: Object = {"apiVersion": "v1", "kind": "ReplicationController"}
    owners = sorted((kind | item for item in api.items(_CONTROLLERS)), key=lambda item: str(item["metadata"]["name"]))
    create(api, objects.budgets(owners))
    return owners


def _first_pods(api: Api, bound: list[Object], last_node: str) -> dict[str, Object]:
    """The first pod of every owner, once kwok has started it, by its owner."""
    _until_known(api, bound[0] | {"spec": bound[0]["spec"] | {"nodeName": last_node}})
    create(api, {_owner(pod): pod for pod in reversed(bound)}.values())
    made = api.wait(_PODS, lambda found: all(map(_runs, found)), "the first pods running", _SETTLE_SECONDS)
    return {_owner(pod): pod for pod in made}


def _like_the_first(etcd: Etcd, prefix: str, made: dict[str, Object], count: int) -> Iterator[Stored]:
    """Nodes or Machines, each like the first of its group."""
    new_uids = uids(prefix)
    values = {name: etcd.value(prefix + name) for name in made}
    for number in range(len(made), count):
        name, like = objects.node_name(number), objects.node_name(number % len(made))
        yield prefix + name, copied(values[like], {like: name, made[like]["metadata"]["uid"]: next(new_uids)})


def _pod_copies(etcd: Etcd, made: dict[str, Object], bound: list[Object]) -> Iterator[Stored]:
    """Like the first of their owner but for their node, and its zone. A real cluster gives no address twice; here the pods of an
    owner have that of their first."""
    prefix, new_uids = f"/registry/pods/{objects.NAMESPACE}/", uids("pods")
    values = {owner: etcd.value(prefix + item["metadata"]["name"]) for owner, item in made.items()}
    for pod in bound:
        like, name = made[_owner(pod)], pod["metadata"]["name"]
        if name != like["metadata"]["name"]:
            old, new = like["spec"]["nodeName"], pod["spec"]["nodeName"]
            words = {like["metadata"]["name"]: name, like["metadata"]["uid"]: next(new_uids), old: new}
            zones = {_ZONE.format(objects.zone_of(old)): _ZONE.format(objects.zone_of(new))}
            yield prefix + name, copied(values[_owner(pod)], words | zones)


def _until_known(api: Api, pod: Object) -> None:
    """Return when the API server gives a pod the zone of its node: until it has heard of the node, it stores the pod without."""
    deadline = time.monotonic() + _SETTLE_SECONDS
    while _ZONE_LABEL not in api.call("POST", f"{_PODS}?dryRun=All", pod)["metadata"]["labels"]:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{pod['spec']['nodeName']} is not known")
        time.sleep(0.1)


def _pending(api: Api, count: int, nodes: int) -> None:
    """Pods that no node has room for. The scheduler hears of nodes and pods one by one: the first of these is made anew until
    it has looked at every node and found all of them full."""
    first, *others = objects.pending_pods(count)
    refused = f"0/{nodes} nodes are available"
    deadline = time.monotonic() + _SETTLE_SECONDS
    while refused not in _told(api, first):
        if time.monotonic() > deadline:
            raise TimeoutError(f"the scheduler did not say: {refused}")
        with suppress(ApiError):  # gone already, or still there: that is looked at next
            api.delete(first)
        api.wait(_named(first), lambda pods: not pods, "its first pod being gone", _SETTLE_SECONDS)
    create(api, others)
    waiting = f"{_PODS}?labelSelector=app={first['metadata']['labels']['app']}"
    found = api.wait(waiting, lambda pods: all(map(_judged, pods)), "the scheduler's word on all that wait", _SETTLE_SECONDS)
    placed = [pod["metadata"]["name"] for pod in found if pod["spec"].get("nodeName")]
    if placed:
        raise RuntimeError(f"the scheduler found room for {', '.join(placed)}")


def _told(api: Api, pod: Object) -> str:
    """What the scheduler says of a new pod; empty when it found a node."""
    api.create(pod)
    found = api.wait(_named(pod), lambda pods: all(map(_judged, pods)), "the scheduler's word on a pod", _SETTLE_SECONDS)
    return str(_condition(found[0], "PodScheduled").get("message", ""))


def _named(pod: Object) -> str:
    return f"{_PODS}?fieldSelector=metadata.name={pod['metadata']['name']}"


def _judged(pod: Object) -> bool:
    return bool(pod["spec"].get("nodeName") or _condition(pod, "PodScheduled"))


def _condition(item: Object, name: str) -> Object:
    return next((one for one in item["status"].get("conditions") or () if one["type"] == name), {})


def create(api: Api, items: Iterable[Object]) -> None:
    _send(api, (Request("POST", collection(item), item) for item in items))


def _send(api: Api, requests: Iterable[Request]) -> None:
    """Over new connections: the server gives up those that were idle for some time."""
    with Connections(api) as connections:
        connections.send(requests)


def _owner(pod: Object) -> str:
    return str(pod["metadata"]["ownerReferences"][0]["name"])


def _usable(node: Object) -> bool:
    return _condition(node, "Ready").get("status") == "True" and not node["spec"].get("taints")


def _runs(pod: Object) -> bool:
    return bool(pod["status"]["phase"] == "Running" and pod["status"].get("podIP"))


def _until(api: Api, path: str, count: int) -> None:
    """Return when a collection has so many objects."""
    deadline = time.monotonic() + _SETTLE_SECONDS
    while (found := _count(api, path)) != count:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{path} has {found:,} objects, not {count:,}")
        time.sleep(0.2)


def _count(api: Api, path: str) -> int:
    page: Any = api.get(f"{path}?limit=1")
    return len(page["items"]) + int(page["metadata"].get("remainingItemCount", 0))


def definitions_alone() -> list[Object]:
    """Cluster API's definitions without its webhooks: nobody acts on its objects here, so that they stay as they are made."""
    found = [item for item in served_manifests("https://127.0.0.1:1", "") if item["kind"] == "CustomResourceDefinition"]
    for item in found:
        item["spec"]["conversion"] = {"strategy": "None"}
    return [*found, *definitions()]


def until_served(api: Api, path: str) -> None:
    """The definitions are served a moment after they were created."""
    group, _, _ = path.partition("/namespaces/")
    plural = path.rpartition("/")[2]
    deadline = time.monotonic() + _SETTLE_SECONDS
    while not any(item["name"] == plural for item in _resources(api, group)):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{path} is not served")
        time.sleep(0.1)


def _resources(api: Api, group: str) -> list[Object]:
    try:
        found: list[Object] = api.get(group)["resources"]
    except ApiError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise
        return []
    return found
