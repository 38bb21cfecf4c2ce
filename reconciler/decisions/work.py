"""The work budget: a deadline counted in steps instead of seconds, so that plans stay equal on any machine."""


class Work:
    """Steps left. One step is about one (pod shape, node) question."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.spent = 0

    def copy(self) -> "Work":
        """The same, for an attempt that may not count."""
        same = Work(self.budget)
        same.spent = self.spent
        return same

    def spend(self, steps: int) -> bool:
        """Count `steps`; False once the budget is used up (the caller stops and names what it did not examine)."""
        self.spent += steps
        return self.spent <= self.budget

    @property
    def exhausted(self) -> bool:
        """Whether the budget is used up."""
        return self.spent > self.budget
