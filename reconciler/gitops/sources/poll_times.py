"""The time until the next look at the source: an interval with jitter, longer after failures."""

import msgspec


class Polling(msgspec.Struct, frozen=True, kw_only=True):
    """`jitter_percent` of the interval is added at random, so that many reconcilers do not ask at the same instant.

    SOURCE of the defaults: Argo CD asks every 120 s with up to 60 s of jitter, git-sync every 10 s. After failures, Flux waits
    0.75 s, doubled up to 15 min.
    """

    interval_seconds: float = 60.0
    jitter_percent: int = 20
    most_seconds: float = 900.0


def next_wait_seconds(polling: Polling, failures: int, chance: float) -> float:
    """Seconds to wait. `failures`: consecutive failed fetches; `chance`: random, from 0 up to 1.

    The interval doubles with each failure after the first, up to `most_seconds`; jitter comes on top.
    """
    doublings = min(max(0, failures - 1), 30)
    wait = min(polling.interval_seconds * (1 << doublings), max(polling.most_seconds, polling.interval_seconds))
    return wait * (1 + polling.jitter_percent * chance / 100)
