"""The fields of a NodeGroup that the `defaults` of a tier or policy may have too."""

import msgspec

from reconciler.policy.documents import Counting, Growth, Mode, Toggle, WithoutMachines
from reconciler.policy.field import Field, Kind, Loosens
from reconciler.policy.field_tables.template import TEMPLATE

# Bounds of a group: size, windows, hold, as fields.

MOST_NODES = 100_000
"""More than the largest clusters have: a bound for every size, because each node of a policy costs work."""

_MIN = Field(
    yaml_key="min",
    loosens=Loosens.DOWN,
    kind=Kind.INTEGER,
    description="The smallest number of nodes.",
    unit="nodes",
    examples=(2,),
    minimum=0,
    maximum=MOST_NODES,
    cluster_autoscaler="--nodes=MIN:MAX:NAME",
    attribute="min",
)

_MAX = Field(
    yaml_key="max",
    loosens=Loosens.UP_FROM_NOTHING,
    kind=Kind.INTEGER,
    description="The largest number of nodes.",
    unit="nodes",
    examples=(40,),
    minimum=0,
    maximum=MOST_NODES,
    cluster_autoscaler="--nodes=MIN:MAX:NAME",
    attribute="max",
)


def size(description: str) -> Field:
    """Bounds in nodes."""
    return Field(yaml_key="size", kind=Kind.OBJECT, description=description, children=(_MIN, _MAX), attribute="size")


HOLD = Field(
    yaml_key="hold",
    kind=Kind.OBJECT,
    description="The reconciler writes nothing for the group. The plan still shows what it would do.",
    attribute="hold",
    children=(
        Field(
            yaml_key="reason",
            kind=Kind.STRING,
            description="Why. Every plan shows it.",
            examples=("recovering node h100-3",),
            required=True,
            attribute="reason",
        ),
        Field(
            yaml_key="until",
            kind=Kind.INSTANT,
            description="When the hold ends by itself. If omitted, the hold lasts until you remove it.",
            examples=("2026-11-21T18:00:00Z",),
            attribute="until_seconds",
        ),
    ),
)


# The fields of `headroom`: room that is kept free beyond pending demand.

HEADROOM = Field(
    yaml_key="headroom",
    loosens=Loosens.DOWN,
    kind=Kind.OBJECT,
    description="Capacity to keep free beyond pending demand, within max and limits: nodes, nodesPerZone or pods.",
    attribute="headroom",
    at_most_one_of=("nodes", "nodesPerZone", "pods"),
    children=(
        Field(
            yaml_key="nodes",
            kind=Kind.INTEGER,
            description="How many empty nodes.",
            unit="nodes",
            examples=(1,),
            minimum=0,
            maximum=MOST_NODES,
            attribute="nodes",
        ),
        Field(
            yaml_key="nodesPerZone",
            kind=Kind.INTEGER,
            description="How many empty nodes in each zone of the group.",
            unit="nodes",
            examples=(1,),
            minimum=0,
            maximum=MOST_NODES,
            attribute="nodes_per_zone",
        ),
        Field(
            yaml_key="pods",
            kind=Kind.LIST,
            description="Capacity for a number of pods of given shapes.",
            attribute="pods",
            item=Field(
                yaml_key="",
                kind=Kind.OBJECT,
                description="Capacity for pods of one shape.",
                children=(
                    Field(
                        yaml_key="name",
                        loosens=Loosens.SAFE,
                        kind=Kind.NAME,
                        description="The name of this entry in plans.",
                        examples=("burst",),
                        attribute="name",
                    ),
                    Field(
                        yaml_key="count",
                        kind=Kind.INTEGER,
                        description="How many pods.",
                        unit="pods",
                        examples=(5,),
                        required=True,
                        minimum=1,
                        maximum=MOST_NODES,
                        attribute="count",
                    ),
                    Field(
                        yaml_key="requests",
                        kind=Kind.RESOURCE_MAP,
                        description="What one pod requests.",
                        examples=("cpu: 500m",),
                        required=True,
                        resources=("cpu", "memory", "ephemeral-storage"),
                        attribute="requests",
                    ),
                ),
            ),
        ),
    ),
)


_MODE = Field(
    yaml_key="mode",
    loosens=Mode.ENFORCE,
    kind=Kind.ENUM,
    description="Observe plans but writes nothing to the target; Enforce also writes replicas. "
    "A group may only be stricter than its policy.",
    enum=tuple(Mode),
    examples=("Observe",),
    attribute="mode",
)

_BALANCE_WITH = Field(
    yaml_key="balanceWith",
    loosens=Loosens.SAFE,
    kind=Kind.STRING,
    description=(
        "New nodes are spread evenly over the groups with the same name here. "
        "Auto finds siblings by similar template and labels. Off never balances the group."
    ),
    default="Off",
    examples=("general", "Auto"),
    cluster_autoscaler="--balance-similar-node-groups",
    attribute="balance_with",
)

_PRICE = Field(
    yaml_key="pricePerHour",
    loosens=Loosens.SAFE,
    kind=Kind.MONEY,
    description="What one node costs per hour, in the currency of the policy.",
    unit="currency per node and hour",
    examples=("0.768",),
    attribute="price_per_hour",
)

_HUMAN_HOLD_TIME = Field(
    yaml_key="humanHoldTime",
    loosens=Loosens.DOWN,
    kind=Kind.DURATION,
    description="How long the reconciler leaves this group unchanged after a person changed its replicas. "
    "If omitted, as in the policy. 0s ends it.",
    unit="seconds",
    examples=("0s", "4h"),
    minimum=0,
    attribute="human_hold_time_seconds",
)


def _threshold(yaml_key: str, attribute: str, what: str, flag: str) -> Field:
    return Field(
        yaml_key=yaml_key,
        loosens=Loosens.UP,
        kind=Kind.PERCENT,
        description=f"A node whose {what} utilization (requests over allocatable) is at or below this may be removed.",
        unit="percent",
        default=50,
        examples=(60,),
        minimum=0,
        maximum=100,
        cluster_autoscaler=flag,
        attribute=attribute,
    )


def _counting(yaml_key: str, attribute: str, whose: str, flag: str) -> Field:
    return Field(
        yaml_key=yaml_key,
        loosens=Counting.IGNORE,
        kind=Kind.ENUM,
        description=f"With Ignore, utilization excludes {whose} pods from the requests of a node and from its allocatable.",
        default=Counting.COUNT.value,
        enum=tuple(Counting),
        examples=("Ignore",),
        cluster_autoscaler=flag,
        attribute=attribute,
    )


def _time(
    yaml_key: str,
    attribute: str,
    default: str,
    description: str,
    flag: str,
    *,
    minimum: int = 0,
) -> Field:
    return Field(
        yaml_key=yaml_key,
        loosens=Loosens.DOWN,
        kind=Kind.DURATION,
        description=description,
        unit="seconds",
        default=default,
        examples=(default,),
        minimum=minimum,
        cluster_autoscaler=flag,
        attribute=attribute,
    )


_SCALE_DOWN = Field(
    yaml_key="scaleDown",
    kind=Kind.OBJECT,
    description="When nodes of the group may be removed.",
    attribute="scale_down",
    children=(
        Field(
            yaml_key="mode",
            loosens=Toggle.ENABLED,
            kind=Kind.ENUM,
            description="Disabled keeps every node of the group, except above max.",
            default=Toggle.ENABLED.value,
            enum=tuple(Toggle),
            examples=("Disabled",),
            cluster_autoscaler="--scale-down-enabled",
            attribute="mode",
        ),
        _threshold(
            "utilizationThresholdPercent",
            "utilization_threshold_percent",
            "cpu and memory",
            "--scale-down-utilization-threshold",
        ),
        _threshold(
            "gpuUtilizationThresholdPercent",
            "gpu_utilization_threshold_percent",
            "GPU",
            "--scale-down-gpu-utilization-threshold",
        ),
        _counting(
            "daemonSetUtilization",
            "daemon_set_utilization",
            "DaemonSet",
            "--ignore-daemonsets-utilization",
        ),
        _counting("mirrorPodUtilization", "mirror_pod_utilization", "mirror", "--ignore-mirror-pods-utilization"),
        _time(
            "unneededTime",
            "unneeded_time_seconds",
            "10m",
            "How long a node must be unneeded without interruption before it is removed. 0s removes it at once.",
            "--scale-down-unneeded-time",
        ),
        _time(
            "unreadyTime",
            "unready_time_seconds",
            "20m",
            "How long an unneeded node must be not Ready before it is removed, since the transition of its Ready condition.",
            "--scale-down-unready-time",
        ),
        Field(
            yaml_key="withoutMachines",
            loosens=WithoutMachines.PLATFORM_CHOOSES,
            kind=Kind.ENUM,
            description=(
                "What happens to nodes of a MachinePool without Machines. Block keeps them. PlatformChooses drains one and "
                "lowers the pool by one; the platform chooses the instance to remove."
            ),
            default=WithoutMachines.BLOCK.value,
            enum=tuple(WithoutMachines),
            examples=("PlatformChooses",),
            attribute="without_machines",
        ),
        Field(
            yaml_key="consolidation",
            kind=Kind.OBJECT,
            description="Whether one cheaper node may replace nodes of the group and take all their pods.",
            attribute="consolidation",
            children=(
                Field(
                    yaml_key="mode",
                    loosens=Toggle.ENABLED,
                    kind=Kind.ENUM,
                    description="Enabled replaces nodes. Disabled only shows in the plan what a replacement would save.",
                    default=Toggle.DISABLED.value,
                    enum=tuple(Toggle),
                    examples=("Enabled",),
                    attribute="mode",
                ),
                Field(
                    yaml_key="minSavingPercent",
                    loosens=Loosens.DOWN,
                    kind=Kind.PERCENT,
                    description="The least that a replacement must save, as a percentage of the price of the replaced nodes.",
                    unit="percent",
                    default=15,
                    examples=(20,),
                    minimum=1,
                    maximum=100,
                    attribute="min_saving_percent",
                ),
                Field(
                    yaml_key="minSavingPerMovedPod",
                    loosens=Loosens.DOWN,
                    kind=Kind.MONEY,
                    description=(
                        "The least that a replacement must save per hour for each pod that it moves. A pod younger than an hour "
                        "counts twice, because it would start again within the hour. Nodes that save less are left out."
                    ),
                    unit="currency per pod and hour",
                    default="0",
                    examples=("0.01",),
                    attribute="min_saving_per_moved_pod",
                ),
            ),
        ),
    ),
)


def _window_size() -> Field:
    """The same while a window is open: whether another value of it loosens depends on the other windows and the hour."""
    return _in_window(size("The bounds while the window is open: a larger min, a smaller max, or both."))


def _in_window(field: Field) -> Field:
    """A field and all below it in a window. It has no default there: what the group has without the window applies."""
    children = tuple(_in_window(child) for child in field.children)
    return msgspec.structs.replace(field, loosens="", default=None, cluster_autoscaler="", children=children)


_WINDOWS = Field(
    yaml_key="windows",
    kind=Kind.LIST,
    description=(
        "Time spans with other values: recurring, between two dates, or both. Of bounds, the largest min and the smallest max "
        "win, among the group's own and those of all open windows. Of other values, the strictest one of the open windows wins."
    ),
    attribute="windows",
    item=Field(
        yaml_key="",
        kind=Kind.OBJECT,
        description="One time span. It has a schedule and a duration, or from and until, or all four.",
        children=(
            Field(
                yaml_key="name",
                loosens=Loosens.SAFE,
                kind=Kind.NAME,
                description="The name of this window in plans.",
                examples=("working-hours",),
                attribute="name",
            ),
            Field(
                yaml_key="schedule",
                kind=Kind.CRON,
                description=(
                    "When the window opens: minute, hour, day of month, month, day of week, as in a CronJob. "
                    "A time that the clock skips does not happen. A time that it repeats happens twice."
                ),
                examples=("0 7 * * mon-fri",),
                attribute="schedule",
            ),
            Field(
                yaml_key="timeZone",
                kind=Kind.TIME_ZONE,
                description="The time zone of the schedule.",
                examples=("Europe/Berlin",),
                attribute="time_zone",
            ),
            Field(
                yaml_key="duration",
                kind=Kind.DURATION,
                description="How long the window stays open after each start of the schedule.",
                unit="seconds",
                examples=("12h",),
                minimum=1,
                attribute="duration_seconds",
            ),
            Field(
                yaml_key="from",
                kind=Kind.INSTANT,
                description="The window is closed before this instant. Without a schedule, it opens then.",
                examples=("2026-11-27T00:00:00Z",),
                attribute="from_seconds",
            ),
            Field(
                yaml_key="until",
                kind=Kind.INSTANT,
                description="The window is closed from this instant on.",
                examples=("2026-12-01T00:00:00Z",),
                attribute="until_seconds",
            ),
            _window_size(),
            msgspec.structs.replace(
                _in_window(_SCALE_DOWN),
                description="Removal settings while the window is open, in place of those of the group and of its defaults.",
            ),
        ),
    ),
)

_SCALE_UP = Field(
    yaml_key="scaleUp",
    kind=Kind.OBJECT,
    description="How the group grows, how long new nodes may take, and what happens after a failure.",
    attribute="scale_up",
    children=(
        Field(
            yaml_key="growth",
            loosens=Growth.ZERO_OR_MAX,
            kind=Kind.ENUM,
            description="ZeroOrMax grows the group at once to its maximum, or not at all if limits or pace forbid that.",
            default=Growth.AS_NEEDED.value,
            enum=tuple(Growth),
            examples=("ZeroOrMax",),
            attribute="growth",
        ),
        _time(
            "maxNodeProvisionTime",
            "max_node_provision_time_seconds",
            "15m",
            "How long a requested node counts as upcoming before its Machine or instance counts as failed. Learned lead "
            "times may shorten it, to 5m at the least.",
            "--max-node-provision-time",
            minimum=1,
        ),
        _time(
            "maxNodeStartupTime",
            "max_node_startup_time_seconds",
            "15m",
            "How long a registered node may be not Ready or lack its devices and still count as starting.",
            "--max-node-startup-time",
            minimum=1,
        ),
        Field(
            yaml_key="backoff",
            loosens=Loosens.DOWN,
            kind=Kind.OBJECT,
            description="How long the group does not grow after a failed scale-up. The time doubles with each failure.",
            attribute="backoff",
            children=(
                _time(
                    "initial",
                    "initial_seconds",
                    "5m",
                    "The time after the first failure.",
                    "--initial-node-group-backoff-duration",
                    minimum=1,
                ),
                _time("max", "max_seconds", "30m", "The longest time.", "--max-node-group-backoff-duration", minimum=1),
                _time(
                    "reset",
                    "reset_seconds",
                    "3h",
                    "Failures no longer count after this long without one.",
                    "--node-group-backoff-reset-timeout",
                    minimum=1,
                ),
            ),
        ),
    ),
)

GROUP_FIELDS: tuple[Field, ...] = (
    _MODE,
    size("The bounds of the group in nodes. If omitted, they come from the target's annotations or the Auto Scaling group."),
    _BALANCE_WITH,
    TEMPLATE,
    _PRICE,
    HEADROOM,
    _SCALE_DOWN,
    _SCALE_UP,
    _WINDOWS,
    HOLD,
    _HUMAN_HOLD_TIME,
)
