"""Waiting times by nearest rank. Pods that never got a node rank after all others: how long they would have waited is unknown."""

from collections.abc import Mapping


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
