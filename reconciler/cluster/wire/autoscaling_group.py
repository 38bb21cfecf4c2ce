"""What `aws autoscaling describe-auto-scaling-groups` prints, pruned."""

import msgspec


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


class SuspendedProcess(msgspec.Struct, rename="pascal"):
    """A process that does not run."""

    process_name: str


class InstancesDistribution(msgspec.Struct, rename="pascal"):
    """How many of a mixed group are on demand."""

    on_demand_base_capacity: int | None = None
    on_demand_percentage_above_base_capacity: int | None = None


class MixedInstancesPolicy(msgspec.Struct, rename="pascal"):
    """Several instance types or purchase options in one group."""

    instances_distribution: InstancesDistribution | None = None


class AutoScalingGroup(msgspec.Struct, rename="pascal"):
    """One Auto Scaling group."""

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
    kind: str = ""
