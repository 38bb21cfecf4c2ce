"""What the live loop shows: its pages, who may see them, and where it listens."""

import time
from pathlib import Path
from typing import TYPE_CHECKING

from reconciler.cli.outputs.failure import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reconciler.control.live.live_process import LiveProcess
    from reconciler.control.pages.http_server import HttpServer, Request
    from reconciler.kube.connection.access import Refusal
    from reconciler.plan.plan import Plan


def listening(
    listen: str, process: "LiveProcess", *, cluster_autoscaler_names: bool, webhook_secret: Path | None
) -> "HttpServer":
    """The server of the pages, not yet started. Raises `InputError`."""
    from reconciler.control.pages.explain_page import explain_route
    from reconciler.control.pages.http_server import HttpServer
    from reconciler.control.pages.page_faults import PageFaults
    from reconciler.control.pages.pages import routes
    from reconciler.control.pages.snapshot_page import snapshot_route
    from reconciler.control.pages.webhook_route import webhook_route

    now = int(time.time())
    pages = (
        *routes(
            process.figures, lambda: int(time.time()), lambda plan: _html(process, plan), started_seconds=now,
            cluster_autoscaler_names=cluster_autoscaler_names, view_problem=process.view_problem,
        ),
        explain_route(lambda: process.last),
        snapshot_route(lambda: _files(process)),
    )  # fmt: skip
    if webhook_secret is not None:
        secret = webhook_secret
        check_secret(secret)
        pages = (*pages, webhook_route(lambda: secret.read_bytes().strip(), process.source.notify))
    broken = PageFaults(process.journal, process.figures.page_failed)
    try:
        return HttpServer(address(listen), pages, lambda request: _refusal(process, request), broken)
    except OSError as error:
        raise InputError(f"--listen {listen}: {error.strerror or error}") from None


def address(listen: str) -> tuple[str, int]:
    """Host and port of `HOST:PORT` or `:PORT`. Raises `InputError`."""
    host, _, port = listen.rpartition(":")
    if not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise InputError(f"--listen {listen}: an address is HOST:PORT, or :PORT for all interfaces")
    return host.strip("[]"), int(port)


def check_secret(path: Path) -> None:
    """Raises `InputError` for a file that signs nothing."""
    from reconciler.gitops.sources.webhook import LEAST_SECRET_BYTES

    try:
        found = len(path.read_bytes().strip())
    except OSError as error:
        raise InputError(f"--webhook-secret-file {path}: {error.strerror or error}") from None
    if found < LEAST_SECRET_BYTES:
        raise InputError(
            f"--webhook-secret-file {path}: {found} bytes could be guessed, at least {LEAST_SECRET_BYTES} are needed: "
            "openssl rand -hex 32"
        )


def _files(process: "LiveProcess") -> "Mapping[str, bytes]":
    from reconciler.control.capture import Clusters, capture

    settings = process.settings
    clusters = Clusters(
        workload=process.workload_reader, management=process.reader, version=settings.cluster_api,
        namespaces=settings.target_namespaces,
    )  # fmt: skip
    return capture(clusters, settings.cluster, int(time.time())).redacted().files()


def _refusal(process: "LiveProcess", request: "Request") -> "Refusal | None":
    from reconciler.control.pages.http_server import from_loopback
    from reconciler.kube.connection.access import refusal

    if from_loopback(request):
        return None
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return refusal(process.reader, token if scheme.lower() == "bearer" else "", request.path)


def _html(process: "LiveProcess", plan: "Plan") -> str:
    from reconciler.plan.picture import Picture, Pictures, picture
    from reconciler.rendering.html.plan import plan_html

    last = process.last
    if last is None or last[0] is not plan:
        return plan_html(plan, Pictures(now=Picture()))
    return plan_html(plan, Pictures(now=picture(last[1].world, plan.groups, plan.nodes)))
