"""The pages of a process for many clusters: several policies of one cluster, hostile names, loops that do not run yet."""

import re
from collections.abc import Mapping

import msgspec
import pytest

from reconciler.control.pages.fleet_pages import ShownLoop, fleet_routes
from reconciler.control.pages.route import Answer, Request, Route, routed
from reconciler.control.turn.figures import Figures
from reconciler.control.turn.turn_report import LoopReport
from reconciler.rendering.documents.fleet.status import ClusterStatus, FleetStatusDocument, fleet_status
from tests.schemas.conftest import validator

HOSTILE = "<script>alert(1)</script>\"'&\n\x1b[31m"


class Shown:
    """A `ShownFleet` by a script."""

    def __init__(self, *clusters: ClusterStatus) -> None:
        self.clusters = clusters
        self.running: dict[tuple[str, str], ShownLoop] = {}
        self.why_stuck = self.why_unready = ""

    def status(self) -> FleetStatusDocument:
        return fleet_status(
            self.clusters, namespace="reconciler", now="2026-11-28T12:00:00Z", instances=("a_1", "b_1"), problem=self.why_unready
        )

    def loops(self) -> Mapping[tuple[str, str], ShownLoop]:
        return self.running

    def stuck(self) -> str:
        return self.why_stuck

    def unready(self) -> str:
        return self.why_unready


def ask(shown: Shown, path: str, method: str = "GET") -> Answer:
    route = routed(fleet_routes(shown), method, path)
    return route if isinstance(route, Answer) else route.answer(Request(method=method, path=path, headers={}))


def loop(body: str, **figures: int) -> ShownLoop:
    made = Figures()
    for _ in range(figures.get("turns", 0)):
        made.turned(LoopReport(at_seconds=1), 0, 0)
    pages = tuple(
        Route(method="GET", path=path, answer=lambda request: Answer(body=f"{body} {request.path}".encode()), details=True)
        for path in ("/", "/plan", "/explain/")
    )
    return ShownLoop(figures=made, pages=pages)


@pytest.mark.parametrize(
    ("path", "status", "body"),
    [
        ("/clusters/infra/east/cpu/", 200, b"cpu /"),
        ("/clusters/infra/east/cpu/plan", 200, b"cpu /plan"),
        ("/clusters/infra/east/cpu/explain/pod/a/b", 200, b"cpu /explain/pod/a/b"),
        ("/clusters/infra/east/gpu/plan", 200, b"gpu /plan"),
        ("/clusters/infra/east/cpu/nothing", 404, b"no such page\n"),
        ("/clusters/infra/east/other/", 404, b"/fleet says who does"),
        ("/clusters/infra/west/cpu/", 404, b"/fleet says who does"),
        ("/clusters/", 404, b"/fleet says who does"),
        ("/clusters/../east/cpu/plan", 404, b"/fleet says who does"),
        ("/clusters//infra/east/cpu/", 404, b"/fleet says who does"),
    ],
)
def test_the_pages_of_each_loop(path: str, status: int, body: bytes) -> None:
    """By cluster and policy; all else is not there."""
    shown = Shown()
    shown.running = {("infra/east", "cpu"): loop("cpu"), ("infra/east", "gpu"): loop("gpu")}
    answer = ask(shown, path)
    assert (answer.status, body in answer.body) == (status, True)


def test_everything_but_probes_and_metrics_is_for_those_who_may_read() -> None:
    """Also what lies below a cluster."""
    public = {route.path for route in fleet_routes(Shown()) if not route.details}
    assert public == {"/healthz", "/readyz", "/metrics"}


def test_hostile_names_do_nothing_on_the_page() -> None:
    """Names, plans and problems are text there, and one part of the address in links."""
    shown = Shown(
        ClusterStatus(
            cluster=f"infra/{HOSTILE}", policy=f"../{HOSTILE}/", holder=HOSTILE, here=True, problem=HOSTILE, plan=HOSTILE
        )
    )
    page = ask(shown, "/").body.decode()
    assert "<script>alert" not in page
    [link] = re.findall(r'href="(clusters/[^"]*)"', page)
    assert re.fullmatch(r"clusters/infra/[A-Za-z0-9%._~()/-]+", link)
    assert "../" not in link
    document = ask(shown, "/fleet").body
    assert msgspec.json.decode(document)["clusters"][0]["problem"] == HOSTILE
    assert not list(validator("fleet-status").iter_errors(msgspec.json.decode(document)))


def metrics(shown: Shown) -> str:
    return ask(shown, "/metrics").body.decode()


def test_the_metrics_of_each_loop_carry_its_cluster() -> None:
    """And its policy, where the cluster has several."""
    shown = Shown()
    shown.running = {
        ("infra/east", "cpu"): loop("", turns=1),
        ("infra/east", "gpu"): loop("", turns=2),
        ("infra/west", "cpu"): loop("", turns=3),
    }
    found = re.findall(
        r'^reconciler_\w*turns\w*_total\{cluster="([^"]*)"[^}]*Decided[^}]*\} ([0-9.]+)', metrics(shown), re.MULTILINE
    )
    assert sorted(found) == [("infra/east cpu", "1.0"), ("infra/east gpu", "2.0"), ("infra/west", "3.0")]
    assert metrics(shown).count("# TYPE reconciler_fleet_loops gauge") == 1
    assert "\nreconciler_fleet_loops 3.0\n" in metrics(shown)


def test_a_hostile_name_is_one_label() -> None:
    shown = Shown()
    shown.running = {(f"infra/{HOSTILE}", "cpu"): loop("", turns=1)}
    lines = [line for line in metrics(shown).splitlines() if "script" in line]
    assert lines
    assert all(
        re.fullmatch(r'\w+\{cluster="infra/<script>alert\(1\)</script>\\"\'&\\n\x1b\[31m"(,[^}]*)?\} [0-9.e+-]+', line)
        for line in lines
    )


def test_a_cluster_counts_once_by_the_worst_of_its_loops() -> None:
    """In the metrics as in the summary."""
    shown = Shown(
        ClusterStatus(cluster="infra/a", policy="cpu", holder="a_1", here=True),
        ClusterStatus(cluster="infra/a", policy="gpu", holder="a_1", here=True, problem="broken"),
        ClusterStatus(cluster="infra/b", policy="cpu", holder="a_1", here=True),
        ClusterStatus(cluster="infra/b", policy="gpu"),
        ClusterStatus(cluster="infra/c", policy="cpu", holder="b_1"),
        ClusterStatus(cluster="infra/d", policy="cpu", holder="a_1", here=True, pending=3),
        ClusterStatus(cluster="infra/e", problem="no policy applies in this cluster"),
    )
    found = dict(re.findall(r'^reconciler_fleet_clusters\{state="(\w+)"\} ([0-9.]+)', metrics(shown), re.MULTILINE))
    assert found == {"Problem": "1.0", "NoHolder": "1.0", "NoPolicy": "1.0", "Elsewhere": "1.0", "Here": "1.0"}
    assert shown.status().summary == (
        "5 clusters, run by 2 instances: 3 have problems, 1 has pending pods or held groups, 1 needs nobody"
    )


def test_probes_say_why() -> None:
    """Alive unless it must be started anew, ready unless it takes no loops."""
    shown = Shown()
    assert [ask(shown, path).status for path in ("/healthz", "/readyz")] == [200, 200]
    shown.why_stuck, shown.why_unready = "nobody has looked", "the Leases cannot be read"
    assert (ask(shown, "/healthz").status, ask(shown, "/healthz").body) == (503, b"nobody has looked\n")
    assert (ask(shown, "/readyz").status, ask(shown, "/readyz").body) == (503, b"the Leases cannot be read\n")
    assert ask(shown, "/fleet", "POST").status == 405
