"""`reconciler run --fleet`: the loops of all workload clusters that a management cluster describes."""

import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from reconciler.cli.inputs.connections import ConnectionChoice, Connections, connected, own_namespace
from reconciler.cli.inputs.source_choice import SourceChoice
from reconciler.cli.outputs.failure import EXIT_OK, InputError
from reconciler.cli.processes.live_loop import Ending, LoopChoice, own_identity, timing, wired
from reconciler.cli.processes.live_pages import fleet_listening
from reconciler.cli.processes.live_source import LiveSource, say, tree_source
from reconciler.cli.processes.notifying import PATIENCE_SECONDS

if TYPE_CHECKING:
    from reconciler.control.live.live_process import LiveProcess
    from reconciler.control.log import Log
    from reconciler.kube.connection.workload_connection import WorkloadConnection
    from reconciler.kube.leading.lease import LeaderLease, Timing
    from reconciler.kube.leading.loop_name import LoopName
    from reconciler.kube.watching.collection import Served
    from reconciler.values.cluster_identity import ClusterIdentity

FRESH_SECONDS = 10.0
"""So long an answer of the policy's source counts for all clusters."""
LOOK_SECONDS = 300.0
"""So often a loop looks for other autoscalers and policies on the management cluster where none was. It looks before each write,
too."""
MOST_OBJECTS = 200_000
"""Of each kind that one cluster may take memory for, in a process that others share. SOURCE: Kubernetes is tested up to 150,000
pods in a cluster."""


def run_fleet(loop: LoopChoice, connection: ConnectionChoice, repository: SourceChoice) -> int:
    """Run until SIGTERM or SIGINT; a second one ends at once. Raises `InputError`."""
    _check(loop, repository)
    loop.listening.check()
    loop.notifying.check()
    journal = loop.log.opened()
    ending = Ending()
    connections = connected(connection, tell=lambda words: journal.warning("CertificateNotChecked", words))
    made = _Fleet(loop, connection, repository, connections, journal)
    fleet = made.process
    servers = fleet_listening(loop.listening, journal, connections.management, fleet, upstream=loop.cluster_autoscaler_metrics)
    for server in servers:
        server.start()
    probes = {"probes": servers[1].port} if len(servers) > 1 else {}
    journal.info("Listening", f"listening on port {servers[0].port}", **probes)
    identity = fleet.settings.identity
    journal.info("Started", "this instance shares the clusters with the others of its namespace", identity=identity)
    fleet.start()
    if made.news is not None:
        made.news.start()
    try:
        ending.wait()
    finally:
        journal.info("Stopping", "no new iteration begins, and other instances take over the loops")
        fleet.stop()
        made.stop()
        if made.news is not None:
            made.news.stop(PATIENCE_SECONDS)
        for server in servers:
            server.stop()
    journal.info("Stopped", "all Leases are released")
    return EXIT_OK


def _check(loop: LoopChoice, repository: SourceChoice) -> None:
    """Raises `InputError` for options that mean one cluster."""
    wrong = {
        "--custom-resources": repository.custom_resources,
        "--last-good": repository.last_good is not None,
        "--cluster-name": bool(loop.cluster_name),
        "--read-only": loop.read_only,
        "--once": loop.once,
    }
    given = [option for option, there in wrong.items() if there]
    if given:
        hint = ". `mode: Observe` in the policy changes nothing" if loop.read_only else ""
        raise InputError(f"{given[0]} is for the loop of one cluster: it does not go with --fleet{hint}")


class _Fleet:
    """The process, and how the loop of each cluster is made."""

    def __init__(
        self, loop: LoopChoice, connection: ConnectionChoice, repository: SourceChoice, connections: Connections, journal: "Log"
    ) -> None:
        from reconciler.control.fleet.fleet_process import FleetProcess, FleetSettings
        from reconciler.control.fleet.wave_gate import Contents
        from reconciler.gitops.sources.fleet_tree import FleetTrees
        from reconciler.gitops.sources.shared_source import SharedSource
        from reconciler.kube.leading.rival import RivalWatch
        from reconciler.kube.leading.server_claims import ServerClaims
        from reconciler.kube.watching.collection import cluster_api, renamed_group
        from reconciler.kube.watching.shared_targets import SharedTargets
        from reconciler.kube.watching.stream_hub import StreamHub
        from reconciler.kube.watching.watch_pace import RealPace

        self._loop = loop
        self.news = loop.notifying.opened(journal)
        self._contents: Contents = Contents()
        self._hub: StreamHub = StreamHub(RealPace().monotonic)
        self._repository = repository
        self._journal = journal
        self._namespace = own_namespace(loop.namespace)
        self._management = connections.management
        describes = cluster_api().platform
        self._served: tuple[Served, ...] = tuple(one for one in connections.served if one.platform == describes)
        if not self._served:
            raise InputError(f"{self._management.server}: it has no Cluster API, whose Clusters --fleet runs the loops of")
        identity = own_identity()
        lease = fleet_timing(loop.lease_seconds)
        made: list[FleetProcess] = []
        self._trees: FleetTrees = FleetTrees(lambda: made[0].own_clusters() if made else ())
        api = self._management if repository.flux_source is not None else None
        self._source: SharedSource = SharedSource(
            tree_source(loop.policy, repository, api), time.monotonic, fresh_seconds=FRESH_SECONDS
        )
        self._shared: SharedTargets = SharedTargets(
            self._management, served=self._served, namespaces=connection.target_namespaces,
            capi_group=renamed_group(self._served), pace=RealPace(),
            on_clusters=lambda: made[0].clusters_changed() if made else None,
        )  # fmt: skip
        settings = FleetSettings(
            namespace=self._namespace, identity=identity, instance=identity.partition("_")[0], lease=lease,
            policy=repository.policy_name or "", template=os.environ.get("POD_TEMPLATE_HASH", ""), owners=_owners(os.environ),
            soak_seconds=loop.wave_soak_seconds,
        )  # fmt: skip
        self.process: FleetProcess = FleetProcess(
            settings, self._management.with_timeout(lease.call_timeout_seconds), self._shared, self._source, self._trees.counted,
            connect=self._connect, make=self._make, log=self._log, now_seconds=lambda: int(time.time()),
        )  # fmt: skip
        made.append(self.process)
        self._rivals: RivalWatch = RivalWatch(
            (self._management,), (self._namespace,), monotonic=RealPace().monotonic, wall_seconds=time.time,
            look_seconds=LOOK_SECONDS,
        )  # fmt: skip
        self._claims: ServerClaims = ServerClaims(
            self._management, self._namespace, lambda: frozenset(one.title for one in self.process.clusters())
        )

    def stop(self) -> None:
        """End what the loops shared, once they have ended."""
        self._hub.stop()

    def _connect(self, cluster: "ClusterIdentity") -> "WorkloadConnection":
        from reconciler.kube.connection.connection_choice import ConnectionConfigError
        from reconciler.kube.connection.workload_connection import WorkloadConnection

        connection = WorkloadConnection(self._management, cluster)
        connection.api.get("/version")
        if taken := self._claims.claim(connection.api, cluster):
            raise ConnectionConfigError(taken)
        return connection

    def _make(
        self,
        name: "LoopName",
        cluster: "ClusterIdentity",
        connection: "WorkloadConnection",
        lease: "LeaderLease",
        log: "Log",
    ) -> "LiveProcess":
        from reconciler.control.fleet.wave_gate import WaveGate
        from reconciler.control.live.live_process import Settings
        from reconciler.gitops.sources.gated_source import GatedSource

        loop = self._loop
        settings = Settings(
            name=name.policy, namespace=self._namespace, identity=self.process.settings.identity, cluster=cluster.title,
            cluster_object=cluster, target_namespaces=(cluster.namespace,), served=self._served,
            period_seconds=loop.period_seconds, drain_timeout_seconds=loop.drain_timeout_seconds,
            lease=fleet_timing(loop.lease_seconds), beside_autoscaler=loop.beside_autoscaler, most_objects=MOST_OBJECTS,
            look_seconds=LOOK_SECONDS,
        )  # fmt: skip
        connections = Connections(connection.api, self._management, self._served)
        gate = WaveGate(
            lease,
            self._contents,
            lambda content, decides: self.process.closed(name, content, decides),
            loop.wave_soak_seconds,
            self.process.former(name),
        )
        # Through a proxy, streams cannot be read without waiting: each then has a thread.
        drive = self._hub.lane() if connection.api.streams_on_sockets else None
        source = LiveSource(
            None, self._repository, keep=True, tell=lambda event: say(log, event),
            shared=(GatedSource(self._source, gate.fault), self._trees.of(cluster)),
        )  # fmt: skip
        return wired(
            settings, connections, source, log, lease=lease, targets=self._shared.of(cluster), turned=gate.turned, drive=drive,
            neighbours=self.process.clusters, rivals=self._rivals, news=self.news,
        )  # fmt: skip

    def _log(self, name: "LoopName | None") -> "Log":
        return self._journal if name is None else self._journal.of({"cluster": name.title, "policy": name.policy})


def fleet_timing(lease_seconds: int) -> "Timing":
    """There are many Leases: each is renewed after a third of its time."""
    return msgspec.structs.replace(timing(lease_seconds), retry_seconds=lease_seconds / 6, renew_seconds=lease_seconds / 3)


def _owners(environment: Mapping[str, str]) -> tuple[Mapping[str, object], ...]:
    """The pod that this runs in, so that the Lease of an instance goes with it; none outside a pod."""
    name, uid = environment.get("POD_NAME", ""), environment.get("POD_UID", "")
    return ({"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid},) if name and uid else ()
