"""The pages of the live loop for programs: probes and metrics for anybody, the plan for those who may read it."""

import threading
from collections.abc import Callable

import msgspec

from reconciler.control.pages.live_page import waiting_route
from reconciler.control.pages.metrics import CONTENT_TYPE, exposition
from reconciler.control.pages.route import JSON, Answer, Request, Route
from reconciler.control.turn.figures import Figures, Seen
from reconciler.gitops.sources.webhook import STATUSES, Verdict, judged
from reconciler.rendering.printers.json_text import json_text
from reconciler.values.instant import instant_text

# The place where a git host says that something was pushed: it makes the next look at the source come sooner.

PATH = "/webhook"
MAX_BODY_BYTES = 1 << 20


def webhook_route(secret: Callable[[], bytes], notify: Callable[[], None]) -> Route:
    """`secret` is read for each notification, so that it can be changed while the loop runs."""

    def answer(request: Request) -> Answer:
        verdict = judged(request.headers, request.body, secret())
        if verdict is Verdict.ACCEPTED:
            notify()
        body = msgspec.json.encode({"result": verdict.value})
        return Answer(status=STATUSES[verdict], content_type=JSON, body=body)

    return Route(method="POST", path=PATH, answer=answer, max_body_bytes=MAX_BODY_BYTES)


# The pages of a live loop that has no policy yet: alive, and why; ready where nothing is wrong but that none is there.


def waiting_routes(
    why: Callable[[], str], now_seconds: Callable[[], int], *, awaited: Callable[[], bool] = lambda: False
) -> tuple[Route, ...]:
    """The paths that probes, scrapers and people ask for. `why` says what is waited for, in a sentence; `awaited`: it is the
    first policy, which somebody delivers once this process is ready."""

    def healthz(_: Request) -> Answer:
        return Answer(body=b"ok: waiting for a policy\n")

    def not_ready(_: Request) -> Answer:
        return Answer(status=503, body=f"nothing is decided: {why()}\n".encode())

    def readyz(request: Request) -> Answer:
        return Answer(body=_awaited(why())) if awaited() else not_ready(request)

    def metrics(_: Request) -> Answer:
        figures = Figures()
        figures.policy("", why(), awaited=why() if awaited() else "")
        return Answer(content_type=CONTENT_TYPE, body=exposition(figures))

    return (
        Route(method="GET", path="/healthz", answer=healthz),
        Route(method="GET", path="/readyz", answer=readyz),
        Route(method="GET", path="/metrics", answer=metrics),
        Route(method="GET", path="/plan", answer=not_ready, details=True),
        waiting_route(why, now_seconds),
    )


def _awaited(what: str) -> bytes:
    return f"ok: waiting for the first policy: {what}\n".encode()


# The probes of a process that works in rounds: alive while it comes on, ready while its rounds go well.

STEP_SECONDS = 900
"""The longest that one pull request, or the beginning of a round, may take. The time-outs of git, of the host's client and of the
cluster's bound it, several of each. If it takes longer, something hangs that no time-out ends."""


class Pulse:
    """When the previewer must be heard of again. Written by its thread, read by those of the HTTP server; `monotonic` is in
    seconds."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._heard = monotonic()
        self._due = self._heard + STEP_SECONDS
        self._rounds = 0
        self._failures = 0

    def step(self) -> None:
        """A round begins, or the next pull request of it."""
        self.rests(0)

    def rests(self, seconds: float) -> None:
        """Nothing happens for so long, by intention."""
        with self._lock:
            self._heard = self._monotonic()
            self._due = self._heard + seconds + STEP_SECONDS

    def ended(self, failures: int) -> None:
        """A round ended; so many failed one after the other."""
        with self._lock:
            self._rounds += 1
            self._failures = failures

    def stuck_seconds(self) -> int:
        """How long nothing was heard of it, where that is too long; 0: it is not."""
        with self._lock:
            now = self._monotonic()
            return int(now - self._heard) if now > self._due else 0

    def unready(self) -> str:
        """Why it comments on nothing now; empty when it does."""
        with self._lock:
            if not self._rounds:
                return "the first round has not ended"
            return f"the last {self._failures} rounds failed: the log says why" if self._failures else ""


def previewer_routes(pulse: Pulse) -> tuple[Route, ...]:
    """`/healthz` and `/readyz`; both are open and show nothing of repository or cluster."""

    def healthz(_: Request) -> Answer:
        silent = pulse.stuck_seconds()
        return Answer(status=503, body=f"nothing happened for {silent} s\n".encode()) if silent else Answer(body=b"ok\n")

    def readyz(_: Request) -> Answer:
        why = pulse.unready()
        return Answer(status=503, body=f"{why}\n".encode()) if why else Answer(body=b"ok\n")

    return Route(method="GET", path="/healthz", answer=healthz), Route(method="GET", path="/readyz", answer=readyz)


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
            return Answer(body=_awaited(seen.policy_awaited))
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
