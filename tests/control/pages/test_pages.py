"""Probes tell a stuck process from a blind one; the plan is the last that was decided."""

import json

import pytest

from reconciler.control.pages.pages import routes
from reconciler.control.pages.push_webhook import webhook_route
from reconciler.control.pages.route import Answer, Request
from reconciler.control.pages.waiting_pages import waiting_routes
from reconciler.control.turn.figures import Figures
from reconciler.control.turn.turn_report import LoopReport
from reconciler.plan.plan import Plan

PLAN = Plan(now="2026-11-21T12:00:00Z", mode="Observe", summary="No changes.")


class Pages:
    """All pages over figures and a clock that tests move."""

    def __init__(self, period_seconds: float = 10) -> None:
        self.figures = Figures()
        self.now = 1000
        self.view_problem = ""
        made = routes(
            self.figures, lambda: self.now, started_seconds=1000,
            period_seconds=period_seconds, view_problem=lambda: self.view_problem,
        )  # fmt: skip
        self._routes = {route.path: route for route in made}
        self.details = {route.path for route in made if route.details}

    def get(self, path: str) -> Answer:
        return self._routes[path].answer(Request(method="GET", path=path, headers={}, body=b"", peer="127.0.0.1"))


@pytest.fixture
def pages() -> Pages:
    return Pages()


def test_only_probes_and_metrics_are_open(pages: Pages):
    """The others show objects of the cluster."""
    assert pages.details == {"/plan"}


def test_a_leader_that_does_not_turn_is_unhealthy(pages: Pages):
    """A period and two minutes without a turn, counted from the start or from the last one."""
    pages.figures.leads(leader=True)
    assert pages.get("/healthz").status == 200
    pages.now = 1131
    assert pages.get("/healthz").status == 503
    pages.figures.turned(LoopReport(at_seconds=1120, plan=PLAN), 0.1, 0)
    assert pages.get("/healthz").status == 200


@pytest.mark.parametrize(("period_seconds", "last_healthy"), [(10, 130), (300, 420), (3600, 3720)])
def test_a_long_period_is_no_fault(period_seconds: float, last_healthy: int):
    """A turn that is not due yet is not missed: the limit follows --period."""
    pages = Pages(period_seconds)
    pages.figures.leads(leader=True)
    pages.now = 1000 + last_healthy
    assert pages.get("/healthz").status == 200
    pages.now += 1
    assert pages.get("/healthz").status == 503


def test_one_that_stands_by_is_healthy_and_ready_with_a_view(pages: Pages):
    """It must be able to take over at once, so that its view counts."""
    pages.now = 9999
    assert (pages.get("/healthz").status, pages.get("/readyz").status) == (200, 200)
    pages.view_problem = "pods: not synced yet"
    assert (pages.get("/healthz").status, pages.get("/readyz").status) == (200, 503)


def test_readiness_says_why_nothing_was_decided(pages: Pages):
    """The message of the turn that had no view to trust is in the answer; a turn with one mends it."""
    pages.figures.leads(leader=True)
    assert pages.get("/readyz").status == 503
    pages.figures.turned(LoopReport(at_seconds=1000, unavailable="nodes: last heard 40 s ago"), 0.1, 40)
    assert pages.get("/readyz").status == 503
    assert pages.get("/readyz").body == b"the last turn decided nothing: nodes: last heard 40 s ago\n"
    pages.figures.turned(LoopReport(at_seconds=1010, plan=PLAN), 0.1, 0)
    assert pages.get("/readyz").status == 200


def test_the_plan_is_the_last_that_was_decided(pages: Pages):
    """A turn without a view does not take it away."""
    pages.figures.leads(leader=True)
    assert pages.get("/plan").status == 503
    pages.figures.turned(LoopReport(at_seconds=1000, plan=PLAN), 0.1, 0)
    pages.figures.turned(LoopReport(at_seconds=1010, unavailable="gone"), 0.1, 0)
    assert json.loads(pages.get("/plan").body)["summary"] == "No changes."


def test_who_does_not_lead_says_who_has_the_plan(pages: Pages):
    """Before the first turn: what is waited for, and since when."""
    assert pages.get("/plan").body == b"standing by: the leader has the plan\n"
    pages.figures.leads(leader=True)
    assert pages.get("/plan").body == b"no plan yet: the first turn has not ended\n"
    pages.figures.turned(LoopReport(at_seconds=1000, unavailable="nodes: no answer"), 0.1, 0)
    assert pages.get("/plan").body == b"no plan yet since 1970-01-01T00:16:40Z: nodes: no answer\n"
    assert pages.get("/plan").status == 503


def test_a_loop_that_turns_every_ten_seconds_unless_told():
    """The limit of the probe follows; names of the Cluster Autoscaler are only for those who want them."""
    figures, now = Figures(), [1130]
    figures.leads(leader=True)
    made = {route.path: route for route in routes(figures, lambda: now[0], started_seconds=1000)}
    request = Request(method="GET", path="/", headers={})
    assert made["/healthz"].answer(request).status == 200
    now[0] += 1
    assert made["/healthz"].answer(request).status == 503
    assert b"cluster_autoscaler_" not in made["/metrics"].answer(request).body
    both = routes(figures, lambda: 0, started_seconds=0, cluster_autoscaler_names=True)
    answer = next(route for route in both if route.path == "/metrics").answer(request)
    assert b"cluster_autoscaler_" in answer.body
    assert answer.content_type == "text/plain; version=0.0.4; charset=utf-8"


def test_a_loop_that_waits_for_its_policy():
    """Alive, so that no probe ends it; not ready, with why; its metrics say that it is stalled."""
    made = {route.path: route for route in waiting_routes(lambda: "git is away", lambda: 1000)}
    answers = {path: route.answer(Request(method="GET", path=path, headers={})) for path, route in made.items()}
    assert {path: answer.status for path, answer in answers.items()} == {
        "/healthz": 200, "/readyz": 503, "/metrics": 200, "/plan": 503, "/": 503,
    }  # fmt: skip
    assert answers["/readyz"].body == answers["/plan"].body == b"nothing is decided: git is away\n"
    assert b"reconciler_policy_stalled 1.0" in answers["/metrics"].body
    assert {path for path, route in made.items() if route.details} == {"/plan", "/"}


def test_a_loop_that_waits_for_its_first_policy_is_ready(pages: Pages):
    """Nothing is wrong with it: whoever delivers the policy waits for it to be ready. Body and figure say what is missing."""
    waited = LoopReport(at_seconds=1000, unavailable="there is no policy: there is no NodeGroupPolicy prod")
    pages.figures.leads(leader=True)
    pages.figures.policy("", "there is no NodeGroupPolicy prod", awaited="there is no NodeGroupPolicy prod")
    pages.figures.turned(waited, 0, 0)
    answer = pages.get("/readyz")
    assert (answer.status, answer.body) == (200, b"ok: waiting for the first policy: there is no NodeGroupPolicy prod\n")
    assert (pages.get("/healthz").status, pages.get("/plan").status) == (200, 503)
    assert b"reconciler_policy_awaited 1.0" in pages.get("/metrics").body
    pages.view_problem = "nodes: waiting"
    assert pages.get("/readyz").status == 503
    pages.view_problem = ""
    pages.figures.policy("", "NodeGroupPolicy prod has 1 error")
    assert (pages.get("/readyz").status, b"reconciler_policy_awaited 0.0" in pages.get("/metrics").body) == (503, True)


def test_a_loop_that_does_not_know_the_name_of_its_policy_yet_is_ready():
    """The same before there is anything that Lease and state could be called after."""
    made = {route.path: route for route in waiting_routes(lambda: "there is none", lambda: 1000, awaited=lambda: True)}
    answers = {path: route.answer(Request(method="GET", path=path, headers={})) for path, route in made.items()}
    assert (answers["/readyz"].status, answers["/plan"].status) == (200, 503)
    assert answers["/readyz"].body == b"ok: waiting for the first policy: there is none\n"
    assert b"reconciler_policy_awaited 1.0" in answers["/metrics"].body
    assert b"reconciler_policy_stalled 0.0" in answers["/metrics"].body


SECRET = b"0123456789abcdef"


@pytest.mark.parametrize(
    ("headers", "status", "result", "notified"),
    [
        ({"x-gitlab-token": SECRET.decode()}, 202, "Accepted", 1),
        ({"x-gitlab-token": "guessed"}, 403, "Refused", 0),
        ({}, 401, "Unsigned", 0),
    ],
)
def test_who_knows_the_secret_makes_us_look(headers: dict[str, str], status: int, result: str, notified: int):
    """Nobody else; a notification may be a megabyte long."""
    told: list[int] = []
    route = webhook_route(lambda: SECRET, lambda: told.append(1))
    answer = route.answer(Request(method="POST", path="/webhook", headers=headers, body=b"{}"))
    assert (answer.status, json.loads(answer.body), answer.content_type) == (status, {"result": result}, "application/json")
    assert len(told) == notified
    assert (route.method, route.path, route.details, route.max_body_bytes) == ("POST", "/webhook", False, 1 << 20)
