"""`reconciler run` on a live cluster: options to one process, signals to an orderly end."""

import os
import signal
import socket
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from reconciler.cli.inputs.connections import ConnectionChoice, Connections, connected, own_namespace
from reconciler.cli.inputs.log_lines import LogChoice
from reconciler.cli.inputs.source_choice import SourceChoice
from reconciler.cli.outputs.failure import EXIT_OK, InputError
from reconciler.cli.processes.custom_resources_source import ClusterSource
from reconciler.cli.processes.live_pages import Listening
from reconciler.cli.processes.live_source import DEFAULT_DIRECTORY, LiveSource, say, source_in_cluster
from reconciler.cli.processes.notifying import PATIENCE_SECONDS, Notifying

if TYPE_CHECKING:
    from collections.abc import Callable

    from reconciler.control.live.live_process import LiveProcess, Settings
    from reconciler.control.live.news_webhook import NewsWebhook
    from reconciler.control.log import Log
    from reconciler.control.policy.custom_source import CustomResourceSource
    from reconciler.control.policy.followed_source import FollowedSource
    from reconciler.control.policy.own_objects import OwnObjects
    from reconciler.control.policy.stored_policy import LockedState
    from reconciler.control.turn.turn_report import LoopReport
    from reconciler.gitops.sources.standing import Standing
    from reconciler.kube.connection.api import Api
    from reconciler.kube.leading.lease import LeaderLease, Timing
    from reconciler.kube.leading.rival import RivalWatch
    from reconciler.kube.watching.reflector import Drive
    from reconciler.kube.watching.target_streams import TargetStreams
    from reconciler.values.cluster_identity import ClusterIdentity

EXIT_ABANDONED = 1
ONCE_PATIENCE_SECONDS = 60.0


class LoopChoice(msgspec.Struct, frozen=True, kw_only=True):
    """The options of the live loop as given."""

    policy: Path | None
    namespace: str | None
    read_only: bool
    once: bool
    listening: Listening
    period_seconds: float
    cluster_name: str
    cluster_autoscaler_metrics: bool
    beside_autoscaler: bool
    drain_timeout_seconds: int
    lease_seconds: int
    wave_soak_seconds: int
    log: LogChoice
    notifying: Notifying = Notifying()
    record: Path | None = None


def run_live(loop: LoopChoice, connection: ConnectionChoice, repository: SourceChoice) -> int:
    """Run until SIGTERM or SIGINT; a second one ends at once. Raises `InputError`."""
    from reconciler.cli.processes.live_pages import listening, show

    loop.listening.check()
    loop.notifying.check()
    journal = loop.log.opened()
    source: LiveSource | ClusterSource | None = None
    if not repository.in_cluster:
        source = LiveSource(
            loop.policy, repository, keep=not loop.read_only, tell=lambda event: say(journal, event), cluster=loop.cluster_name
        )
    ending = Ending()
    reached = connected(connection, tell=lambda words: journal.warning("CertificateNotChecked", words))
    files = None if repository.in_cluster or repository.git_url is not None else loop.policy or DEFAULT_DIRECTORY
    connections = _usable(reached, own_namespace(loop.namespace), files, read_only=loop.read_only)
    source = source or source_in_cluster(
        connections.management, connection, repository, own_namespace(loop.namespace), keep=not loop.read_only,
        tell=lambda event: say(journal, event), cluster=loop.cluster_name,
    )  # fmt: skip
    kept = _kept(loop, connections, journal)
    if loop.once:
        policy_name = source.policy_name(None, kept)
        return (
            _once(_process(loop, connection, connections, source, policy_name, journal)) if policy_name is not None else EXIT_OK
        )
    servers = listening(loop.listening, journal, connections.management, lambda: source.waits_for, lambda: source.awaited)
    for server in servers:
        server.start()
    probes = {"probes": servers[1].port} if len(servers) > 1 else {}
    address = f"listening on port {servers[0].port}"
    journal.info("Listening", address, **probes)
    name = source.policy_name(ending.wait, kept)
    if name is None:
        for server in servers:
            server.stop()
        return EXIT_OK
    news = loop.notifying.opened(journal)
    process = _process(loop, connection, connections, source, name, journal, news)
    show(servers, loop.listening, process, cluster_autoscaler_names=loop.cluster_autoscaler_metrics)
    journal.info("Started", address, identity=process.settings.identity, policy=name, **probes)
    if news is not None:
        news.start()
    process.start()
    worker = threading.Thread(target=process.run, name="loop")
    worker.start()
    try:
        ending.wait()
    finally:
        journal.info("Stopping", "no new iteration begins, and drains are finished or undone")
        process.stop()
        worker.join()
        if news is not None:
            news.stop(PATIENCE_SECONDS)
        for server in servers:
            server.stop()
    journal.info("Stopped", "the Lease is released")
    return EXIT_OK


def _kept(loop: LoopChoice, connections: Connections, journal: "Log") -> "Callable[[str], tuple[str, ...]]":
    """Given a source, the names of the policies that were in force from it."""
    from reconciler.control.policy.kept_policies import kept_from
    from reconciler.kube.connection.api import ApiError, UnreachableError

    def names_from(source: str) -> tuple[str, ...]:
        if loop.read_only:
            return ()
        try:
            return kept_from(connections.management, own_namespace(loop.namespace), source)
        except (ApiError, UnreachableError) as error:
            journal.warning("LastGoodNotRead", f"whether a policy of {source} was in force before cannot be read: {error}")
            return ()

    return names_from


class Ending:
    """The first SIGTERM or SIGINT asks for an orderly end; a second one ends at once, whatever is under way."""

    def __init__(self) -> None:
        self._reading, self._writing = os.pipe()
        self.asked = False
        # The byte is written when the signal arrives, in whatever thread that is: the handler runs once the main thread wakes.
        os.set_blocking(self._writing, False)
        signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._signalled)

    def _signalled(self, _number: int, _frame: object) -> None:
        if self.asked:
            os._exit(EXIT_ABANDONED)
        self.asked = True

    def wait(self, seconds: float | None = None) -> bool:
        """Until the first signal, or so long; whether it came."""
        import select

        return self.asked or bool(select.select([self._reading], [], [], seconds)[0])


def _process(
    loop: LoopChoice,
    connection: ConnectionChoice,
    connections: Connections,
    source: LiveSource | ClusterSource,
    name: str,
    journal: "Log",
    news: "NewsWebhook | None" = None,
) -> "LiveProcess":
    turned = recording(loop.record, journal)
    return wired(_settings(loop, connection, connections, name), connections, source, journal, turned=turned, news=news)


def recording(path: Path | None, journal: "Log") -> "Callable[[LoopReport], None]":
    """Records the demand of each iteration. If that fails, the log says so, and the iteration decides anyway."""
    from reconciler.cli.outputs.recorded_days import RecordedDays

    if path is None:
        return lambda _: None
    days = RecordedDays(path)

    def turned(report: "LoopReport") -> None:
        if (decided := report.decided) is not None:
            try:
                groups = report.plan.groups if report.plan is not None else ()
                days.observe(decided.world, decided.now_seconds, decided.memory.lead_times, groups)
            except InputError as error:
                journal.warning("NotRecorded", f"the demand of this turn is not recorded: {error.message}")

    return turned


def wired(
    settings: "Settings",
    connections: Connections,
    source: LiveSource | ClusterSource,
    journal: "Log",
    *,
    lease: "LeaderLease | None" = None,
    targets: "Callable[[Callable[[], None]], TargetStreams] | None" = None,
    turned: "Callable[[LoopReport], None]" = lambda _: None,
    drive: "Drive | None" = None,
    neighbours: "Callable[[], tuple[ClusterIdentity, ...]]" = tuple,
    rivals: "RivalWatch | None" = None,
    news: "NewsWebhook | None" = None,
) -> "LiveProcess":
    """The process of one loop. The last seven are as `LiveProcess` takes them."""
    from reconciler.cli.processes.sized import Sized
    from reconciler.control.live.live_process import LiveProcess
    from reconciler.control.live.source_standing import StandingRecord
    from reconciler.control.policy.status_beside import StatusBeside
    from reconciler.gitops.git.fault import AWAITED, FaultCode
    from reconciler.kube.custom.custom_object import CustomObjects
    from reconciler.kube.custom.status import StatusWriter

    name = settings.name
    made: list[LiveProcess] = []
    followed: list[FollowedSource | CustomResourceSource] = []
    records: list[StandingRecord] = []
    sized = Sized(connections, lambda words: journal.warning("NothingToSize", words))

    def looked(standing: "Standing") -> None:
        fault = standing.fault
        problem = fault.sentence if fault is not None else ""
        awaited = fault is not None and fault.code in AWAITED and bool(made[0].source.missing())
        waits = fault is not None and fault.code is FaultCode.WAITS_FOR_WAVE and not awaited
        made[0].figures.policy(
            standing.revision, "" if waits else problem, awaited=problem if awaited else "", waits=problem if waits else ""
        )
        if not made[0].source.missing():
            sized.look(made[0].source.current())
            made[0].tell_gone(gone=fault is not None and fault.code is FaultCode.NO_POLICY)
        if records:
            records[0].save(standing)

    def leads() -> bool:
        return made[0].leads()

    def objects(api: "Api") -> "OwnObjects | None":
        if isinstance(source, ClusterSource):
            return source.status_on(api, settings.identity, leads)
        if settings.once or settings.cluster_object is not None:
            # One policy object cannot say what is true of each of many clusters; their states do.
            return None
        places = tuple(sorted({settings.namespace, *settings.target_namespaces})) if settings.target_namespaces else ()
        return StatusBeside(
            CustomObjects(connections.management, places), lambda: followed[0], StatusWriter(api), name=name,
            clock=lambda: int(time.time()), leads=leads,
        )  # fmt: skip

    def follow(state: "LockedState", term: "Callable[[], int]") -> "FollowedSource | CustomResourceSource":
        followed.append(source.follow(name, state, term, looked))
        return followed[0]

    process = LiveProcess(
        settings, connections.workload, connections.management, follow,
        journal, now_seconds=lambda: int(time.time()), wall_seconds=time.time, objects=objects, lease=lease, targets=targets,
        turned=turned, drive=drive, neighbours=neighbours, rivals=rivals, news=news,
    )  # fmt: skip
    made.append(process)
    if not settings.read_only:
        records.append(StandingRecord(process.state))
    return process


def own_identity() -> str:
    """What distinguishes this process from its siblings, and from earlier ones in the same pod."""
    return f"{os.environ.get('POD_NAME') or socket.gethostname()}_{os.getpid()}_{os.urandom(4).hex()}"


def _settings(loop: LoopChoice, connection: ConnectionChoice, connections: Connections, name: str) -> "Settings":
    from reconciler.control.live.live_process import Settings
    from reconciler.kube.drain_mark import checked_owner

    try:
        checked_owner(name)
    except ValueError as error:
        raise InputError(f"the policy's name: {error}") from None
    return Settings(
        name=name,
        namespace=own_namespace(loop.namespace),
        identity=own_identity(),
        cluster=loop.cluster_name,
        read_only=loop.read_only,
        target_namespaces=connection.target_namespaces,
        served=connections.served,
        period_seconds=loop.period_seconds,
        drain_timeout_seconds=loop.drain_timeout_seconds,
        lease=timing(loop.lease_seconds),
        beside_autoscaler=loop.beside_autoscaler,
        once=loop.once,
    )


def timing(lease_seconds: int) -> "Timing":
    """The proportions of client-go's defaults: 15 s, 10 s, 2 s."""
    from reconciler.kube.leading.lease import Timing

    return Timing(
        duration_seconds=lease_seconds, renew_deadline_seconds=lease_seconds * 2 / 3, retry_seconds=lease_seconds * 2 / 15
    )


def _usable(connections: Connections, namespace: str, files: Path | None, *, read_only: bool) -> Connections:
    """The same, after a first look at what the loop cannot do without. `files` are the policies, where they lie here. Raises
    `InputError`."""
    from reconciler.cli.processes.sized import check_sized
    from reconciler.kube.connection.api import ApiError, UnreachableError
    from reconciler.kube.connection.token_review import may

    workload, management = connections.workload, connections.management
    check_sized(connections, files)
    needed = [(workload, "list", "", "nodes", ""), (workload, "list", "", "pods", "")]
    if not read_only:
        needed += [
            (management, "get", "coordination.k8s.io", "leases", namespace),
            (management, "create", "", "configmaps", namespace),
        ]
    try:
        for api, verb, group, resource, place in needed:
            if not may(api, verb, group, resource, place):
                where = f" in namespace {place}" if place else ""
                raise InputError(
                    f"{api.server}: this user may not {verb} {resource}{where}. The roles in examples/deploy allow it, "
                    "`reconciler doctor` says which rights are missing"
                )
        if not read_only:
            management.get(f"/api/v1/namespaces/{namespace}")
    except UnreachableError as error:
        raise InputError(str(error)) from None
    except ApiError as error:
        # Namespaces are often not ours to read; one that is not there is worth a word, since no Lease can be made in it.
        if error.status == 404:
            raise InputError(
                f"{management.server}: namespace {namespace} not found. Name the reconciler's namespace with --namespace"
            ) from None
        if error.status != 403:
            raise InputError(f"{management.server}: {error}") from None
    return connections


def _once(process: "LiveProcess") -> int:
    from reconciler.rendering.printers.json_text import json_text

    try:
        report, why = process.one_turn(ONCE_PATIENCE_SECONDS)
    finally:
        process.stop()
    if report is None or report.plan is None:
        raise InputError(f"nothing was decided: {report.unavailable if report is not None else why}")
    click.echo(json_text(report.plan), nl=False)
    return EXIT_OK
