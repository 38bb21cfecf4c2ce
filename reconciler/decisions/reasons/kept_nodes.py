"""Reasons why a node stays: the node, its group, limits, and what this plan or the time allows."""

from reconciler.plan.reason import Because
from reconciler.values.plural import count_text
from reconciler.values.quantity import permille_text


class NotManaged(Because, frozen=True, kw_only=True):
    """The node belongs to no node group of the policy."""

    code = "NotManaged"

    template = "no node group of this policy holds it"


class KeptByHold(Because, frozen=True, kw_only=True):
    """The group of the node may not be changed."""

    code = "GroupHeld"
    why: str

    template = "{why}"


class ScaleDownDisabled(Because, frozen=True, kw_only=True):
    """The policy switches removals from the group off."""

    code = "ScaleDownDisabled"
    group: str

    template = "scaleDown.mode of {group} is Disabled"


class GroupObserved(Because, frozen=True, kw_only=True):
    """The group went to mode Observe while the node was being drained."""

    code = "Observe"
    group: str

    template = "{group} is in mode Observe"


class TargetKeepsNodes(Because, frozen=True, kw_only=True):
    """The platform says that the target loses no nodes now."""

    code = "TargetKeepsNodes"
    why: str

    template = "{why}"


class NotSelectable(Because, frozen=True, kw_only=True):
    """The target has no Machines, and the policy does not leave the choice to the platform."""

    code = "NotSelectable"
    group: str
    target: str

    template = (
        "{target} has no Machines, so that nobody can choose which node it loses; scaleDown.withoutMachines of {group} is Block"
    )


class ScaleDownDisabledAnnotation(Because, frozen=True, kw_only=True):
    """An annotation of the node switches its removal off."""

    code = "ScaleDownDisabledAnnotation"
    annotation: str

    template = "annotation {annotation} is true"


class DelayDeletion(Because, frozen=True, kw_only=True):
    """An annotation of the node asks for time to clean up."""

    code = "DelayDeletion"
    annotation: str

    template = "annotation {annotation} asks to wait"


class NodeLeaving(Because, frozen=True, kw_only=True):
    """The node is leaving already."""

    code = "Leaving"

    template = "it is leaving already"


class NodeNotStarted(Because, frozen=True, kw_only=True):
    """The node is new and not ready yet."""

    code = "NotStarted"

    template = "it has not started yet"


class NotUnderutilized(Because, frozen=True, kw_only=True):
    """The node is used above its threshold; `utilizationPermille` null: it advertises nothing to divide by."""

    code = "NotUnderutilized"
    utilization_permille: int | None
    threshold_percent: int

    def sentence(self) -> str:
        """Use and threshold."""
        share = "unknown" if self.utilization_permille is None else permille_text(self.utilization_permille)
        return f"used at {share}, above the threshold {self.threshold_percent}%"


class GroupWithinMax(Because, frozen=True, kw_only=True):
    """The node was a candidate because its group was above its maximum; others leave for that."""

    code = "NotUnderutilized"

    template = "its group is back within its maximum without this node"


class AwaitedByPods(Because, frozen=True, kw_only=True):
    """This plan counts on the node for pending pods."""

    code = "PendingPods"

    template = "pending pods are expected to run on it"


class ReceivesPods(Because, frozen=True, kw_only=True):
    """Pods of nodes that leave go to this node."""

    code = "ReceivesPods"

    template = "it takes pods of nodes that leave"


class GroupGrows(Because, frozen=True, kw_only=True):
    """The group gets nodes in this plan."""

    code = "GroupGrows"
    group: str

    template = "{group} grows in this plan"


class SameDemand(Because, frozen=True, kw_only=True):
    """The group has grown for the present demand, so that nothing of it leaves for the same demand."""

    code = "SameDemand"
    group: str
    since: str

    template = "{group} has grown for the same demand since {since}: no up and down for one demand"


class AtMinSize(Because, frozen=True, kw_only=True):
    """The group is at its minimum."""

    code = "MinSize"
    group: str
    min: int

    template = "{group} is at its minimum size {min}"


class BelowMinSize(Because, frozen=True, kw_only=True):
    """The minimum was raised while the node was being drained."""

    code = "MinSize"
    group: str
    min: int

    template = "{group} would have fewer nodes than its minimum {min}"


class HeadroomNode(Because, frozen=True, kw_only=True):
    """The node is part of the headroom of its group."""

    code = "Headroom"
    group: str

    template = "headroom of {group} stands on it"


class HeadroomElsewhere(Because, frozen=True, kw_only=True):
    """Pods of the node could move to a node that headroom keeps free, and the headroom would be bought again."""

    code = "Headroom"
    node: str

    template = "its pods could take the room of {node}, which headroom keeps free"


class KeptByLimitMin(Because, frozen=True, kw_only=True):
    """A limit of the policy has a minimum that the removal would pass."""

    code = "LimitMin"
    limit: str
    resource: str

    template = "limit {limit} keeps a minimum of {resource}"


class ReplacesOthers(Because, frozen=True, kw_only=True):
    """The node is the new one of a replacement under way."""

    code = "Replaces"
    nodes: tuple[str, ...]

    def sentence(self) -> str:
        """Which nodes it stands in for."""
        return f"it stands in for {', '.join(self.nodes)}"


class AwaitsReplacement(Because, frozen=True, kw_only=True):
    """The node leaves when the new node of a replacement is ready."""

    code = "AwaitsReplacement"
    target: str

    template = "it is replaced as soon as a new node of {target} is ready"


class BudgetUsedUp(Because, frozen=True, kw_only=True):
    """Nodes that leave earlier in this plan use a PodDisruptionBudget up."""

    code = "NotEnoughPdb"
    budget: str

    template = "PodDisruptionBudget {budget} is used up by nodes that leave before it"


class NoPlaceToMove(Because, frozen=True, kw_only=True):
    """Pods of the node have no place on the other nodes.

    `boughtExcluded`: room that was bought for the present demand does not count. `rejections`: which rules say no, on how
    many nodes.
    """

    code = "NoPlaceToMove"
    pods: int
    cpu_milli: int
    memory_mib: int
    nodes: int
    bought_excluded: bool
    rejections: str

    def sentence(self) -> str:
        """How many pods, what each needs, and what rejects them."""
        text = f"{_alike(self.pods, self.cpu_milli, self.memory_mib, 'has', 'have')} no place on {_others(self.nodes)}"
        if self.bought_excluded:
            text += "; room that was bought for the same demand as now does not count"
        return f"{text}: {self.rejections}" if self.rejections else text


class PlaceNotSafe(Because, frozen=True, kw_only=True):
    """Pods of the node fit elsewhere, but kube-scheduler may bind another pod of the node there first."""

    code = "NoPlaceToMove"
    pods: int
    cpu_milli: int
    memory_mib: int

    def sentence(self) -> str:
        """How many pods, and what each needs."""
        alike = _alike(self.pods, self.cpu_milli, self.memory_mib, "has", "have")
        return f"{alike} a place elsewhere only while no other pod of the node takes it first"


class NoPlaceForSome(Because, frozen=True, kw_only=True):
    """A drain of this node alone: some of its pods have no other place."""

    code = "NoPlaceToMove"
    pods: int
    of: int

    def sentence(self) -> str:
        """How many of how many."""
        verb = "has" if self.pods == 1 else "have"
        return f"{self.pods} of {count_text(self.of, 'pod')} like it {verb} no place on another node"


class NodeNotExamined(Because, frozen=True, kw_only=True):
    """The plan's work budget ended before this node."""

    code = "NotExamined"

    template = "the work budget of this plan ran out before it"


class RemovalsHalted(Because, frozen=True, kw_only=True):
    """Nothing at all is removed now: the cluster is unhealthy, or the view has holes."""

    code = "RemovalsHalted"
    why: str

    template = "{why}"


class NotUnneededLongEnough(Because, frozen=True, kw_only=True):
    """The node is not needed, but not for long enough."""

    code = "NotUnneededLongEnough"
    why: str
    removable_at: str

    template = "{why}, removable from {removable_at}"


class NotUnreadyLongEnough(Because, frozen=True, kw_only=True):
    """The node is not ready, but not for long enough."""

    code = "NotUnreadyLongEnough"
    why: str
    removable_at: str

    template = "{why}, removable from {removable_at}"


class DisruptionBudgetUsedUp(Because, frozen=True, kw_only=True):
    """A budget of the policy allows no further node at once; one of `nodes` and `percent` is set. `until`: one of zero with a
    schedule ends then."""

    code = "Budget"
    nodes: int | None
    percent: int | None
    until: str = ""

    def sentence(self) -> str:
        """The budget as the policy writes it."""
        amount = f"{self.percent}%" if self.nodes is None else count_text(self.nodes, "node")
        if self.until:
            return f"a budget allows {amount} at once until {self.until}"
        return f"the budget of {amount} at once is used up"


class KeptByWindow(Because, frozen=True, kw_only=True):
    """When the other timers end, a window is open that keeps the group larger."""

    code = "KeptByWindow"
    group: str
    min: int
    until: str

    template = "a window keeps {group} at {min} or more until {until}"


class RemovalPaceReached(Because, frozen=True, kw_only=True):
    """The plan removes as many nodes as `pace.maxRemovedPercent` allows."""

    code = "Pace"
    percent: int

    template = "pace.maxRemovedPercent allows {percent}% of the managed nodes in one plan"


class NeedsApproval(Because, frozen=True, kw_only=True):
    """The group has lost as many nodes within 24 hours as it may without an approval in git."""

    code = "NeedsApproval"
    group: str
    gone: int
    limit: int

    def sentence(self) -> str:
        """How many left, and how many may."""
        verb = "leaves" if self.gone == 1 else "leave"
        return (
            f"{count_text(self.gone, 'node')} of {self.group} {verb} within 24 hours, and {self.limit} may "
            "without an approval in git"
        )


def _alike(pods: int, cpu_milli: int, memory_mib: int, one: str, several: str) -> str:
    return f"{count_text(pods, 'pod')} like it ({cpu_milli}m cpu, {memory_mib}Mi memory each) {one if pods == 1 else several}"


def _others(nodes: int) -> str:
    return "the other node" if nodes == 1 else f"the other {nodes} nodes" if nodes else "any other node: there is none"
