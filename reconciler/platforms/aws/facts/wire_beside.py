"""What else may size an Auto Scaling group, pruned: policies, schedules, activities, EKS's node groups."""

import msgspec


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
