"""What `aws autoscaling describe-auto-scaling-groups` prints, pruned."""

import msgspec

from reconciler.platforms.aws.facts.wire_launch import LaunchTemplateOverride, LaunchTemplateSpecification


class Tag(msgspec.Struct, rename="pascal"):
    """One tag."""

    key: str
    value: str = ""


class Instance(msgspec.Struct, rename="pascal"):
    """One instance of a group."""

    instance_id: str
    availability_zone: str = ""
    availability_zone_id: str = ""
    lifecycle_state: str = ""
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
    """The template of a mixed group, and its overrides. One override is one instance type or one set of them."""

    launch_template_specification: LaunchTemplateSpecification | None = None
    overrides: list[LaunchTemplateOverride] | None = None


class MixedInstancesPolicy(msgspec.Struct, rename="pascal"):
    """Several instance types or purchase options in one group."""

    instances_distribution: InstancesDistribution | None = None
    launch_template: MixedLaunchTemplate | None = None


class Operator(msgspec.Struct, rename="pascal"):
    """The AWS service that manages a group. AWS refuses mutating calls by everyone else."""

    principal: str = ""


class InstanceReusePolicy(msgspec.Struct, rename="pascal"):
    """Whether an instance that leaves the group goes back into the warm pool."""

    reuse_on_scale_in: bool | None = None


class WarmPoolConfiguration(msgspec.Struct, rename="pascal"):
    """Instances that are kept ready next to the group."""

    instance_reuse_policy: InstanceReusePolicy | None = None
    status: str | None = None


class ZoneDistribution(msgspec.Struct, rename="pascal"):
    """What AWS does if a zone has no capacity for a launch: `balanced-best-effort` tries another zone, `balanced-only` does
    not."""

    capacity_distribution_strategy: str = ""


class InstanceMaintenancePolicy(msgspec.Struct, rename="pascal"):
    """Within which share of the desired capacity AWS replaces instances, in percent. A value of -1 is none."""

    min_healthy_percentage: int | None = None
    max_healthy_percentage: int | None = None


class GroupReservation(msgspec.Struct, rename="pascal"):
    """Reservations, and resource groups of them."""

    capacity_reservation_ids: list[str] | None = None
    capacity_reservation_resource_group_arns: list[str] | None = None


class GroupReservations(msgspec.Struct, rename="pascal"):
    """Which reserved capacity a group uses. `capacity_reservation_preference` is `default` (as its launch template says, also
    when empty), `none`, `capacity-reservations-first` or `capacity-reservations-only`."""

    capacity_reservation_preference: str | None = None
    capacity_reservation_target: GroupReservation | None = None


class ZoneImpairmentPolicy(msgspec.Struct, rename="pascal"):
    """Whether the group is registered for zonal shifts."""

    zonal_shift_enabled: bool | None = None


class AutoScalingGroup(msgspec.Struct, rename="pascal"):
    """One Auto Scaling group. `read_seconds` is ours, not AWS's: when the read began, by our clock (0: unknown, from a file)."""

    auto_scaling_group_name: str
    min_size: int
    max_size: int
    desired_capacity: int
    auto_scaling_group_arn: str = msgspec.field(default="", name="AutoScalingGroupARN")
    availability_zones: list[str] | None = None
    availability_zone_ids: list[str] | None = None
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
    capacity_rebalance: bool | None = None
    max_instance_lifetime: int | None = None
    availability_zone_distribution: ZoneDistribution | None = None
    availability_zone_impairment_policy: ZoneImpairmentPolicy | None = None
    capacity_reservation_specification: GroupReservations | None = None
    instance_maintenance_policy: InstanceMaintenancePolicy | None = None
    read_seconds: int = 0
    kind: str = ""
