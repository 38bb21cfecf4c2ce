"""What `aws autoscaling describe-auto-scaling-groups` prints, pruned."""

import msgspec

# What else may size an Auto Scaling group, pruned: policies, schedules, activities, EKS's node groups.


class TargetTracking(msgspec.Struct, rename="pascal"):
    """A policy that keeps a metric at a value."""

    disable_scale_in: bool | None = None


class PredictiveScaling(msgspec.Struct, rename="pascal"):
    """A forecast; `ForecastOnly` (also when empty) changes nothing."""

    mode: str | None = None


class ScalingPolicy(msgspec.Struct, rename="pascal"):
    """What `aws autoscaling describe-policies` prints."""

    auto_scaling_group_name: str
    policy_name: str
    policy_arn: str = msgspec.field(default="", name="PolicyARN")
    policy_type: str = ""
    enabled: bool | None = None
    target_tracking_configuration: TargetTracking | None = None
    predictive_scaling_configuration: PredictiveScaling | None = None
    kind: str = ""


class ScheduledAction(msgspec.Struct, rename="pascal"):
    """What `aws autoscaling describe-scheduled-actions` prints: the actions that are not over yet."""

    auto_scaling_group_name: str
    scheduled_action_name: str
    scheduled_action_arn: str = msgspec.field(default="", name="ScheduledActionARN")
    recurrence: str | None = None
    start_time: str | None = None
    min_size: int | None = None
    max_size: int | None = None
    desired_capacity: int | None = None
    kind: str = ""


class ScalingActivity(msgspec.Struct, rename="pascal"):
    """What `aws autoscaling describe-scaling-activities` prints, newest first."""

    activity_id: str
    auto_scaling_group_name: str
    auto_scaling_group_arn: str = msgspec.field(default="", name="AutoScalingGroupARN")
    description: str = ""
    cause: str = ""
    start_time: str = ""
    status_code: str = ""
    status_message: str | None = None
    details: str = ""
    kind: str = ""


class InstanceRefresh(msgspec.Struct, rename="pascal"):
    """What `aws autoscaling describe-instance-refreshes` prints."""

    instance_refresh_id: str
    auto_scaling_group_name: str
    status: str = ""
    kind: str = ""


class ManagedTaint(msgspec.Struct, rename="camel"):
    """A taint in EKS's spelling (`NO_SCHEDULE`)."""

    key: str = ""
    value: str | None = None
    effect: str = ""


class ManagedGroup(msgspec.Struct, rename="camel"):
    """An Auto Scaling group that EKS manages."""

    name: str = ""


class ManagedResources(msgspec.Struct, rename="camel"):
    """What EKS made for a node group."""

    auto_scaling_groups: list[ManagedGroup] | None = None


class HealthIssue(msgspec.Struct, rename="camel"):
    """One fault that EKS reports."""

    code: str = ""
    message: str = ""


class ManagedHealth(msgspec.Struct, rename="camel"):
    """All faults that EKS reports."""

    issues: list[HealthIssue] | None = None


class ManagedNodeGroup(msgspec.Struct, rename="camel"):
    """What `aws eks describe-nodegroup` prints, below `nodegroup`."""

    nodegroup_name: str
    cluster_name: str = ""
    nodegroup_arn: str = ""
    status: str = ""
    capacity_type: str = ""
    ami_type: str = ""
    instance_types: list[str] | None = None
    labels: dict[str, str] | None = None
    taints: list[ManagedTaint] | None = None
    disk_size: int | None = None
    resources: ManagedResources | None = None
    health: ManagedHealth | None = None
    kind: str = ""


# What new instances of an Auto Scaling group are made from, pruned: launch templates and configurations, instance types.


class LaunchTemplateSpecification(msgspec.Struct, rename="pascal"):
    """Which version of which launch template; `version` is a number, `$Default` (also when empty) or `$Latest`."""

    launch_template_id: str = ""
    launch_template_name: str = ""
    version: str | None = None


class Span(msgspec.Struct, rename="pascal"):
    """From and to; either end may be open."""

    min: float | None = None
    max: float | None = None


class InstanceRequirements(msgspec.Struct, rename="pascal"):
    """Instance types by their attributes: the parts that the instance table can answer, and the names of the rest."""

    v_cpu_count: Span | None = None
    memory_mi_b: Span | None = msgspec.field(default=None, name="MemoryMiB")
    memory_gi_b_per_v_cpu: Span | None = msgspec.field(default=None, name="MemoryGiBPerVCpu")
    accelerator_count: Span | None = None
    accelerator_names: list[str] | None = None
    bare_metal: str | None = None
    burstable_performance: str | None = None
    allowed_instance_types: list[str] | None = None
    excluded_instance_types: list[str] | None = None


class LaunchTemplateOverride(msgspec.Struct, rename="pascal"):
    """One choice of a mixed group."""

    instance_type: str | None = None
    weighted_capacity: str | None = None
    launch_template_specification: LaunchTemplateSpecification | None = None
    instance_requirements: InstanceRequirements | None = None


class Ebs(msgspec.Struct, rename="pascal"):
    """A volume; the size in GiB."""

    volume_size: int | None = None


class BlockDevice(msgspec.Struct, rename="pascal"):
    """One disk of an instance."""

    device_name: str = ""
    ebs: Ebs | None = None


class MarketOptions(msgspec.Struct, rename="pascal"):
    """Spot, or a block of reserved capacity."""

    market_type: str = ""


class TemplateReservation(msgspec.Struct, rename="pascal"):
    """One reservation, or a resource group of them."""

    capacity_reservation_id: str | None = None
    capacity_reservation_resource_group_arn: str | None = None


class TemplateReservations(msgspec.Struct, rename="pascal"):
    """Which reserved capacity an instance may use. `capacity_reservation_preference` is `open`, `none` or
    `capacity-reservations-only`."""

    capacity_reservation_preference: str | None = None
    capacity_reservation_target: TemplateReservation | None = None


class LaunchTemplateData(msgspec.Struct, rename="pascal"):
    """What an instance is made from."""

    instance_type: str | None = None
    instance_requirements: InstanceRequirements | None = None
    instance_market_options: MarketOptions | None = None
    capacity_reservation_specification: TemplateReservations | None = None
    block_device_mappings: list[BlockDevice] | None = None
    user_data: str | None = None


class LaunchTemplateVersion(msgspec.Struct, rename="pascal"):
    """What `aws ec2 describe-launch-template-versions` prints. `kind` is set only inside a Kubernetes list."""

    launch_template_id: str
    version_number: int
    launch_template_name: str = ""
    default_version: bool = False
    launch_template_data: LaunchTemplateData = msgspec.field(default_factory=LaunchTemplateData)
    kind: str = ""


class LaunchConfiguration(msgspec.Struct, rename="pascal"):
    """What `aws autoscaling describe-launch-configurations` prints."""

    launch_configuration_name: str
    instance_type: str = ""
    spot_price: str | None = None
    block_device_mappings: list[BlockDevice] | None = None
    user_data: str | None = None
    kind: str = ""


class VCpuInfo(msgspec.Struct, rename="pascal"):
    """Virtual processors."""

    default_v_cpus: int = 0


class MemoryInfo(msgspec.Struct, rename="pascal"):
    """Memory in MiB."""

    size_in_mi_b: int = msgspec.field(default=0, name="SizeInMiB")


class Gpu(msgspec.Struct, rename="pascal"):
    """Graphics cards of one make."""

    name: str = ""
    manufacturer: str = ""
    count: int = 0


class GpuInfo(msgspec.Struct, rename="pascal"):
    """All graphics cards."""

    gpus: list[Gpu] | None = None


class NetworkCard(msgspec.Struct, rename="pascal"):
    """One network card."""

    network_card_index: int = 0
    maximum_network_interfaces: int = 0


class NetworkInfo(msgspec.Struct, rename="pascal"):
    """Interfaces, and addresses of one of them."""

    maximum_network_interfaces: int = 0
    ipv4_addresses_per_interface: int = 0
    default_network_card_index: int = 0
    network_cards: list[NetworkCard] | None = None


class ProcessorInfo(msgspec.Struct, rename="pascal"):
    """Architectures: `x86_64`, `arm64`, `i386`."""

    supported_architectures: list[str] | None = None


class InstanceType(msgspec.Struct, rename="pascal"):
    """What `aws ec2 describe-instance-types` prints."""

    instance_type: str
    v_cpu_info: VCpuInfo = msgspec.field(default_factory=VCpuInfo)
    memory_info: MemoryInfo = msgspec.field(default_factory=MemoryInfo)
    gpu_info: GpuInfo | None = None
    network_info: NetworkInfo | None = None
    processor_info: ProcessorInfo | None = None
    kind: str = ""


class CapacityReservation(msgspec.Struct, rename="pascal"):
    """What `aws ec2 describe-capacity-reservations` prints. `end_date` is set if `end_date_type` is `limited`."""

    capacity_reservation_id: str
    capacity_reservation_arn: str = ""
    instance_type: str = ""
    instance_platform: str = ""
    availability_zone: str = ""
    availability_zone_id: str = ""
    tenancy: str = ""
    total_instance_count: int = 0
    available_instance_count: int = 0
    state: str = ""
    end_date: str | None = None
    instance_match_criteria: str = ""
    reservation_type: str | None = None
    interruptible: bool | None = None
    launch_status: str | None = None
    kind: str = ""


class ZonalShift(msgspec.Struct, rename="camel"):
    """A shift of one resource away from a zone; `expiry_time` is when it ends by itself."""

    away_from: str = ""
    expiry_time: str | None = None


class ManagedResource(msgspec.Struct, rename="camel"):
    """What `aws arc-zonal-shift list-managed-resources` prints. `applied_weights` has 0 for each zone that the resource is
    shifted away from, and 1 for the others."""

    arn: str
    applied_weights: dict[str, float] | None = None
    zonal_shifts: list[ZonalShift] | None = None
    kind: str = ""


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
