"""Who else sizes an Auto Scaling group. Its desired capacity has no field manager, so every possible writer is looked for."""

import re
from collections.abc import Iterator, Mapping

from reconciler.cluster.target import Caution, OtherWriter
from reconciler.platforms.aws.facts.notices import going
from reconciler.platforms.aws.facts.units import IN_SERVICE, NOT_COUNTED, Units
from reconciler.platforms.aws.facts.view import SIZERS, AwsView, region_of
from reconciler.platforms.aws.facts.wire import AutoScalingGroup
from reconciler.platforms.aws.facts.wire_beside import ScalingPolicy
from reconciler.values.whole_number import whole_number

_FORECAST_ONLY = "ForecastOnly"
# SOURCE: Amazon EC2 Auto Scaling, DescribeInstanceRefreshes: all other states are final.
REFRESHING = ("Pending", "InProgress", "Cancelling", "RollbackInProgress", "Baking")
_CALLS = {
    "InstanceRefresh": "instance-refreshes",
    "ScalingPolicy": "policies",
    "ScheduledAction": "scheduled-actions",
}
WRITABLE_STATES = ("ACTIVE", "DEGRADED", "")
_TERRAFORM = re.compile(r"terraform|opentofu", re.IGNORECASE)
_STACK_TAG = "aws:cloudformation:stack-name"
WRITTEN = "reconciler.dev/desired"
"""The tag with our last write: value and the service's time, `4.1800000000`."""
SHIELD = "reconciler.dev/shield"
"""The tag that instances have a scale-in protection of ours, with the service's time at which it began."""
_MOST_NAMES = 3


def unseen(view: AwsView) -> str:
    """Which evidence of other writers was not captured; empty if all of it was."""
    missing = [kind for kind in SIZERS if kind not in view.captured]
    if not missing:
        return ""
    calls = ", ".join(f"`describe-{_CALLS[kind]}`" for kind in missing)
    return (
        f"{' and '.join(missing)} {'was' if len(missing) == 1 else 'were'} not captured, so it is unknown whether AWS sizes the "
        f"group by itself: put the output of `aws autoscaling` {calls} into the snapshot"
    )


def writers(item: AutoScalingGroup, view: AwsView, units: Units | None = None) -> tuple[OtherWriter, ...]:
    """Everyone who sets its desired capacity, and the units that make it something else than a number of nodes."""
    return tuple(sorted(_writers(item, view, units)))


def _writers(item: AutoScalingGroup, view: AwsView, units: Units | None) -> Iterator[OtherWriter]:
    name, region = item.auto_scaling_group_name, region_of(item.auto_scaling_group_arn)
    if item.operator is not None and item.operator.principal:
        principal = item.operator.principal
        yield OtherWriter(
            by=principal, evidence=f"Operator.Principal: {principal} manages the group, and AWS refuses writes by others"
        )
    if units is not None:
        evidence = (
            f"{units.name}: desired capacity {item.desired_capacity} does not count nodes, so the loop does not write it. "
            "It does if all weights are 1 and DesiredCapacityType is units"
        )
        yield OtherWriter(by="its unit", evidence=evidence)
    for policy in view.policies.get(name, ()):
        if region_of(policy.policy_arn) in ("", region) and policy.enabled is not False and _scales(policy):
            yield OtherWriter(by=f"scaling policy {policy.policy_name}", evidence=_policy_text(policy))
    for schedule in view.schedules.get(name, ()):
        if region_of(schedule.scheduled_action_arn) in ("", region) and schedule.desired_capacity is not None:
            when = f"at {schedule.recurrence}" if schedule.recurrence else f"on {schedule.start_time}"
            evidence = (
                f"scheduled action {schedule.scheduled_action_name} sets desired capacity {schedule.desired_capacity} {when}"
            )
            yield OtherWriter(by=f"scheduled action {schedule.scheduled_action_name}", evidence=evidence)
    for refresh in view.refreshes.get(name, ()):
        if refresh.status in REFRESHING:
            evidence = f"instance refresh {refresh.instance_refresh_id} is {refresh.status}: it replaces instances by itself"
            yield OtherWriter(by="instance refresh", evidence=evidence)
    managed = view.managed.get(name)
    if managed is not None and managed.status not in WRITABLE_STATES:
        evidence = f"managed node group {managed.nodegroup_name} is {managed.status}: EKS sets its size and replaces its nodes"
        yield OtherWriter(by=f"managed node group {managed.nodegroup_name}", evidence=evidence)
    pool = item.warm_pool_configuration
    if pool is not None and pool.instance_reuse_policy is not None and pool.instance_reuse_policy.reuse_on_scale_in:
        evidence = "the warm pool has ReuseOnScaleIn: a removed instance keeps running, outside the group"
        yield OtherWriter(by="warm pool", evidence=evidence)


def _scales(policy: ScalingPolicy) -> bool:
    predictive = policy.predictive_scaling_configuration
    return predictive is None or predictive.mode not in (None, "", _FORECAST_ONLY)


def _policy_text(policy: ScalingPolicy) -> str:
    tracking = policy.target_tracking_configuration
    outward = ", scale out only" if tracking is not None and tracking.disable_scale_in else ""
    kind = f" ({policy.policy_type}{outward})" if policy.policy_type else ""
    return f"scaling policy {policy.policy_name}{kind} sets the desired capacity"


def foreign_protection(item: AutoScalingGroup) -> str:
    """Why missing instances cannot be taken back. Some instances have a scale-in protection of somebody else. If we protected the
    others meanwhile, nobody could tell whose protection is whose. Empty if nothing is in the way."""
    if any(tag.key == SHIELD for tag in item.tags or ()):
        return ""
    counted = [one for one in item.instances or () if not one.lifecycle_state.startswith(NOT_COUNTED)]
    theirs = sorted(one.instance_id for one in counted if one.protected_from_scale_in)
    if not theirs or all(one.protected_from_scale_in for one in counted if one.lifecycle_state == IN_SERVICE):
        return ""
    more = f" and {len(theirs) - _MOST_NAMES} more" if len(theirs) > _MOST_NAMES else ""
    names = f"{', '.join(theirs[:_MOST_NAMES])}{more} {'has' if len(theirs) == 1 else 'have'}"
    return f"{names} a scale-in protection of somebody else, and other instances have none"


def cautions(item: AutoScalingGroup, tags: Mapping[str, str], view: AwsView) -> tuple[Caution, ...]:
    """What AWS does to nodes of the group by itself, and who may write the group although that does not hold it."""
    return tuple(sorted(_cautions(item, tags, view)))


def _cautions(item: AutoScalingGroup, tags: Mapping[str, str], view: AwsView) -> Iterator[Caution]:
    suspended = {process.process_name for process in item.suspended_processes or ()}
    zones = item.availability_zones or ()
    if len(zones) > 1 and "AZRebalance" not in suspended:
        yield Caution(
            code="ZoneRebalance",
            message=f"it spans {len(zones)} zones and AZRebalance runs: AWS ends instances to even them out, and drains no node",
            advice="suspend AZRebalance, or use one group per zone with balanceWith",
        )
    if item.capacity_rebalance:
        yield Caution(
            code="SpotRebalance",
            message="CapacityRebalance runs: AWS ends spot instances at risk when their successors are there, and drains no node",
            advice="drain on the notice (aws-node-termination-handler, or EKS does for its own node groups), or turn it off",
        )
    if item.max_instance_lifetime:
        yield Caution(
            code="InstanceLifetime",
            message=f"AWS replaces instances after {item.max_instance_lifetime // 86400} days, and nobody drains their nodes",
            advice="drain on the lifecycle hook, or turn MaxInstanceLifetime off",
        )
    for schedule in view.schedules.get(item.auto_scaling_group_name, ()):
        if schedule.desired_capacity is None and (schedule.min_size is not None or schedule.max_size is not None):
            yield Caution(
                code="ScheduledBounds",
                message=f"scheduled action {schedule.scheduled_action_name} sets its bounds, which can move the desired capacity",
                advice="move the schedule into `windows` of the policy",
            )
    stack = tags.get(_STACK_TAG, "")
    if stack:
        yield Caution(
            code="KeptByStack",
            message=f"CloudFormation stack {stack} manages it: an update that names DesiredCapacity resets it",
            advice="leave DesiredCapacity out of the template",
        )
    marks = sorted(key for key, value in tags.items() if _TERRAFORM.search(key) or _TERRAFORM.search(value))
    if marks:
        yield Caution(
            code="KeptByTerraform",
            message=f"Terraform seems to manage it (tag {marks[0]}): an apply resets desired_capacity",
            advice="put desired_capacity under lifecycle.ignore_changes",
        )
    written = _written(tags.get(WRITTEN, ""))
    if written is not None and item.desired_capacity > written:
        yield Caution(
            code="RaisedByOthers",
            message=f"its desired capacity is {item.desired_capacity}, and the last write that we signed was {written}. "
            "Somebody else has raised it, unless we stopped before we could sign",
            advice="find the writer in CloudTrail (SetDesiredCapacity, UpdateAutoScalingGroup). Undone writes hold the group",
        )
    yield from going(item, view.noticed, view.activities.get(item.auto_scaling_group_name, ()))
    yield from _managed_health(item, view)


def _written(mark: str) -> int | None:
    """The value of our last write. Our removals lower it without a mark, so only a higher value comes from somebody else."""
    return whole_number(mark.partition(".")[0])


def _managed_health(item: AutoScalingGroup, view: AwsView) -> Iterator[Caution]:
    managed = view.managed.get(item.auto_scaling_group_name)
    for issue in (managed.health.issues if managed and managed.health else None) or ():
        yield Caution(
            code="ManagedNodeGroupHealth",
            message=f"EKS reports for node group {managed.nodegroup_name if managed else ''}: {issue.code}: {issue.message}",
            advice="see `aws eks describe-nodegroup`",
        )
