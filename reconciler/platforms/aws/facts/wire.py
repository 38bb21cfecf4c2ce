"""What `aws autoscaling describe-auto-scaling-groups` prints, pruned."""

import msgspec

from reconciler.platforms.aws.facts.aws_launch import LaunchTemplateOverride, LaunchTemplateSpecification


class Tag(msgspec.Struct, rename="pascal"):
    """One tag."""

    key: str
    value: str = ""


class Instance(msgspec.Struct, rename="pascal"):
    """One instance of a group."""

    instance_id: str
    availability_zone: str = ""
    lifecycle_state: str = ""
    health_status: str = ""
    instance_type: str = ""
    protected_from_scale_in: bool = False
    weighted_capacity: str | None = None
    launch_template: LaunchTemplateSpecification | None = None
    launch_configuration_name: str | None = None


class SuspendedProcess(msgspec.Struct, rename="pascal"):
    """A process that does not run."""

    process_name: str


class InstancesDistribution(msgspec.Struct, rename="pascal"):
    """How many of a mixed group are on demand."""

    on_demand_base_capacity: int | None = None
    on_demand_percentage_above_base_capacity: int | None = None


class MixedLaunchTemplate(msgspec.Struct, rename="pascal"):
    """The template of a mixed group, and what replaces parts of it: one override is one instance type or one set of them."""

    launch_template_specification: LaunchTemplateSpecification | None = None
    overrides: list[LaunchTemplateOverride] | None = None


class MixedInstancesPolicy(msgspec.Struct, rename="pascal"):
    """Several instance types or purchase options in one group."""

    instances_distribution: InstancesDistribution | None = None
    launch_template: MixedLaunchTemplate | None = None


class Operator(msgspec.Struct, rename="pascal"):
    """The service of AWS that keeps a group: mutating calls of everybody else are refused."""

    principal: str = ""


class InstanceReusePolicy(msgspec.Struct, rename="pascal"):
    """Whether an instance that leaves the group goes back into the warm pool."""

    reuse_on_scale_in: bool | None = None


class WarmPoolConfiguration(msgspec.Struct, rename="pascal"):
    """Instances that are kept ready beside the group."""

    instance_reuse_policy: InstanceReusePolicy | None = None
    pool_state: str = ""
    status: str | None = None


class ZoneDistribution(msgspec.Struct, rename="pascal"):
    """What becomes of a launch for which a zone has no capacity: `balanced-best-effort` tries another zone, `balanced-only`
    does not."""

    capacity_distribution_strategy: str = ""


class AutoScalingGroup(msgspec.Struct, rename="pascal"):
    """One Auto Scaling group. `read_seconds` is no field of AWS: when the read began, by our clock (0: a file does not say)."""

    auto_scaling_group_name: str
    min_size: int
    max_size: int
    desired_capacity: int
    auto_scaling_group_arn: str = msgspec.field(default="", name="AutoScalingGroupARN")
    availability_zones: list[str] | None = None
    instances: list[Instance] | None = None
    tags: list[Tag] | None = None
    suspended_processes: list[SuspendedProcess] | None = None
    mixed_instances_policy: MixedInstancesPolicy | None = None
    status: str | None = None
    launch_template: LaunchTemplateSpecification | None = None
    launch_configuration_name: str | None = None
    desired_capacity_type: str | None = None
    operator: Operator | None = None
    warm_pool_configuration: WarmPoolConfiguration | None = None
    new_instances_protected_from_scale_in: bool = False
    capacity_rebalance: bool | None = None
    max_instance_lifetime: int | None = None
    availability_zone_distribution: ZoneDistribution | None = None
    read_seconds: int = 0
    kind: str = ""
