"""SimMachinePools: as many instances as their MachinePool asks for, each a SimMachine of its own or, without Machines, a Node."""

from collections.abc import Callable, Mapping

from tests.testbed.api import ApiError, Object
from tests.testbed.stand_in.client import Client
from tests.testbed.stand_in.kinds import MACHINE, MACHINE_POOL, VERSION
from tests.testbed.stand_in.nodes import node_of, provider_id
from tests.testbed.stand_in.watching import Name

_CORE = "/apis/cluster.x-k8s.io/v1beta2/namespaces"
_POOL_LABEL = "cluster.x-k8s.io/pool-name"
_MARK = "cluster.x-k8s.io/delete-machine"
_LOOK_SECONDS = 0.2


class Pools:
    """One look at a pool a call. `machines` and `pools` are what is there; `nodes` gives the client for a namespace's nodes.

    SOURCE: Cluster API's contract for MachinePool Machines. The provider makes and deletes instances, Cluster API makes a
    Machine for each; who shrinks a pool deletes the Machines that are marked first.
    """

    def __init__(
        self,
        client: Client,
        pools: Callable[[], Mapping[Name, Object]],
        machines: Callable[[], Mapping[Name, Object]],
        nodes: Callable[[str], Client],
    ) -> None:
        self._client = client
        self._pools = pools
        self._machines = machines
        self._nodes = nodes
        self._made: dict[Name, list[str]] = {}
        self._next: dict[Name, int] = {}

    def step(self, name: Name) -> float | None:
        """Bring a pool to its size; seconds until the next look, None when it is gone."""
        pool = self._pools().get(name)
        if pool is None or "deletionTimestamp" in pool["metadata"]:
            for node in self._made.pop(name, []):
                self._nodes(name[0]).delete(f"/api/v1/nodes/{node}")
            return None
        owner = next((one for one in pool["metadata"].get("ownerReferences", ()) if one["kind"] == "MachinePool"), None)
        if owner is None:
            return None
        try:
            wanted = self._client.api.get(f"{_CORE}/{name[0]}/machinepools/{owner['name']}")["spec"]["replicas"]
        except ApiError as error:
            if error.status == 404:
                return None
            raise
        chosen = pool["spec"].get("machines", True)
        instances = self._with_machines(name, pool, wanted) if chosen else self._with_nodes(name, pool, wanted)
        self._tell(name, pool, instances, MACHINE.kind if chosen else "")
        return _LOOK_SECONDS

    def _with_machines(self, name: Name, pool: Object, wanted: int) -> list[str]:
        mine = {
            key[1]: item
            for key, item in self._machines().items()
            if key[0] == name[0] and item["metadata"].get("labels", {}).get(_POOL_LABEL) == name[1]
        }
        there = sorted(key for key, item in mine.items() if "deletionTimestamp" not in item["metadata"])
        for _ in range(wanted - len(there)):
            self._client.create(MACHINE.named(name[0], "").rstrip("/"), self._machine(name, pool, self._new_name(name)))
        if len(there) > wanted:
            self._shrink(name[0], there, len(there) - wanted)
        return [found for key in there if (found := mine[key].get("spec", {}).get("providerID"))]

    def _shrink(self, namespace: str, there: list[str], count: int) -> None:
        found = self._client.api.get(f"{_CORE}/{namespace}/machines")["items"]
        machines = {item["spec"]["infrastructureRef"]["name"]: item["metadata"] for item in found}
        going = sum("deletionTimestamp" in machines[key] for key in there if key in machines)
        living = [key for key in there if key in machines and "deletionTimestamp" not in machines[key]]
        living.sort(key=lambda key: (_MARK not in machines[key].get("annotations", {}), key))
        for key in living[: max(count - going, 0)]:
            self._client.delete(f"{_CORE}/{namespace}/machines/{machines[key]['name']}")

    def _with_nodes(self, name: Name, pool: Object, wanted: int) -> list[str]:
        made = self._made.setdefault(name, [])
        while len(made) < wanted:
            machine = self._machine(name, pool, self._new_name(name))
            self._nodes(name[0]).create("/api/v1/nodes", node_of(machine, ready=True))
            made.append(machine["metadata"]["name"])
        while len(made) > wanted:
            self._nodes(name[0]).delete(f"/api/v1/nodes/{made[-1]}")
            made.pop()
        return [provider_id({"metadata": {"namespace": name[0], "name": node}}) for node in made]

    def _new_name(self, name: Name) -> str:
        self._next[name] = self._next.get(name, 0) + 1
        return f"{name[1]}-{name[0]}-{self._next[name]}"

    def _machine(self, name: Name, pool: Object, new: str) -> Object:
        meta = pool["metadata"]
        # Not as its controller: that is the Machine, which Cluster API makes for it.
        reference = {"apiVersion": pool["apiVersion"], "kind": pool["kind"], "name": meta["name"], "uid": meta["uid"]}
        labels = {
            "cluster.x-k8s.io/cluster-name": meta.get("labels", {}).get("cluster.x-k8s.io/cluster-name", ""),
            _POOL_LABEL: name[1],
        }
        metadata = {"name": new, "namespace": name[0], "labels": labels, "ownerReferences": [reference]}
        spec = {key: value for key, value in pool["spec"].items() if key not in ("machines", "providerIDList")}
        return {"apiVersion": f"{MACHINE.group}/{VERSION}", "kind": MACHINE.kind, "metadata": metadata, "spec": spec}

    def _tell(self, name: Name, pool: Object, instances: list[str], kind: str) -> None:
        path = MACHINE_POOL.named(*name)
        if pool["spec"].get("providerIDList") != instances:
            self._client.merge(path, {"spec": {"providerIDList": instances}})
        status: Object = {"initialization": {"provisioned": True}, "ready": True, "replicas": len(instances)}
        if kind:
            status["infrastructureMachineKind"] = kind
        if status != {key: pool.get("status", {}).get(key) for key in status}:
            self._client.merge_status(path, status)
