"""Reasons about node groups."""

from reconciler.decisions.reasons.amounts import amount_text, count_text, duration_text
from reconciler.plan.reason import Because


class BelowMin(Because, frozen=True, kw_only=True):
    """The group is smaller than its minimum and is healed in one write."""

    code = "BelowMin"
    current: int
    min: int

    template = "{current} replicas are below the minimum {min}"


class MinNotReached(Because, frozen=True, kw_only=True):
    """The minimum cannot be reached: something else bounds the group."""

    code = "MinNotReached"
    reached: int
    min: int
    bound: str

    template = "the minimum {min} cannot be reached, only {reached}: {bound}"


class AboveMax(Because, frozen=True, kw_only=True):
    """The group is larger than its maximum; nodes are drained within budgets until it is not."""

    code = "AboveMax"
    current: int
    max: int

    template = "{current} replicas are above the maximum {max}"


class PendingPods(Because, frozen=True, kw_only=True):
    """The group grows for pods that no node can take."""

    code = "PendingPods"
    pods: int
    nodes: int
    expander: str
    compared: tuple[str, ...]
    apart: tuple[str, ...] = ()

    def sentence(self) -> str:
        """Pods, nodes, what the choice was made by, and which groups were too different to share the growth."""
        against = f"; {self.expander} over " + ", ".join(self.compared) if self.compared else ""
        text = f"{count_text(self.pods, 'pending pod')} on {count_text(self.nodes, 'new node')}{against}"
        return f"{text}; not balanced with {', '.join(self.apart)}" if self.apart else text


class Headroom(Because, frozen=True, kw_only=True):
    """The group grows so that its headroom is free again. `what` is `nodes` or `pods`."""

    code = "Headroom"
    wanted: int
    free: int
    nodes: int
    what: str

    def sentence(self) -> str:
        """What is wanted, what is there, what is added."""
        return f"headroom for {self.wanted} {self.what} has {self.free} free: {count_text(self.nodes, 'node')} more"


class HeadroomShort(Because, frozen=True, kw_only=True):
    """The headroom cannot be had: a maximum or a limit is in the way."""

    code = "HeadroomShort"
    missing: int
    what: str

    template = "headroom lacks {missing} {what}, and the group may not grow further"


class AtMaxSize(Because, frozen=True, kw_only=True):
    """The group cannot grow: it is at its maximum."""

    code = "AtMaxSize"
    group: str
    max: int

    template = "{group} is at its maximum size {max}"


class LimitReached(Because, frozen=True, kw_only=True):
    """The group cannot grow: one more node would pass a limit."""

    code = "LimitReached"
    group: str
    limit: str
    resource: str
    used: int
    unmanaged: int = 0
    node: int
    max: int

    def sentence(self) -> str:
        """What is there, how much of it nobody manages, what one node adds, what the limit is."""
        used, node, most = (amount_text(self.resource, value) for value in (self.used, self.node, self.max))
        foreign = f" ({amount_text(self.resource, self.unmanaged)} of it unmanaged)" if self.unmanaged else ""
        there = f"limit {self.limit} allows {most} {self.resource}: {used} there{foreign}"
        return f"{there}, one more node of {self.group} adds {node}"


class OnlyWhole(Because, frozen=True, kw_only=True):
    """The group grows to its maximum at once, or not at all, and something forbids a part of it."""

    code = "OnlyWhole"
    group: str
    missing: int
    possible: int
    bound: str

    template = "{group} only grows whole, by {missing} nodes, and {possible} are possible: {bound}"


class GrownWhole(Because, frozen=True, kw_only=True):
    """More nodes than the pods need: the group grows to its maximum at once."""

    code = "GrownWhole"
    nodes: int
    needed: int
    max: int

    def sentence(self) -> str:
        """What is needed, what is added, and why."""
        return f"{count_text(self.nodes, 'node')} where {self.needed} would do: it only grows whole, to its maximum {self.max}"


class PaceReached(Because, frozen=True, kw_only=True):
    """The plan already adds as many nodes as one plan may."""

    code = "PaceReached"
    group: str
    max: int

    template = "this plan already adds {max} nodes, the most that pace.maxAddedNodes allows at once"


class GroupHeld(Because, frozen=True, kw_only=True):
    """The group may not be changed: somebody else owns the replicas, or a hold is in force."""

    code = "GroupHeld"
    group: str
    why: str

    template = "{group} is held: {why}"


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

    template = (
        "{group} does not grow: {unready} of its {nodes} nodes are not ready, more than {ok_unready} and more than {max_percent}%"
    )


class BackedOff(Because, frozen=True, kw_only=True):
    """The last attempts to grow the group failed; it is left alone for a while."""

    code = "BackedOff"
    group: str
    failures: int
    until: str

    template = "{group} is left alone until {until} after {failures} failed attempts"


class TargetMissing(Because, frozen=True, kw_only=True):
    """The object behind the group is not in the view."""

    code = "TargetMissing"
    target: str

    template = "{target} is not there"


class ReplicasUnknown(Because, frozen=True, kw_only=True):
    """The target does not say its replicas."""

    code = "ReplicasUnknown"
    target: str

    template = "{target} carries no readable spec.replicas"


class NoMaxSize(Because, frozen=True, kw_only=True):
    """No source gives a maximum, so the group never grows."""

    code = "NoMaxSize"
    current: int

    template = "no source gives size.max, so the group stays at {current}"


class Conflict(Because, frozen=True, kw_only=True):
    """A second writer: our writes were undone again and again. From the third time on the group is held."""

    code = "Conflict"
    writer: str
    times: int
    hold_at: int
    ours: int
    theirs: int
    asking: tuple[str, ...]
    more_asking: int = 0

    def sentence(self) -> str:
        """Who, how often, the two values, who asks for ours, and what follows."""
        text = f"{self.writer} undid our writes {count_text(self.times, 'time')}, the last from {self.ours} to {self.theirs}"
        if self.asking:
            rest = f" and {self.more_asking} more" if self.more_asking else ""
            text += f"; {', '.join(self.asking)}{rest} keep asking for {self.ours}"
        if self.times >= self.hold_at:
            return f"{text}; nothing is written until that ends and the group was held and released"
        return f"{text}; at {self.hold_at} times nothing more is written"


class MixedShapes(Because, frozen=True, kw_only=True):
    """The nodes of the group differ in size, and nothing else says what a new one offers: the least of each is counted on."""

    code = "MixedShapes"
    shapes: int
    differs: str

    template = "its nodes have {shapes} sizes ({differs}): a new one is taken to offer the least of each"


class Adoption(Because, frozen=True, kw_only=True):
    """The replicas field is taken over from an owner that the policy allows to take over from."""

    code = "Adoption"
    manager: str
    why: str

    template = "spec.replicas is taken over from {manager}: {why}"


class Released(Because, frozen=True, kw_only=True):
    """The group left the policy; the target keeps its size."""

    code = "Released"
    replicas: int

    template = "the group left the policy; its target keeps {replicas} replicas and our marks are removed"


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


class UpcomingNodes(Because, frozen=True, kw_only=True):
    """Nodes already asked for that no pod can use yet: `starting` of them have joined, and wait for what `waits_for` names."""

    code = "UpcomingNodes"
    count: int
    starting: int = 0
    waits_for: tuple[str, ...] = ()

    def sentence(self) -> str:
        """How many, and what those that have joined wait for."""
        parts = [f"{count_text(self.count - self.starting, 'node')} asked for and not registered yet"]
        if self.starting:
            named = f" ({', '.join(self.waits_for)})" if self.waits_for else ""
            parts.append(f"{count_text(self.starting, 'node')} joined and not started yet{named}")
        return ", ".join(parts[self.count == self.starting :])


class MachinesFailed(Because, frozen=True, kw_only=True):
    """Machines that will not become nodes by themselves."""

    code = "MachinesFailed"
    count: int
    first: str

    def sentence(self) -> str:
        """How many, and the first message."""
        return f"{count_text(self.count, 'machine')} failed or did not register in time; {self.first}"


class MayNotReturn(Because, frozen=True, kw_only=True):
    """The last node of a group goes whose machines are scarce."""

    code = "MayNotReturn"
    why: str

    template = "the group goes to 0 and its machines back to the provider; they may not be had again: {why}"


class Replaced(Because, frozen=True, kw_only=True):
    """The target makes machines by itself for nodes that went: its desired count did not change."""

    code = "Replaced"
    machines: tuple[str, ...]
    replicas: int
    since: str

    def sentence(self) -> str:
        """Which machines, and why they come."""
        return (
            f"{count_text(len(self.machines), 'machine')} ({', '.join(self.machines)}) in place of nodes that went, made by the "
            f"target: it keeps {self.replicas} replicas, unchanged since {self.since}"
        )


class RequestCancelled(Because, frozen=True, kw_only=True):
    """Requests for nodes that never came are taken back: exactly these machines go, and the size falls by no more than them."""

    code = "RequestCancelled"
    machines: tuple[str, ...]
    without_machine: int
    nodes: int
    why: str

    def sentence(self) -> str:
        """What goes, why, and what stays."""
        parts = [f"machine {', '.join(self.machines)}"] if self.machines else []
        if self.without_machine:
            parts.append(f"{count_text(self.without_machine, 'request')} without a machine")
        return f"{' and '.join(parts)} never became a node ({self.why}): taken back, all {self.nodes} nodes stay"


class AskedAnew(Because, frozen=True, kw_only=True):
    """Machines that never became nodes are replaced: the group is at its minimum, so that its size stays."""

    code = "AskedAnew"
    machines: tuple[str, ...]
    min: int
    why: str

    def sentence(self) -> str:
        """What is replaced, why, and why the size stays."""
        names = ", ".join(self.machines)
        return f"machine {names} never became a node ({self.why}): asked for anew, since the minimum is {self.min}"


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


class ResizeNextTime(Because, frozen=True, kw_only=True):
    """A change of size waits for the adoption that this plan makes."""

    code = "ResizeNextTime"

    template = "the adoption comes first; the size changes in the next loop, judged anew on the adopted object"
