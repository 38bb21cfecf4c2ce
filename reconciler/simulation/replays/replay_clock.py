"""Instants at which a policy says something else although nothing happened: windows, scheduled budgets, ends of holds."""

from collections.abc import Iterator

from reconciler.decisions.groups.windows import closes_at
from reconciler.policy.documents import GroupFields, PolicySet
from reconciler.policy.values.schedule import openings_after

_Span = tuple[str, str, int]
"""Schedule, time zone, seconds that it stays open."""


class PolicyClock:
    """The edges of everything in a policy that depends on the clock."""

    def __init__(self, policy: PolicySet) -> None:
        rules = policy.policy
        levels: list[GroupFields] = [*policy.groups, *(tier.defaults for tier in rules.tiers), rules.defaults]
        spans = {(window.schedule, window.time_zone, window.duration_seconds) for fields in levels for window in fields.windows}
        scheduled = [budget for budget in rules.budgets if budget.schedule]
        spans |= {(budget.schedule, budget.time_zone, budget.duration_seconds or 0) for budget in scheduled}
        self._spans: list[_Span] = sorted(spans)
        self._ends = sorted(
            fields.hold.until_seconds for fields in levels if fields.hold is not None and fields.hold.until_seconds is not None
        )
        self._known: int | None = -1

    def next_edge(self, after_seconds: int) -> int | None:
        """The first edge after an instant (Unix seconds); instants must not go back. None: there is none."""
        if self._known is not None and self._known <= after_seconds:
            self._known = min(self._edges(after_seconds), default=None)
        return self._known

    def _edges(self, after_seconds: int) -> Iterator[int]:
        for schedule, zone, duration in self._spans:
            opens = next(openings_after(schedule, zone, after_seconds), None)
            if opens is not None:
                yield opens
            closes = closes_at(schedule, zone, duration, after_seconds)
            if closes is not None:
                yield closes
        yield from (end for end in self._ends if end > after_seconds)
