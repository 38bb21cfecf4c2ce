"""A turn writes a target once: what a plan lists behind that, such as growth behind an adoption, is for the next turn."""

from reconciler.plan.plan import Action, ActionKind

DEFERRED = "Deferred"


class OneWrite:
    """The targets that one turn has written. Removals of one target begin together, and write it only when they end."""

    def __init__(self) -> None:
        self._written: set[str] = set()

    def waits(self, action: Action) -> bool:
        """Whether the next turn judges the action anew, since this one has written its target."""
        return action.target in self._written

    def done(self, action: Action) -> None:
        """The action was carried out; one that was refused has written nothing."""
        if action.kind is not ActionKind.REMOVE_NODE:
            self._written.add(action.target)
