"""A MachineDeployment `general` with its Machines, on the API server in memory."""

from typing import Any

from reconciler.cluster.target import TargetRef
from reconciler.kube.connection.api import ContentType
from reconciler.plan.plan import Bound
from reconciler.platforms.clusterapi.kinds import MACHINE_DEPLOYMENT
from reconciler.platforms.clusterapi.writing.api_version import ClusterApiVersion
from reconciler.platforms.clusterapi.writing.provider import ClusterApiTargets
from reconciler.providers.ownership_guard import judged_now
from tests.kube.api_server import FakeApiServer

GENERAL = TargetRef(kind=MACHINE_DEPLOYMENT, namespace="prod", name="general")
VERSION = ClusterApiVersion()
PATH, MACHINES = VERSION.path(MACHINE_DEPLOYMENT, "prod", "general"), VERSION.path("Machine", "prod")
MARK = "cluster.x-k8s.io/delete-machine"
OURS = {"manager": "nodegroup-reconciler", "operation": "Apply", "fieldsV1": {"f:spec": {"f:replicas": {}}}}
NOBODYS = {"manager": "manager", "operation": "Update", "fieldsV1": {"f:status": {}}}


class DeploymentServer(FakeApiServer):
    """As many Machines as replicas: `m1` of the node `n1` and so on. `owner` is the entry of the managed fields."""

    def __init__(self, replicas: int, owner: object = OURS, annotations: dict[str, str] | None = None) -> None:
        super().__init__()
        self.serve(f"/apis/{VERSION.api_version}/machinesets", "MachineSet")
        self.put(VERSION.path("Cluster", "prod", "c"), {"metadata": {"name": "c", "namespace": "prod"}, "spec": {}})
        for one in range(1, replicas + 1):
            named = {"name": f"m{one}", "namespace": "prod", "annotations": {}}
            status = {"nodeRef": {"name": f"n{one}"}}
            self.put(f"{MACHINES}/m{one}", {"metadata": named, "spec": {"clusterName": "c"}, "status": status})
        metadata = {"name": "general", "namespace": "prod", "generation": 4, "managedFields": [owner]}
        spec = {"clusterName": "c", "replicas": replicas, "selector": {}, "template": {"spec": {"clusterName": "c"}}}
        self.put(PATH, {"metadata": metadata | {"annotations": annotations or {}}, "spec": spec})
        self.version = int(self.objects[PATH]["metadata"]["resourceVersion"])

    @property
    def replicas(self) -> int:
        return int(self.objects[PATH]["spec"]["replicas"])

    @property
    def writes(self) -> list[tuple[ContentType, Any]]:
        """How each write was meant, and what it said."""
        return [(ContentType.APPLY if "apiVersion" in body else ContentType.MERGE_PATCH, body) for _, _, body in self.sent]

    def annotations(self, machine: str = "") -> dict[str, str]:
        """Those of a Machine, or of the MachineDeployment."""
        found: dict[str, str] = self.objects[f"{MACHINES}/{machine}" if machine else PATH]["metadata"]["annotations"]
        return found

    def targets(self) -> ClusterApiTargets:
        return ClusterApiTargets(self, VERSION)

    def bound(self) -> Bound:
        """What a decision was made on, as it is now."""
        facts = self.targets().read(GENERAL).facts
        digest = judged_now(facts).digest
        return Bound(resource_version=facts.resource_version, replicas=self.replicas, owner_digest=digest, policy_digest="")
