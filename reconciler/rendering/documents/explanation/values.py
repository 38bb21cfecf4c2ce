"""`explain -o json`: the same findings as values."""

import msgspec

from reconciler.decisions.situation.lead_times import LearnedLeadTime
from reconciler.plan.plan import Action, GroupLine, NodeLine, PodLine
from reconciler.plan.reason import Blocker, Reason
from reconciler.plan.waste import Waste

FORMAT_VERSION = "1.0"


class Source(msgspec.Struct, frozen=True):
    """One source of a value: where, and what it says."""

    source: str
    value: str


class EffectiveValue(msgspec.Struct, frozen=True):
    """A value of a group; `chain` in order of precedence, the first one won."""

    path: str
    value: str
    chain: tuple[Source, ...]


class Said(msgspec.Struct, frozen=True):
    """A filter plugin's no."""

    plugin: str
    message: str


class NewNode(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What one new node of a group says to the pod; `unknown` says why nothing can be told, else empty."""

    group: str
    fits: bool
    rejections: tuple[Said, ...]
    unknown: str
    current: int
    desired: int
    max: int
    held: bool


class ThereNode(msgspec.Struct, frozen=True, kw_only=True):
    """What a node that is there says to one more pod like it."""

    node: str
    fits: bool
    rejections: tuple[Said, ...]


class PodExplanation(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A pod. `requests` are by resource name (cpu in milli, memory in bytes). `alike` are pods with the same explanation.
    `decision` is null unless the pod is pending. `node`, and `blocks` (how the pod keeps its node), are set if the pod has a
    node. `not_modelled` names features of the pod that are not modelled. With any, there is no statement about nodes.
    `default_spread` has the default constraints that the scheduler gives to the pod. If a group that would run it has capacity,
    its node comes within `node_within_seconds` (null: no group may grow for it).
    """

    pod: str
    alike: tuple[str, ...]
    phase: str
    priority: int
    requests: dict[str, int]
    decision: PodLine | None
    node: str | None
    blocks: tuple[Blocker, ...]
    not_modelled: str
    default_spread: tuple[Reason, ...]
    new_nodes: tuple[NewNode, ...]
    nodes: tuple[ThereNode, ...]
    node_within_seconds: int | None = None


class Used(msgspec.Struct, frozen=True, kw_only=True):
    """A resource of a node that counts for its utilization (cpu in milli, memory in bytes, devices)."""

    resource: str
    requested: int
    allocatable: int
    permille: int


class NodeExplanation(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A node: `decision` with every blocker and when it may go. `threshold_percent` null: it belongs to no group. `ignored_pods`
    are not part of `used` and `pods`, because the group's policy leaves them out of utilization. `replacement` says which
    replacement the node is part of, or what keeps it out of every one."""

    decision: NodeLine
    used: tuple[Used, ...]
    pods: int
    ignored_pods: tuple[str, ...] = ()
    threshold_percent: int | None
    unneeded_time: EffectiveValue | None
    actions: tuple[Action, ...]
    replacement: tuple[Reason, ...] = ()


class LimitState(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A named limit that counts the group's nodes: how much is there and upcoming, of how much, and what one more node takes."""

    limit: str
    resource: str
    used: int
    max: int
    one_more: int


class RejectedFor(msgspec.Struct, frozen=True, kw_only=True):
    """Pods for which the group was not an option, and why."""

    code: str
    message: str
    pods: tuple[str, ...]


class BackoffNow(msgspec.Struct, frozen=True, kw_only=True):
    """The group is left alone until an instant after so many failures in a row."""

    failures: int
    until: str
    reason: str


class GroupExplanation(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A group. `hold` is empty without one; `hold_until` null: until it is taken out. `allocatable` of a new node by resource,
    null when unknown, which `template_problem` says. `lead_time` is how long its nodes took, null if not
    known. A request without a node counts as failed after `overdue_after_seconds`. `waste` is what its idle capacity costs a
    month, by what keeps its nodes.
    """

    decision: GroupLine
    mode: str
    hold: str
    hold_until: str | None
    backoff: BackoffNow | None
    lead_time: LearnedLeadTime | None
    overdue_after_seconds: int
    actions: tuple[Action, ...]
    allocatable: dict[str, int] | None
    template_problem: str
    labels: dict[str, str]
    taints: tuple[str, ...]
    limits: tuple[LimitState, ...]
    rejected: tuple[RejectedFor, ...]
    values: tuple[EffectiveValue, ...]
    nodes: tuple[NodeLine, ...]
    waste: tuple[Waste, ...] = ()


class ValueExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """One value of one group."""

    group: str
    effective: EffectiveValue


class ExplanationDocument(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`what` is pod, node, group or value, and the key of that name is not null. If several pods begin with the given name,
    `more_pods` are the other kinds that wait. `running_pods` counts those that have a node and are not listed."""

    format_version: str = FORMAT_VERSION
    what: str
    now: str
    cluster: str
    policy: str
    pod: PodExplanation | None = None
    node: NodeExplanation | None = None
    group: GroupExplanation | None = None
    value: ValueExplanation | None = None
    more_pods: tuple[PodExplanation, ...] = ()
    running_pods: int = 0
