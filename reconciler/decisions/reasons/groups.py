"""Reasons about the configuration and state of a node group."""

from reconciler.decisions.reasons.nodes import Repacking, moved_text
from reconciler.plan.approvals.group_approvals import WAITS_FOR_APPROVAL
from reconciler.plan.reason import Because, KeepsNode
from reconciler.values.duration import duration_text
from reconciler.values.plural import count_text, verb_for


class TemplateUnknown(Because, frozen=True, kw_only=True):
    """No source gives the capacity of a new node of the group."""

    code = "TemplateUnknown"
    group: str
    why: str

    template = "the capacity of a new node of {group} is unknown: {why}"


class GroupUnhealthy(Because, frozen=True, kw_only=True):
    """Too many nodes of the group are not ready. Another group grows instead.

    Source: Cluster Autoscaler `clusterstate`, health of a node group: more than 3 of its own nodes and more than 45 % of them.
    """

    code = "GroupUnhealthy"
    group: str
    unready: int
    nodes: int
    ok_unready: int
    max_percent: int

    def sentence(self) -> str:
        """How many of how many nodes, and the tolerated number."""
        verb = "is" if self.unready == 1 else "are"
        of = "its only node" if self.nodes == 1 else f"{self.unready} of its {self.nodes} nodes"
        tolerated = f"more than {self.ok_unready} and more than {self.max_percent}%"
        return f"{self.group} does not grow: {of} {verb} not ready, {tolerated}"


class BackedOff(Because, frozen=True, kw_only=True):
    """The last attempts to scale the group up failed, so it waits before the next attempt."""

    code = "BackedOff"
    group: str
    failures: int
    until: str

    template = "{group} backs off until {until} after {failures:failed attempt}"


class TargetMissing(Because, frozen=True, kw_only=True):
    """The target of the group does not exist in the observed cluster."""

    code = "TargetMissing"
    target: str

    template = "{target} does not exist. If it was deleted for good, remove the NodeGroup from git"


class TargetUnread(Because, frozen=True, kw_only=True):
    """The target of the group may exist, but it cannot be read. Nothing is written for the group until it can."""

    code = "TargetUnread"
    target: str
    why: str

    template = "{target}: {why}"


class ReplicasUnknown(Because, frozen=True, kw_only=True):
    """The target has no readable replicas."""

    code = "ReplicasUnknown"
    target: str

    template = "{target} has no readable spec.replicas"


class MixedShapes(Because, frozen=True, kw_only=True):
    """The nodes of the group differ in size, and it has no template. A new node is assumed to offer the least of each
    resource."""

    code = "MixedShapes"
    shapes: int
    differs: str

    template = "its nodes have {shapes:size} ({differs}): a new one is assumed to offer the least of each resource"


class CoolDown(KeepsNode, frozen=True, kw_only=True):
    """Removals wait after an event. `until` is empty if this plan is that event."""

    code = "CoolDown"
    after: str
    delay_seconds: int
    until: str

    def sentence(self) -> str:
        """What happened, how long the wait is, when it ends."""
        wait = f"removals wait {duration_text(self.delay_seconds)} after {self.after}"
        return f"{wait}, until {self.until}" if self.until else wait


class RolloutInProgress(KeepsNode, frozen=True, kw_only=True):
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
    """One new node could replace several nodes at a lower cost."""

    code = "CouldBeReplaced"
    nodes: tuple[str, ...]
    by: str
    saving_per_hour: str
    saving_percent: int
    pods: int
    young_pods: int
    enabled: bool

    def sentence(self) -> str:
        """The nodes, the replacement, what it saves and moves, and the setting that prevents it."""
        text = f"{', '.join(self.nodes)} could be replaced by one new node of {self.by}: saves {self.saving_per_hour}/h"
        text += f" ({self.saving_percent}%) by {moved_text(self.pods, self.young_pods)}"
        return text if self.enabled else f"{text}, but scaleDown.consolidation.mode is Disabled"


class CouldBeRepacked(Repacking, frozen=True, kw_only=True):
    """New nodes could replace nodes at a lower cost. `mix` says how many of which groups. If it is empty, the nodes need no new
    ones."""

    code = "CouldBeRepacked"

    def sentence(self) -> str:
        """The nodes, what could replace them, what it saves and moves."""
        instead = (
            f"be replaced by {self.mix} and room on other nodes" if self.mix else "go, since other nodes have room for their pods"
        )
        return f"{', '.join(self.nodes)} could {instead}: {self.saves_text()}"


class CouldReturn(Because, frozen=True, kw_only=True):
    """One new node of a preferred tier could replace several nodes. The tier has had capacity since `since`, and the first of the
    nodes may return at `due`."""

    code = "CouldReturn"
    nodes: tuple[str, ...]
    by: str
    tier: str
    since: str
    wait_seconds: int
    failures: int
    due: str

    def sentence(self) -> str:
        """The nodes, the replacement, and what they wait for."""
        text = f"one new node of {self.by} could replace {', '.join(self.nodes)} from {self.due} on"
        wait = f"tier {self.tier} must have capacity for {duration_text(self.wait_seconds)}"
        failed = f" after {count_text(self.failures, 'failure')}" if self.failures else ""
        return f"{text}: {wait}{failed} and has it since {self.since}"


class PlatformChooses(Because, frozen=True, kw_only=True):
    """The target has no Machines, so the platform chooses the instances to remove."""

    code = "PlatformChooses"
    target: str
    nodes: tuple[str, ...]

    def sentence(self) -> str:
        """Which nodes are drained, and that the platform may remove others."""
        drained = f"{', '.join(self.nodes)} drained and replicas lowered by {len(self.nodes)}"
        return f"{self.target} has no Machines: {drained}. The platform chooses which to remove (scaleDown.withoutMachines)"


class WaitsForApproval(Because, frozen=True, kw_only=True):
    """The policy allows fewer removals per day without an approval. `trailer` is the line of a commit message that approves all
    of them."""

    code = WAITS_FOR_APPROVAL
    group: str
    waiting: int
    gone: int
    limit: int
    trailer: str

    def sentence(self) -> str:
        """How many wait, and what to write."""
        wait = f"{count_text(self.waiting, 'node')} {verb_for(self.waiting, 'waits', 'wait')}"
        return (
            f"{wait} for an approval: {self.gone} of {self.group} would leave within 24 hours, and {self.limit} may. "
            f"To approve, add this trailer to a signed commit, with an end within a day: {self.trailer}"
        )
