"""The live port on a real API server with OpenShift's own controllers: a view that is always fresh, and the real drain."""

import itertools
import json
import time
from collections.abc import Callable
from typing import Any

from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.cluster.world import World
from reconciler.control.live.live_port import LivePort
from reconciler.control.live.live_providers import LiveProviders
from reconciler.kube.connection.api import Api
from reconciler.kube.connection.transport import connect
from reconciler.kube.drain import NodeDrain
from reconciler.kube.drain_mark import DELETING_TAINT
from reconciler.kube.watching.collection import Served
from reconciler.plan.plan import Bound
from reconciler.platforms.openshift.kinds import MACHINE_SET
from reconciler.policy.documents import NodeGroup, PolicySet, TargetSpec
from reconciler.providers.contract import RemovalProgress, RemovalState
from reconciler.providers.live_platforms import Surroundings
from reconciler.providers.ownership_guard import judged_now
from tests.policies import node_group, policy
from tests.providers.live_bench import PatientPort
from tests.testbed.api import ApiError, Object, collection
from tests.testbed.control_plane import MASTERS
from tests.testbed.machine_api import API_VERSION, GROUP, MachineApi

OWNER = "test"
SERVED = tuple(Served(platform="openshift", group=group, version="v1beta1") for group in (GROUP, "autoscaling.openshift.io"))
MARKS = (f"{GROUP}/delete-machine", f"{GROUP}/cluster-api-delete-machine")
_KINDS = (("machinesets", GROUP), ("machines", GROUP), ("machineautoscalers", "autoscaling.openshift.io"))
CAPACITY = {f"{GROUP}/vCPU": "4", f"{GROUP}/memoryMb": "16384"}
_PATIENCE_SECONDS = 240
_numbers = itertools.count(1)


class MachineSetBench:
    """One MachineSet on a live cluster, and the port that writes to it."""

    def __init__(
        self,
        machine_api: MachineApi,
        replicas: int,
        namespace: str = "openshift-machine-api",
        *,
        adopted: bool = True,
        creator: str = "testbed",
        annotations: dict[str, str] | None = None,
        marks: dict[str, str] | None = None,
        role: str = "",
        **value: object,
    ) -> None:
        """`marks` are the set's own labels, `value` is the providerSpec's, `role` that of its machines. Not `adopted`: replicas
        stay those of the manager `creator`."""
        self.plane, self.testbed = machine_api.plane, machine_api.api
        self.namespace = namespace
        self.name = f"set-{next(_numbers)}"
        try:
            self.testbed.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        except ApiError as error:
            if error.status != 409:
                raise
        self.api = connect(self.plane.kubeconfig_of("reconciler", MASTERS))
        self.target = TargetRef(kind=MACHINE_SET, namespace=namespace, name=self.name)
        self.object = self._document(replicas, role, dict(value))
        self.object["metadata"] |= {"annotations": CAPACITY | (annotations or {}), "labels": marks or {}}
        self.testbed.call("POST", f"{collection(self.object)}?fieldManager={creator}", self.object)
        self.policy: PolicySet = policy(self.group())
        self.port = self.port_over(self.api)
        # Ours from the beginning; the rest of the object stays its creator's.
        done = self.port.adopt(self.target, replicas, self.bound()) if adopted else None
        assert done is None or done.done, done

    def _document(self, replicas: int, role: str, value: Object) -> Object:
        named = {f"{GROUP}/cluster-api-cluster": "c", f"{GROUP}/cluster-api-machine-role": role or self.name}
        labels = {"set": self.name, **named}
        return {
            "apiVersion": API_VERSION,
            "kind": "MachineSet",
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": {"set": self.name}},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {
                        "metadata": {"labels": {"set": self.name}},
                        "providerSpec": {"value": {"instanceType": "m", **value}},
                    },
                },
            },
        }

    def group(self, *, least: int = 0, most: int = 50, **fields: object) -> NodeGroup:
        """A NodeGroup on the set, of its name."""
        spec = TargetSpec(provider="openshift", kind=MACHINE_SET, namespace=self.namespace, name=self.name)
        return node_group(self.name, min=least, max=most, namespace=self.namespace, target=spec, **fields)

    def pods(self, count: int, cpu: str = "3", *, priority_class: str = "", node: str = "", **metadata: object) -> list[str]:
        """So many pods for nodes of this set alone, of 4 CPUs each; their names."""
        container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": cpu}}}
        spec = {"nodeSelector": {"set": self.name}, "containers": [container], "terminationGracePeriodSeconds": 0}
        spec |= {"priorityClassName": priority_class} if priority_class else {}
        spec |= {"nodeName": node} if node else {}
        accounts = f"/api/v1/namespaces/{self.namespace}/serviceaccounts"
        self.testbed.wait(accounts, bool, "the account that pods run as")
        names = [f"{self.name}-{next(_numbers)}" for _ in range(count)]
        for name in names:
            made = {"name": name, "namespace": self.namespace, **metadata}
            self.testbed.create({"apiVersion": "v1", "kind": "Pod", "metadata": made, "spec": spec})
        return names

    def port_over(self, api: Api) -> LivePort:
        clock = lambda: int(time.time())  # noqa: E731
        providers = LiveProviders(api, Surroundings(management=api, served=SERVED))
        drain = NodeDrain(api, OWNER, clock)
        return PatientPort(
            self.bound, self, clock, self, providers.of(OWNER), drain, OWNER, lambda _: {}, lambda: (), lambda *_: None, None
        )

    def current(self) -> PolicySet:
        return self.policy

    def observe(self) -> World:
        files = {
            f"{kind}.json": json.dumps(self.testbed.get(f"/apis/{group}/v1beta1/namespaces/{self.namespace}/{kind}")).encode()
            for kind, group in _KINDS
        }
        return read_snapshot({**files, "nodes.json": json.dumps(self.testbed.get("/api/v1/nodes")).encode()})

    def facts(self) -> TargetFacts:
        return next(facts for facts in self.observe().targets if facts.ref == self.target)

    def bound(self) -> Bound:
        facts = self.facts()
        return Bound(
            resource_version=facts.resource_version,
            replicas=facts.replicas or 0,
            owner_digest=judged_now(facts).digest,
            policy_digest="sha256:test",
        )

    def replicas(self) -> int:
        return int(self.testbed.read(self.object)["spec"]["replicas"])

    def launches(self, **value: object) -> None:
        """What the instances are like that are made from now on: no Machine that is there changes."""
        changed = {"spec": {"template": {"spec": {"providerSpec": {"value": {"launch": "", **value}}}}}}
        self.testbed.merge(self.object, changed)

    def machines(self) -> list[Object]:
        path = f"/apis/{API_VERSION}/namespaces/{self.namespace}/machines"
        return sorted(
            (item for item in self.testbed.items(path) if item["metadata"]["labels"].get("set") == self.name),
            key=lambda item: item["metadata"]["name"],
        )

    def nodes(self) -> list[str]:
        return sorted(node for item in self.machines() if (node := node_of(item)))

    def until(self, holds: Callable[[list[Object]], bool], what: str) -> list[Object]:
        """Its Machines, once they are so."""
        path = f"/apis/{API_VERSION}/namespaces/{self.namespace}/machines"
        self.testbed.wait(path, lambda _: holds(self.machines()), what, _PATIENCE_SECONDS)
        return self.machines()

    def until_nodes(self, count: int) -> list[str]:
        def quiet(_: Any) -> bool:
            found = self.testbed.read(self.object)
            status = found.get("status", {})
            return (
                len(self.nodes()) == count == len(self.machines())
                and status.get("observedGeneration") == found["metadata"]["generation"]
                and status.get("replicas", 0) == count == status.get("availableReplicas", 0)
            )

        self.until(quiet, f"{count} nodes of {self.name}")
        return self.nodes()

    def applied_by(self, manager: str, replicas: int) -> None:
        body = {key: self.object[key] for key in ("apiVersion", "kind")}
        metadata = {"name": self.name, "namespace": self.namespace}
        self.testbed.apply({**body, "metadata": metadata, "spec": {"replicas": replicas}}, manager, force=True)

    def edited_by(self, manager: str, replicas: int) -> None:
        self.testbed.merge(self.object, {"spec": {"replicas": replicas}}, manager)

    def removed(self, count: int = 1, port: LivePort | None = None) -> list[RemovalProgress]:
        """Turn until so many removals of this set have ended. Sets of other tests are in the same namespace."""
        ended: list[RemovalProgress] = []
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while len(ended) < count:
            assert time.monotonic() < deadline, "the removals did not end"
            (port or self.port).observe()
            own = [one for one in (port or self.port).continue_removals() if one.target == self.target]
            ended += [one for one in own if one.state is not RemovalState.DRAINING]
        return ended

    def marks(self) -> list[str]:
        """The delete marks of its Machines that are not going, in either spelling."""
        living = [
            item["metadata"].get("annotations") or {} for item in self.machines() if "deletionTimestamp" not in item["metadata"]
        ]
        return [found[key] for found in living for key in MARKS if key in found]

    def tainted(self) -> list[str]:
        """Its nodes that carry our taint."""
        mine = set(self.nodes())
        return sorted(
            node["metadata"]["name"]
            for node in self.testbed.items("/api/v1/nodes")
            if node["metadata"]["name"] in mine and any(one["key"] == DELETING_TAINT for one in node["spec"].get("taints") or ())
        )

    def gone(self) -> None:
        """Take it all away, pods first: nobody asks for a node of it any more."""
        self.testbed.call("DELETE", f"/api/v1/namespaces/{self.namespace}/pods", {"gracePeriodSeconds": 0})
        self.testbed.delete(self.object)


def node_of(machine: Object) -> str:
    """The name of a Machine's Node; empty while it has none, and when it goes."""
    return "" if "deletionTimestamp" in machine["metadata"] else str(machine.get("status", {}).get("nodeRef", {}).get("name", ""))


def phase(machine: Object) -> str:
    """Its phase."""
    return str(machine.get("status", {}).get("phase", ""))
