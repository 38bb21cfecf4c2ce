"""Waiting times by nearest rank. Pods that never got a node rank after all others: how long they would have waited is unknown."""

from collections.abc import Sequence


def _rank(percent: int, pods: int) -> int:
    return max(1, -(-pods * percent // 100))


def falls_on_never(percent: int, placed: int, never: int) -> bool:
    """Whether this percentile falls on a pod that never got a node; 100 is the longest wait."""
    return _rank(percent, placed + never) > placed and never > 0


def waited_seconds(waits: Sequence[int], never: int, percent: int, whole_seconds: int) -> int:
    """The percentile of the sorted waits and of `never` pods without a node. It is `whole_seconds` if it falls on one of these, 0
    without pods."""
    if falls_on_never(percent, len(waits), never):
        return whole_seconds
    return waits[_rank(percent, len(waits) + never) - 1] if waits else 0
