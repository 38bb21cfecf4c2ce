"""Reasons for the removal of nodes, and what keeps them (blockers)."""

from reconciler.decisions.reasons.amounts import count_text, duration_text, permille_text
from reconciler.plan.reason import Because


class NodeEmpty(Because, frozen=True, kw_only=True):
    """The node runs nothing that would have to move."""

    code = "Empty"
    node: str
    unneeded_seconds: int

    def sentence(self) -> str:
        """Since when."""
        return f"{self.node} runs nothing that has to move, unneeded for {duration_text(self.unneeded_seconds)}"


class NodeUnderutilized(Because, frozen=True, kw_only=True):
    """The node is used at or below the threshold and every pod has another place."""

    code = "Underutilized"
    node: str
    utilization_permille: int
    threshold_percent: int
    pods: int
    unneeded_seconds: int

    def sentence(self) -> str:
        """The figures."""
        return (
            f"{self.node} is used at {permille_text(self.utilization_permille)} (threshold {self.threshold_percent}%), "
            f"{count_text(self.pods, 'pod')} fit elsewhere, unneeded for {duration_text(self.unneeded_seconds)}"
        )


class NodeUnready(Because, frozen=True, kw_only=True):
    """The node has not been ready for too long."""

    code = "Unready"
    node: str
    unready_seconds: int

    def sentence(self) -> str:
        """Since when."""
        return f"{self.node} has not been ready for {duration_text(self.unready_seconds)}"


class NodeAboveMax(Because, frozen=True, kw_only=True):
    """The node's group is above its maximum."""

    code = "AboveMax"
    node: str
    current: int
    max: int
    pods: int

    def sentence(self) -> str:
        """The figures."""
        return (
            f"the group has {self.current} replicas, above its maximum {self.max}; "
            f"{count_text(self.pods, 'pod')} of {self.node} fit elsewhere"
        )
