"""Removals seen to their end, by a port that is asked again and again."""

from collections.abc import Callable

from reconciler.providers.contract import ClusterPort, RemovalProgress, RemovalState

_MOST_LOOKS = 100


def ended_removals(port: ClusterPort, count: int, later: Callable[[], None] = lambda: None) -> list[RemovalProgress]:
    """The first so many that are over; `later` lets time pass between two looks."""
    ended: list[RemovalProgress] = []
    for _ in range(_MOST_LOOKS):
        port.observe()
        ended += [one for one in port.continue_removals() if one.state is not RemovalState.DRAINING]
        if len(ended) >= count:
            return ended
        later()
    raise AssertionError("the removals did not end")
