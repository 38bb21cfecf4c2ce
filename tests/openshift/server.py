"""MachineSets of one namespace on a server in memory, and the provider that writes to it."""

from typing import Any

from reconciler.kube.watching.collection import Served
from reconciler.plan.plan import Bound
from reconciler.platforms.openshift.facts.machineset import reference
from reconciler.platforms.openshift.writing.dialect import MachineApiDialect
from reconciler.providers.machines.platform_hearing import PlatformHearing
from reconciler.providers.machines.provider import MachineProvider
from reconciler.providers.machines.targets import MachineTargets
from reconciler.providers.ownership_guard import judged_now
from tests.kube.api_server import FakeApiServer
from tests.openshift.objects import GROUP, NAMESPACE, Object, machine, machine_set, owners

SETS = f"/apis/{GROUP}/v1beta1/namespaces/{NAMESPACE}/machinesets/a"
MACHINES = f"/apis/{GROUP}/v1beta1/namespaces/{NAMESPACE}/machines"
AUTOSCALERS = f"/apis/autoscaling.openshift.io/v1beta1/namespaces/{NAMESPACE}/machineautoscalers"
MARKS = [f"{GROUP}/delete-machine", f"{GROUP}/cluster-api-delete-machine"]
TARGET = reference(NAMESPACE, "a")
OURS = owners("nodegroup-reconciler", "Apply")


class Server(FakeApiServer):
    """One set with its Machines, and the Nodes `n0` to `n2`."""

    def __init__(self, item: Object, *machines: Object, autoscalers: tuple[Object, ...] = ()) -> None:
        super().__init__()
        for path, kind in ((SETS, "MachineSet"), (MACHINES, "Machine"), (AUTOSCALERS, "MachineAutoscaler")):
            self.serve(path.removesuffix("/a").replace(f"/namespaces/{NAMESPACE}", ""), kind)
        self.put(SETS, item)
        self.add(*machines)
        for one in autoscalers:
            self.put(f"{AUTOSCALERS}/{named(one)}", one)
        self.nodes("n0", "n1", "n2")

    @property
    def set(self) -> Any:
        return self.objects[SETS]

    @property
    def machines(self) -> dict[str, Any]:
        found = ((path.removeprefix(f"{MACHINES}/"), item) for path, item in self.objects.items())
        return {name: item for name, item in found if "/" not in name}

    def add(self, *machines: Object) -> None:
        for one in machines:
            self.put(f"{MACHINES}/{named(one)}", one)

    def nodes(self, *names: str) -> None:
        """These and no others are there."""
        self.objects = {path: item for path, item in self.objects.items() if not path.startswith("/api/v1/nodes/")}
        for name in names:
            self.put(f"/api/v1/nodes/{name}", {"metadata": {"name": name}})


def named(item: Any) -> str:
    return str(item["metadata"]["name"])


def provider(server: Server) -> MachineProvider:
    groups = (GROUP, "autoscaling.openshift.io")
    dialect = MachineApiDialect(tuple(Served(platform="openshift", group=group, version="v1beta1") for group in groups))
    return MachineProvider(MachineTargets(server, dialect), "prod", PlatformHearing(0))


def bound(server: Server, replicas: int) -> Bound:
    facts = provider(server)._targets.read(TARGET).facts
    return Bound(
        resource_version=facts.resource_version, replicas=replicas, owner_digest=judged_now(facts).digest, policy_digest=""
    )


def three(*more: Object, autoscalers: tuple[Object, ...] = ()) -> Server:
    """Two running Machines and others."""
    running = [machine(f"a-{node}", "a", node=node) for node in ("n1", "n2")]
    return Server(machine_set("a", 2 + len(more), managed=[OURS]), *running, *more, autoscalers=autoscalers)
