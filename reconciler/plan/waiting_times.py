"""Waiting times by nearest rank. Pods that never got a node rank after all others: how long they would have waited is unknown."""

from bisect import bisect_left
from collections.abc import Mapping

KEPT_SECONDS = (
    10, 20, 30, 45, 60, 90, 120, 180, 300, 600, 900, 1800, 3600, 7200, 14_400, 28_800, 86_400, 15 * 86_400,
)  # fmt: skip
"""Lengths that a record distinguishes, so that it has a bounded size."""


def kept_seconds(seconds: int) -> int:
    """The first of `KEPT_SECONDS` that is not shorter; the last where all are."""
    return KEPT_SECONDS[min(bisect_left(KEPT_SECONDS, seconds), len(KEPT_SECONDS) - 1)]


def _rank(percent: int, pods: int) -> int:
    return max(1, -(-pods * percent // 100))


def falls_on_never(percent: int, placed: int, never: int) -> bool:
    """Whether this percentile falls on a pod that never got a node; 100 is the longest wait."""
    return _rank(percent, placed + never) > placed and never > 0


def waited_seconds(waits: Mapping[int, int], never: int, percent: int, whole_seconds: int) -> int:
    """The percentile of `waits` (seconds -> pods that waited so long) and of `never` pods without a node. It is `whole_seconds`
    if it falls on one of these, 0 without pods."""
    left = _rank(percent, sum(waits.values()) + never)
    for seconds in sorted(waits):
        left -= waits[seconds]
        if left <= 0:
            return seconds
    return whole_seconds if never else 0
