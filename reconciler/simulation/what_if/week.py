"""What a policy costs in a week in which windows of its groups open and close, if demand stays as it is."""

from collections.abc import Callable, Iterable
from decimal import Decimal

from reconciler.policy.documents import Window
from reconciler.policy.windows import window_closes_at, window_edges

WEEK_SECONDS = 7 * 24 * 3600
MOST_TURNS, MOST_STATES = 500, 4


def per_hour_in_week(windows: Iterable[Window], now_seconds: int, per_hour_at: Callable[[int], Decimal | None]) -> Decimal | None:
    """The mean of `per_hour_at`, which is asked for one instant (Unix time) of each set of windows that are open together.

    None if nothing turns within the week, if there are too many such sets, or if a price is unknown.
    """
    seconds: dict[frozenset[Window], int] = {}
    first: dict[frozenset[Window], int] = {}
    known = tuple(dict.fromkeys(windows))
    at, end = now_seconds, now_seconds + WEEK_SECONDS
    for _ in range(MOST_TURNS):
        state = frozenset(one for one in known if window_closes_at(one, at) is not None)
        later = min((edge for one in known for edge in window_edges(one, at) if edge > at), default=end)
        seconds[state] = seconds.get(state, 0) + min(later, end) - at
        first.setdefault(state, at)
        if later >= end:
            break
        at = later
    else:
        return None
    if not 1 < len(seconds) <= MOST_STATES:
        return None
    total = Decimal(0)
    for state, lasting in seconds.items():
        price = per_hour_at(first[state])
        if price is None:
            return None
        total += price * lasting
    return total / WEEK_SECONDS
