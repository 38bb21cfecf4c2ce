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
    node: int
    max: int

    def sentence(self) -> str:
        """What is there, what one node adds, what the limit is."""
        used, node, most = (amount_text(self.resource, value) for value in (self.used, self.node, self.max))
        return f"limit {self.limit} allows {most} {self.resource}: {used} there, one more node of {self.group} adds {node}"


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
    """Nodes already asked for that have not joined."""

    code = "UpcomingNodes"
    count: int

    def sentence(self) -> str:
        """How many."""
        return f"{count_text(self.count, 'node')} asked for and not registered yet"


class MachinesFailed(Because, frozen=True, kw_only=True):
    """Machines that will not become nodes by themselves."""

    code = "MachinesFailed"
    count: int
    first: str

    def sentence(self) -> str:
        """How many, and the first message."""
        return f"{count_text(self.count, 'machine')} failed or did not register in time; {self.first}"


class WindowOpen(Because, frozen=True, kw_only=True):
    """A window changes the bounds now."""

    code = "WindowOpen"
    window: str
    until: str

    template = "window {window} is open until {until}"
