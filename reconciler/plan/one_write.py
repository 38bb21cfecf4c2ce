"""An iteration writes a target once. Later actions on it, such as growth after an adoption, wait for the next iteration.

So does growth after the end of a removal. Replicas that rise before the platform has seen them fall take the removal back, and it
would begin again.
"""

from collections.abc import Iterable

from reconciler.plan.plan import Action, ActionKind

DEFERRED = "Deferred"


class OneWrite:
    """The targets that one iteration has written. Removals of one target begin together and write it only when they end."""

    def __init__(self, lowered: Iterable[str] = ()) -> None:
        """`lowered` are the targets that removals wrote when they ended in this iteration."""
        self._written: set[str] = set()
        self._lowered = frozenset(lowered)

    def waits(self, action: Action) -> bool:
        """Whether the action waits for the next iteration, because this one has written its target."""
        lowered = action.target in self._lowered and action.kind is not ActionKind.REMOVE_NODE
        return lowered or action.target in self._written

    def done(self, action: Action) -> None:
        """Record a completed action. A refused action has written nothing."""
        if action.kind is not ActionKind.REMOVE_NODE:
            self._written.add(action.target)
