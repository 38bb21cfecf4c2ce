"""Pages of a live loop without a policy: alive, and ready if only the policy is missing."""

from collections.abc import Callable

from reconciler.control.pages.live_page import waiting_route
from reconciler.control.pages.metrics import CONTENT_TYPE, exposition
from reconciler.control.pages.route import Answer, Request, Route
from reconciler.control.turn.figures import Figures


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
        return Answer(body=awaited_body(why())) if awaited() else not_ready(request)

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


def awaited_body(what: str) -> bytes:
    """The body of an answer while the first policy is awaited."""
    return f"ok: waiting for the first policy: {what}\n".encode()
