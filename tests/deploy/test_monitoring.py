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

from reconciler.control.pages.metrics import exposition
from reconciler.control.turn.figures import Figures
from reconciler.control.turn.loop import ActionResult, LoopReport, ResultState
from reconciler.policy.problems.findings import Problem
from reconciler.policy.yaml_nodes import Place
from tests.control.test_metrics import PLAN, resize
from tests.deploy.rendered import DEPLOY

# Set by Prometheus on everything that it scrapes.
SCRAPED = {"instance", "job"}


def samples() -> list[Sample]:
    """Everything that a loop exports after a turn with actions, problems, holds and costs."""
    figures = Figures()
    figures.policy("abc")
    figures.leads(leader=True)
    problem = Problem(place=Place("a.yaml", 1, 1), code="X", message="x")
    plan = msgspec.structs.replace(PLAN, problems=(problem,))
    results: tuple[ActionResult, ...] = (resize(5, ResultState.DONE), resize(6, ResultState.REFUSED, "Conflict"))
    figures.turned(LoopReport(at_seconds=1795262400, plan=plan, results=results), 0.2, 1.0)
    text = exposition(figures).decode()
    return [sample for family in text_string_to_metric_families(text) for sample in family.samples]


EXPORTED: dict[str, set[str]] = {}
for _sample in samples():
    EXPORTED.setdefault(_sample.name, set()).update(_sample.labels)


def rules() -> list[dict[str, Any]]:
    (rule,) = yaml.safe_load_all((DEPLOY / "monitoring" / "alerts.yaml").read_text())
    return [one for group in rule["spec"]["groups"] for one in group["rules"]]


def board() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DEPLOY / "monitoring" / "dashboard.json").read_text())
    return found


def plain(expression: str) -> str:
    """A dashboard's expression with Grafana's variables filled in."""
    return expression.replace("$__rate_interval", "5m").replace("$group", ".+")


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


def test_an_outcome_that_is_asked_for_is_one_of_the_plans() -> None:
    """Values of labels in matchers are values that are exported."""
    asked = {value for _, expression in ALERTS + PANELS for value in re.findall(r'outcome="(\w+)"', expression)}
    exported = {sample.labels["outcome"] for sample in samples() if sample.name == "reconciler_pending_pods"}
    assert asked
    assert asked <= exported


def test_results_that_alarm_are_words_of_the_loop() -> None:
    """The pattern of the alert takes every refusal and failure, with its code, and nothing that went well."""
    (pattern,) = (re.search(r'result=~"([^"]+)"', expression)[1] for _, expression in ALERTS if "result=~" in expression)
    matched = {str(state) for state in ResultState if re.fullmatch(pattern, f"{state}/Conflict")}
    assert matched == {"Refused", "Failed"}
    exported = {sample.labels["result"] for sample in samples() if sample.name == "reconciler_actions_total"}
    assert {word for word in exported if re.fullmatch(pattern, word)} == {"Refused/Conflict"}


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_every_alert_says_what_and_what_now(rule: dict[str, Any]) -> None:
    """A severity, a summary, a description; labels that the text uses are on the result."""
    assert rule["labels"]["severity"] in ("critical", "warning", "info")
    assert rule["annotations"]["summary"]
    text = rule["annotations"]["description"]
    labels = {label for name, _ in _SELECTOR.findall(rule["expr"]) for label in EXPORTED[name]} | SCRAPED
    assert set(re.findall(r"\$labels\.(\w+)", text)) <= labels


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
