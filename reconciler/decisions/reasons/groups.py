"""Reasons about what a node group is and how it stands."""

from reconciler.plan.approvals import WAITS_FOR_APPROVAL
from reconciler.plan.reason import Because
from reconciler.values.duration import duration_text


class TemplateUnknown(Because, frozen=True, kw_only=True):
    """Nothing says what a new node of the group would offer."""

    code = "TemplateUnknown"
    group: str
    why: str

    template = "nothing says what a new node of {group} offers: {why}"


class GroupUnhealthy(Because, frozen=True, kw_only=True):
    """Most nodes of the group are not ready, so that one more would hardly be: another group grows instead.

    Source: Cluster Autoscaler `clusterstate`, health of a node group: more than 3 and more than 45 %, of its own nodes.
    """

    code = "GroupUnhealthy"
    group: str
    unready: int
    nodes: int
    ok_unready: int
    max_percent: int

    def sentence(self) -> str:
        """How many of how many, and what is tolerated."""
        verb = "is" if self.unready == 1 else "are"
        of = "its only node" if self.nodes == 1 else f"{self.unready} of its {self.nodes} nodes"
        tolerated = f"more than {self.ok_unready} and more than {self.max_percent}%"
        return f"{self.group} does not grow: {of} {verb} not ready, {tolerated}"


class BackedOff(Because, frozen=True, kw_only=True):
    """The last attempts to grow the group failed; it is left alone for a while."""

    code = "BackedOff"
    group: str
    failures: int
    until: str

    template = "{group} is left alone until {until} after {failures:failed attempt}"


class TargetMissing(Because, frozen=True, kw_only=True):
    """The object behind the group is not in the view."""

    code = "TargetMissing"
    target: str

    template = "{target} is not there; if it was deleted for good, remove the NodeGroup from git"


class ReplicasUnknown(Because, frozen=True, kw_only=True):
    """The target does not say its replicas."""

    code = "ReplicasUnknown"
    target: str

    template = "{target} carries no readable spec.replicas"


class MixedShapes(Because, frozen=True, kw_only=True):
    """The nodes of the group differ in size, and nothing else says what a new one offers: the least of each is counted on."""

    code = "MixedShapes"
    shapes: int
    differs: str

    template = "its nodes have {shapes:size} ({differs}): a new one is taken to offer the least of each"


class CoolDown(Because, frozen=True, kw_only=True):
    """Removals wait after something that has just happened; `until` is empty where that is this plan itself."""

    code = "CoolDown"
    after: str
    delay_seconds: int
    until: str

    def sentence(self) -> str:
        """What happened, how long the wait is, when it ends."""
        wait = f"removals wait {duration_text(self.delay_seconds)} after {self.after}"
        return f"{wait}, until {self.until}" if self.until else wait


class RolloutInProgress(Because, frozen=True, kw_only=True):
    """An older revision of the target still has machines."""

    code = "RolloutInProgress"
    group: str

    template = "{group} is rolling out a new revision"


class WindowOpen(Because, frozen=True, kw_only=True):
    """A window changes the bounds now."""

    code = "WindowOpen"
    window: str
    until: str

    template = "window {window} is open until {until}"


class CouldBeReplaced(Because, frozen=True, kw_only=True):
    """One cheaper node could stand in for several."""

    code = "CouldBeReplaced"
    nodes: tuple[str, ...]
    by: str
    saving_per_hour: str
    saving_percent: int
    enabled: bool

    def sentence(self) -> str:
        """Which nodes, by what, what that saves, and what keeps it from happening."""
        text = f"{', '.join(self.nodes)} could be replaced by one new node of {self.by}: saves {self.saving_per_hour}/h"
        text += f" ({self.saving_percent}%)"
        return text if self.enabled else f"{text}; scaleDown.consolidation.mode is Disabled"


class PlatformChooses(Because, frozen=True, kw_only=True):
    """Nodes leave a target without Machines: the platform takes the instances that it likes."""

    code = "PlatformChooses"
    target: str
    nodes: tuple[str, ...]

    def sentence(self) -> str:
        """Which nodes are emptied, and that others may go."""
        asked = f"{', '.join(self.nodes)} emptied and replicas lowered by {len(self.nodes)}"
        return f"{self.target} has no Machines: {asked}, the platform chooses what goes (scaleDown.withoutMachines)"


class WaitsForApproval(Because, frozen=True, kw_only=True):
    """More nodes of the group would leave within a day than the policy lets go without an approval. `trailer` is the line of a
    commit message that would allow all of them."""

    code = WAITS_FOR_APPROVAL
    group: str
    waiting: int
    gone: int
    limit: int
    trailer: str

    def sentence(self) -> str:
        """How many wait, and what to write."""
        wait = "1 node waits" if self.waiting == 1 else f"{self.waiting} nodes wait"
        return (
            f"{wait} for an approval: {self.gone} of {self.group} leave within 24 hours, and {self.limit} may; "
            f"as a trailer of a signed commit, with an end within a day: {self.trailer}"
        )
