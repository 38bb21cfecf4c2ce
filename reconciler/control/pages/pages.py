"""The pages of the live loop for programs: probes and metrics for anybody, the plan for those who may read it."""

from collections.abc import Callable

from reconciler.control.pages.metrics import CONTENT_TYPE, exposition
from reconciler.control.pages.route import JSON, Answer, Request, Route
from reconciler.control.pages.waiting_pages import awaited_body
from reconciler.control.turn.figures import Figures, Seen
from reconciler.rendering.printers.json_text import json_text
from reconciler.values.instant import instant_text

PROBES = ("/healthz", "/readyz")
STUCK_SECONDS = 120
"""No turn for so long after one was due: the process is stuck. A turn begins every period, the longest is bounded by its
time-outs."""


def routes(
    figures: Figures,
    now_seconds: Callable[[], int],
    *,
    started_seconds: int,
    period_seconds: float = 10,
    cluster_autoscaler_names: bool = False,
    view_problem: Callable[[], str] = lambda: "",
) -> tuple[Route, ...]:
    """Probes, metrics and plan. `period_seconds` is how long the loop waits when nothing happens.
    `view_problem` says at this moment why the view cannot be trusted (empty: it can)."""

    def healthz(_: Request) -> Answer:
        seen = figures.seen()
        if not seen.leader:
            return Answer(body=b"ok: standing by\n")
        silent = now_seconds() - max(seen.turned_seconds, started_seconds)
        if silent > period_seconds + STUCK_SECONDS:
            return Answer(status=503, body=f"no turn for {silent} s\n".encode())
        return Answer(body=b"ok\n")

    def readyz(_: Request) -> Answer:
        problem = view_problem()
        if problem:
            return Answer(status=503, body=f"no view to trust: {problem}\n".encode())
        seen = figures.seen()
        if not seen.leader:
            return Answer(body=b"ok: standing by\n")
        if seen.policy_awaited:
            return Answer(body=awaited_body(seen.policy_awaited))
        if seen.unavailable:
            return Answer(status=503, body=f"the last turn decided nothing: {seen.unavailable}\n".encode())
        return Answer(body=b"ok\n") if seen.turned_seconds else Answer(status=503, body=b"no turn yet\n")

    def metrics(_: Request) -> Answer:
        return Answer(content_type=CONTENT_TYPE, body=exposition(figures, cluster_autoscaler_names=cluster_autoscaler_names))

    def plan(_: Request) -> Answer:
        seen = figures.seen()
        return _no_plan(seen) if seen.plan is None else Answer(content_type=JSON, body=json_text(seen.plan).encode())

    return (
        Route(method="GET", path="/healthz", answer=healthz),
        Route(method="GET", path="/readyz", answer=readyz),
        Route(method="GET", path="/metrics", answer=metrics),
        Route(method="GET", path="/plan", answer=plan, details=True),
    )


def _no_plan(seen: Seen) -> Answer:
    if not seen.leader:
        return Answer(status=503, body=b"standing by: the leader has the plan\n")
    since = f" since {instant_text(seen.turned_seconds)}" if seen.turned_seconds else ""
    return Answer(status=503, body=f"no plan yet{since}: {seen.unavailable or 'the first turn has not ended'}\n".encode())
