"""MachineSets of one namespace on a server in memory, and the provider that writes to it."""

import copy
import json
from collections.abc import Mapping
from typing import Any

from reconciler.kube.connection.api import ApiError, ContentType
from reconciler.kube.watching.collection import Served
from reconciler.plan.plan import Bound
from reconciler.platforms.openshift.facts.machineset import reference
from reconciler.platforms.openshift.writing.dialect import MachineApiDialect
from reconciler.providers.machines.marks import PlatformHearing
from reconciler.providers.machines.provider import MachineProvider
from reconciler.providers.machines.targets import MachineTargets
from reconciler.providers.ownership_guard import judged_now
from tests.openshift.objects import GROUP, NAMESPACE, Object, machine, machine_set, owners

SETS = f"/apis/{GROUP}/v1beta1/namespaces/{NAMESPACE}/machinesets/a"
MACHINES = f"/apis/{GROUP}/v1beta1/namespaces/{NAMESPACE}/machines"
AUTOSCALERS = f"/apis/autoscaling.openshift.io/v1beta1/namespaces/{NAMESPACE}/machineautoscalers"
MARKS = [f"{GROUP}/delete-machine", f"{GROUP}/cluster-api-delete-machine"]
TARGET = reference(NAMESPACE, "a")
OURS = owners("nodegroup-reconciler", "Apply")


class Server:
    """Keeps one set with its Machines and applies merge patches and applies; every write is kept."""

    def __init__(self, item: Object, *machines: Object, autoscalers: tuple[Object, ...] = ()) -> None:
        self.set: Any = copy.deepcopy(item)
        self.machines: dict[str, Any] = {str(one["metadata"]["name"]): one for one in machines}  # type: ignore[index]
        self.autoscalers = list(autoscalers)
        self.nodes = {"n0", "n1", "n2"}
        self.writes: list[tuple[str, str, Any]] = []

    def get(self, path: str, _: Mapping[str, str] | None = None) -> bytes:
        name = path.rpartition("/")[2]
        found: Any = {SETS: self.set, MACHINES: {"items": list(self.machines.values())}, AUTOSCALERS: {"items": self.autoscalers}}
        if path.startswith("/api/v1/nodes/") and name in self.nodes:
            return b"{}"
        answer = found.get(path) or self.machines.get(name)
        if answer is None:
            raise ApiError(404, "NotFound", path)
        return json.dumps(answer).encode()

    def write(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content_type: ContentType = ContentType.JSON,
        query: Mapping[str, str] | None = None,
    ) -> bytes:
        self.writes.append((method, path, body))
        if path == SETS:
            if body.get("spec"):
                assert (content_type, query) == (ContentType.APPLY, {"fieldManager": "nodegroup-reconciler", "force": "false"})
                self.set["spec"]["replicas"] = body["spec"]["replicas"]
                self.set["metadata"]["generation"] += 1
            return json.dumps(self.set).encode()
        item = self.machines[path.rpartition("/")[2]]
        for key, text in body["metadata"]["annotations"].items():
            item["metadata"]["annotations"][key] = text
            if text is None:
                del item["metadata"]["annotations"][key]
        return json.dumps(item).encode()


def provider(server: Server) -> MachineProvider:
    groups = (GROUP, "autoscaling.openshift.io")
    dialect = MachineApiDialect(tuple(Served(platform="openshift", group=group, version="v1beta1") for group in groups))
    return MachineProvider(MachineTargets(server, dialect), "prod", PlatformHearing(0))  # type: ignore[arg-type]


def bound(server: Server, replicas: int) -> Bound:
    facts = provider(server)._targets.read(TARGET).facts
    return Bound(resource_version="7", replicas=replicas, owner_digest=judged_now(facts).digest, policy_digest="")


def three(*more: Object, autoscalers: tuple[Object, ...] = ()) -> Server:
    """Two running Machines and others."""
    running = [machine(f"a-{node}", "a", node=node) for node in ("n1", "n2")]
    return Server(machine_set("a", 2 + len(more), managed=[OURS]), *running, *more, autoscalers=autoscalers)
