"""Doubles for processes that share a fleet: instances over one API server in memory, with loops that only write what they may.

Every write of a loop names its instance, and is compared with the Lease that the server has at that moment.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from reconciler.control.fleet.fleet_process import FleetProcess, FleetSettings
from reconciler.control.log import Log
from reconciler.control.turn.figures import Figures
from reconciler.control.turn.turn_report import LoopReport
from reconciler.gitops.git.fault import FaultCode, failed
from reconciler.gitops.sources.fleet_tree import CountsHere
from reconciler.gitops.sources.shared_source import SharedSource
from reconciler.gitops.sources.source import Fetched
from reconciler.kube.connection.api import ApiError, UnreachableError
from reconciler.kube.connection.workload_connection import Rotation
from reconciler.kube.leading.lease import LeaderLease, NotLeaderError, Timing
from reconciler.kube.leading.loop_name import LoopName
from reconciler.kube.watching.collection import Served
from reconciler.kube.watching.shared_targets import SharedTargets
from reconciler.kube.watching.watch_pace import RealPace
from reconciler.values.cluster_identity import ClusterIdentity
from tests.kube import objects
from tests.kube.api_server import FakeApiServer, Watch

TIMING = Timing(duration_seconds=2, renew_deadline_seconds=1.2, retry_seconds=0.15)
HOME = "reconciler"
SERVED = (Served(platform="clusterAPI", group=objects.GROUP, version="v1beta2"),)
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{HOME}/leases"


def cluster_path(name: str, namespace: str = "infra") -> str:
    return f"/apis/{objects.GROUP}/v1beta2/namespaces/{namespace}/clusters/{name}"


def cluster_object(name: str, namespace: str = "infra", **labels: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    return {"apiVersion": f"{objects.GROUP}/v1beta2", "kind": "Cluster", "metadata": metadata, "spec": {}}


class InstanceApi:
    """The management server as one instance reaches it. After `kill` no call of the instance arrives any more."""

    def __init__(self, server: FakeApiServer) -> None:
        self.server = server
        self.killed = False
        self.delay: Callable[[str], float] = lambda _: 0.0

    def with_timeout(self, seconds: float) -> "InstanceApi":
        del seconds
        return self

    def get(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        self._arrive(path)
        return self.server.get(path, query)

    def write(self, method: str, path: str, body: object = None) -> bytes:
        self._arrive(path)
        return self.server.write(method, path, body)

    def stream(self, path: str, query: Mapping[str, str], *, silence_seconds: float) -> Watch:
        self._arrive(path)
        return self.server.stream(path, query, silence_seconds=silence_seconds)

    def _arrive(self, path: str) -> None:
        time.sleep(self.delay(path))
        if self.killed:
            raise UnreachableError("killed")


class Connection:
    """A `WorkloadConnection` whose looks are scripted."""

    def __init__(self) -> None:
        self.rotations: list[Rotation] = []
        self.message = ""

    def look(self) -> Rotation:
        return self.rotations.pop(0) if self.rotations else Rotation.SAME


class _View:
    def __init__(self) -> None:
        self.complete = threading.Event()
        self.complete.set()

    def wait(self, timeout_seconds: float) -> bool:
        return self.complete.wait(min(timeout_seconds, 0.02))


class _Source:
    def __init__(self) -> None:
        self.notified = 0

    def notify(self) -> None:
        self.notified += 1


class _Settings:
    period_seconds = 0.02


class Process:
    """A `LiveProcess` that turns every 20 ms, and writes to the target of its cluster while it leads."""

    def __init__(self, api: InstanceApi, name: LoopName, cluster: ClusterIdentity, lease: LeaderLease) -> None:
        self.api, self.name, self.cluster, self.lease = api, name, cluster, lease
        self.view, self.source, self.figures, self.settings = _View(), _Source(), Figures(), _Settings()
        self.said: list[str] = []
        self.stuck = threading.Event()
        """Set: its turns do not end."""
        self.stopped = threading.Event()
        self.turning = threading.Lock()
        self.turns = 0

    def follow(self) -> None:
        self.said.append("follow")

    def start(self) -> None:
        self.said.append("start")

    def run(self) -> None:
        while not self.stopped.wait(0.02):
            while self.stuck.is_set() and not self.stopped.wait(0.02):
                pass
            with self.turning:
                if not self.stopped.is_set():
                    self._turn()
        self.said.append("ended")

    def stop(self, *, handed_over: bool = False) -> None:
        self.said.append(f"stop {handed_over}")
        self.stopped.set()
        # As a `LiveProcess`: when it returns, no turn is under way.
        with self.turning:
            pass

    def leads(self) -> bool:
        return self.lease.leads()

    def tell_decision(self) -> None:
        """As a real process does before each renewal."""

    def lease_stepped(self) -> None:
        pass

    def _turn(self) -> None:
        try:
            self.lease.guard()
            body = {"metadata": {"annotations": {"writer": self.lease.identity, "lease": self.name.lease}}}
            self.api.write("PATCH", target_path(self.cluster), body)
        except (NotLeaderError, UnreachableError, ApiError):
            return
        self.turns += 1
        self.figures.turned(LoopReport(at_seconds=self.turns), 0, 0)


def target_path(cluster: ClusterIdentity) -> str:
    return f"/api/v1/namespaces/{cluster.namespace}/configmaps/target-{cluster.name}"


class Tree:
    """A `Source` and a `Counting`: which policies apply where. `broken`: it cannot be read. While `hangs` is set, nobody
    answers."""

    name = "a tree"

    def __init__(self, counts: Callable[[ClusterIdentity], tuple[str, ...]] = lambda _: ("fleet",)) -> None:
        self.counts = counts
        self.revision = 0
        self.broken = False
        self.hangs = threading.Event()
        self.asked = 0

    def fetch(self, last_revision: str | None, last_seconds: int = 0) -> Fetched:
        self.asked += 1
        while self.hangs.is_set():
            time.sleep(0.02)
        if self.broken:
            raise failed(FaultCode.UNREACHABLE, "nobody answers")
        return Fetched(revision=str(self.revision), root="", files={"policy.yaml": str(self.revision).encode()})

    def counted(
        self, fetched: Fetched, clusters: tuple[ClusterIdentity, ...], now_seconds: int
    ) -> Mapping[ClusterIdentity, CountsHere]:
        return {cluster: CountsHere(policies=self.counts(cluster)) for cluster in clusters}


class Instance:
    """One process of the fleet."""

    def __init__(self, fleet: "Fleet", name: str) -> None:
        self.name, self.identity = name, f"{name}_1"
        self.api = InstanceApi(fleet.server)
        self.made: list[Process] = []
        self.refused: dict[str, Exception] = {}
        """Clusters whose connection fails."""
        self._pace = RealPace()
        self._process = fleet.process
        shared = SharedTargets(
            self.api, served=SERVED, namespaces=(), capi_group=objects.GROUP, pace=self._pace,
            on_clusters=self._clusters_changed,
        )  # fmt: skip
        self.source = SharedSource(fleet.tree, time.monotonic, fresh_seconds=0.2)
        self.process = FleetProcess(
            FleetSettings(
                namespace=HOME, identity=self.identity, instance=name, lease=TIMING, soak_seconds=fleet.soak_seconds
            ),
            self.api, shared, self.source, fleet.tree.counted,
            connect=self._connect, make=self._make, log=lambda _: Log(fleet.text, lambda: 0),
            now_seconds=lambda: int(time.time()),
        )  # fmt: skip

    def _clusters_changed(self) -> None:
        self.process.clusters_changed()

    def _connect(self, cluster: ClusterIdentity) -> Connection:
        if cluster.name in self.refused:
            raise self.refused[cluster.name]
        return Connection()

    def _make(self, name: LoopName, cluster: ClusterIdentity, connection: Connection, lease: LeaderLease, log: Log) -> Process:
        del connection, log
        self.made.append(self._process(self, name, cluster, lease))
        return self.made[-1]

    def kill(self) -> None:
        """No call of it arrives any more; its threads go on."""
        self.api.killed = True

    def end(self) -> None:
        self.process.stop()
        self._pace.stop()
        self.process.shared.join(lambda: 5)


class Fleet:
    """Clusters on a management server, and the instances that share them. `wrong` has each write without the Lease."""

    def __init__(self, text: Any, *names: str, tree: Tree | None = None) -> None:
        self.text, self.tree = text, tree or Tree()
        self.soak_seconds = 600
        self.process: Callable[[Instance, LoopName, ClusterIdentity, LeaderLease], Process] = lambda instance, *given: Process(
            instance.api, *given
        )
        self.server = FakeApiServer()
        for item in objects.definitions():
            self.server.define(item)
        self.wrong: list[str] = []
        self.writes = 0
        self.written: list[str] = []
        """The names of the Leases, in the order of the calls that wrote them."""
        self.instances: list[Instance] = []
        self.server.before = self._before
        for name in names:
            self.add(name)

    def add(self, name: str, namespace: str = "infra", **labels: str) -> None:
        self.server.put(f"/api/v1/namespaces/{namespace}/configmaps/target-{name}", {"metadata": {"name": f"target-{name}"}})
        self.server.put(cluster_path(name, namespace), cluster_object(name, namespace, **labels))

    def start(self, name: str) -> Instance:
        made = Instance(self, name)
        self.instances.append(made)
        made.process.start()
        return made

    def holders(self) -> dict[str, str]:
        """Who holds the Lease of each loop, by the label of the cluster and the policy."""
        found = {}
        for path, item in list(self.server.objects.items()):
            labels = item["metadata"].get("labels", {})
            if path.startswith(LEASES) and labels.get("reconciler.dev/fleet") in ("loop", "ended"):
                key = f"{labels['reconciler.dev/cluster']} {labels['reconciler.dev/policy']}"
                found[key] = item["spec"].get("holderIdentity") or ""
        return found

    def _before(self, path: str) -> None:
        if "/leases" in path:
            self.written.append(self.server.sent[-1][2]["metadata"]["name"])
        if "/configmaps/target-" in path:
            self.writes += 1
            said = self.server.sent[-1][2]["metadata"]["annotations"]
            lease = self.server.objects.get(f"{LEASES}/{said['lease']}", {"spec": {}})
            if lease["spec"].get("holderIdentity") != said["writer"]:
                self.wrong.append(f"{path} by {said['writer']}, the Lease says {lease['spec']}")


@contextmanager
def fleet(text: Any, *names: str, tree: Tree | None = None) -> Iterator[Fleet]:
    """Ends what it started."""
    made = Fleet(text, *names, tree=tree)
    try:
        yield made
    finally:
        made.tree.hangs.clear()
        for one in made.instances:
            one.api.delay = lambda _: 0.0
            for process in one.made:
                process.stuck.clear()
        for one in made.instances:
            one.end()
