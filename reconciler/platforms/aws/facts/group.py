"""Auto Scaling groups as targets, with the tags that Cluster Autoscaler's AWS provider reads."""

from collections.abc import Mapping

import msgspec

from reconciler.cluster.target import Machine, OwnerEvidence, RolloutPace, TargetFacts, TargetRef
from reconciler.cluster.targets.owner_evidence import HOLD
from reconciler.cluster.targets.size_annotations import near_misses
from reconciler.cluster.targets.target_options import read_options
from reconciler.cluster.values.selection import label_pairs
from reconciler.platforms.aws.facts import wire
from reconciler.platforms.aws.facts.activities import last_change, launch_failure
from reconciler.platforms.aws.facts.choices import Choices, choices
from reconciler.platforms.aws.facts.instance_types import PRICED_REGION, TABLE_DATE
from reconciler.platforms.aws.facts.launched_from import outdated
from reconciler.platforms.aws.facts.named_clusters import clusters
from reconciler.platforms.aws.facts.notices import Notice
from reconciler.platforms.aws.facts.ownership import cautions, foreign_protection, unseen, writers
from reconciler.platforms.aws.facts.reservations import NOTHING_RESERVED, ReservedCapacity
from reconciler.platforms.aws.facts.template import template
from reconciler.platforms.aws.facts.units import units_of
from reconciler.platforms.aws.facts.view import AwsView, region_of
from reconciler.platforms.aws.facts.zonal_shifts import shift_cautions, zone_shifts
from reconciler.platforms.aws.kinds import AUTO_SCALING_GROUP, LABEL, RESOURCE, TAINT, TEMPLATE

_OPTION = TEMPLATE + "autoscaling-options/"
_MARKS = "reconciler.dev/"
_SIZING_PROCESSES = ("Launch", "Terminate")
_LEAVING = ("Terminating", "Terminated", "Detaching", "Detached")
# SOURCE: Amazon EC2 Auto Scaling: desired capacity does not count instances that wait in the warm pool.
_BESIDE = "Warmed:"
_NOTHING = AwsView()


def reference(item: wire.AutoScalingGroup) -> TargetRef:
    """The group by region and name."""
    region = region_of(item.auto_scaling_group_arn)
    return TargetRef(kind=AUTO_SCALING_GROUP, region=region, name=item.auto_scaling_group_name)


def facts(item: wire.AutoScalingGroup, view: AwsView = _NOTHING, reserved: ReservedCapacity = NOTHING_RESERVED) -> TargetFacts:
    """The facts of one group. Its tags are in `labels`, because discovery selects by them. Our own marks are in `annotations`.
    `reserved` is the reserved capacity of all groups."""
    tags = {tag.key: tag.value for tag in item.tags or ()}
    options, option_problems = read_options(tags.items(), _OPTION)
    machine_choices = choices(item, view)
    managed = view.managed.get(item.auto_scaling_group_name)
    node, template_problems = template(item, tags, machine_choices, managed)
    named = clusters(tags.items())
    shifts = zone_shifts(item, named, view)
    away = {one.zone for one in shifts if not one.closes}
    node = msgspec.structs.replace(node, zones=tuple(zone for zone in node.zones if zone not in away))
    suspended = sorted({process.process_name for process in item.suspended_processes or ()} & set(_SIZING_PROCESSES))
    price = _price(item, machine_choices)
    units = units_of(item, machine_choices, view)
    desired = item.desired_capacity if units is None else units.nodes(item.desired_capacity)
    lowest, highest = (
        (item.min_size, item.max_size) if units is None else (units.fewest(item.min_size), units.most(item.max_size))
    )
    return TargetFacts(
        ref=reference(item),
        uid=item.auto_scaling_group_arn,
        replicas=desired,
        labels=label_pairs(tags),
        annotations=label_pairs({key: text for key, text in tags.items() if key.startswith(_MARKS)}),
        min_size=lowest,
        max_size=highest,
        size_origin="MinSize and MaxSize of the Auto Scaling group",
        sizes_bind=True,
        read_seconds=item.read_seconds,
        options=options,
        template=node,
        owner=OwnerEvidence(
            paused=f"suspended processes: {', '.join(suspended)}" if suspended else "",
            deleting=bool(item.status),
            hold=tags.get(HOLD, ""),
        ),
        writers=writers(item, view, units),
        unseen=unseen(view),
        keeps_requests=foreign_protection(item),
        rollout=_rollout_pace(item, desired),
        on_demand_base=_on_demand_base(item) if units is None else units.fewest(_on_demand_base(item)),
        price_per_hour=price,
        price_origin=f"the price list of {PRICED_REGION} of {TABLE_DATE}, Linux on demand" if price else "",
        launch_failure=launch_failure(item, desired, view.activities.get(item.auto_scaling_group_name, ())),
        last_change=last_change(view.activities.get(item.auto_scaling_group_name, ())) if units is None else None,
        rooms=reserved.limiting(item),
        reserved=reserved.free(item),
        endings=reserved.endings(item),
        zone_shifts=shifts,
        cautions=tuple(sorted((*cautions(item, tags, view), *reserved.cautions(item), *shift_cautions(item, view)))),
        unrecorded_owner="an Auto Scaling group does not record who owns its desired capacity",
        clusters=named,
        problems=(*option_problems, *template_problems, *_misspelt(tags)),
    )


def _price(item: wire.AutoScalingGroup, machine_choices: Choices) -> str:
    """The highest price of its types. Empty if one has no price: spot, another region, or a type that is not in the list."""
    prices = [known.price_per_hour for known in machine_choices.types]
    if (
        machine_choices.problems
        or machine_choices.spot
        or region_of(item.auto_scaling_group_arn) != PRICED_REGION
        or not all(prices)
    ):
        return ""
    return max(prices, key=float, default="")


def _rollout_pace(item: wire.AutoScalingGroup, desired: int) -> RolloutPace | None:
    """How fast AWS replaces instances if `desired` are wanted, from the group's instance maintenance policy; None without one.

    SOURCE: `InstanceMaintenancePolicy` of the Amazon EC2 Auto Scaling API. Its percentages are of the desired capacity, and -1
    clears them. An instance refresh may bring its own. How AWS rounds is not documented, so the smaller number counts, but one
    instance at least.
    """
    policy = item.instance_maintenance_policy
    if policy is None or policy.min_healthy_percentage is None or policy.max_healthy_percentage is None:
        return None
    lowest, highest = policy.min_healthy_percentage, policy.max_healthy_percentage
    if lowest < 0 or highest < 0:
        return None
    surge = _share(desired, highest - 100)
    unavailable = _share(desired, 100 - lowest)
    origin = f"instance maintenance policy {lowest}% to {highest}%"
    return RolloutPace(surge=surge, unavailable=unavailable if surge else max(1, unavailable), origin=origin)


def _share(instances: int, percent: int) -> int:
    """So many percent of the instances, and one at least where it is more than none."""
    return max(1, instances * percent // 100) if percent > 0 else 0


def _on_demand_base(item: wire.AutoScalingGroup) -> int:
    """The number of on-demand units in a mixed group. With 100 percent on demand above the base (the default) nothing is
    spot."""
    policy = item.mixed_instances_policy
    spread = policy.instances_distribution if policy is not None else None
    if spread is None or spread.on_demand_percentage_above_base_capacity in (None, 100):
        return 0
    return spread.on_demand_base_capacity or 0


def machines(item: wire.AutoScalingGroup, view: AwsView = _NOTHING) -> list[Machine]:
    """One row per instance. The answer has no creation times. The caller, who knows the nodes, sets `node`.

    Instances of a warm pool do not count: a node that joins early has no group until its instance is in service. An instance
    that AWS will end counts as leaving. Desired capacity stays, so AWS makes a successor."""
    target = reference(item)
    return [
        Machine(
            namespace=target.region,
            name=instance.instance_id,
            target=target,
            provider_id=f"aws:///{instance.availability_zone}/{instance.instance_id}",
            deleting=instance.lifecycle_state.startswith(_LEAVING) or _ends(view.noticed.get(instance.instance_id)),
            phase=instance.lifecycle_state,
            zone=instance.availability_zone,
            outdated=outdated(item, instance, view),
        )
        for instance in item.instances or ()
        if not instance.lifecycle_state.startswith(_BESIDE)
    ]


def _ends(notice: Notice | None) -> bool:
    return notice is not None and notice.ends


def _misspelt(tags: Mapping[str, str]) -> tuple[str, ...]:
    """Tags whose prefix is almost one of the known prefixes."""
    prefixes = (LABEL, TAINT, RESOURCE, _OPTION)
    heads = {"/".join(key.split("/")[:4]) + "/" for key in tags}
    return near_misses(heads, prefixes)
