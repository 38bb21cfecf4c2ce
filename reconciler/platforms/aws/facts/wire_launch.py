"""What new instances of an Auto Scaling group are made from, pruned: launch templates and configurations, instance types."""

import msgspec


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
