"""Reasons why a node stays: the node itself, its group, limits, this plan, or timers."""

from reconciler.plan.reason import Because
from reconciler.values.plural import count_text
from reconciler.values.quantity import permille_text


class NotManaged(Because, frozen=True, kw_only=True):
    """The node belongs to no node group of the policy."""

    code = "NotManaged"
    for_the_loop_only = True

    template = "it belongs to no node group of this policy"


class KeptByHold(Because, frozen=True, kw_only=True):
    """The group of the node may not be changed."""

    code = "GroupHeld"
    for_the_loop_only = True
    why: str

    template = "{why}"


class ScaleDownDisabled(Because, frozen=True, kw_only=True):
    """The policy disables removals from the group."""

    code = "ScaleDownDisabled"
    for_the_loop_only = True
    group: str

    template = "scaleDown.mode of {group} is Disabled"


class GroupObserved(Because, frozen=True, kw_only=True):
    """The group changed to mode Observe during the drain of the node."""

    code = "Observe"
    group: str

    template = "{group} is in mode Observe"


class TargetKeepsNodes(Because, frozen=True, kw_only=True):
    """The platform forbids removals from the target now."""

    code = "TargetKeepsNodes"
    why: str

    template = "{why}"


class MachineMarked(Because, frozen=True, kw_only=True):
    """A machine of the target is marked for deletion, and nothing else says that it leaves. If replicas fell, the platform would
    delete it first, with its pods. `lift` is the command that removes the mark (empty: the platform has none)."""

    code = "MachineMarked"
    machine: str
    node: str
    lift: str

    def sentence(self) -> str:
        """The mark, its danger, and the way out."""
        mark = (
            f"Machine {self.machine} (node {self.node}) is marked for deletion, but still in use: fewer replicas would delete it"
        )
        return f"{mark}; unless somebody is at work there, remove the mark with `{self.lift}`" if self.lift else mark


class NotSelectable(Because, frozen=True, kw_only=True):
    """The target has no Machines, and the policy does not let the platform choose which node to remove."""

    code = "NotSelectable"
    for_the_loop_only = True
    group: str
    target: str

    template = "{target} has no Machines, so the node to remove cannot be chosen; scaleDown.withoutMachines of {group} is Block"


class ScaleDownDisabledAnnotation(Because, frozen=True, kw_only=True):
    """An annotation of the node disables its removal."""

    code = "ScaleDownDisabledAnnotation"
    annotation: str

    template = "annotation {annotation} is true"


class DelayDeletion(Because, frozen=True, kw_only=True):
    """An annotation of the node delays its deletion for a cleanup."""

    code = "DelayDeletion"
    annotation: str

    template = "annotation {annotation} delays its deletion"


class NodeLeaving(Because, frozen=True, kw_only=True):
    """The node is already being removed. `taint` if that is the only sign of it."""

    code = "Leaving"
    node: str = ""
    taint: str = ""

    def sentence(self) -> str:
        """Whether it is sure, and what to do where it is not."""
        if not self.taint:
            return "it is already being removed"
        lift = f"`kubectl taint nodes {self.node} {self.taint}-`"
        return f"its taint {self.taint} says that it is being removed; if nobody is at work there, remove the taint with {lift}"


class NodeNotStarted(Because, frozen=True, kw_only=True):
    """The node is new and not ready yet."""

    code = "NotStarted"

    template = "it has not started yet"


class NotUnderutilized(Because, frozen=True, kw_only=True):
    """The utilization of the node is above its threshold. `utilizationPermille` is null if the node advertises no capacity."""

    code = "NotUnderutilized"
    for_the_loop_only = True
    utilization_permille: int | None
    threshold_percent: int

    def sentence(self) -> str:
        """Utilization and threshold."""
        share = "unknown" if self.utilization_permille is None else permille_text(self.utilization_permille)
        return f"utilization {share} is above the threshold {self.threshold_percent}%"


class GroupWithinMax(Because, frozen=True, kw_only=True):
    """The node was a candidate because its group was above its maximum. Other nodes leave instead."""

    code = "NotUnderutilized"
    for_the_loop_only = True

    template = "its group returns to its maximum through other nodes"


class AwaitedByPods(Because, frozen=True, kw_only=True):
    """This plan expects pending pods to run on the node."""

    code = "PendingPods"

    template = "pending pods are expected to run on it"


class ReceivesPods(Because, frozen=True, kw_only=True):
    """The plan expects pods of removed nodes to move to this node."""

    code = "ReceivesPods"

    template = "pods of removed nodes move to it"


class GroupGrows(Because, frozen=True, kw_only=True):
    """The group gets nodes in this plan."""

    code = "GroupGrows"
    group: str

    template = "{group} grows in this plan"


class SameDemand(Because, frozen=True, kw_only=True):
    """The group scaled up for the current demand, so none of its nodes leaves while that demand lasts."""

    code = "SameDemand"
    group: str
    since: str

    template = "{group} scaled up for the current demand since {since} and keeps its nodes while that demand lasts"


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
    """The node is part of the headroom of its group, or has room for the pods of a CapacityBuffer (`buffer`) or of a
    ProvisioningRequest (`request`)."""

    code = "Headroom"
    group: str
    buffer: str = ""
    request: str = ""

    def sentence(self) -> str:
        """Whose headroom it is."""
        if self.request:
            return f"it has room for ProvisioningRequest {self.request}"
        return f"it has room for CapacityBuffer {self.buffer}" if self.buffer else f"it is headroom of {self.group}"


class HeadroomElsewhere(Because, frozen=True, kw_only=True):
    """Pods of the node would move to a node that headroom keeps free, so the headroom would have to be added again."""

    code = "Headroom"
    node: str

    template = "its pods could take the room of {node}, which headroom keeps free"


class KeptByLimitMin(Because, frozen=True, kw_only=True):
    """The removal would pass the minimum of a limit of the policy."""

    code = "LimitMin"
    limit: str
    resource: str

    template = "limit {limit} keeps a minimum of {resource}"


class ReplacesOthers(Because, frozen=True, kw_only=True):
    """The node is the new one in a replacement that is in progress."""

    code = "Replaces"
    nodes: tuple[str, ...]

    def sentence(self) -> str:
        """Which nodes it replaces."""
        return f"it replaces {', '.join(self.nodes)}"


class AwaitsReplacement(Because, frozen=True, kw_only=True):
    """The node leaves as soon as its replacement is ready."""

    code = "AwaitsReplacement"
    target: str

    template = "it is replaced as soon as a new node of {target} is ready"


class BudgetUsedUp(Because, frozen=True, kw_only=True):
    """Nodes that leave earlier in this plan use up a PodDisruptionBudget."""

    code = "NotEnoughPdb"
    budget: str

    template = "nodes that leave before it use up PodDisruptionBudget {budget}"


class NoPlaceToMove(Because, frozen=True, kw_only=True):
    """Pods of the node fit on no other node.

    With `boughtExcluded`, nodes added for the current demand do not count. `rejections` says which rules reject the pods, on how
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
        text = f"{_alike(self.pods, self.cpu_milli, self.memory_mib, 'does', 'do')} not fit on {_others(self.nodes)}"
        if self.bought_excluded:
            text += "; nodes added for the current demand do not count"
        return f"{text}: {self.rejections}" if self.rejections else text


class PlaceNotSafe(Because, frozen=True, kw_only=True):
    """Pods of the node fit elsewhere, but kube-scheduler may bind another pod of the node there first."""

    code = "NoPlaceToMove"
    pods: int
    cpu_milli: int
    memory_mib: int

    def sentence(self) -> str:
        """How many pods, and what each needs."""
        alike = _alike(self.pods, self.cpu_milli, self.memory_mib, "fits", "fit")
        return f"{alike} elsewhere only if no other pod of the node takes that place first"


class NoPlaceForSome(Because, frozen=True, kw_only=True):
    """A drain of this node alone: some of its pods fit on no other node."""

    code = "NoPlaceToMove"
    pods: int
    of: int

    def sentence(self) -> str:
        """How many of how many."""
        verb = "fits" if self.pods == 1 else "fit"
        return f"{self.pods} of {count_text(self.of, 'pod')} like it {verb} on no other node"


class NodeNotExamined(Because, frozen=True, kw_only=True):
    """The work budget of the plan ran out before this node."""

    code = "NotExamined"

    template = "the work budget of this plan ran out before it"


class RemovalsHalted(Because, frozen=True, kw_only=True):
    """No node is removed now, because the cluster is unhealthy or could not be read completely."""

    code = "RemovalsHalted"
    why: str

    template = "{why}"


class KeptByShare(Because, frozen=True, kw_only=True):
    """Without the node, its tier would have less than its share (`tiers[].share`). `nodes` of `total` are of the tier now."""

    code = "KeptByShare"
    tier: str
    percent: int
    nodes: int
    total: int

    def sentence(self) -> str:
        """The share, and the counts with and without the node."""
        without = f"without this one {self.nodes - 1} of {self.total - 1}"
        return f"tier {self.tier} keeps {self.percent}% of all nodes: it has {self.nodes} of {self.total}, {without}"


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
    """A budget of the policy allows no further removal now. One of `nodes` and `percent` is set. `until` is the end of a
    scheduled budget of zero."""

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


class ZoneBudgetUsedUp(Because, frozen=True, kw_only=True):
    """A budget of the policy allows no further zone to be disrupted now. `disrupted` names the zones with leaving nodes."""

    code = "ZoneBudget"
    zones: int
    disrupted: str

    def sentence(self) -> str:
        """The budget as the policy writes it, and where nodes leave."""
        return f"a budget allows nodes of {count_text(self.zones, 'zone')} to leave at once, and nodes of {self.disrupted} leave"


class KeptByWindow(Because, frozen=True, kw_only=True):
    """An open window keeps the group larger when the other timers end."""

    code = "KeptByWindow"
    group: str
    min: int
    until: str

    template = "a window keeps {group} at {min} or more until {until}"


class RemovalsOffByWindow(Because, frozen=True, kw_only=True):
    """An open window turns removals of the group off when the other timers end."""

    code = "RemovalsOffByWindow"
    group: str
    until: str

    template = "a window turns removals of {group} off until {until}"


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
        """How many nodes left, and how many may."""
        verb = "leaves" if self.gone == 1 else "leave"
        return (
            f"{count_text(self.gone, 'node')} of {self.group} {verb} within 24 hours, and {self.limit} may "
            "without an approval in git"
        )


def _alike(pods: int, cpu_milli: int, memory_mib: int, one: str, several: str) -> str:
    return f"{count_text(pods, 'pod')} like it ({cpu_milli}m cpu, {memory_mib}Mi memory each) {one if pods == 1 else several}"


def _others(nodes: int) -> str:
    return "the other node" if nodes == 1 else f"the other {nodes} nodes" if nodes else "another node: there is none"
