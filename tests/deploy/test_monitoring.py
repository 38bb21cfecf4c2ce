"""Alert rules and the dashboard ask for nothing that the loop does not export, with labels that it has."""

import json
import re
from typing import Any

import msgspec
import promql_parser
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from docs.prose import faults, message_faults
from reconciler.control.pages.fleet_metrics import fleet_exposition
from reconciler.control.pages.fleet_pages import ShownLoop, fleet_routes
from reconciler.control.pages.metrics import exposition
from reconciler.control.pages.route import Request
from reconciler.control.turn.figures import Figures
from reconciler.control.turn.turn_report import ActionResult, LoopReport, ResultState
from reconciler.policy.place import Place
from reconciler.policy.problems.problem import Problem
from reconciler.rendering.documents.fleet.status import ClusterStatus, FleetStatusDocument, fleet_status
from tests.control.pages.test_metrics import PLAN, resize
from tests.deploy.rendered import DEPLOY

# Set by Prometheus on everything that it scrapes.
SCRAPED = {"instance", "job"}


def loop() -> Figures:
    """A loop after a turn with actions, problems, holds and costs."""
    figures = Figures()
    figures.policy("abc")
    figures.leads(leader=True)
    problem = Problem(place=Place("a.yaml", 1, 1), code="X", message="x")
    plan = msgspec.structs.replace(PLAN, problems=(problem,))
    results: tuple[ActionResult, ...] = (resize(5, ResultState.DONE), resize(6, ResultState.REFUSED, "Conflict"))
    figures.turned(LoopReport(at_seconds=1795262400, plan=plan, results=results), 0.2, 1.0)
    return figures


def samples(text: bytes) -> list[Sample]:
    return [sample for family in text_string_to_metric_families(text.decode()) for sample in family.samples]


def labels_by_name(found: list[Sample]) -> dict[str, set[str]]:
    names: dict[str, set[str]] = {}
    for sample in found:
        names.setdefault(sample.name, set()).update(sample.labels)
    return names


STATES = ("NoPolicy", "Problem", "NoHolder", "Here", "Elsewhere")
ALONE = labels_by_name(samples(exposition(loop())))
EXPORTED = labels_by_name(samples(fleet_exposition({"clusters/eu": loop()}, clusters=STATES, instances=2)))
"""What a fleet exports: all that a single loop does, with the label `cluster`, and figures of its own."""


def rules() -> list[dict[str, Any]]:
    (rule,) = yaml.safe_load_all((DEPLOY / "monitoring" / "alerts.yaml").read_text())
    return [one for group in rule["spec"]["groups"] for one in group["rules"]]


def board() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DEPLOY / "monitoring" / "dashboard.json").read_text())
    return found


def plain(expression: str) -> str:
    """A dashboard's expression with Grafana's variables filled in."""
    return expression.replace("$__rate_interval", "5m").replace("$group", ".+").replace("$cluster", ".*")


ALERTS = [(rule["alert"], rule["expr"]) for rule in rules()]
PANELS = [
    (f"{panel['title']} {target['refId']}", plain(target["expr"])) for panel in board()["panels"] for target in panel["targets"]
]
_SELECTOR = re.compile(r"\b(reconciler_\w+)(?:\{([^}]*)\})?")
_BY = re.compile(r"\b(?:by|on|without|ignoring) \(([^)]*)\)")


@pytest.mark.parametrize(("_title", "expression"), ALERTS + PANELS)
def test_every_expression_is_promql(_title: str, expression: str) -> None:
    """It parses."""
    assert promql_parser.parse(expression) is not None


@pytest.mark.parametrize(("_title", "expression"), ALERTS + PANELS)
def test_every_metric_and_label_is_exported(_title: str, expression: str) -> None:
    """Each metric by its full name, each label of a matcher on the metric that it narrows, each label of a grouping on one."""
    asked = _SELECTOR.findall(expression)
    assert asked
    for name, matchers in asked:
        assert name in EXPORTED
        assert set(re.findall(r"(\w+)\s*[=!]~?", matchers)) <= EXPORTED[name] | SCRAPED
    labels = {label for name, _ in asked for label in EXPORTED[name]} | SCRAPED | {"le"}
    assert {word.strip() for found in _BY.findall(expression) for word in found.split(",") if word.strip()} <= labels


OF_LOOPS = [(title, expression) for title, expression in ALERTS + PANELS if "reconciler_fleet_" not in expression]


@pytest.mark.parametrize(("title", "expression"), OF_LOOPS)
def test_clusters_of_a_fleet_are_never_taken_for_one(title: str, expression: str) -> None:
    """The cluster stays apart where the highest of several series is taken and where two metrics are compared; in alerts also in
    sums. Without the label, as of a single loop, such a grouping changes nothing."""
    kinds = "max by|on|sum by|sum" if title in dict(ALERTS) else "max by|on"
    for labels in re.findall(rf"\b(?:{kinds}) ?\(([^()]*)\)", expression):
        assert "cluster" in labels.split(", ")


def test_a_single_loop_is_not_asked_for_a_cluster() -> None:
    """Only what a fleet alone exports, or what is said to be of a fleet, narrows by a label that a single loop does not have."""
    asked = {title for title, expression in ALERTS + PANELS if 'cluster!=""' in expression or "reconciler_fleet_" in expression}
    assert {title for title in asked if title.startswith("Reconciler")} == {
        "ReconcilerClusterHasNoHolder", "ReconcilerClusterNotDecided", "ReconcilerClusterHasProblem",
        "ReconcilerClusterWithoutPolicy",
    }  # fmt: skip
    assert all(title.startswith(("ReconcilerCluster", "Fleet: ")) for title in asked)
    assert {name for name in EXPORTED if not name.startswith("reconciler_fleet_")} == set(ALONE)


def test_every_panel_of_loops_can_be_narrowed_to_a_cluster() -> None:
    """By a variable whose default also matches series without the label."""
    (variable,) = [one for one in board()["templating"]["list"] if one["name"] == "cluster"]
    assert variable["allValue"] == ".*"
    for panel in board()["panels"]:
        if not panel["title"].startswith("Fleet: "):
            for target in panel["targets"]:
                assert all('cluster=~"$cluster"' in matchers for _, matchers in _SELECTOR.findall(target["expr"])), panel["title"]


def test_states_of_clusters_are_those_that_are_exported() -> None:
    """As the pages name them: a state that nobody exports would never alarm."""
    clusters = (
        ClusterStatus(cluster="0", problem="no policy applies in this cluster"),
        ClusterStatus(cluster="a", policy="p", problem="x", holder="me", here=True),
        ClusterStatus(cluster="b", policy="p"),
        ClusterStatus(cluster="c", policy="p", holder="me", here=True),
        ClusterStatus(cluster="d", policy="p", holder="other"),
    )
    (metrics,) = [route for route in fleet_routes(_Shown(clusters)) if route.path == "/metrics"]
    found = samples(metrics.answer(Request(method="GET", path="/metrics", headers={})).body)
    assert {one.labels["state"] for one in found if one.name == "reconciler_fleet_clusters"} == set(STATES)
    asked = [value for _, expression in ALERTS + PANELS for value in re.findall(r'state=~?"([\w|]+)"', expression)]
    assert {word for value in asked for word in value.split("|")} == {"NoPolicy", "Problem", "NoHolder", "Here"}


class _Shown:
    """A `ShownFleet` with these clusters, and no loop here."""

    def __init__(self, clusters: tuple[ClusterStatus, ...]) -> None:
        self._clusters = clusters

    def status(self) -> FleetStatusDocument:
        return fleet_status(self._clusters, namespace="reconciler", now="", instances=("me",))

    def loops(self) -> dict[tuple[str, str], ShownLoop]:
        return {}

    def stuck(self) -> str:
        return ""

    def unready(self) -> str:
        return ""


def test_an_outcome_that_is_asked_for_is_one_of_the_plans() -> None:
    """Values of labels in matchers are values that are exported."""
    asked = {value for _, expression in ALERTS + PANELS for value in re.findall(r'outcome="(\w+)"', expression)}
    exported = {sample.labels["outcome"] for sample in samples(exposition(loop())) if sample.name == "reconciler_pending_pods"}
    assert asked
    assert asked <= exported


def test_results_that_alarm_are_words_of_the_loop() -> None:
    """The pattern of the alert takes every refusal and failure, with its code, and nothing that went well."""
    (pattern,) = (re.search(r'result=~"([^"]+)"', expression)[1] for _, expression in ALERTS if "result=~" in expression)
    matched = {str(state) for state in ResultState if re.fullmatch(pattern, f"{state}/Conflict")}
    assert matched == {"Refused", "Failed"}
    exported = {sample.labels["result"] for sample in samples(exposition(loop())) if sample.name == "reconciler_actions_total"}
    assert {word for word in exported if re.fullmatch(pattern, word)} == {"Refused/Conflict"}


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_every_alert_says_what_and_what_now(rule: dict[str, Any]) -> None:
    """A severity, a summary, a description; labels that the text uses are on the result."""
    assert rule["labels"]["severity"] in ("critical", "warning", "info")
    assert rule["annotations"]["summary"]
    text = rule["annotations"]["description"]
    labels = {label for name, _ in _SELECTOR.findall(rule["expr"]) for label in EXPORTED[name]} | SCRAPED
    assert set(re.findall(r"\$labels\.(\w+)", text)) <= labels
    words = re.sub(r"\{\{.*?\}\}", "X", text)
    assert [fault for part in (rule["annotations"]["summary"], words) for fault in (*message_faults(part), *faults(part))] == []


def test_every_metric_of_groups_and_demand_is_on_the_dashboard() -> None:
    """Nothing that the loop tells of its work is left to be found by chance."""
    shown = {name for _, expression in PANELS for name, _ in _SELECTOR.findall(expression)}
    quiet = {"reconciler_last_turn_timestamp_seconds"}
    assert {name for name in EXPORTED if not name.endswith("_created")} - shown == quiet


def test_panels_do_not_overlap() -> None:
    """Every panel has its place on the grid of 24 columns."""
    taken: set[tuple[int, int]] = set()
    for panel in board()["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert at["x"] + at["w"] <= 24
        assert not cells & taken
        taken |= cells
