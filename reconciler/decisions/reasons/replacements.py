"""What a search for replacements did not come to."""

from reconciler.plan.reason import Because


class ReplacementsNotExamined(Because, frozen=True, kw_only=True):
    """Nodes of a group that were not compared with every group that could stand in for them; `bound` is what ended that."""

    code = "ReplacementsNotExamined"
    group: str
    nodes: int
    bound: str

    def sentence(self) -> str:
        """How many, and the bound."""
        nodes = "1 node" if self.nodes == 1 else f"{self.nodes} nodes"
        return f"{nodes} of {self.group} not compared with all groups that could stand in: {self.bound}"
