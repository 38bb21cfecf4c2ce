"""Probes of a process that works in rounds: alive while rounds follow each other, ready while they succeed."""

import threading
from collections.abc import Callable

from reconciler.control.pages.route import Answer, Request, Route

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
