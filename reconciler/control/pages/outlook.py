"""The steady state of the last plan. It is computed when somebody looks, for at most a tenth of the time."""

import threading
from collections.abc import Callable

from reconciler.control.turn.turn_report import Decided
from reconciler.plan.plan import Plan
from reconciler.rendering.printers.html.live import Rest
from reconciler.simulation.settled import come_to_rest

_PAUSES = 9
"""After so many times as long as it took it may be worked out again."""
WORK_BUDGET = 2_000_000
"""Steps of each decision on the way: a turn that is due meanwhile shares the processor with it."""


class Outlook:
    """Many threads may ask; one at a time works, and all others get what was found last."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._busy = threading.Lock()
        self._rest: Rest | None = None
        self._digest = ""
        self._next = 0.0

    def of(self, plan: Plan, decided: Decided) -> Rest | None:
        """The steady state of `plan`, or of an earlier plan that is too young to look again; None: not known yet."""
        if self._digest == plan.digest or not self._busy.acquire(blocking=False):
            return self._rest
        try:
            began = self._monotonic()
            if began < self._next:
                return self._rest
            rest = come_to_rest(decided.world, decided.policy, decided.memory, decided.now_seconds, plan, WORK_BUDGET).plan
            ended = self._monotonic()
            self._next = ended + _PAUSES * (ended - began)
            self._rest = Rest(
                at_seconds=decided.now_seconds,
                sizes={line.target: line.settled for line in rest.groups if line.settled is not None},
                per_hour=rest.cost.settled_per_hour,
            )
            self._digest = plan.digest
            return self._rest
        finally:
            self._busy.release()
