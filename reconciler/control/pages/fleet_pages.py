"""The pages of a process that runs the loops of many clusters: probes and metrics, the fleet, and the pages of each loop."""

from collections.abc import Mapping
from typing import Protocol

import msgspec

from reconciler.control.pages.fleet_metrics import fleet_exposition
from reconciler.control.pages.metrics import CONTENT_TYPE
from reconciler.control.pages.route import HTML, JSON, Answer, Request, Route, routed
from reconciler.control.turn.figures import Figures
from reconciler.rendering.documents.fleet.status import ClusterStatus, FleetStatusDocument
from reconciler.rendering.printers.html.fleet import fleet_html
from reconciler.rendering.printers.json_text import json_text

CLUSTERS = "/clusters/"
PERIOD_SECONDS = 5
_STATES = ("Problem", "NoHolder", "NoPolicy", "Here", "Elsewhere")
"""Of a cluster. One with several policies has the first of these that any of its loops has."""


class ShownLoop(msgspec.Struct, frozen=True, kw_only=True):
    """One loop that runs here: its figures, its pages, and for how long it has been stuck (0: it is not)."""

    figures: Figures
    pages: tuple[Route, ...]
    stuck_seconds: int = 0


class ShownFleet(Protocol):
    """What the pages show."""

    def status(self) -> FleetStatusDocument:
        """The clusters as this instance knows them."""

    def loops(self) -> Mapping[tuple[str, str], ShownLoop]:
        """The loops that run here, by cluster (`namespace/name`) and policy."""

    def stuck(self) -> str:
        """Why this process must be restarted; empty: it need not."""

    def unready(self) -> str:
        """Why it takes no loops now; empty: it does."""


def fleet_routes(fleet: ShownFleet, *, cluster_autoscaler_names: bool = False) -> tuple[Route, ...]:
    """Probes and metrics for anybody, all else for those who may read it."""

    def healthz(_: Request) -> Answer:
        why = fleet.stuck()
        return Answer(status=503, body=f"{why}\n".encode()) if why else Answer(body=b"ok\n")

    def readyz(_: Request) -> Answer:
        why = fleet.unready()
        return Answer(status=503, body=f"{why}\n".encode()) if why else Answer(body=b"ok\n")

    def metrics(_: Request) -> Answer:
        status, loops = fleet.status(), fleet.loops()
        states: dict[str, str] = {}
        for one in status.clusters:
            found = _state(one)
            states[one.cluster] = min(found, states.get(one.cluster, found), key=_STATES.index)
        figures = {_label(key, loops): loop.figures for key, loop in loops.items()}
        body = fleet_exposition(
            figures, clusters=states.values(), instances=len(status.instances), cluster_autoscaler_names=cluster_autoscaler_names
        )
        return Answer(content_type=CONTENT_TYPE, body=body)

    def page(_: Request) -> Answer:
        return Answer(content_type=HTML, body=fleet_html(fleet.status(), PERIOD_SECONDS).encode())

    def status(_: Request) -> Answer:
        return Answer(content_type=JSON, body=json_text(fleet.status()).encode())

    def of_loop(request: Request) -> Answer:
        namespace, _, rest = request.path.removeprefix(CLUSTERS).partition("/")
        name, _, rest = rest.partition("/")
        policy, _, rest = rest.partition("/")
        loop = fleet.loops().get((f"{namespace}/{name}", policy))
        if loop is None:
            return Answer(status=404, body=b"this instance does not run that loop: /fleet says who does\n")
        inner = msgspec.structs.replace(request, path=f"/{rest}")
        route = routed(loop.pages, inner.method, inner.path)
        return route if isinstance(route, Answer) else route.answer(inner)

    return (
        Route(method="GET", path="/healthz", answer=healthz),
        Route(method="GET", path="/readyz", answer=readyz),
        Route(method="GET", path="/metrics", answer=metrics),
        Route(method="GET", path="/", answer=page, details=True),
        Route(method="GET", path="/fleet", answer=status, details=True),
        Route(method="GET", path=CLUSTERS, answer=of_loop, details=True),
    )


def _state(one: ClusterStatus) -> str:
    if not one.policy:
        # It may be meant so: no alert of a problem for each cluster that people size themselves.
        return "NoPolicy"
    if one.problem:
        return "Problem"
    if not one.holder:
        return "NoHolder"
    return "Here" if one.here else "Elsewhere"


def _label(key: tuple[str, str], loops: Mapping[tuple[str, str], object]) -> str:
    """The cluster; with its policy where it has several."""
    cluster, policy = key
    return cluster if sum(one == cluster for one, _ in loops) == 1 else f"{cluster} {policy}"
