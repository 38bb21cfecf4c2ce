"""SimMachines: from a request to an instance to a Node, and away again."""

import datetime
import time
from collections.abc import Callable, Mapping

from tests.testbed.api import Object
from tests.testbed.stand_in.behaviour import Behaviour, behaviour
from tests.testbed.stand_in.client import Client
from tests.testbed.stand_in.kinds import MACHINE
from tests.testbed.stand_in.nodes import node_of, provider_id
from tests.testbed.stand_in.watching import Name

_FINALIZER = "sim.infrastructure.cluster.x-k8s.io"
_CLONED_FROM = "cluster.x-k8s.io/cloned-from-name"


class Machines:
    """Brings each SimMachine one step on per call; knows which have an instance, and which a Node."""

    def __init__(
        self,
        client: Client,
        machines: Callable[[], Mapping[Name, Object]],
        templates: Callable[[], Mapping[Name, Object]],
        nodes: Callable[[str], Client],
    ) -> None:
        """`nodes` gives the client for the Nodes of a namespace's machines."""
        self._client = client
        self._nodes = nodes
        self._machines = machines
        self._templates = templates
        self._since: dict[tuple[Name, str], float] = {}
        self._instances: dict[Name, Name] = {}
        self._registered: set[Name] = set()

    def step(self, name: Name) -> float | None:
        """Do what is due for one machine; seconds until the next thing is due, None when only a change brings more."""
        machine = self._machines().get(name)
        if machine is None:
            self._forget(name)
            return None
        told = self._behaviour(machine)
        if "deletionTimestamp" in machine["metadata"]:
            return self._delete(name, told)
        if _FINALIZER not in machine["metadata"].get("finalizers", ()):
            self._client.merge(MACHINE.named(*name), {"metadata": {"finalizers": [_FINALIZER]}})
        if name not in self._instances:
            return self._provision(name, machine, told)
        return self._register(name, machine, told)

    def waiting(self, namespace: str) -> list[Name]:
        """The machines of a namespace that have no instance yet."""
        return [name for name in list(self._machines()) if name[0] == namespace and name not in self._instances]

    def _provision(self, name: Name, machine: Object, told: Behaviour) -> float | None:
        left = self._left(name, "provision", told.provision_seconds)
        if told.failure:
            self._refuse(name, machine, told.failure, f"the cloud says {told.failure}", terminal=True)
            return None
        template = _template(machine)
        used = sum(1 for other in self._instances.values() if other == template)
        if told.stock is not None and used >= told.stock:
            self._refuse(name, machine, "OutOfStock", f"no capacity: {used} of {told.stock} machines in use", terminal=False)
            return None
        if left > 0:
            return left
        self._instances[name] = template
        self._client.merge(MACHINE.named(*name), {"spec": {"providerID": provider_id(machine)}})
        status: Object = {
            "initialization": {"provisioned": True},
            "addresses": [{"type": "Hostname", "address": name[1]}],
            "conditions": [_condition("True", "Provisioned", "")],
        }
        if "zone" in machine["spec"]:
            status["failureDomain"] = machine["spec"]["zone"]
        self._client.merge_status(MACHINE.named(*name), status)
        return self._register(name, machine, told)

    def _register(self, name: Name, machine: Object, told: Behaviour) -> float | None:
        if name in self._registered or told.node == "Never":
            return None
        left = self._left(name, "node", told.node_seconds)
        if left > 0:
            return left
        self._nodes(name[0]).create("/api/v1/nodes", node_of(machine, ready=told.node == "Ready"))
        self._registered.add(name)
        return None

    def _delete(self, name: Name, told: Behaviour) -> float | None:
        left = self._left(name, "delete", told.delete_seconds)
        if left > 0:
            return left
        self._nodes(name[0]).delete(f"/api/v1/nodes/{name[1]}")
        self._client.merge(MACHINE.named(*name), {"metadata": {"finalizers": None}})
        return None

    def _refuse(self, name: Name, machine: Object, reason: str, message: str, *, terminal: bool) -> None:
        status: Object = {"conditions": [_condition("False", reason, message)]}
        if terminal:
            status |= {"failureReason": reason, "failureMessage": message}
        known = machine.get("status", {}).get("conditions", [{}])[0]
        if (known.get("reason"), known.get("message")) != (reason, message):
            self._client.merge_status(MACHINE.named(*name), status)

    def _left(self, name: Name, stage: str, seconds: float) -> float:
        since = self._since.setdefault((name, stage), time.monotonic())
        return since + seconds - time.monotonic()

    def _behaviour(self, machine: Object) -> Behaviour:
        """A template of a topology is a copy that carries the name of its original: both may say something."""
        chain = [machine["metadata"].get("annotations", {})]
        name = _template(machine)
        while (template := self._templates().get(name)) is not None and len(chain) < 4:
            chain.append(template["metadata"].get("annotations", {}))
            name = _template(template)
        return behaviour(*reversed(chain))

    def _forget(self, name: Name) -> None:
        self._instances.pop(name, None)
        if name in self._registered:
            self._registered.discard(name)
            self._nodes(name[0]).delete(f"/api/v1/nodes/{name[1]}")
        for key in [key for key in self._since if key[0] == name]:
            del self._since[key]


def _template(item: Object) -> Name:
    return item["metadata"]["namespace"], item["metadata"].get("annotations", {}).get(_CLONED_FROM, "")


def _condition(status: str, reason: str, message: str) -> Object:
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"type": "Ready", "status": status, "reason": reason, "message": message, "lastTransitionTime": now}
