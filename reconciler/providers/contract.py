"""What the loop asks of whoever holds the targets: the same contract for the simulated cluster and for real ones."""

from typing import Protocol

import msgspec

from reconciler.cluster.target import TargetRef
from reconciler.cluster.world import World
from reconciler.plan.plan import Bound


class WriteResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a write. `code` is empty when done, else stable: `Conflict` (another manager owns the field, named
    in `message`), `Stale` (the object moved), `NotFound`, `Refused` (bounds, budget, state), `Unavailable` (try later)."""

    done: bool
    code: str = ""
    message: str = ""
    generation: int = 0


class ClusterPort(Protocol):
    """A live view and the few writes. Every write is idempotent: repeating it after an unknown outcome is safe."""

    def observe(self) -> World:
        """A complete view. Raises `ViewUnavailableError` when there is none to trust."""

    def now_seconds(self) -> int:
        """The clock that goes with the view (virtual in a simulation)."""

    def resize(self, target: TargetRef, replicas: int, bound: Bound) -> WriteResult:
        """Set replicas by an apply that never forces; refused as `Stale` when the object is not as `bound` says."""

    def adopt(self, target: TargetRef, replicas: int, bound: Bound) -> WriteResult:
        """Take the replicas field over from the owner that was judged, keeping its value."""

    def release(self, target: TargetRef, bound: Bound) -> WriteResult:
        """Take our marks off the target; its replicas stay."""

    def remove_node(self, target: TargetRef, node: str, replicas: int, bound: Bound) -> WriteResult:
        """Drain `node` by evictions that honour disruption budgets, then delete exactly it and lower replicas to
        `replicas`. Returns when the removal has begun; progress shows in later views."""


class ViewUnavailableError(Exception):
    """There is no view that may be trusted; the message says why."""
