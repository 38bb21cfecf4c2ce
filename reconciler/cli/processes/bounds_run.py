"""`reconciler bounds --apply`: a policy, the targets of a cluster and the ConfigMap that follows them, with an orderly end."""

import random
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from reconciler.cli.inputs.connections import ConnectionChoice, Connections, connected, own_namespace
from reconciler.cli.inputs.log_lines import LogChoice
from reconciler.cli.inputs.source_choice import SourceChoice
from reconciler.cli.outputs.failure import EXIT_ERROR, EXIT_OK
from reconciler.cli.processes.live_pages import address, probe_server
from reconciler.cli.processes.live_source import LiveSource, say, source_in_cluster
from reconciler.control.bounds_keeper import BoundsKeeper
from reconciler.control.kept_bounds import BoundsError, KeptBounds
from reconciler.control.pages.round_probes import Pulse
from reconciler.gitops.sources.poll_times import Polling, next_wait_seconds
from reconciler.values.clauses import clauses

if TYPE_CHECKING:
    from reconciler.cli.processes.custom_resources_source import ClusterSource
    from reconciler.cluster.world import World


class BoundsChoice(msgspec.Struct, frozen=True, kw_only=True):
    """The options as given."""

    policy: Path | None
    namespace: str | None
    period_seconds: int
    once: bool
    listen: str | None
    log: LogChoice


def run_bounds(choice: BoundsChoice, connection: ConnectionChoice, repository: SourceChoice) -> int:
    """Round after round until SIGTERM or SIGINT; with `once` one of them, whose exit code says whether the bounds are those of
    the policy. Raises `InputError`."""
    journal = choice.log.opened()
    if choice.listen is not None:
        address("--listen", choice.listen)
    source: LiveSource | ClusterSource | None = None
    if not repository.in_cluster:
        source = LiveSource(choice.policy, repository, keep=True, tell=lambda event: say(journal, event))
    connections = connected(connection, tell=lambda words: journal.warning("CertificateNotChecked", words))
    own = own_namespace(choice.namespace)
    source = source or source_in_cluster(
        connections.management, connection, repository, own, keep=True, tell=lambda event: say(journal, event)
    )
    ended, pulse = threading.Event(), Pulse(time.monotonic)
    server = None
    if not choice.once:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: ended.set())
        server = probe_server(choice.listen, pulse, journal)
    name = source.policy_name(None if choice.once else _waiting(ended, pulse))
    kept = KeptBounds(connections.management, own)
    if name is not None:
        followed = source.follow(name, kept, lambda: 1, lambda _: None)
        now = _now_seconds
        keeper = BoundsKeeper(followed, lambda: _targets(connections, connection.target_namespaces), kept, journal, now)
        try:
            if choice.once:
                return EXIT_OK if keeper.round() else EXIT_ERROR
            journal.info("Started", f"{kept.name} follows policy {name}", **({"port": server.port} if server is not None else {}))
            _follow(keeper, choice.period_seconds, ended, pulse)
        finally:
            followed.stop()
    if server is not None:
        server.stop()
    journal.info("Stopped", "the bounds stay as they are")
    return EXIT_OK


def _follow(keeper: BoundsKeeper, period_seconds: int, ended: threading.Event, pulse: Pulse) -> None:
    polling = Polling(interval_seconds=float(period_seconds))
    chance = random.Random()  # noqa: S311 - spreads requests, keeps no secret
    while not ended.is_set():
        pulse.step()
        keeper.round()
        pulse.ended(keeper.failures)
        # Not more seldom after failures: a hold that ends and a narrower range are not to wait for what cannot be read.
        wait = next_wait_seconds(polling, 0, chance.random())
        pulse.rests(wait)
        ended.wait(wait)


def _waiting(ended: threading.Event, pulse: Pulse) -> Callable[[float], bool]:
    def wait(seconds: float) -> bool:
        pulse.rests(seconds)
        return ended.wait(seconds)

    return wait


def _targets(connections: Connections, namespaces: tuple[str, ...]) -> "World":
    """What is there to be bounded. Raises `BoundsError`: what cannot be read must not look as if it were gone."""
    from reconciler.cluster.values.unreadable import SnapshotError
    from reconciler.control.capture import Clusters, capture_targets
    from reconciler.kube.connection.api import ApiError, UnreachableError

    api = connections.management
    clusters = Clusters(workload=api, management=api, served=connections.served, namespaces=namespaces)
    try:
        targets = capture_targets(clusters, _now_seconds())
        if targets.unread:
            raise BoundsError(clauses(f"{one.kind} cannot be listed: {one.why}" for one in targets.unread))
        return targets.world()
    except (ApiError, UnreachableError) as error:
        raise BoundsError(f"targets cannot be listed: {error}") from None
    except SnapshotError as error:
        raise BoundsError(": ".join(part for part in (error.item, error.message) if part)) from None


def _now_seconds() -> int:
    return int(time.time())
