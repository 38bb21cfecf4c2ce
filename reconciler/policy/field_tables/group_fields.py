"""The fields of a NodeGroup that a tier's or the policy's `defaults` may carry as well."""

from reconciler.policy.documents import Counting, Growth, Mode, Toggle, WithoutMachines
from reconciler.policy.field import Equivalents, Field, Kind
from reconciler.policy.field_tables.bounds import HOLD, WINDOWS, size
from reconciler.policy.field_tables.headroom import HEADROOM
from reconciler.policy.field_tables.template import TEMPLATE

_CAPI = "cluster.x-k8s.io/"
_CAPI_OPTION = _CAPI + "autoscaling-options-"
_ASG_OPTION = "k8s.io/cluster-autoscaler/node-template/autoscaling-options/"

_MODE = Field(
    yaml_key="mode",
    kind=Kind.ENUM,
    description="Observe plans and writes nothing to the target, Enforce also writes replicas; only stricter than the policy.",
    enum=tuple(Mode),
    examples=("Observe",),
    attribute="mode",
)

_BALANCE_WITH = Field(
    yaml_key="balanceWith",
    kind=Kind.STRING,
    description=(
        "New nodes are spread evenly over the groups that carry the same name here; "
        "Auto finds siblings by similarity of template and labels, Off leaves the group alone."
    ),
    default="Off",
    examples=("general", "Auto"),
    equivalents=Equivalents(cluster_autoscaler="--balance-similar-node-groups", openshift="spec.balanceSimilarNodeGroups"),
    attribute="balance_with",
)

_PRICE = Field(
    yaml_key="pricePerHour",
    kind=Kind.MONEY,
    description="What one node costs per hour, in the currency of the policy.",
    unit="currency per node and hour",
    examples=("0.768",),
    attribute="price_per_hour",
)


def _threshold(yaml_key: str, attribute: str, what: str, flag: str, openshift: str, option: str) -> Field:
    return Field(
        yaml_key=yaml_key,
        kind=Kind.PERCENT,
        description=f"A node whose {what} utilization (requests over allocatable) is at or below this may be removed.",
        unit="percent",
        default=50,
        examples=(60,),
        minimum=0,
        maximum=100,
        equivalents=Equivalents(
            cluster_autoscaler=flag,
            openshift=openshift,
            cluster_api=_CAPI_OPTION + option,
            auto_scaling_group=_ASG_OPTION + option,
        ),
        attribute=attribute,
    )


def _counting(yaml_key: str, attribute: str, whose: str, flag: str, *, openshift: str = "", asg: str = "") -> Field:
    return Field(
        yaml_key=yaml_key,
        kind=Kind.ENUM,
        description=f"Ignore takes {whose} pods off the requests of a node and off its allocatable when utilization is measured.",
        default=Counting.COUNT.value,
        enum=tuple(Counting),
        examples=("Ignore",),
        equivalents=Equivalents(
            cluster_autoscaler=flag,
            openshift=openshift,
            auto_scaling_group=_ASG_OPTION + asg if asg else "",
        ),
        attribute=attribute,
    )


def _time(
    yaml_key: str,
    attribute: str,
    default: str,
    description: str,
    flag: str,
    *,
    openshift: str = "",
    capi: str = "",
    asg: str = "",
    minimum: int = 0,
) -> Field:
    return Field(
        yaml_key=yaml_key,
        kind=Kind.DURATION,
        description=description,
        unit="seconds",
        default=default,
        examples=(default,),
        minimum=minimum,
        equivalents=Equivalents(
            cluster_autoscaler=flag,
            openshift=openshift,
            cluster_api=_CAPI_OPTION + capi if capi else "",
            auto_scaling_group=_ASG_OPTION + asg if asg else "",
        ),
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
            kind=Kind.ENUM,
            description="Disabled keeps every node of the group, except above max.",
            default=Toggle.ENABLED.value,
            enum=tuple(Toggle),
            examples=("Disabled",),
            equivalents=Equivalents(cluster_autoscaler="--scale-down-enabled", openshift="spec.scaleDown.enabled"),
            attribute="mode",
        ),
        _threshold(
            "utilizationThresholdPercent",
            "utilization_threshold_percent",
            "cpu and memory",
            "--scale-down-utilization-threshold",
            "spec.scaleDown.utilizationThreshold",
            "scaledownutilizationthreshold",
        ),
        _threshold(
            "gpuUtilizationThresholdPercent",
            "gpu_utilization_threshold_percent",
            "GPU",
            "--scale-down-gpu-utilization-threshold",
            "",
            "scaledowngpuutilizationthreshold",
        ),
        _counting(
            "daemonSetUtilization",
            "daemon_set_utilization",
            "DaemonSet",
            "--ignore-daemonsets-utilization",
            openshift="spec.ignoreDaemonsetsUtilization",
            asg="ignoredaemonsetsutilization",
        ),
        _counting("mirrorPodUtilization", "mirror_pod_utilization", "mirror", "--ignore-mirror-pods-utilization"),
        _time(
            "unneededTime",
            "unneeded_time_seconds",
            "10m",
            "How long a node must be unneeded without a break before it is removed; 0s removes at first sight.",
            "--scale-down-unneeded-time",
            openshift="spec.scaleDown.unneededTime",
            capi="scaledownunneededtime",
            asg="scaledownunneededtime",
        ),
        _time(
            "unreadyTime",
            "unready_time_seconds",
            "20m",
            "How long an unneeded node must be not Ready before it is removed, from the transition of its Ready condition.",
            "--scale-down-unready-time",
            capi="scaledownunreadytime",
            asg="scaledownunreadytime",
        ),
        Field(
            yaml_key="withoutMachines",
            kind=Kind.ENUM,
            description=(
                "What becomes of nodes of a MachinePool that has no Machines: Block keeps them; PlatformChooses empties one and "
                "lowers the pool by one, and the platform takes the instance that it likes."
            ),
            default=WithoutMachines.BLOCK.value,
            enum=tuple(WithoutMachines),
            examples=("PlatformChooses",),
            attribute="without_machines",
        ),
        Field(
            yaml_key="consolidation",
            kind=Kind.OBJECT,
            description="Whether nodes of the group are replaced by one cheaper node that takes all their pods.",
            attribute="consolidation",
            children=(
                Field(
                    yaml_key="mode",
                    kind=Kind.ENUM,
                    description="Enabled replaces; Disabled only shows in the plan what a replacement would save.",
                    default=Toggle.DISABLED.value,
                    enum=tuple(Toggle),
                    examples=("Enabled",),
                    attribute="mode",
                ),
                Field(
                    yaml_key="minSavingPercent",
                    kind=Kind.PERCENT,
                    description="What a replacement must save at least, as a share of the price of the nodes that it replaces.",
                    unit="percent",
                    default=15,
                    examples=(20,),
                    minimum=1,
                    maximum=100,
                    attribute="min_saving_percent",
                ),
            ),
        ),
    ),
)

_SCALE_UP = Field(
    yaml_key="scaleUp",
    kind=Kind.OBJECT,
    description="In which steps the group grows, how long new nodes may take, and what follows a failure.",
    attribute="scale_up",
    children=(
        Field(
            yaml_key="growth",
            kind=Kind.ENUM,
            description="ZeroOrMax grows the group at once to its maximum, or not at all where limits or pace forbid that.",
            default=Growth.AS_NEEDED.value,
            enum=tuple(Growth),
            examples=("ZeroOrMax",),
            attribute="growth",
        ),
        _time(
            "maxNodeProvisionTime",
            "max_node_provision_time_seconds",
            "15m",
            "How long a requested node counts as upcoming before its Machine or instance counts as failed.",
            "--max-node-provision-time",
            openshift="spec.maxNodeProvisionTime",
            capi="maxnodeprovisiontime",
            minimum=1,
        ),
        _time(
            "maxNodeStartupTime",
            "max_node_startup_time_seconds",
            "15m",
            "How long a registered node may be not Ready or lack its devices and still count as starting.",
            "--max-node-startup-time",
            capi="maxnodestartuptime",
            minimum=1,
        ),
        Field(
            yaml_key="backoff",
            kind=Kind.OBJECT,
            description="How long the group is left alone after a failed scale-up; the time doubles with each failure.",
            attribute="backoff",
            children=(
                _time(
                    "initial",
                    "initial_seconds",
                    "5m",
                    "After the first failure.",
                    "--initial-node-group-backoff-duration",
                    minimum=1,
                ),
                _time("max", "max_seconds", "30m", "At most.", "--max-node-group-backoff-duration", minimum=1),
                _time(
                    "reset",
                    "reset_seconds",
                    "3h",
                    "Failures are forgotten after so long without one.",
                    "--node-group-backoff-reset-timeout",
                    minimum=1,
                ),
            ),
        ),
    ),
)

GROUP_FIELDS: tuple[Field, ...] = (
    _MODE,
    size("The bounds of the group in nodes; else read from the target's annotations or from the Auto Scaling group."),
    _BALANCE_WITH,
    TEMPLATE,
    _PRICE,
    HEADROOM,
    _SCALE_DOWN,
    _SCALE_UP,
    WINDOWS,
    HOLD,
)
