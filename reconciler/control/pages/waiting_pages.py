"""The pages of a live loop that has no policy yet: alive, not ready, and why."""

from collections.abc import Callable

from reconciler.control.pages.live_page import waiting_route
from reconciler.control.pages.metrics import CONTENT_TYPE, exposition
from reconciler.control.pages.route import Answer, Request, Route
from reconciler.control.turn.figures import Figures


def waiting_routes(why: Callable[[], str], now_seconds: Callable[[], int]) -> tuple[Route, ...]:
    """The paths that probes, scrapers and people ask for. `why` says what is waited for, in a sentence."""

    def healthz(_: Request) -> Answer:
        return Answer(body=b"ok: waiting for a policy\n")

    def not_ready(_: Request) -> Answer:
        return Answer(status=503, body=f"nothing is decided: {why()}\n".encode())

    def metrics(_: Request) -> Answer:
        figures = Figures()
        figures.policy("", why())
        return Answer(content_type=CONTENT_TYPE, body=exposition(figures))

    return (
        Route(method="GET", path="/healthz", answer=healthz),
        Route(method="GET", path="/readyz", answer=not_ready),
        Route(method="GET", path="/metrics", answer=metrics),
        Route(method="GET", path="/plan", answer=not_ready, details=True),
        waiting_route(why, now_seconds),
    )
