"""Instants at which a policy takes another effect by itself: windows, scheduled budgets, ends of holds."""

from collections.abc import Iterator

from msgspec.structs import replace

from reconciler.policy.documents import GroupFields, PolicySet, ScaleDown, Size, Window
from reconciler.policy.windows import window_edges


class PolicyClock:
    """The edges of everything in a policy that depends on the clock."""

    def __init__(self, policy: PolicySet) -> None:
        rules = policy.policy
        levels: list[GroupFields] = [*policy.groups, *(tier.defaults for tier in rules.tiers), rules.defaults]
        self._windows = {
            replace(window, name="", size=Size(), scale_down=ScaleDown()) for one in levels for window in one.windows
        }
        self._windows |= {
            Window(schedule=budget.schedule, time_zone=budget.time_zone, duration_seconds=budget.duration_seconds or 0)
            for budget in rules.budgets
            if budget.schedule
        }
        self._ends = sorted(
            fields.hold.until_seconds for fields in levels if fields.hold is not None and fields.hold.until_seconds is not None
        )
        self._known: int | None = -1

    def next_edge(self, after_seconds: int) -> int | None:
        """The first edge after an instant (Unix seconds); instants must not go back. None: there are no more."""
        if self._known is not None and self._known <= after_seconds:
            self._known = min(self._edges(after_seconds), default=None)
        return self._known

    def _edges(self, after_seconds: int) -> Iterator[int]:
        for window in self._windows:
            yield from window_edges(window, after_seconds)
        yield from (end for end in self._ends if end > after_seconds)
