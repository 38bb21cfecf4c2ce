"""The fields of a NodeGroup that the `defaults` of a tier or policy may have too."""

from enum import StrEnum
from typing import Annotated, Any, Generic, Never, TypeVar

import msgspec

from reconciler.policy.documents.template import Template
from reconciler.policy.field import Kind, Loosens, MergeRule
from reconciler.policy.keys import Key, keys_of

Missing = TypeVar("Missing", None, Never)
"""`None` for what one level says, `Never` for what is effective."""
NOT_WRITTEN: Any = None

MOST_NODES = 100_000
"""More than the largest clusters have: a bound for every size, because each node of a policy costs work."""


class Mode(StrEnum):
    """Observe writes only its own status, events, lease and state. Enforce also writes replicas."""

    OBSERVE = "Observe"
    ENFORCE = "Enforce"


class Toggle(StrEnum):
    """Enabled or Disabled, where Kubernetes conventions ask for an enum instead of a boolean."""

    ENABLED = "Enabled"
    DISABLED = "Disabled"


class WithoutMachines(StrEnum):
    """What becomes of nodes that no Machine stands for: they stay, or their target is lowered and the platform takes one."""

    BLOCK = "Block"
    PLATFORM_CHOOSES = "PlatformChooses"


class Counting(StrEnum):
    """Whether pods that go with their node count in its utilization, or are taken off what they request and off the node."""

    COUNT = "Count"
    IGNORE = "Ignore"


class Disruption(StrEnum):
    """Whether moved pods weigh as much as pods cost here on average, or only as much as the policy says."""

    IGNORED = "Ignored"
    BALANCED = "Balanced"


class Growth(StrEnum):
    """In which steps a group grows: by what is needed, or at once to its maximum and otherwise not at all."""

    AS_NEEDED = "AsNeeded"
    ZERO_OR_MAX = "ZeroOrMax"


def _threshold(what: str, flag: str) -> Key:
    described = f"A node whose {what} utilization (requests over allocatable) is at or below this may be removed."
    return Key(described, 60, default=50, loosens=Loosens.UP, cluster_autoscaler=flag)


def _counting(whose: str, flag: str) -> Key:
    described = f"With Ignore, utilization excludes {whose} pods from the requests of a node and from its allocatable."
    return Key(described, "Ignore", default="Count", loosens=Counting.IGNORE, cluster_autoscaler=flag)


def _time(description: str, default: str, flag: str, *, minimum: int = 0) -> Key:
    return Key(description, default, default=default, minimum=minimum, loosens=Loosens.DOWN, cluster_autoscaler=flag)


class PodWeight(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """How often a moved pod counts that has all `labels`."""

    labels: Annotated[
        tuple[tuple[str, str], ...],
        Key("The labels that a pod must have, all of them.", "app: postgres", kind=Kind.LABEL_MAP, minimum=1),
    ]
    weight: Annotated[
        int,
        Key(
            "How often such a pod counts in place of once. With 0, it weighs nothing.",
            5,
            unit="times",
            maximum=100,
            loosens=Loosens.DOWN,
        ),
    ]


class Consolidation(msgspec.Struct, Generic[Missing], frozen=True, kw_only=True):
    """Whether nodes of a group are replaced by cheaper ones, and for how much at least. `min_saving_per_moved_pod` is a decimal
    amount of money per hour."""

    mode: Annotated[
        Toggle | Missing,
        Key(
            "Enabled replaces nodes, also several by several. Disabled only shows what one new node would save.",
            "Enabled",
            default="Disabled",
            loosens=Toggle.ENABLED,
        ),
    ] = NOT_WRITTEN
    min_saving_percent: Annotated[
        int | Missing,
        Key(
            "The least that a replacement must save, as a percentage of the price of the replaced nodes.",
            20,
            default=15,
            minimum=1,
            loosens=Loosens.DOWN,
        ),
    ] = NOT_WRITTEN
    min_saving_per_moved_pod: Annotated[
        str | Missing,
        Key(
            "The least that a replacement must save per hour for each pod that it moves. A pod younger than an hour "
            "counts twice, because it would start again within the hour. Nodes that save less are left out.",
            "0.01",
            kind=Kind.MONEY,
            unit="currency per pod and hour",
            default="0",
            loosens=Loosens.DOWN,
        ),
    ] = NOT_WRITTEN
    disruption: Annotated[
        Disruption | Missing,
        Key(
            "With Balanced, each moved pod must save at least half of what a pod costs on average here. That is the price of all "
            "nodes by their pods. Pods younger than an hour count once more. So do those with a priority above 0. "
            "A larger minSavingPerMovedPod applies instead. The saving must also pay within a day for the time in which old and "
            "new nodes run.",
            "Balanced",
            default="Ignored",
            loosens=Disruption.IGNORED,
        ),
    ] = NOT_WRITTEN
    pod_weights: Annotated[
        tuple[PodWeight, ...],
        Key(
            "How often moved pods with some labels count, with Balanced and for minSavingPerMovedPod. Other pods count once. "
            "Of several weights for a pod, the largest applies.",
            maximum=20,
            item="The weight of pods with some labels.",
        ),
    ] = ()


class ScaleDown(msgspec.Struct, Generic[Missing], frozen=True, kw_only=True):
    """When nodes of a group may be removed."""

    mode: Annotated[
        Toggle | Missing,
        Key(
            "Disabled keeps every node of the group, except above max.",
            "Disabled",
            default="Enabled",
            loosens=Toggle.ENABLED,
            cluster_autoscaler="--scale-down-enabled",
        ),
    ] = NOT_WRITTEN
    utilization_threshold_percent: Annotated[
        int | Missing, _threshold("cpu and memory", "--scale-down-utilization-threshold")
    ] = NOT_WRITTEN
    gpu_utilization_threshold_percent: Annotated[int | Missing, _threshold("GPU", "--scale-down-gpu-utilization-threshold")] = (
        NOT_WRITTEN
    )
    daemon_set_utilization: Annotated[Counting | Missing, _counting("DaemonSet", "--ignore-daemonsets-utilization")] = NOT_WRITTEN
    mirror_pod_utilization: Annotated[Counting | Missing, _counting("mirror", "--ignore-mirror-pods-utilization")] = NOT_WRITTEN
    unneeded_time_seconds: Annotated[
        int | Missing,
        _time(
            "How long a node must be unneeded without interruption before it is removed. 0s removes it in the first plan.",
            "10m",
            "--scale-down-unneeded-time",
        ),
    ] = NOT_WRITTEN
    unready_time_seconds: Annotated[
        int | Missing,
        _time(
            "How long an unneeded node must be not Ready before it is removed, since the transition of its Ready condition.",
            "20m",
            "--scale-down-unready-time",
        ),
    ] = NOT_WRITTEN
    without_machines: Annotated[
        WithoutMachines | Missing,
        Key(
            "What happens to nodes of a MachinePool without Machines. Block keeps them. PlatformChooses drains one and "
            "lowers the pool by one. The platform chooses the instance to remove.",
            "PlatformChooses",
            default="Block",
            loosens=WithoutMachines.PLATFORM_CHOOSES,
        ),
    ] = NOT_WRITTEN
    consolidation: Annotated[
        Consolidation[Missing], Key("Whether cheaper nodes may replace nodes of the group and take all their pods.")
    ] = Consolidation()


class Backoff(msgspec.Struct, Generic[Missing], frozen=True, kw_only=True):
    """How long a group is left alone after a failed scale-up."""

    initial_seconds: Annotated[
        int | Missing,
        _time("The time after the first failure.", "5m", "--initial-node-group-backoff-duration", minimum=1),
    ] = NOT_WRITTEN
    max_seconds: Annotated[int | Missing, _time("The longest time.", "30m", "--max-node-group-backoff-duration", minimum=1)] = (
        NOT_WRITTEN
    )
    reset_seconds: Annotated[
        int | Missing,
        _time("Failures no longer count after this long without one.", "3h", "--node-group-backoff-reset-timeout", minimum=1),
    ] = NOT_WRITTEN


class ScaleUp(msgspec.Struct, Generic[Missing], frozen=True, kw_only=True):
    """In which steps the group grows, how long new nodes may take, and what follows a failure."""

    growth: Annotated[
        Growth | Missing,
        Key(
            "ZeroOrMax grows the group to its maximum in one step, or not at all if limits or pace forbid that.",
            "ZeroOrMax",
            default="AsNeeded",
            loosens=Growth.ZERO_OR_MAX,
        ),
    ] = NOT_WRITTEN
    max_node_provision_time_seconds: Annotated[
        int | Missing,
        _time(
            "How long a requested node counts as upcoming before its Machine or instance counts as failed. Learned lead "
            "times may shorten it, to 5m at the least.",
            "15m",
            "--max-node-provision-time",
            minimum=1,
        ),
    ] = NOT_WRITTEN
    max_node_startup_time_seconds: Annotated[
        int | Missing,
        _time(
            "How long a registered node may be not Ready or lack its devices and still count as starting.",
            "15m",
            "--max-node-startup-time",
            minimum=1,
        ),
    ] = NOT_WRITTEN
    backoff: Annotated[
        Backoff[Missing],
        Key(
            "How long the group does not grow after a failed scale-up. The time doubles with each failure.",
            loosens=Loosens.DOWN,
        ),
    ] = Backoff()


class HeadroomPods(msgspec.Struct, frozen=True, kw_only=True):
    """Room for so many pods of one shape."""

    name: Annotated[str, Key("The name of this entry in plans.", "burst", kind=Kind.NAME, loosens=Loosens.SAFE)] = ""
    count: Annotated[int, Key("How many pods.", 5, unit="pods", minimum=1, maximum=MOST_NODES)]
    requests: Annotated[
        tuple[tuple[str, int], ...],
        Key("What one pod requests.", "cpu: 500m", required=True, resources=("cpu", "memory", "ephemeral-storage")),
    ] = ()


class Headroom(msgspec.Struct, frozen=True, kw_only=True):
    """Capacity kept free beyond pending demand."""

    nodes: Annotated[int | None, Key("How many empty nodes.", 1, unit="nodes", maximum=MOST_NODES)] = None
    nodes_per_zone: Annotated[
        int | None, Key("How many empty nodes in each zone of the group.", 1, unit="nodes", maximum=MOST_NODES)
    ] = None
    pods: Annotated[
        tuple[HeadroomPods, ...],
        Key("Capacity for a number of pods of given shapes.", item="Capacity for pods of one shape."),
    ] = ()


def _bound(description: str, example: int, loosens: Loosens) -> Key:
    return Key(description, example, unit="nodes", maximum=MOST_NODES, loosens=loosens, cluster_autoscaler="--nodes=MIN:MAX:NAME")


class Size(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds of a group in nodes."""

    min: Annotated[int | None, _bound("The smallest number of nodes.", 2, Loosens.DOWN)] = None
    max: Annotated[int | None, _bound("The largest number of nodes.", 40, Loosens.UP_FROM_NOTHING)] = None


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """A time span in which other values apply.

    `schedule` is a five-field cron line for the start of recurring spans of `duration_seconds`. The dates (Unix time) limit
    these. Without a schedule, the window is open from the first date until the second one. Whether another value in a window
    loosens depends on the other windows and the hour.
    """

    name: Annotated[str, Key("The name of this window in plans.", "working-hours", kind=Kind.NAME, loosens=Loosens.SAFE)] = ""
    schedule: Annotated[
        str,
        Key(
            "When the window opens: minute, hour, day of month, month, day of week, as in a CronJob. "
            "A time that the clock skips does not happen. A time that it repeats happens twice.",
            "0 7 * * mon-fri",
            kind=Kind.CRON,
        ),
    ] = ""
    time_zone: Annotated[str, Key("The time zone of the schedule.", "Europe/Berlin", kind=Kind.TIME_ZONE)] = "Etc/UTC"
    duration_seconds: Annotated[
        int | None, Key("How long the window stays open after each start of the schedule.", "12h", minimum=1)
    ] = None
    from_seconds: Annotated[
        int | None,
        Key(
            "The window is closed before this instant. Without a schedule, it opens then.",
            "2026-11-27T00:00:00Z",
            kind=Kind.INSTANT,
        ),
    ] = None
    until_seconds: Annotated[
        int | None, Key("The window is closed from this instant on.", "2026-12-01T00:00:00Z", kind=Kind.INSTANT)
    ] = None
    size: Annotated[Size, Key("The bounds while the window is open: a larger min, a smaller max, or both.", overrides=True)] = (
        Size()
    )
    scale_down: Annotated[
        ScaleDown[None],
        Key("Removal settings while the window is open, in place of those of the group and of its defaults.", overrides=True),
    ] = ScaleDown()


class Hold(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing is written for the group until `until_seconds` (Unix time); `None` holds until it is taken out of git."""

    reason: Annotated[str, Key("Why. Every plan shows it.", "recovering node h100-3", loosens=Loosens.SAFE)]
    until_seconds: Annotated[
        int | None,
        Key(
            "When the hold ends by itself. If omitted, the hold lasts until you remove it.",
            "2026-11-21T18:00:00Z",
            kind=Kind.INSTANT,
        ),
    ] = None


class GroupFields(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a NodeGroup that a tier's or the policy's `defaults` may carry as well."""

    mode: Annotated[
        Mode | None,
        Key(
            "Observe plans but writes nothing to the target. Enforce also writes replicas. "
            "A group may only be stricter than its policy.",
            "Observe",
            loosens=Mode.ENFORCE,
        ),
    ] = None
    size: Annotated[
        Size,
        Key("The bounds of the group in nodes. If omitted, they come from the target's annotations or the Auto Scaling group."),
    ] = Size()
    balance_with: Annotated[
        str | None,
        Key(
            "New nodes are spread evenly over the groups with the same name here. "
            "Auto finds siblings by similar template and labels. Off never balances the group.",
            "general",
            "Auto",
            default="Off",
            loosens=Loosens.SAFE,
            cluster_autoscaler="--balance-similar-node-groups",
        ),
    ] = None
    template: Annotated[
        Template,
        Key(
            "What a new node offers. The rest comes from annotations, tags, the infrastructure template or a live node.",
            loosens=Loosens.SAFE,
        ),
    ] = Template()
    price_per_hour: Annotated[
        str | None,
        Key(
            "What one node costs per hour, in the currency of the policy.",
            "0.768",
            kind=Kind.MONEY,
            unit="currency per node and hour",
            loosens=Loosens.SAFE,
        ),
    ] = None
    headroom: Annotated[
        Headroom,
        Key(
            "Capacity to keep free beyond pending demand, within max and limits: nodes, nodesPerZone or pods.",
            at_most_one_of=("nodes", "nodesPerZone", "pods"),
            loosens=Loosens.DOWN,
        ),
    ] = Headroom()
    scale_down: Annotated[ScaleDown[None], Key("When nodes of the group may be removed.")] = ScaleDown()
    scale_up: Annotated[
        ScaleUp[None], Key("How the group grows, how long new nodes may take, and what happens after a failure.")
    ] = ScaleUp()
    windows: Annotated[
        tuple[Window, ...],
        Key(
            "Time spans with other values: recurring, between two dates, or both. Of bounds, the largest min and the smallest "
            "max win, among the group's own and those of all open windows. Of other values, the strictest one of the open "
            "windows wins.",
            item="One time span. It has a schedule and a duration, or from and until, or all four.",
        ),
    ] = ()
    hold: Annotated[
        Hold | None,
        Key(
            "The reconciler writes nothing for the group. The plan still shows its decisions for the group.",
            merge=MergeRule.IN_FORCE,
        ),
    ] = None
    human_hold_time_seconds: Annotated[
        int | None,
        Key(
            "How long the reconciler leaves this group unchanged after a person changed its replicas. "
            "If omitted, as in the policy. 0s ends it.",
            "0s",
            "4h",
            loosens=Loosens.DOWN,
        ),
    ] = None


GROUP_FIELDS = keys_of(GroupFields)
"""Their keys."""
