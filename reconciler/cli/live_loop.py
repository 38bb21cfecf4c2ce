"""`reconciler run` on a live cluster: options to one process, signals to an orderly end."""

import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from reconciler.cli.connections import ConnectionChoice, connected, own_namespace
from reconciler.cli.failure import EXIT_OK, InputError
from reconciler.cli.source_choice import SourceChoice

if TYPE_CHECKING:
    from collections.abc import Callable

    from reconciler.control.http_server import HttpServer
    from reconciler.control.live_process import LiveProcess
    from reconciler.control.log import Log
    from reconciler.gitops.source import Source
    from reconciler.gitops.standing import SourceEvent

EXIT_ABANDONED = 1
GIT_POLL_SECONDS, DIRECTORY_POLL_SECONDS = 60.0, 5.0


class LoopChoice(msgspec.Struct, frozen=True, kw_only=True):
    """The options of the live loop as given."""

    policy: Path | None
    namespace: str | None
    read_only: bool
    once: bool
    listen: str
    period_seconds: int
    cluster_name: str
    cluster_autoscaler_metrics: bool
    drain_timeout_seconds: int
    webhook_secret_file: Path | None


def run_live(loop: LoopChoice, connection: ConnectionChoice, repository: SourceChoice) -> int:
    """Run until SIGTERM or SIGINT; a second one ends at once. Raises `InputError`."""
    from reconciler.control.log import Log

    address = _address(loop.listen)
    source, poll_seconds = _source(loop, repository)
    journal = Log(sys.stderr, lambda: int(time.time()))
    ending = _Ending()
    process, watch = _process(loop, connection, repository, source, poll_seconds, journal, ending)
    if process is None or watch is None:
        return EXIT_OK
    if loop.once:
        return _once(process, watch)
    server = _server(loop, address, process, watch.notify)
    server.start()
    journal.info("Started", f"listening on port {server.port}", identity=process.settings.identity, policy=process.settings.name)
    process.start()
    watch.start()
    worker = threading.Thread(target=process.run, name="loop")
    worker.start()
    try:
        ending.wait()
    finally:
        journal.info("Stopping", "no new turn begins; drains are finished or undone")
        watch.stop()
        process.stop()
        worker.join()
        server.stop()
    journal.info("Stopped", "the Lease is released")
    return EXIT_OK


class _Ending:
    """The first SIGTERM or SIGINT asks for an orderly end; a second one ends at once, whatever is under way."""

    def __init__(self) -> None:
        self._reading, self._writing = os.pipe()
        self.asked = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._signalled)

    def _signalled(self, _number: int, _frame: object) -> None:
        if self.asked:
            os._exit(EXIT_ABANDONED)
        self.asked = True
        os.write(self._writing, b"x")

    def wait(self, seconds: float | None = None) -> bool:
        """Until the first signal, or so long; whether it came."""
        import select

        return self.asked or bool(select.select([self._reading], [], [], seconds)[0])


def _process(
    loop: LoopChoice,
    connection: ConnectionChoice,
    repository: SourceChoice,
    source: "Source",
    poll_seconds: float,
    journal: "Log",
    ending: _Ending,
) -> "tuple[LiveProcess | None, Watch | None]":
    from reconciler.control.followed import FollowedSource
    from reconciler.control.live_process import LiveProcess, Settings
    from reconciler.control.policy_source import FollowedPolicy
    from reconciler.control.state_last_good import LockedState, StateLastGoodStore
    from reconciler.gitops.last_good import FileLastGoodStore, LastGoodStore, MemoryLastGoodStore

    connections = connected(connection)
    if connections.cluster_api is None:
        raise InputError(
            f"{connections.management.server} has no Cluster API: there is nothing here whose replicas could be changed; "
            "--management-kubeconfig names the cluster that holds the MachineDeployments"
        )
    name = repository.policy_name or _name_in(source, journal, ending, poll_seconds, loop)
    if name is None:
        return None, None
    settings = Settings(
        name=name,
        namespace=own_namespace(loop.namespace),
        identity=f"{os.environ.get('POD_NAME') or socket.gethostname()}_{os.getpid()}_{os.urandom(4).hex()}",
        cluster=loop.cluster_name,
        read_only=loop.read_only,
        target_namespaces=connection.target_namespaces,
        cluster_api=connections.cluster_api,
        period_seconds=loop.period_seconds,
        drain_timeout_seconds=loop.drain_timeout_seconds,
    )

    def follow(state: LockedState, leads: "Callable[[], bool]") -> FollowedSource:
        store: LastGoodStore = StateLastGoodStore(state)
        if repository.last_good is not None:
            store = FileLastGoodStore(repository.last_good)
        elif loop.read_only:
            store = MemoryLastGoodStore()
        policy = FollowedPolicy(
            source, store, lambda: int(time.time()), name=name, allow_no_groups=repository.allow_no_groups,
            tell=lambda event: _say(journal, event),
        )  # fmt: skip
        return FollowedSource(policy, leads)

    process = LiveProcess(
        settings, connections.workload, connections.management, follow, journal,
        now_seconds=lambda: int(time.time()), wall_seconds=time.time,
    )  # fmt: skip
    return process, Watch(process, poll_seconds)


class Watch:
    """Looks at the source at its interval, and at once when this process begins to lead."""

    def __init__(self, process: "LiveProcess", poll_seconds: float) -> None:
        import random

        from reconciler.control.followed import FollowedSource
        from reconciler.control.policy_source import SourceWatch
        from reconciler.gitops.polling import Polling, next_wait_seconds
        from reconciler.gitops.standing import Standing

        assert isinstance(process.source, FollowedSource)  # noqa: S101 - made so above
        followed = process.source
        polling = Polling(interval_seconds=poll_seconds)
        chance = random.Random()  # noqa: S311 - spreads requests, keeps no secret

        def wait_seconds(standing: Standing) -> float:
            # One that stands by looks whether it leads by now; the source is asked by the leader only.
            if not followed.leads():
                return 1.0
            return next_wait_seconds(polling, standing.failures, chance.random())

        def changed() -> None:
            process.figures.policy(followed.standing.revision)
            process.wake.notify()

        self.followed = followed
        self._watch = SourceWatch(followed, wait_seconds, changed)

    def start(self) -> None:
        """Begin."""
        self._watch.start()

    def notify(self) -> None:
        """Look soon."""
        self._watch.notify()

    def stop(self) -> None:
        """End."""
        self._watch.stop()


def _name_in(source: "Source", journal: "Log", ending: _Ending, poll_seconds: float, loop: LoopChoice) -> str | None:
    """The name of the policy that the source holds: Lease and state are called after it. Waits for a source that cannot be
    read yet; None: the process was asked to end first."""
    from reconciler.control.policy_source import FollowedPolicy
    from reconciler.gitops.last_good import MemoryLastGoodStore

    first = FollowedPolicy(source, MemoryLastGoodStore(), lambda: int(time.time()), tell=lambda event: _say(journal, event))
    while True:
        first.poll()
        if first.ready:
            return first.current().policy.name
        if loop.once:
            fault = first.standing.fault
            raise InputError(fault.sentence if fault else f"{source.name} cannot be read")
        if ending.wait(poll_seconds):
            return None


def _once(process: "LiveProcess", watch: Watch) -> int:
    process.start()
    process.view.wait(60)
    deadline = time.monotonic() + 2 * process.settings.lease.duration_seconds
    while not watch.followed.leads() and time.monotonic() < deadline:
        time.sleep(0.1)
    watch.followed.poll()
    report = process.run_loop.look()
    process.stop()
    if report is None or report.plan is None:
        raise InputError(report.unavailable if report is not None else process.source.missing() or "another instance leads")
    from reconciler.rendering.plan_json import plan_json

    click.echo(plan_json(report.plan), nl=False)
    return EXIT_OK


def _source(loop: LoopChoice, repository: SourceChoice) -> "tuple[Source, float]":
    from reconciler.cli.source_choice import git_source
    from reconciler.gitops.directory_source import DirectorySource

    if repository.git_url is not None:
        if loop.policy is not None:
            raise InputError("--git and --policy are two sources: give one")
        return git_source(repository), GIT_POLL_SECONDS
    directory = loop.policy or Path("policies")
    if not directory.is_dir():
        raise InputError(f"{directory}: no such directory; --policy DIR or --git URL says where the policy is")
    return DirectorySource(directory), DIRECTORY_POLL_SECONDS


def _server(loop: LoopChoice, address: tuple[str, int], process: "LiveProcess", look: "Callable[[], None]") -> "HttpServer":
    from reconciler.control.http_server import HttpServer, Request, from_loopback
    from reconciler.control.pages import routes
    from reconciler.control.webhook_route import webhook_route
    from reconciler.kube.access import refusal
    from reconciler.plan.picture import Picture, Pictures, picture
    from reconciler.plan.plan import Plan
    from reconciler.rendering.html.plan import plan_html

    def admission(request: Request) -> str:
        if from_loopback(request):
            return ""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        return refusal(process.reader, token if scheme.lower() == "bearer" else "", request.path)

    def html(plan: Plan) -> str:
        world = process.port.last_world
        if world is None:
            return plan_html(plan, Pictures(now=Picture()))
        return plan_html(plan, Pictures(now=picture(world, plan.groups, plan.nodes)))

    pages = routes(
        process.figures, lambda: int(time.time()), html, started_seconds=int(time.time()),
        cluster_autoscaler_names=loop.cluster_autoscaler_metrics, view_problem=process.view_problem,
    )  # fmt: skip
    secret = loop.webhook_secret_file
    if secret is not None:
        pages = (*pages, webhook_route(lambda: secret.read_bytes().strip(), look))
    try:
        return HttpServer(address, pages, admission)
    except OSError as error:
        raise InputError(f"--listen {loop.listen}: {error.strerror or error}") from None


def _address(listen: str) -> tuple[str, int]:
    host, _, port = listen.rpartition(":")
    if not port.isdigit() or int(port) > 65535:
        raise InputError(f"--listen {listen}: an address is HOST:PORT, or :PORT for all interfaces")
    return host.strip("[]"), int(port)


def _say(journal: "Log", event: "SourceEvent") -> None:
    (journal.warning if event.type == "Warning" else journal.info)(event.reason, event.message)
