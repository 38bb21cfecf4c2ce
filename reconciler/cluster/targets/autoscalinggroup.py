"""Auto Scaling groups as targets, with the tags that Cluster Autoscaler's AWS provider reads."""

from collections.abc import Mapping

from reconciler.cluster.nodes.node import ZONE_LABEL, Taint
from reconciler.cluster.snapshots.unreadable import UnreadableError
from reconciler.cluster.target import Machine, OwnerEvidence, TargetFacts, TargetKind, TargetRef, TargetTemplate
from reconciler.cluster.targets import capacity
from reconciler.cluster.targets.autoscaling_options import read_options
from reconciler.cluster.targets.near_miss import near_misses
from reconciler.cluster.targets.owner_evidence import HOLD
from reconciler.cluster.values.selection import label_pairs
from reconciler.cluster.wire import autoscaling_group as wire

_TEMPLATE = "k8s.io/cluster-autoscaler/node-template/"
_LABEL, _TAINT, _RESOURCE = _TEMPLATE + "label/", _TEMPLATE + "taint/", _TEMPLATE + "resources/"
_OPTION = _TEMPLATE + "autoscaling-options/"
_INSTANCE_TYPE_LABEL = "node.kubernetes.io/instance-type"
_ARCH_LABEL = "kubernetes.io/arch"
_SIZING_PROCESSES = ("Launch", "Terminate")
_LEAVING = ("Terminating", "Terminated")


def reference(item: wire.AutoScalingGroup) -> TargetRef:
    """The group by region (the fourth part of its ARN) and name."""
    parts = item.auto_scaling_group_arn.split(":")
    region = parts[3] if len(parts) > 3 else ""
    return TargetRef(kind=TargetKind.AUTO_SCALING_GROUP, region=region, name=item.auto_scaling_group_name)


def facts(item: wire.AutoScalingGroup) -> TargetFacts:
    """The facts of one group. Its tags stand in `labels`, since discovery selects by them."""
    tags = {tag.key: tag.value for tag in item.tags or ()}
    options, option_problems = read_options(tags.items(), _OPTION)
    template, template_problems = _template(item, tags)
    suspended = sorted({process.process_name for process in item.suspended_processes or ()} & set(_SIZING_PROCESSES))
    return TargetFacts(
        ref=reference(item),
        uid=item.auto_scaling_group_arn,
        replicas=item.desired_capacity,
        labels=label_pairs(tags),
        min_size=item.min_size,
        max_size=item.max_size,
        size_origin="MinSize and MaxSize of the Auto Scaling group",
        options=options,
        template=template,
        owner=OwnerEvidence(
            paused=f"suspended processes: {', '.join(suspended)}" if suspended else "",
            deleting=bool(item.status),
            hold=tags.get(HOLD, ""),
        ),
        on_demand_base=_on_demand_base(item),
        problems=(*option_problems, *template_problems, *_misspelt(tags)),
    )


def _on_demand_base(item: wire.AutoScalingGroup) -> int:
    """Machines on demand beside spot ones. With 100 percent on demand above the base (the default) there is no spot."""
    policy = item.mixed_instances_policy
    spread = policy.instances_distribution if policy is not None else None
    if spread is None or spread.on_demand_percentage_above_base_capacity in (None, 100):
        return 0
    return spread.on_demand_base_capacity or 0


def machines(item: wire.AutoScalingGroup) -> list[Machine]:
    """One row an instance. Creation times are not in the answer; `node` is left to whoever knows the nodes."""
    target = reference(item)
    return [
        Machine(
            namespace=target.region,
            name=instance.instance_id,
            target=target,
            provider_id=f"aws:///{instance.availability_zone}/{instance.instance_id}",
            deleting=instance.lifecycle_state.startswith(_LEAVING),
            phase=instance.lifecycle_state,
            zone=instance.availability_zone,
        )
        for instance in item.instances or ()
    ]


def _template(item: wire.AutoScalingGroup, tags: Mapping[str, str]) -> tuple[TargetTemplate, tuple[str, ...]]:
    amounts: dict[str, int] = {}
    taints: list[Taint] = []
    problems: list[str] = []
    for key, text in sorted(tags.items()):
        if key.startswith(_RESOURCE):
            name = key.removeprefix(_RESOURCE)
            try:
                amounts[name] = capacity.amount(name, text)
            except UnreadableError as error:
                problems.append(f"tag {key}: {error}")
        elif key.startswith(_TAINT):
            found, taint_problems = capacity.taint_list(f"{key.removeprefix(_TAINT)}={text}", f"tag {key}")
            taints.extend(found)
            problems.extend(taint_problems)
    resources, incomplete = capacity.complete(amounts, "the node-template tags")
    zones = item.availability_zones or ()
    types = {instance.instance_type for instance in item.instances or ()} - {""}
    labels = {
        # Several zones or types: nobody can say which one the next instance gets.
        **({ZONE_LABEL: zones[0]} if len(zones) == 1 else {}),
        **({_INSTANCE_TYPE_LABEL: min(types)} if len(types) == 1 else {}),
        **{key.removeprefix(_LABEL): text for key, text in tags.items() if key.startswith(_LABEL)},
    }
    template = TargetTemplate(
        capacity=resources,
        labels=label_pairs(labels),
        taints=capacity.merged_taints((), taints),
        architecture=labels.get(_ARCH_LABEL, ""),
        zone=labels.get(ZONE_LABEL, ""),
        origins=("node-template tags",) if amounts or taints or any(key.startswith(_LABEL) for key in tags) else (),
    )
    return template, (*problems, *incomplete)


def _misspelt(tags: Mapping[str, str]) -> tuple[str, ...]:
    """Tags below a prefix that is not quite one of those that are read."""
    prefixes = (_LABEL, _TAINT, _RESOURCE, _OPTION)
    heads = {"/".join(key.split("/")[:4]) + "/" for key in tags if key.startswith("k8s.io/") and key.count("/") >= 4}
    return near_misses(heads, prefixes)
