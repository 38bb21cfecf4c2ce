"""One Cluster of one test, in a namespace of its own, with the groups that the test makes in it."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from tests.testbed import cluster_documents as documents
from tests.testbed.api import Api, Object
from tests.testbed.cluster_documents import ANY_SHAPE, CORE, Group, Shape
from tests.testbed.overlooked import until_seen_to
from tests.testbed.stand_in.kinds import MACHINE_TEMPLATE, VERSION

NAME = "work"
Condition = Callable[[Object], object]
Seen = TypeVar("Seen")
# What makes pods first, so that none is made again.
_RUNNING = (
    "/apis/apps/v1/namespaces/{}/deployments",
    "/apis/apps/v1/namespaces/{}/replicasets",
    "/apis/apps/v1/namespaces/{}/statefulsets",
    "/apis/batch/v1/namespaces/{}/jobs",
    "/api/v1/namespaces/{}/pods",
)
_CLUSTER_WIDE = ("/api/v1/nodes", "/api/v1/pods", "/apis/apps/v1/daemonsets")


class WorkCluster:
    """A Cluster called `work`. With `topology` its groups are made by its class; without, by `machine_deployment`."""

    def __init__(self, api: Api, namespace: str, *, topology: Sequence[Group] | None = None, shape: Shape = ANY_SHAPE) -> None:
        self.api = api
        self.namespace = namespace
        api.create(documents.namespace(namespace), documents.bootstrap_template(namespace))
        if topology is None:
            made = api.create(*documents.plain_cluster(namespace, NAME))
        else:
            api.create(documents.machine_template(namespace, "worker", shape), *documents.cluster_class(namespace, "worker"))
            made = api.create(documents.topology_cluster(namespace, NAME, topology))
        self.cluster = made[-1]
        self.until(self.cluster, _provisioned, "the cluster being provisioned")

    def machine_deployment(self, group: Group, shape: Shape = ANY_SHAPE) -> Object:
        """Make a MachineDeployment with a template of its own, both named after the group."""
        template = documents.machine_template(self.namespace, group.name, shape)
        return self.api.create(template, documents.machine_deployment(self.namespace, NAME, group, group.name))[1]

    def machine_set(self, group: Group, shape: Shape = ANY_SHAPE) -> Object:
        """Make a MachineSet of its own with a template, both named after the group."""
        template = documents.machine_template(self.namespace, group.name, shape)
        return self.api.create(template, documents.machine_set(self.namespace, NAME, group, group.name))[1]

    def topology_deployment(self, group: str) -> Object:
        """The MachineDeployment that the topology made for one of its groups, once it is there."""
        found: list[Object] = []

        def made(items: list[Object]) -> bool:
            key = "topology.cluster.x-k8s.io/deployment-name"
            found[:] = [item for item in items if item["metadata"]["labels"].get(key) == group]
            return bool(found)

        self.api.wait(self.path("machinedeployments"), made, f"the MachineDeployment of {group}")
        return found[0]

    def set_topology(self, *groups: Group) -> None:
        """Write the topology's groups anew."""
        workers = {"machineDeployments": [documents.topology_group(group) for group in groups]}
        self.api.merge(self.cluster, {"spec": {"topology": {"workers": workers}}}, manager="topology-author")

    def pause(self, *, paused: bool) -> None:
        """Pause the Cluster, or let it go on: while paused no controller acts on its objects."""
        self.api.merge(self.cluster, {"spec": {"paused": paused}})

    def annotate_template(self, name: str, **annotations: str | None) -> None:
        """Change annotations of a machine template by the part of the key behind the prefix, `_` for `-`; None removes one."""
        changed = {f"sim.reconciler.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}
        item = {
            "apiVersion": f"{MACHINE_TEMPLATE.group}/{VERSION}",
            "kind": MACHINE_TEMPLATE.kind,
            "metadata": {"name": name, "namespace": self.namespace},
        }
        self.api.merge(item, {"metadata": {"annotations": changed}})

    def path(self, plural: str) -> str:
        """The path of Cluster API's objects of one kind in this namespace."""
        return f"/apis/{CORE}/namespaces/{self.namespace}/{plural}"

    def machines(self, group: str = "") -> list[Object]:
        """The Machines of one group, or all."""
        return [item for item in self.api.items(self.path("machines")) if not group or _group(item) == group]

    def templates(self) -> list[Object]:
        """The SimMachineTemplates."""
        path = f"/apis/{MACHINE_TEMPLATE.group}/{VERSION}/namespaces/{self.namespace}/{MACHINE_TEMPLATE.plural}"
        return list(self.api.items(path))

    def nodes(self) -> list[Object]:
        """The Nodes of this cluster."""
        return [item for item in self.api.items("/api/v1/nodes") if self.is_own(item)]

    def until_nodes(self, count: int, seconds: float = 600) -> list[Object]:
        """The Nodes of this cluster, once there are exactly so many, all Ready and free of start-up taints."""
        found: list[Object] = []

        def there(items: list[Object]) -> bool:
            found[:] = [item for item in items if self.is_own(item)]
            return len(found) == count and all(_usable(item) for item in found)

        until_seen_to(self.api, "/api/v1/nodes", there, f"{count} nodes being ready", seconds)
        return found

    def until(self, item: Object, holds: Condition, what: str, seconds: float = 600) -> Object:
        """An object once `holds` does."""
        seen: list[Object] = []

        def there(items: list[Object]) -> bool:
            seen[:] = [one for one in items if one["metadata"]["name"] == item["metadata"]["name"] and holds(one)]
            return bool(seen)

        plural = f"{item['kind'].lower()}s"
        self.api.wait(self.path(plural), there, what, seconds)
        return seen[0]

    def until_machines(self, holds: Callable[[list[Object]], object], what: str, seconds: float = 600) -> list[Object]:
        """All Machines once `holds` does."""
        return self.api.wait(self.path("machines"), lambda items: bool(holds(items)), what, seconds)

    def delete(self) -> None:
        """Delete the Cluster and the pods on its nodes, without waiting for Cluster API, which takes many seconds: nodes that
        are still there carry this cluster's labels alone. The namespace stays, with nothing that asks for a node."""
        for collection in _RUNNING:
            self.api.call("DELETE", collection.format(self.namespace), {"gracePeriodSeconds": 0})
        self.api.delete(self.cluster)

    def until_quiet(self, looks: int = 20) -> None:
        """Return when no controller has written to a MachineDeployment between so many looks in a row."""
        before: dict[str, str] = {}
        same = 0

        def quiet(items: list[Object]) -> bool:
            nonlocal before, same
            now = {one["metadata"]["name"]: one["metadata"]["resourceVersion"] for one in items}
            same = same + 1 if now == before else 0
            before = now
            return same >= looks

        self.api.wait(self.path("machinedeployments"), quiet, "the groups being quiet")

    def undisturbed(self, look: Callable[[], Seen]) -> Seen:
        """What `look` returns, once nobody has written a group, Machine, Node or pod from before it to after it: for tests that
        compare two reads. Raises TimeoutError."""
        found: list[Seen] = []

        def still(_: list[Object]) -> bool:
            before = self._versions()
            found[:] = [look()]
            return self._versions() == before

        self.api.wait(self.path("clusters"), still, "nothing being written for a moment")
        return found[0]

    def _versions(self) -> dict[str, str]:
        paths = (*map(self.path, ("machinedeployments", "machinesets", "machines")), *_CLUSTER_WIDE)
        return {one["metadata"]["uid"]: one["metadata"]["resourceVersion"] for path in paths for one in self.api.items(path)}

    def until_alone(self) -> None:
        """Return when nothing is left of the Clusters that were deleted: for tests that look at all that a server has."""
        clusters = f"/apis/{CORE}/clusters"
        left = self.api.wait(clusters, lambda items: not any(map(_leaving, items)), "deletion of the clusters", seconds=900)
        there = {"", *(one["metadata"]["namespace"] for one in left)}
        self.api.wait("/api/v1/nodes", lambda items: {*map(_home, items)} <= there, "deletion of their nodes", seconds=900)

    def is_own(self, node: Object) -> bool:
        """Whether a Node is one of this cluster."""
        return str(node["spec"].get("providerID", "")).startswith(f"sim:///{self.namespace}/")


def replicas_owners(item: Object) -> list[tuple[str, str, str]]:
    """Who owns spec.replicas, by managedFields: (manager, operation, subresource) of each entry, in order."""
    return [
        (entry["manager"], entry["operation"], entry.get("subresource", ""))
        for entry in item["metadata"].get("managedFields", ())
        if "f:replicas" in entry["fieldsV1"].get("f:spec", {})
    ]


def _leaving(item: Object) -> bool:
    return "deletionTimestamp" in item["metadata"]


def _home(node: Object) -> str:
    """The namespace of a Node's Cluster; empty for a node of none."""
    start, _, rest = str(node["spec"].get("providerID", "")).partition(":///")
    return rest.partition("/")[0] if start == "sim" else ""


def _group(machine: Object) -> str:
    return str(machine["metadata"]["labels"].get("group", ""))


def _provisioned(cluster: Object) -> bool:
    state = cluster.get("status", {}).get("initialization", {})
    return bool(state.get("infrastructureProvisioned") and state.get("controlPlaneInitialized"))


def _usable(node: Object) -> bool:
    ready = any(one["type"] == "Ready" and one["status"] == "True" for one in node["status"].get("conditions") or ())
    return ready and not any(_start_up(taint["key"]) for taint in node["spec"].get("taints") or ())


def _start_up(key: str) -> bool:
    return key in {"node.cluster.x-k8s.io/uninitialized", "node.kubernetes.io/not-ready"}
