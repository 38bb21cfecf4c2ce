"""Reasons for the removal of nodes. Times are instants, not ages, so a later plan has the same bytes."""

from reconciler.plan.reason import Because, Scalar
from reconciler.values.clauses import clauses
from reconciler.values.duration import duration_text
from reconciler.values.plural import count_text, verb_for
from reconciler.values.quantity import permille_text


class NodeEmpty(Because, frozen=True, kw_only=True):
    """The node runs no pod that would have to move."""

    code = "Empty"
    node: str
    since: str

    template = "{node} runs no pod that has to move, unneeded since {since}"


class NodeUnderutilized(Because, frozen=True, kw_only=True):
    """The utilization of the node is at or below the threshold, and every pod fits elsewhere."""

    code = "Underutilized"
    node: str
    utilization_permille: int
    threshold_percent: int
    pods: int
    since: str

    def sentence(self) -> str:
        """The figures."""
        return (
            f"{self.node} has utilization {permille_text(self.utilization_permille)} (threshold {self.threshold_percent}%), "
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

    template = "the group has {current:replica}, above its maximum {max}, and {pods:pod} of {node} {pods:fits|fit} elsewhere"


class NodeEnding(Because, frozen=True, kw_only=True):
    """The platform ends the node soon, so its pods leave before. `at` is when the platform begins."""

    code = "Ending"
    node: str
    what: str
    at: str
    pods: int

    template = "the platform ends {node} from {at} on, with {what}, and {pods:pod} {pods:fits|fit} elsewhere"


class NodeRepaired(Because, frozen=True, kw_only=True):
    """A condition has said for too long that the node is broken (`health.repair`)."""

    code = "Repaired"
    node: str
    condition: str
    status: str
    since: str
    pods: int

    template = "{node} is broken: condition {condition} is {status} since {since}. {pods:pod} {pods:fits|fit} elsewhere"


class NodeReplaced(Because, frozen=True, kw_only=True):
    """Cheaper nodes replace the node, or others that stay have room for its pods (`by` is empty)."""

    code = "Consolidated"
    node: str
    by: tuple[str, ...]
    pods: int
    saving_per_hour: str

    def sentence(self) -> str:
        """Who takes the pods, and what that saves."""
        pods = count_text(self.pods, "pod")
        if not self.by:
            return f"other nodes have room for {pods} of {self.node}. That saves {self.saving_per_hour}/h"
        replaces, takes = verb_for(len(self.by), "replaces", "replace"), verb_for(len(self.by), "takes", "take")
        by = ", ".join(self.by)
        return f"{by} {replaces} {self.node} and {takes} its {pods}. The replacement saves {self.saving_per_hour}/h"


def moved_text(pods: int, young_pods: int) -> str:
    """What a replacement disturbs."""
    young = f", {young_pods} of them started within the hour" if young_pods else ""
    return f"moving {count_text(pods, 'pod')}{young}"


class NodesReplaced(Because, frozen=True, kw_only=True):
    """One new node is to replace more expensive ones."""

    code = "Replacement"
    nodes: tuple[str, ...]
    by: str
    saving_per_hour: str
    saving_percent: int
    pods: int
    young_pods: int

    def sentence(self) -> str:
        """The nodes by name, what it saves, and what it moves."""
        names = ", ".join(self.nodes)
        replaced = f"one new node of {self.by} takes all pods of {names}, which are drained once it is ready"
        return f"{replaced}: saves {self.saving_per_hour}/h ({self.saving_percent}%) by {moved_text(self.pods, self.young_pods)}"


class Repacking(Because, frozen=True, kw_only=True):
    """What several new nodes for others save and move. With `disruption: Balanced`, the saving pays in `payback_seconds` for the
    time in which old and new nodes run. 0: nobody asked, and the data does not have it."""

    nodes: tuple[str, ...]
    mix: str
    saving_per_hour: str
    saving_per_month: str
    saving_percent: int
    pods: int
    young_pods: int
    weight_per_hour: str
    payback_seconds: int = 0

    def saves_text(self) -> str:
        """What it saves, what it moves once, and when it has paid."""
        worth = [f"moving them must save {self.weight_per_hour}/h"] if self.weight_per_hour != "0.00" else []
        worth += [f"it pays back in {duration_text(self.payback_seconds)}"] if self.payback_seconds else []
        moved = f"{moved_text(self.pods, self.young_pods)} once{f' ({clauses(worth)})' if worth else ''}"
        return f"saves {self.saving_per_month} a month ({self.saving_percent}%) by {moved}"

    def _data(self) -> dict[str, Scalar]:
        return {key: value for key, value in super()._data().items() if value or key != "paybackSeconds"}


class NodesRepacked(Repacking, frozen=True, kw_only=True):
    """Several new nodes are to replace more expensive ones. `mix` says how many of which groups, for the whole replacement."""

    code = "Repack"

    def sentence(self) -> str:
        """What comes, what leaves, what it saves, and what it moves once."""
        drained = f"{', '.join(self.nodes)}, drained once they are ready"
        return f"{self.mix} and room on other nodes take all pods of {drained}: {self.saves_text()}"


class NodeReturned(Because, frozen=True, kw_only=True):
    """A node of a preferred tier replaces the node."""

    code = "Returned"
    node: str
    by: tuple[str, ...]
    tier: str
    pods: int

    template = "{by} of tier {tier} replaces {node} and takes its {pods:pod}"


class NodesReturn(Because, frozen=True, kw_only=True):
    """One new node of a preferred tier is to replace nodes of lower tiers. `saving_per_hour` is empty if a price is unknown, and
    negative if the new node costs more."""

    code = "Return"
    nodes: tuple[str, ...]
    by: str
    tier: str
    since: str
    saving_per_hour: str

    def sentence(self) -> str:
        """The nodes by name, since when the tier has had capacity, and what it saves or costs."""
        names = ", ".join(self.nodes)
        taken = f"one new node of {self.by} takes all pods of {names}, which are drained once it is ready"
        money = ""
        if self.saving_per_hour.startswith("-"):
            money = f", costs {self.saving_per_hour[1:]}/h more"
        elif self.saving_per_hour:
            money = f", saves {self.saving_per_hour}/h"
        return f"{taken}: tier {self.tier} has had capacity since {self.since}{money}"


class ReplacementsNotExamined(Because, frozen=True, kw_only=True):
    """Nodes of a group were not compared with every group that could replace them. `bound` is what ended the search."""

    code = "ReplacementsNotExamined"
    group: str
    nodes: int
    bound: str

    template = "{nodes:node} of {group} not compared with every group that could replace them: {bound}"
