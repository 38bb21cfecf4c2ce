"""Detects that lead times have changed for good.

SOURCE: the rank-sum test of Mann and Whitney (1947) at every instant at which they can have changed. Nodes of one growth are
slow together, for one cause, so a growth counts once, by its middle request. `_FAR` is the square of the distance from the
expected rank sum, in standard deviations. Four of them are rare: tests measure how rare, and how soon a change is found.
"""

from collections.abc import Sequence

from reconciler.decisions.memory import LeadTime

_FAR = 16
_ONE_GROWTH_SECONDS = 60


def since_change(requests: Sequence[LeadTime]) -> Sequence[LeadTime]:
    """The requests since the last change; all of them if there was none."""
    growths = _growths(requests)
    count = len(growths)
    ranks = _double_ranks([_order(growth[len(growth) // 2]) for growth in growths])
    since, best, rank_sum = 0, (_FAR, 1), 0
    for newest in range(1, count):
        rank_sum += ranks[count - newest]
        older = count - newest
        # Twice the distance of U from its mean, so that halves stay integers; its variance is newest * older * (count + 1) / 12.
        distance = rank_sum - newest * (newest + 1) - newest * older
        square, unit = 3 * distance * distance, newest * older * (count + 1)
        if square * best[1] > best[0] * unit:
            since, best = older, (square, unit)
    if not since:
        return requests
    begin_seconds = min(one.asked_seconds for one in growths[since])
    return [one for one in requests if one.asked_seconds >= begin_seconds]


def _growths(requests: Sequence[LeadTime]) -> list[list[LeadTime]]:
    """Requests within a minute of the one before are of one growth. The fastest of each comes first."""
    growths: list[list[LeadTime]] = []
    before = None
    for one in sorted(requests, key=lambda one: one.asked_seconds):
        if before is None or one.asked_seconds - before > _ONE_GROWTH_SECONDS:
            growths.append([])
        growths[-1].append(one)
        before = one.asked_seconds
    return [sorted(growth, key=_order) for growth in growths]


def _order(one: LeadTime) -> tuple[bool, int]:
    """Late ones come after all others."""
    return (one.usable_seconds <= 0, abs(one.usable_seconds))


def _double_ranks(values: Sequence[tuple[bool, int]]) -> list[int]:
    """Twice the rank of each, from 1; equal ones share the middle of their ranks."""
    first: dict[tuple[bool, int], int] = {}
    last: dict[tuple[bool, int], int] = {}
    for rank, value in enumerate(sorted(values), 1):
        first.setdefault(value, rank)
        last[value] = rank
    return [first[value] + last[value] for value in values]
