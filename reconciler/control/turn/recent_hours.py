"""Figures of the last six hours, in steps, in memory only."""

from collections import deque
from decimal import Decimal

import msgspec

from reconciler.plan.plan import Plan
from reconciler.rendering.printers.html.recent import MOST as MOST_SAMPLES
from reconciler.rendering.printers.html.recent import STEP_SECONDS, Sample


class Recent:
    """One sample per step, the highest of each figure, at most `MOST` of them."""

    def __init__(self) -> None:
        self._kept: deque[Sample] = deque(maxlen=MOST_SAMPLES)

    def entries(self) -> tuple[Sample, ...]:
        """All that are kept, oldest first."""
        return tuple(self._kept)

    def decided(self, plan: Plan, at_seconds: int) -> None:
        """One plan was decided."""
        cost = plan.cost.current_per_hour
        sizes = {group.target: group.current for group in plan.groups}
        made = Sample(
            at_seconds=at_seconds // STEP_SECONDS * STEP_SECONDS,
            nodes=sum(group.current for group in plan.groups),
            pending=len(plan.pods),
            cost_micros=None if cost is None else int(Decimal(cost) * 1_000_000),
            sizes=sizes,
        )
        if self._kept and self._kept[-1].at_seconds == made.at_seconds:
            made = _highest(self._kept.pop(), made)
        if self._kept and self._kept[-1].sizes == made.sizes:
            # Sizes seldom change: equal ones are kept once.
            made = msgspec.structs.replace(made, sizes=self._kept[-1].sizes)
        self._kept.append(made)


def _highest(one: Sample, other: Sample) -> Sample:
    costs = [sample.cost_micros for sample in (one, other) if sample.cost_micros is not None]
    return Sample(
        at_seconds=one.at_seconds,
        nodes=max(one.nodes, other.nodes),
        pending=max(one.pending, other.pending),
        cost_micros=max(costs, default=None),
        sizes={target: max(size, one.sizes.get(target, 0)) for target, size in other.sizes.items()},
    )
