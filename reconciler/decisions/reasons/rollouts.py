"""Reasons that bound the predicted rollout of a group, or stand in its way."""

from reconciler.plan.reason import Because
from reconciler.values.plural import count_text


class TargetPace(Because, frozen=True, kw_only=True):
    """The target itself says how many nodes it replaces at the same time. `onDelete`: it replaces only what somebody deletes."""

    code = "TargetPace"
    target: str
    surge: int
    unavailable: int
    on_delete: bool
    origin: str

    def sentence(self) -> str:
        """How many more, and how many fewer."""
        if self.on_delete:
            return f"{self.target} replaces a node only after somebody has deleted it ({self.origin})"
        more = count_text(self.surge, "node")
        return f"{self.target} may have {more} more and {self.unavailable} fewer than its replicas ({self.origin})"


class NoSurgeRoom(Because, frozen=True, kw_only=True):
    """The group may not gain any node, so each node has to leave before its replacement comes. `forbidden`: the target never
    misses a node, so it would have to change, too."""

    code = "NoSurgeRoom"
    group: str
    bound: str
    forbidden: bool

    def sentence(self) -> str:
        """What forbids another node, and what that means."""
        text = f"{self.group} has no room for another node, so each one leaves before its replacement comes: {self.bound}"
        return f"{text}. Its target allows that only with maxUnavailable 1 or more" if self.forbidden else text


class AllowedAtOnce(Because, frozen=True, kw_only=True):
    """The policy's budget for the reason `Consolidated` allows this number of nodes to leave at the same time. One of `nodes`,
    `percent` and `zones` is set."""

    code = "AllowedAtOnce"
    allowed: int
    nodes: int | None
    percent: int | None
    zones: int | None = None

    def sentence(self) -> str:
        """The budget as the policy writes it, and the number that it comes to."""
        amount = f"{self.percent}%" if self.nodes is None else count_text(self.nodes, "node")
        amount = amount if self.zones is None else count_text(self.zones, "zone")
        return f"the policy's budget of {amount} at a time lets {self.allowed} leave together"


class RoomToGrow(Because, frozen=True, kw_only=True):
    """The group may gain this number of nodes. `bound` is what refuses the next one."""

    code = "RoomToGrow"
    group: str
    room: int
    bound: str

    template = "{group} may gain {room:node}. Beyond that, {bound}"


class UpdatedInPlace(Because, frozen=True, kw_only=True):
    """The platform changes machines of the group in place, so their nodes are not replaced. It may do so with all others."""

    code = "UpdatedInPlace"
    group: str
    nodes: int

    template = (
        "{nodes:node} of {group} {nodes:is|are} updated in place, not replaced. "
        "The prediction is for nodes that the platform replaces"
    )


class ZoneNotKnown(Because, frozen=True, kw_only=True):
    """The platform chooses the zone of new nodes, and several are possible. Pods that need one of these zones do not count on
    these nodes."""

    code = "ZoneNotKnown"
    group: str
    nodes: int
    zones: tuple[str, ...]

    template = "the platform chooses the zone of {nodes:new node} of {group} among {zones}"


class PodsPending(Because, frozen=True, kw_only=True):
    """Pods wait for a node. They take room before the rollout does, and kube-scheduler chooses where."""

    code = "PodsPending"
    pods: int

    template = "{pods:pod} {pods:waits|wait} for a node and may take other places than this prediction assumes"
