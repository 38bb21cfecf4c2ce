"""Probes tell a previewer that hangs from one that rests, and one that fails from one that comments."""

import pytest

from reconciler.control.pages.round_probes import Pulse, previewer_routes
from reconciler.control.pages.route import Request


class Probed:
    """A pulse on a clock that tests move, behind its probes."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.pulse = Pulse(lambda: self.now)
        self._routes = {route.path: route for route in previewer_routes(self.pulse)}
        assert not any(route.details for route in self._routes.values())

    def get(self, path: str) -> tuple[int, bytes]:
        answer = self._routes[path].answer(Request(method="GET", path=path, headers={}, body=b"", peer="10.0.0.1"))
        return answer.status, answer.body


@pytest.fixture
def probed() -> Probed:
    return Probed()


def test_a_step_that_hangs_is_unhealthy(probed: Probed) -> None:
    """A quarter of an hour for one pull request, counted anew from each."""
    probed.now = 1900
    assert probed.get("/healthz") == (200, b"ok\n")
    probed.pulse.step()
    probed.now = 2800
    assert probed.get("/healthz")[0] == 200
    probed.now = 2801
    assert probed.get("/healthz") == (503, b"nothing happened for 901 s\n")


def test_resting_is_healthy(probed: Probed) -> None:
    """An hour until the host's rate limit is renewed is no hanging; what comes after it has its own time."""
    probed.pulse.rests(3600)
    probed.now = 1000 + 3600 + 900
    assert probed.get("/healthz")[0] == 200
    probed.now += 1
    assert probed.get("/healthz")[0] == 503


def test_ready_after_a_round_that_went_well(probed: Probed) -> None:
    """Not before the first one, nor while they fail."""
    assert probed.get("/readyz") == (503, b"the first round has not ended\n")
    probed.pulse.ended(2)
    assert probed.get("/readyz") == (503, b"the last 2 rounds failed: the log says why\n")
    probed.pulse.ended(0)
    assert probed.get("/readyz") == (200, b"ok\n")
