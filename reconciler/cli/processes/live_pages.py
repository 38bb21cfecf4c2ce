"""What the live loop shows: its pages, who may see them, and where it listens."""

import os
import secrets
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from reconciler.cli.outputs.failure import InputError
from reconciler.values.whole_number import whole_number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reconciler.control.fleet.fleet_process import FleetProcess
    from reconciler.control.live.live_process import LiveProcess
    from reconciler.control.log import Log
    from reconciler.control.pages.http_server import HttpServer
    from reconciler.control.pages.page_certificate import Certificate
    from reconciler.control.pages.round_probes import Pulse
    from reconciler.control.pages.route import Admission, Broken, Route
    from reconciler.kube.connection.transport import KubernetesApi


class Listening(msgspec.Struct, frozen=True, kw_only=True):
    """Where the loop listens, as the options say it: `listen` for the pages, `probes` for the probes alone."""

    listen: str
    probes: str | None = None
    tls_certificate: Path | None = None
    webhook_secret: Path | None = None

    def check(self) -> None:
        """Raises `InputError` for an address that is none, and for a secret that signs nothing."""
        address("--listen", self.listen)
        if self.probes is not None:
            address("--probes", self.probes)
        if self.webhook_secret is not None:
            check_secret(self.webhook_secret)


def listening(
    choice: Listening, journal: "Log", reader: "KubernetesApi", why: "Callable[[], str]", awaited: "Callable[[], bool]"
) -> "tuple[HttpServer, ...]":
    """The server of the pages, then that of the probes where there is one; not yet started. Without a policy they say why
    (`why`), and whether only the policy is missing (`awaited`). `reader` is the name that the API server knows us by. Raises
    `InputError`."""
    from reconciler.control.pages.page_access import admission
    from reconciler.control.pages.page_faults import PageFaults
    from reconciler.control.pages.waiting_pages import waiting_routes
    from reconciler.kube.connection.token_judge import TokenJudge

    broken, pages = PageFaults(journal), waiting_routes(why, lambda: int(time.time()), awaited=awaited)
    certificate = _certificate(choice.tls_certificate, journal)
    judge = TokenJudge(reader, time.monotonic)
    servers = [served("--listen", choice.listen, pages, admission(judge), broken, certificate)]
    if choice.probes is not None:
        servers.append(served("--probes", choice.probes, _probes(pages), lambda _: None, broken))
    return tuple(servers)


def show(servers: "tuple[HttpServer, ...]", choice: Listening, process: "LiveProcess", *, cluster_autoscaler_names: bool) -> None:
    """From now on the pages of the loop."""
    from reconciler.control.pages.page_access import admission
    from reconciler.control.pages.page_faults import PageFaults
    from reconciler.control.pages.push_webhook import webhook_route
    from reconciler.kube.connection.token_judge import TokenJudge

    pages = loop_pages(process, secrets.token_bytes(32), cluster_autoscaler_names=cluster_autoscaler_names)
    if choice.webhook_secret is not None:
        secret = choice.webhook_secret
        pages = (*pages, webhook_route(lambda: secret.read_bytes().strip(), process.source.notify))
    broken = PageFaults(process.journal, process.figures.page_failed)
    servers[0].show(pages, admission(TokenJudge(process.reader, time.monotonic)), broken)
    for server in servers[1:]:
        server.show(_probes(pages), lambda _: None, broken)


def loop_pages(process: "LiveProcess", salt: bytes, *, cluster_autoscaler_names: bool = False) -> "tuple[Route, ...]":
    """The pages of one loop. `salt` is for the names in its snapshots."""
    from reconciler.control.pages.explain_page import explain_route
    from reconciler.control.pages.live_page import LivePage
    from reconciler.control.pages.pages import routes
    from reconciler.control.pages.snapshot_page import snapshot_route

    now = int(time.time())
    return (
        *routes(
            process.figures, lambda: int(time.time()), started_seconds=now,
            period_seconds=process.settings.period_seconds, cluster_autoscaler_names=cluster_autoscaler_names,
            view_problem=process.view_problem,
        ),
        *LivePage(
            process.figures, lambda: process.last, lambda: int(time.time()), leader=process.leader,
            view_problem=process.view_problem, held_since=process.held_since, period_seconds=process.settings.period_seconds,
        ).routes(),
        explain_route(lambda: process.last),
        snapshot_route(lambda: _files(process, salt)),
    )  # fmt: skip


def fleet_listening(
    choice: Listening, journal: "Log", reader: "KubernetesApi", fleet: "FleetProcess", *, upstream: bool
) -> "tuple[HttpServer, ...]":
    """The servers of a process for many clusters, as `listening` has them; not yet started. Raises `InputError`."""
    from reconciler.control.fleet.shown_fleet import FleetShown
    from reconciler.control.pages.fleet_pages import fleet_routes
    from reconciler.control.pages.page_access import admission
    from reconciler.control.pages.page_faults import PageFaults
    from reconciler.control.pages.push_webhook import webhook_route
    from reconciler.kube.connection.token_judge import TokenJudge

    salt = secrets.token_bytes(32)
    shown = FleetShown(fleet, lambda process: loop_pages(process, salt), lambda: int(time.time()))
    pages = fleet_routes(shown, cluster_autoscaler_names=upstream)
    if choice.webhook_secret is not None:
        secret = choice.webhook_secret
        pages = (*pages, webhook_route(lambda: secret.read_bytes().strip(), fleet.notify))
    broken, certificate = PageFaults(journal), _certificate(choice.tls_certificate, journal)
    servers = [served("--listen", choice.listen, pages, admission(TokenJudge(reader, time.monotonic)), broken, certificate)]
    if choice.probes is not None:
        servers.append(served("--probes", choice.probes, _probes(pages), lambda _: None, broken))
    return tuple(servers)


def probe_server(listen: str | None, pulse: "Pulse", log: "Log") -> "HttpServer | None":
    """The server of a process that has rounds and no pages, answering its probes; None where nobody asks for it. Raises
    `InputError`."""
    if listen is None:
        return None
    from reconciler.control.pages.page_faults import PageFaults
    from reconciler.control.pages.round_probes import previewer_routes

    server = served("--listen", listen, previewer_routes(pulse), lambda _: None, PageFaults(log))
    server.start()
    return server


def _probes(pages: "tuple[Route, ...]") -> "tuple[Route, ...]":
    from reconciler.control.pages.pages import PROBES

    return tuple(page for page in pages if page.path in PROBES)


def served(
    option: str,
    where: str,
    pages: "tuple[Route, ...]",
    admitted: "Admission",
    broken: "Broken",
    certificate: "Certificate | None" = None,
) -> "HttpServer":
    """A server, not yet started. Raises `InputError` where it cannot listen."""
    from reconciler.control.pages.http_server import HttpServer

    try:
        return HttpServer(address(option, where), pages, admitted, broken, certificate=certificate)
    except OSError as error:
        raise InputError(f"{option} {where}: {error.strerror or error}") from None


def _certificate(directory: Path | None, journal: "Log") -> "Certificate | None":
    from reconciler.control.pages.page_certificate import Certificate, CertificateError

    if directory is None:
        return None
    try:
        return Certificate(directory, lambda why: journal.warning("CertificateUnusable", why))
    except CertificateError as error:
        raise InputError(f"--tls-certificate {error}") from None


def address(option: str, where: str) -> tuple[str, int]:
    """Host and port of `HOST:PORT` or `:PORT`. Raises `InputError`."""
    host, _, port = where.rpartition(":")
    number = whole_number(port)
    if number is None or number > 65535:
        raise InputError(f"{option} {where}: an address is HOST:PORT, or :PORT for all interfaces")
    return host.strip("[]"), number


def check_secret(path: Path) -> None:
    """Raises `InputError` for a file that signs nothing."""
    from reconciler.gitops.sources.webhook import LEAST_SECRET_BYTES

    try:
        length = len(path.read_bytes().strip())
    except OSError as error:
        raise InputError(f"--webhook-secret-file {path}: {error.strerror or error}") from None
    if length < LEAST_SECRET_BYTES:
        raise InputError(
            f"--webhook-secret-file {path}: {length} bytes could be guessed, at least {LEAST_SECRET_BYTES} are needed: "
            "openssl rand -hex 32"
        )


def _files(process: "LiveProcess", salt: bytes) -> "Mapping[str, bytes]":
    from reconciler.cluster.snapshots.pseudonyms import Pseudonyms, words_in
    from reconciler.control.capture import Clouds, Clusters, capture

    settings = process.settings
    clusters = Clusters(
        workload=process.workload_reader, management=process.reader, served=settings.served,
        namespaces=settings.target_namespaces,
    )  # fmt: skip
    last = process.last
    words = words_in(msgspec.json.encode(last[1].policy, enc_hook=str).decode()) if last is not None else set[str]()
    clouds = Clouds(policies=(last[1].policy,) if last is not None else (), environment=os.environ)
    return capture(clusters, settings.cluster, int(time.time()), clouds=clouds).redacted(Pseudonyms(salt, words, words)).files()
