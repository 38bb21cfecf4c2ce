"""The pods of one PodDisruptionBudget, counted as they come, change and go."""

from reconciler.simulation.embedded.pod_object import Counted

OwnerKey = tuple[str, str, str]
"""Kind, namespace and name of a pod's controller; a pod without one has a key of its own."""


class BudgetMembers:
    """`pods` is how many there are, `owners` how many each controller has, `active` those of them that are."""

    __slots__ = ("active", "healthy", "owners", "pods")

    def __init__(self) -> None:
        self.pods = 0
        self.healthy = 0
        self.owners: dict[OwnerKey, int] = {}
        self.active: dict[OwnerKey, int] = {}

    def follow(self, owner: OwnerKey, before: Counted | None, after: Counted | None, count: int = 1) -> None:
        """Pods joined (`before` None), changed, or are gone (`after` None)."""
        joined = (after is not None) - (before is not None)
        if joined:
            self.pods += joined * count
            self.owners[owner] = self.owners.get(owner, 0) + joined * count
            if not self.owners[owner]:
                del self.owners[owner]
        was_healthy, was_active = before or (False, False)
        healthy, active = after or (False, False)
        self.healthy += (healthy - was_healthy) * count
        if active is not was_active:
            self.active[owner] = self.active.get(owner, 0) + (active - was_active) * count
