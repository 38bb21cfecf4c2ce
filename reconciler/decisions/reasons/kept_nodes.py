"""Reasons why a node stays: the node itself, its group, limits, this plan, or timers."""

from reconciler.plan.reason import KeepsNode
from reconciler.values.plural import count_text


class NotManaged(KeepsNode, frozen=True, kw_only=True):
    """The node belongs to no node group of the policy."""

    code = "NotManaged"

    template = "it belongs to no node group of this policy"


class GroupObserved(KeepsNode, frozen=True, kw_only=True):
    """The group changed to mode Observe during the drain of the node."""

    code = "Observe"
    group: str

    template = "{group} is in mode Observe"


class BelowMinSize(KeepsNode, frozen=True, kw_only=True):
    """The minimum was raised while the node was being drained."""

    code = "MinSize"
    group: str
    min: int

    template = "{group} would have fewer nodes than its minimum {min}"


class HeadroomElsewhere(KeepsNode, frozen=True, kw_only=True):
    """Pods of the node would move to a node that headroom keeps free, so the headroom would have to be added again."""

    code = "Headroom"
    node: str

    template = "its pods could take the room of {node}, which headroom keeps free"


class KeptByLimitMin(KeepsNode, frozen=True, kw_only=True):
    """The removal would pass the minimum of a limit of the policy."""

    code = "LimitMin"
    limit: str
    resource: str

    template = "limit {limit} keeps a minimum of {resource}"


class ReplacesOthers(KeepsNode, frozen=True, kw_only=True):
    """The node is the new one in a replacement that is in progress."""

    code = "Replaces"
    nodes: tuple[str, ...]

    template = "it replaces {nodes}"


class MovesLater(KeepsNode, frozen=True, kw_only=True):
    """Pods of other nodes of the same replacement move first. If all moved together, some might find no place."""

    code = "MovesLater"

    template = "other nodes of its replacement are drained first, so that all of their pods find a place"


class BudgetUsedUp(KeepsNode, frozen=True, kw_only=True):
    """Nodes that leave earlier in this plan use up a PodDisruptionBudget."""

    code = "NotEnoughPdb"
    budget: str

    template = "nodes that leave before it use up PodDisruptionBudget {budget}"


class NoPlaceToMove(KeepsNode, frozen=True, kw_only=True):
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
            text += ", without the nodes that are added for the current demand"
        return f"{text}: {self.rejections}" if self.rejections else text


class PlaceNotSafe(KeepsNode, frozen=True, kw_only=True):
    """Pods of the node fit elsewhere, but kube-scheduler may bind another pod of the node there first."""

    code = "NoPlaceToMove"
    pods: int
    cpu_milli: int
    memory_mib: int

    def sentence(self) -> str:
        """How many pods, and what each needs."""
        alike = _alike(self.pods, self.cpu_milli, self.memory_mib, "fits", "fit")
        return f"{alike} elsewhere only if no other pod of the node takes that place first"


class NoPlaceForSome(KeepsNode, frozen=True, kw_only=True):
    """A drain of this node alone: some of its pods fit on no other node."""

    code = "NoPlaceToMove"
    pods: int
    of: int

    template = "{pods} of {of:pod} like it {pods:fits|fit} on no other node"


class NodeNotExamined(KeepsNode, frozen=True, kw_only=True):
    """The work budget of the plan ran out before this node."""

    code = "NotExamined"

    template = "the work budget of this plan ran out before it"


class RepairHeld(KeepsNode, frozen=True, kw_only=True):
    """A condition of the node asks for its repair (`health.repair`), but too many nodes are broken at once. `zone` is where
    (empty: in the whole cluster)."""

    code = "RepairHeld"
    zone: str
    broken: int
    nodes: int

    def sentence(self) -> str:
        """How many are broken, and where."""
        where = f"zone {self.zone}" if self.zone else "all groups"
        return f"{self.broken} of {count_text(self.nodes, 'node')} of {where} are broken or not ready, so none is repaired"


class RemovalsHalted(KeepsNode, frozen=True, kw_only=True):
    """No node is removed now, because the cluster is unhealthy or could not be read completely."""

    code = "RemovalsHalted"
    why: str

    template = "{why}"


class KeptByShare(KeepsNode, frozen=True, kw_only=True):
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


class NotUnneededLongEnough(KeepsNode, frozen=True, kw_only=True):
    """The node is not needed, but not for long enough."""

    code = "NotUnneededLongEnough"
    why: str
    removable_at: str

    template = "{why}, removable from {removable_at}"


class NotUnreadyLongEnough(KeepsNode, frozen=True, kw_only=True):
    """The node is not ready, but not for long enough."""

    code = "NotUnreadyLongEnough"
    why: str
    removable_at: str

    template = "{why}, removable from {removable_at}"


class DisruptionBudgetUsedUp(KeepsNode, frozen=True, kw_only=True):
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
            return f"a budget allows {amount} at a time until {self.until}"
        return f"the budget of {amount} at a time is used up"


class ZoneBudgetUsedUp(KeepsNode, frozen=True, kw_only=True):
    """A budget of the policy allows no further zone to be disrupted now. `disrupted` names the zones with leaving nodes."""

    code = "ZoneBudget"
    zones: int
    disrupted: str

    template = "a budget allows nodes of {zones:zone} to leave at a time, and nodes of {disrupted} leave"


class KeptByWindow(KeepsNode, frozen=True, kw_only=True):
    """An open window keeps the group larger when the other timers end."""

    code = "KeptByWindow"
    group: str
    min: int
    until: str

    template = "a window keeps {group} at {min} or more until {until}"


class RemovalsOffByWindow(KeepsNode, frozen=True, kw_only=True):
    """An open window turns removals of the group off when the other timers end."""

    code = "RemovalsOffByWindow"
    group: str
    until: str

    template = "a window turns removals of {group} off until {until}"


class RemovalPaceReached(KeepsNode, frozen=True, kw_only=True):
    """The plan removes as many nodes as `pace.maxRemovedPercent` allows."""

    code = "Pace"
    percent: int

    template = "pace.maxRemovedPercent allows {percent}% of the managed nodes in one plan"


class NeedsApproval(KeepsNode, frozen=True, kw_only=True):
    """The group has lost as many nodes within 24 hours as it may without an approval in git."""

    code = "NeedsApproval"
    group: str
    gone: int
    limit: int

    template = "{gone:node} of {group} {gone:leaves|leave} within 24 hours, and {limit} may without an approval in git"


def _alike(pods: int, cpu_milli: int, memory_mib: int, one: str, several: str) -> str:
    return f"{count_text(pods, 'pod')} like it ({cpu_milli}m cpu, {memory_mib}Mi memory each) {one if pods == 1 else several}"


def _others(nodes: int) -> str:
    return "the other node" if nodes == 1 else f"the other {nodes} nodes" if nodes else "another node: there is none"
