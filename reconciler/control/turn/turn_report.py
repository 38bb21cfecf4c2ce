"""What one iteration of the loop did: each action with its result, and the reason if nothing was done."""

from enum import StrEnum

import msgspec

from reconciler.cluster.world import World
from reconciler.decisions.memory import Memory
from reconciler.decisions.situation.denied_writes import retry_seconds
from reconciler.plan.plan import Action, Plan
from reconciler.policy.documents import PolicySet
from reconciler.providers.contract import (
    RemovalProgress,
)


class ResultState(StrEnum):
    """Done: written, or a removal that has begun. Skipped: not tried, `code` says why. Refused: tried and refused, which is not a
    fault. Failed: tried, and something broke."""

    DONE = "Done"
    SKIPPED = "Skipped"
    REFUSED = "Refused"
    FAILED = "Failed"


class ActionResult(msgspec.Struct, frozen=True, kw_only=True):
    """One action of the plan and its end. Codes of skipped ones: Observe, Stale, Deferred, Held. `replicas` as in
    `WriteResult`."""

    action: Action
    state: ResultState
    code: str = ""
    message: str = ""
    generation: int = 0
    replicas: int | None = None


class Decided(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan was decided from, at `now_seconds`; `memory` is what `decide` returned with it."""

    world: World
    policy: PolicySet
    memory: Memory
    now_seconds: int


class LoopReport(msgspec.Struct, frozen=True, kw_only=True):
    """One turn at `at_seconds`. `plan` None: nothing was decided, `unavailable` says why; `decided` is there when the plan is.
    `changed` is whether any write was accepted or a removal ended. `settled` is what is remembered after the results; None where
    there are none."""

    at_seconds: int
    plan: Plan | None = None
    decided: Decided | None = None
    settled: Memory | None = None
    results: tuple[ActionResult, ...] = ()
    removals: tuple[RemovalProgress, ...] = ()
    unavailable: str = ""

    @property
    def changed(self) -> bool:
        """Whether the turn did anything."""
        return any(result.state is ResultState.DONE for result in self.results)

    def retry_seconds(self, action: Action) -> int:
        """Until when an action like this one is not tried again; 0: nothing keeps it from being tried."""
        if self.settled is None:
            return 0
        return retry_seconds(self.settled, action.kind, action.group, action.target, self.at_seconds)
