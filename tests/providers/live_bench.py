"""The live port on a real API server with Cluster API: a view that is always fresh, and the real drain."""

import itertools
import json
import time
from collections.abc import Callable
from typing import Any

import msgspec

from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.cluster.world import World
from reconciler.control.live.live_port import LivePort
from reconciler.control.live.live_providers import LiveProviders
from reconciler.kube.connection.api import Api, ContentType
from reconciler.kube.connection.transport import connect
from reconciler.kube.drain import NodeDrain
from reconciler.kube.drain_mark import DELETING_TAINT
from reconciler.kube.leading.ended_policies import EndedPolicies
from reconciler.kube.watching.collection import cluster_api
from reconciler.plan.plan import Bound
from reconciler.platforms.clusterapi.kinds import MACHINE_DEPLOYMENT, MACHINE_POOL, MACHINE_SET
from reconciler.platforms.clusterapi.writing.api_version import ClusterApiVersion
from reconciler.policy.documents import PolicySet
from reconciler.providers.contract import RemovalProgress, RemovalState, WriteResult
from reconciler.providers.live_platforms import Surroundings
from reconciler.providers.ownership_guard import judged_now
from tests.policies import node_group, policy
from tests.providers.machine_pool import machine_pool
from tests.testbed.api import ApiError, Object
from tests.testbed.cluster_api import ClusterApi
from tests.testbed.cluster_documents import Group
from tests.testbed.control_plane import MASTERS
from tests.testbed.work_cluster import WorkCluster, replicas_owners

OWNER = "test"
VERSION = ClusterApiVersion()
_numbers = itertools.count(1)
_KINDS = ("machinedeployments", "machinesets", "machinepools", "machines", "clusters")


_PATIENCE_SECONDS = 300
_WAIT = "test.dev/wait"
# With it Cluster API leaves the Node alone: else it is gone before a turn on a slow machine.
_BEFORE_DRAIN = "pre-drain.delete.hook.machine.cluster.x-k8s.io/provider-tests"


def node_of(machine: Object) -> str:
    """The name of a Machine's Node; empty while it has none."""
    return str(machine.get("status", {}).get("nodeRef", {}).get("name", ""))


class FreshView:
    """What the server has at this moment, as a snapshot."""

    def __init__(self, cluster: WorkCluster) -> None:
        self._cluster = cluster

    def observe(self) -> World:
        files = {f"{kind}.json": json.dumps(self._cluster.api.get(self._cluster.path(kind))).encode() for kind in _KINDS}
        nodes = {"apiVersion": "v1", "kind": "NodeList", "items": self._cluster.nodes()}
        return read_snapshot({**files, "nodes.json": json.dumps(nodes).encode()})


class KilledError(Exception):
    """The process ends here."""


class KilledAt:
    """A connection whose process is killed around one write: just before it is sent, or just after it was done."""

    def __init__(self, api: Api, write: int, *, after: bool) -> None:
        self._api = api
        self._left = write
        self._after = after

    def get(self, path, query=None):
        return self._api.get(path, query)

    def stream(self, path, query, *, silence_seconds):
        return self._api.stream(path, query, silence_seconds=silence_seconds)

    def write(self, method, path, body=None, *, content_type=ContentType.JSON, query=None):
        if self._left == 1 and not self._after:
            self._left = 0
            raise KilledError
        # One that the server turned away was none.
        answer = self._api.write(method, path, body, content_type=content_type, query=query)
        self._left -= 1
        if self._left == 0:
            raise KilledError
        return answer


class PatientPort(LivePort):
    """Cluster API writes a young target's status many times a second: a write that met one is made again, as in the loop's
    next turn."""

    def __init__(self, decided: Callable[[], Bound], *given: Any) -> None:
        super().__init__(*given)
        self._decided = decided

    def resize(self, target: TargetRef, replicas: int, bound: Bound) -> WriteResult:
        return self._patiently(lambda now: LivePort.resize(self, target, replicas, now), bound)

    def adopt(self, target: TargetRef, replicas: int, bound: Bound) -> WriteResult:
        return self._patiently(lambda now: LivePort.adopt(self, target, replicas, now), bound)

    def release(self, target: TargetRef, bound: Bound) -> WriteResult:
        return self._patiently(lambda now: LivePort.release(self, target, now), bound)

    def remove_node(self, target: TargetRef, node: str, replicas: int, bound: Bound) -> WriteResult:
        return self._patiently(lambda now: LivePort.remove_node(self, target, node, replicas, now), bound)

    def cancel(self, target: TargetRef, machines: tuple[str, ...], replicas: int, bound: Bound) -> WriteResult:
        return self._patiently(lambda now: LivePort.cancel(self, target, machines, replicas, now), bound)

    def _patiently(self, write: Callable[[Bound], WriteResult], bound: Bound) -> WriteResult:
        for _ in range(50):
            result = write(bound)
            if "the object has been modified" not in result.message:
                break
            # The claim of an adoption may have been written before: the next turn judges what there is then.
            bound = self._decided()
        return result


class LiveBench:
    """One group of machines on a live cluster, and the port that writes to it."""

    def __init__(
        self,
        cluster_api: ClusterApi,
        cluster: WorkCluster,
        replicas: int,
        *,
        kind: str = MACHINE_DEPLOYMENT,
        min_size: int = 0,
        owner: str = "",
        annotations: dict[str, str] | None = None,
        machines: bool = True,
    ) -> None:
        """`machines`: those of a MachinePool have Machines."""
        self.cluster = cluster
        self.name = f"group-{next(_numbers)}"
        self.api = connect(cluster_api.plane.kubeconfig_of("reconciler", MASTERS))
        self.target = TargetRef(kind=kind, namespace=cluster.namespace, name=self.name)
        # Left unset with both size annotations, replicas are the minimum and nobody owns them.
        group = Group(self.name, min_size=replicas, max_size=20)
        if kind == MACHINE_POOL:
            self.object = machine_pool(cluster, group, machines=machines)
        else:
            make = cluster.machine_set if kind == MACHINE_SET else cluster.machine_deployment
            self.object = make(group)
        if owner:
            self.applied_by(owner, replicas)
        document = node_group(self.name, namespace=cluster.namespace, min=min_size)
        document = msgspec.structs.replace(document, target=msgspec.structs.replace(document.target, kind=kind))
        self.policy: PolicySet = policy(document, adopt_from=("testbed",))
        self.view = FreshView(cluster)
        self.said: list[tuple[str, str]] = []
        """What the port told beside the removals: code and sentence."""
        self.port = self.port_over(self.api, annotations)

    def port_over(
        self,
        api: Api,
        annotations: dict[str, str] | None = None,
        *,
        platform_chooses: bool = False,
        ended: EndedPolicies | None = None,
    ) -> LivePort:
        """A port of a process that has just started. `ended` judges the policies whose marks it takes back."""
        clock = lambda: int(time.time())  # noqa: E731
        providers = LiveProviders(
            api,
            Surroundings(
                management=api,
                served=(cluster_api(VERSION.group, VERSION.version),),
                platform_chooses=lambda target: platform_chooses and target == self.target,
            ),
        )
        drain = NodeDrain(api, OWNER, clock)
        marks, rivals = (lambda _: annotations or {}), (lambda: ())
        former = providers.former(ended, clock) if ended is not None else lambda _: None
        return PatientPort(
            self.bound, self.view, clock, self, providers.of(OWNER), drain, OWNER, marks, rivals, self._tell, former
        )

    def _tell(self, code: str, message: str) -> None:
        self.said.append((code, message))

    def current(self) -> PolicySet:
        return self.policy

    def now(self) -> Object:
        return self.cluster.api.read(self.object)

    def owners(self) -> list[tuple[str, str, str]]:
        return replicas_owners(self.now())

    def facts(self) -> TargetFacts:
        return next(facts for facts in self.view.observe().targets if facts.ref == self.target)

    def replicas(self) -> int:
        return int(self.now()["spec"]["replicas"])

    def annotations(self) -> dict[str, str]:
        return dict(self.now()["metadata"].get("annotations") or {})

    def bound(self) -> Bound:
        """What a decision at this moment would bind an action to."""
        return self.bound_of(self.facts())

    @staticmethod
    def bound_of(facts: TargetFacts) -> Bound:
        """The same for a target that is not the group's own."""
        return Bound(
            resource_version=facts.resource_version,
            replicas=facts.replicas or 0,
            owner_digest=judged_now(facts).digest,
            policy_digest="sha256:test",
        )

    def applied_by(self, manager: str, replicas: int) -> None:
        body = {key: self.object[key] for key in ("apiVersion", "kind")}
        metadata = {"name": self.name, "namespace": self.cluster.namespace}
        self.cluster.api.apply({**body, "metadata": metadata, "spec": {"replicas": replicas}}, manager, force=True)

    def touched(self) -> None:
        """Something else on the target changes."""
        self.cluster.api.merge(self.object, {"metadata": {"labels": {"touched": str(next(_numbers))}}})

    def edited_by(self, manager: str, replicas: int) -> None:
        self.cluster.api.merge(self.object, {"spec": {"replicas": replicas}}, manager)

    def lowered_and_not_followed(self, replicas: int) -> None:
        """Somebody lowers replicas, and Cluster API does not act on it."""
        self.cluster.api.merge(self.object, {"metadata": {"annotations": {"cluster.x-k8s.io/paused": ""}}})
        self.edited_by("somebody", replicas)

    def nodes(self) -> list[str]:
        """The names of the group's nodes, sorted."""
        machines = self.cluster.machines(self.name)
        return sorted(node_of(machine) for machine in machines)

    def until_nodes(self, count: int) -> list[str]:
        """The group's nodes, once it has exactly so many and its object is quiet."""

        def there(machines: list[Object]) -> bool:
            mine = [machine for machine in machines if machine["metadata"]["labels"].get("group") == self.name]
            return len(mine) == count and all(map(node_of, mine))

        def quiet(item: Object) -> bool:
            status = item.get("status", {})
            return status.get("availableReplicas", 0) == count and status.get("replicas", 0) == count

        self.cluster.until_machines(there, f"{count} nodes of {self.name}")
        self.cluster.until(self.object, quiet, f"{self.name} being quiet")
        return self.nodes()

    def removed(self, count: int = 1, port: LivePort | None = None) -> list[RemovalProgress]:
        """Turn until so many removals have ended."""
        ended: list[RemovalProgress] = []
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while len(ended) < count:
            assert time.monotonic() < deadline, "the removals did not end"
            (port or self.port).observe()
            progress = (port or self.port).continue_removals()
            ended += [one for one in progress if one.state is not RemovalState.DRAINING]
        return ended

    def kept(self, machine: Object) -> None:
        """Delete a Machine that stays, being deleted and with its Node, until `let_go`."""
        finalizers = [*machine["metadata"]["finalizers"], _WAIT]
        self.cluster.api.merge(machine, {"metadata": {"finalizers": finalizers, "annotations": {_BEFORE_DRAIN: ""}}})
        self.cluster.api.delete(machine)

    def let_go(self, machine: Object) -> None:
        """Take our finalizer off: those of the controllers go meanwhile, and none may come back."""
        for _ in range(20):
            found = self.cluster.api.read(machine)["metadata"]
            change = {
                "resourceVersion": found["resourceVersion"],
                "finalizers": [one for one in found["finalizers"] if one != _WAIT],
                "annotations": {_BEFORE_DRAIN: None},
            }
            try:
                self.cluster.api.merge(machine, {"metadata": change})
            except ApiError as error:
                if error.status != 409:
                    raise
            else:
                return
        raise AssertionError("the Machine was never the same twice")

    def marks(self) -> dict[str, str]:
        """Machine name -> its delete mark."""
        found = {
            machine["metadata"]["name"]: (machine["metadata"].get("annotations") or {}).get(VERSION.delete_machine)
            for machine in self.cluster.machines(self.name)
        }
        return {name: value for name, value in found.items() if value is not None}

    def taints(self) -> list[str]:
        """Nodes of the group that carry our taint."""
        mine = self.nodes()
        return sorted(
            node["metadata"]["name"]
            for node in self.cluster.nodes()
            if node["metadata"]["name"] in mine
            and any(taint["key"] == DELETING_TAINT for taint in node["spec"].get("taints") or ())
        )
