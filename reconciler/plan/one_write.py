"""An iteration writes a target once. Later actions on it, such as growth after an adoption, wait for the next iteration."""

from reconciler.plan.plan import Action, ActionKind

DEFERRED = "Deferred"


class OneWrite:
    """The targets that one iteration has written. Removals of one target begin together and write it only when they end."""

    def __init__(self) -> None:
        self._written: set[str] = set()

    def waits(self, action: Action) -> bool:
        """Whether the action waits for the next iteration, because this one has written its target."""
        return action.target in self._written

    def done(self, action: Action) -> None:
        """Record a completed action. A refused action has written nothing."""
        if action.kind is not ActionKind.REMOVE_NODE:
            self._written.add(action.target)
