"""Which instance types the next instance of a group may have, which source says so, and under which purchase terms."""

import msgspec

from reconciler.platforms.aws.facts.instance_types import KnownType, known_types
from reconciler.platforms.aws.facts.type_requirements import allowed_types
from reconciler.platforms.aws.facts.user_data import max_pods
from reconciler.platforms.aws.facts.view import AwsView
from reconciler.platforms.aws.facts.wire import AutoScalingGroup
from reconciler.platforms.aws.facts.wire_launch import (
    BlockDevice,
    InstanceRequirements,
    LaunchTemplateData,
    LaunchTemplateSpecification,
)

# SOURCE: Amazon Linux 2023 and 2, and Bottlerocket's data volume: the disk that pods use.
_POD_DISKS = ("/dev/xvda", "/dev/xvdb")
_INSTANCES = "its instances"


class Choices(msgspec.Struct, frozen=True, kw_only=True):
    """The instance types that a group may use. `types` are sorted by name. `problems` are sentences about what is unknown.
    `origin` names the source. `spot`: some new instances may be spot, or come from a block of reserved capacity, so no list has
    their price. `declared` is False if only running instances show the types. Their nodes are then the better source. `max_pods`
    is the number in user data."""

    types: tuple[KnownType, ...] = ()
    disk_gib: int | None = None
    max_pods: int | None = None
    spot: bool = False
    origin: str = ""
    declared: bool = True
    problems: tuple[str, ...] = ()


class _Collected:
    """Names and requirements, collected from all sources."""

    def __init__(self, view: AwsView) -> None:
        self.view = view
        self.names: dict[str, None] = {}
        self.types: dict[str, KnownType] = {}
        self.problems: list[str] = []

    def named(self, name: str) -> None:
        known = self.view.known(name)
        if known is not None:
            self.types[name] = known
        else:
            self.problems.append(
                f"instance type {name} is not in the instance table, and describe-instance-types was not captured"
            )

    def required(self, wanted: InstanceRequirements) -> None:
        allowed = allowed_types(wanted, {**known_types(), **self.view.described})
        self.types.update((item.name, item) for item in allowed)
        if not allowed:
            self.problems.append("no known instance type fulfills the InstanceRequirements of the group")

    def of(self, data: LaunchTemplateData) -> bool:
        """Whether the template names types at all."""
        if data.instance_type:
            self.named(data.instance_type)
        elif data.instance_requirements is not None:
            self.required(data.instance_requirements)
        else:
            return False
        return True


def choices(item: AutoScalingGroup, view: AwsView) -> Choices:
    """The instance types of a group, from the first source that has any.

    The order: overrides of a mixed group, launch template, launch configuration, EKS's managed node group, running instances."""
    collected = _Collected(view)
    mixed = item.mixed_instances_policy.launch_template if item.mixed_instances_policy else None
    specification = (mixed.launch_template_specification if mixed else None) or item.launch_template
    data = _template(specification, view)
    configuration = view.configurations.get(item.launch_configuration_name or "")
    managed = view.managed.get(item.auto_scaling_group_name)
    templates = [data] if data is not None else []
    overridden = False
    for override in (mixed.overrides if mixed else None) or ():
        own = _template(override.launch_template_specification, view)
        templates.extend([own] if own is not None else [])
        chosen = LaunchTemplateData(instance_type=override.instance_type, instance_requirements=override.instance_requirements)
        overridden = collected.of(chosen) or (own is not None and collected.of(own)) or overridden
    origin = "the overrides of the mixed instances policy"
    if not overridden:
        origin = "the launch template"
        if data is None or not collected.of(data):
            if configuration is not None:
                origin = "the launch configuration"
                collected.named(configuration.instance_type)
            elif managed is not None and managed.instance_types:
                origin = "the managed node group"
                for name in managed.instance_types:
                    collected.named(name)
            else:
                if (specification or item.launch_configuration_name) and not item.instances:
                    missing = "launch template" if specification else "launch configuration"
                    collected.problems.append(f"its {missing} was not captured, so the capacity of a new node is unknown from it")
                origin = _INSTANCES
                for name in sorted({instance.instance_type for instance in item.instances or ()} - {""}):
                    collected.named(name)
    devices = (configuration.block_device_mappings if configuration else None) or (data.block_device_mappings if data else None)
    return Choices(
        types=tuple(known for _, known in sorted(collected.types.items())),
        max_pods=max_pods([configuration.user_data] if configuration else [one.user_data for one in templates]),
        disk_gib=_disk(devices) or (managed.disk_size if managed else None),
        spot=_spot(item, data, spot_configuration=bool(configuration and configuration.spot_price))
        or (managed is not None and managed.capacity_type in ("SPOT", "CAPACITY_BLOCK")),
        origin=origin,
        declared=origin != _INSTANCES,
        problems=tuple(dict.fromkeys(collected.problems)),
    )


def _template(wanted: LaunchTemplateSpecification | None, view: AwsView) -> LaunchTemplateData | None:
    version = view.template(wanted) if wanted is not None else None
    return version.launch_template_data if version is not None else None


def _disk(devices: list[BlockDevice] | None) -> int | None:
    sizes = [
        device.ebs.volume_size
        for device in devices or ()
        if device.ebs and device.ebs.volume_size and device.device_name in _POD_DISKS
    ]
    return max(sizes, default=None)


def _spot(item: AutoScalingGroup, data: LaunchTemplateData | None, *, spot_configuration: bool) -> bool:
    if data is not None and data.instance_market_options is not None and data.instance_market_options.market_type:
        return True
    spread = item.mixed_instances_policy.instances_distribution if item.mixed_instances_policy else None
    return spot_configuration or (spread is not None and spread.on_demand_percentage_above_base_capacity not in (None, 100))
