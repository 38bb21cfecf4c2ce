"""Reasons for the removal of nodes. Times are instants, not ages: a plan made later has the same bytes."""

from reconciler.plan.reason import Because
from reconciler.values.plural import count_text
from reconciler.values.quantity import permille_text


class NodeEmpty(Because, frozen=True, kw_only=True):
    """The node runs nothing that would have to move."""

    code = "Empty"
    node: str
    since: str

    template = "{node} runs nothing that has to move, unneeded since {since}"


class NodeUnderutilized(Because, frozen=True, kw_only=True):
    """The node is used at or below the threshold and every pod has another place."""

    code = "Underutilized"
    node: str
    utilization_permille: int
    threshold_percent: int
    pods: int
    since: str

    def sentence(self) -> str:
        """The figures."""
        return (
            f"{self.node} is used at {permille_text(self.utilization_permille)} (threshold {self.threshold_percent}%), "
            f"{count_text(self.pods, 'pod')} {'fits' if self.pods == 1 else 'fit'} elsewhere, unneeded since {self.since}"
        )


class NodeUnready(Because, frozen=True, kw_only=True):
    """The node has not been ready for too long."""

    code = "Unready"
    node: str
    since: str

    template = "{node} has not been ready since {since}"


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
            f"the group has {count_text(self.current, 'replica')}, above its maximum {self.max}; "
            f"{count_text(self.pods, 'pod')} of {self.node} {'fits' if self.pods == 1 else 'fit'} elsewhere"
        )


class NodeReplaced(Because, frozen=True, kw_only=True):
    """A cheaper node stands in for the node."""

    code = "Consolidated"
    node: str
    by: tuple[str, ...]
    pods: int
    saving_per_hour: str

    def sentence(self) -> str:
        """By which node, and what the whole replacement saves."""
        return (
            f"{', '.join(self.by)} stands in for {self.node} and takes its {count_text(self.pods, 'pod')}; "
            f"the replacement saves {self.saving_per_hour}/h"
        )


class NodesReplaced(Because, frozen=True, kw_only=True):
    """One new node is to stand in for dearer ones."""

    code = "Replacement"
    nodes: tuple[str, ...]
    by: str
    saving_per_hour: str
    saving_percent: int

    def sentence(self) -> str:
        """The nodes by name."""
        names = ", ".join(self.nodes)
        told = f"one new node of {self.by} takes all pods of {names}, which are drained once it is ready"
        return f"{told}: saves {self.saving_per_hour}/h ({self.saving_percent}%)"


# What a search for replacements did not come to.


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
