"""Reasons about pending pods."""

from reconciler.plan.reason import Because
from reconciler.values.duration import duration_text
from reconciler.values.plural import count_text


class RoomOnNode(Because, frozen=True, kw_only=True):
    """A node that is there has room; kube-scheduler will place the pod."""

    code = "RoomOnNode"
    node: str

    template = "{node} has room for it"


class RoomAfterOthers(Because, frozen=True, kw_only=True):
    """The node that kube-scheduler nominated has room when pods that give way there are gone; `ending` of them terminate."""

    code = "RoomAfterOthers"
    node: str
    ending: int
    until: str

    def sentence(self) -> str:
        """Where, how many of them, and when they should be gone."""
        others = count_text(self.ending, "pod") if self.ending else "pods"
        are = "is" if self.ending == 1 else "are"
        due = f"due at {self.until}"
        return f"{self.node}, which kube-scheduler has nominated, has room once {others} of lower priority {are} gone, {due}"


class RoomBesideOthers(Because, frozen=True, kw_only=True):
    """Pods that end for another pod, which kube-scheduler nominated for their node, leave room for this one as well."""

    code = "RoomBesideOthers"
    node: str
    ending: int
    until: str

    def sentence(self) -> str:
        """Where, how many end, and when they should be gone."""
        are = "is" if self.ending == 1 else "are"
        gone = f"once {count_text(self.ending, 'pod')} of lower priority {are} gone, due at {self.until}"
        return f"{self.node} has room for it beside the pod that kube-scheduler has nominated, {gone}"


class RoomOnUpcoming(Because, frozen=True, kw_only=True):
    """A node that is already on its way will have room."""

    code = "RoomOnUpcoming"
    node: str
    group: str

    template = "{node} of {group}, already asked for, will have room for it"


class NewNode(Because, frozen=True, kw_only=True):
    """A node that this plan asks for will take the pod."""

    code = "NewNode"
    group: str
    tier: str
    expander: str

    def sentence(self) -> str:
        """The group, and what chose it."""
        group = f"{self.group} (tier {self.tier})" if self.tier else self.group
        chosen = f"chosen by {self.expander}" if self.expander else "the only one that can now"
        return f"no node has room; {group} grows for it, {chosen}"


class NoGroupFits(Because, frozen=True, kw_only=True):
    """No group offers a node that the pod could run on."""

    code = "NoGroupFits"
    groups: int
    nodes: int = 0
    rejections: tuple[str, ...] = ()

    def sentence(self) -> str:
        """How many groups were looked at, and what the nodes that are there have against it."""
        return f"no new node of any of {count_text(self.groups, 'group')} could run it{_on_nodes(self.nodes, self.rejections)}"


class GroupsExhausted(Because, frozen=True, kw_only=True):
    """Groups whose nodes could run the pod exist, but none may grow."""

    code = "GroupsExhausted"
    groups: tuple[str, ...]
    nodes: int = 0
    rejections: tuple[str, ...] = ()

    def sentence(self) -> str:
        """Which groups, and what the nodes that are there have against it."""
        return f"{', '.join(self.groups)} could run it, but none may grow now{_on_nodes(self.nodes, self.rejections)}"


class GroupRejects(Because, frozen=True, kw_only=True):
    """A new node of one group would not run the pod."""

    code = "GroupRejects"
    group: str
    plugins: tuple[str, ...]
    why: str

    template = "{group}: {why}"


class ResourceNotOffered(Because, frozen=True, kw_only=True):
    """The pod asks for a resource that no group is known to offer. `keys` would declare it, the policy's first."""

    code = "ResourceNotOffered"
    resource: str
    keys: tuple[str, ...]

    def sentence(self) -> str:
        """Which resource, and where to write it."""
        return f"no group is known to offer {self.resource}; where new nodes have it, declare it in {' or '.join(self.keys)}"


class ZoneNotCertain(Because, frozen=True, kw_only=True):
    """The pod would run on new nodes of one zone of a group and not of another, and the platform chooses the zone."""

    code = "ZoneNotCertain"
    group: str
    zones: tuple[str, ...]
    zone: str
    why: str

    def sentence(self) -> str:
        """Where the next node may come, and what speaks against the pod there."""
        where = self.zones[0] if len(self.zones) == 1 else f"any of {', '.join(self.zones)}"
        refused = f"in {self.zone} it would not run the pod: {self.why}"
        return f"{self.group}: the platform puts its next node in {where}, and {refused}"


TEMPORARY_TAINT = "if nodes lose such a taint once they are set up, name it in template.startupTaints"
"""What to do about a taint that is all that stands in the way."""


class TemplateRefuted(Because, frozen=True, kw_only=True):
    """The template of a group accepts the pod, and an empty node that came of it does not: another one would not help."""

    code = "TemplateRefuted"
    group: str
    node: str
    why: str

    template = "{group} would not help, though its template accepts the pod: its node {node} is empty and rejects it: {why}"


class TemplateRefutedBefore(Because, frozen=True, kw_only=True):
    """A node that came of the group's template did not help such a pod, and is gone by now."""

    code = "TemplateRefutedBefore"
    group: str
    node: str
    why: str
    until: str

    template = (
        "{group} did not help such a pod: its node {node} came and rejected it: {why}; it is tried again from {until}, or when "
        "the policy or the target changes"
    )


class Expendable(Because, frozen=True, kw_only=True):
    """The pod's priority is below the cut-off: it runs on spare room only."""

    code = "Expendable"
    priority: int
    cutoff: int

    template = "its priority {priority} is below {cutoff}: it never adds a node and never keeps one"


class Delayed(Because, frozen=True, kw_only=True):
    """The pod is younger than the delay for new pods."""

    code = "Delayed"
    delay_seconds: int
    until: str

    def sentence(self) -> str:
        """The delay and its end."""
        return f"new pods are looked at {duration_text(self.delay_seconds)} after their creation, this one from {self.until}"


class Arriving(Because, frozen=True, kw_only=True):
    """Pods belong to a burst that is still arriving, for which nodes are bought when it is whole."""

    code = "BurstArriving"
    pause_seconds: int
    limit_seconds: int
    until: str

    def sentence(self) -> str:
        """What ends the wait."""
        pause, limit = duration_text(self.pause_seconds), duration_text(self.limit_seconds)
        return (
            f"pods are still arriving: nodes are bought when none has come for {pause}, at the latest after {limit}: {self.until}"
        )


class NotModelled(Because, frozen=True, kw_only=True):
    """The pod uses something that is not modelled; it is never guessed at."""

    code = "NotModelled"
    feature: str

    template = "it uses {feature}, which is not modelled: no node is bought or kept for it on a guess"


class NotExamined(Because, frozen=True, kw_only=True):
    """The work budget of this plan ran out before the pod's turn."""

    code = "NotExamined"
    spent: int

    template = "the work budget of this plan ran out after {spent:step}, before this pod"


class ShareUsed(Because, frozen=True, kw_only=True):
    """The pods of this namespace took so much work that those of others would not have been looked at."""

    code = "ShareUsed"
    namespace: str
    share: int
    spent: int

    template = (
        "namespace {namespace} has taken {spent:step}, its share of the work of this plan ({share}, and what nobody else is "
        "kept): the rest of its pods waits for the next plans"
    )


class GangIncomplete(Because, frozen=True, kw_only=True):
    """Some pods of a gang have no place, so that no node is bought for the others."""

    code = "GangIncomplete"
    gang: str
    label: str
    pods: int
    placed: int
    first: str

    template = "gang {gang} (label {label}) would get {placed} of {pods:place}, all or none: {first} has none"


class OtherScheduler(Because, frozen=True, kw_only=True):
    """The pod is not for a scheduler that the policy names."""

    code = "OtherScheduler"
    scheduler: str

    template = "it waits for scheduler {scheduler}, which the policy does not name"


def _on_nodes(nodes: int, rejections: tuple[str, ...]) -> str:
    return f"; {count_text(nodes, 'node')} there: {', '.join(rejections)}" if rejections else ""
