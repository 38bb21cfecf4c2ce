"""What one new node of an Auto Scaling group offers: the least of all its possible types, overridden by its tags."""

from collections.abc import Iterable, Mapping

import msgspec

from reconciler.cluster.nodes.node import ZONE_LABEL, Taint
from reconciler.cluster.target import TargetTemplate
from reconciler.cluster.targets import capacity
from reconciler.cluster.values.resources import PODS, Resources
from reconciler.cluster.values.selection import label_pairs
from reconciler.cluster.values.unreadable import UnreadableError
from reconciler.platforms.aws.facts.choices import Choices
from reconciler.platforms.aws.facts.node_sizing import DEFAULT_DISK_GIB, allocatable
from reconciler.platforms.aws.facts.node_sizing import capacity as machine_capacity
from reconciler.platforms.aws.facts.view import region_of
from reconciler.platforms.aws.facts.wire import AutoScalingGroup
from reconciler.platforms.aws.facts.wire_beside import ManagedNodeGroup
from reconciler.platforms.aws.kinds import LABEL, RESOURCE, TAINT
from reconciler.values.name_syntax import label_value_fault, qualified_name_fault

_INSTANCE_TYPE_LABEL = "node.kubernetes.io/instance-type"
_ARCH_LABEL, _REGION_LABEL = "kubernetes.io/arch", "topology.kubernetes.io/region"
_NODE_GROUP_TAG, _NODE_GROUP_LABEL = "eks:nodegroup-name", "eks.amazonaws.com/nodegroup"
_CAPACITY_LABEL = "eks.amazonaws.com/capacityType"
_OS_LABEL = "kubernetes.io/os"
_EFFECTS = {"NO_SCHEDULE": "NoSchedule", "NO_EXECUTE": "NoExecute", "PREFER_NO_SCHEDULE": "PreferNoSchedule"}
_EFFECT_NAMES = tuple(_EFFECTS.values())
_TAG_ORIGIN = "node-template tags"


def template(
    item: AutoScalingGroup, tags: Mapping[str, str], choices: Choices, managed: ManagedNodeGroup | None
) -> tuple[TargetTemplate, tuple[str, ...]]:
    """The template, and sentences about what could not be read.

    Amounts in tags win over the number of pods in user data, and both win over the instance types. Labels of EKS's node group win
    over labels in tags. Both contribute taints. Of several types, the least of each amount counts, so no pod adds a node that is
    too small for it.
    """
    tagged, tag_taints, problems = _tagged(tags)
    amounts, limits = capacity.apart(tagged)
    taints = (*tag_taints, *(_managed_taints(managed) if managed else ()))
    problems.extend(choices.problems if not _sized(amounts) else ())
    marks = msgspec.structs.replace(_marks(item, tags, choices, managed, taints, amounts), attach_limits=limits)
    least = _least(choices)
    stated = {PODS: choices.max_pods} if choices.max_pods else {}
    unknown_pods = PODS not in {**stated, **amounts}
    if least is None:
        resources, incomplete = capacity.complete({**stated, **amounts} if amounts else {}, "the node-template tags")
        return msgspec.structs.replace(marks, capacity=resources, pods_guessed=unknown_pods), (*problems, *incomplete)
    if len(architectures := {known.machine.architecture for known in choices.types}) > 1:
        problems.append(
            f"its instance types have several architectures ({', '.join(sorted(architectures))}), so a new node's is unknown"
        )
    whole, usable, sizes = least
    whole, usable = _replaced(whole, stated), _replaced(usable, stated)
    return msgspec.structs.replace(
        marks,
        capacity=_replaced(whole, amounts),
        allocatable=_tagged_allocatable(whole, usable, amounts),
        sizes=sizes,
        estimated=not amounts,
        pods_guessed=unknown_pods,
    ), tuple(problems)


def _sized(amounts: Mapping[str, int]) -> bool:
    return bool(amounts.get("cpu") and amounts.get("memory"))


def _tagged(tags: Mapping[str, str]) -> tuple[dict[str, int], list[Taint], list[str]]:
    amounts: dict[str, int] = {}
    taints: list[Taint] = []
    problems: list[str] = []
    for key, text in sorted(tags.items()):
        if key.startswith(RESOURCE):
            name = key.removeprefix(RESOURCE)
            if qualified_name_fault(name):
                problems.append(f'tag {key}: invalid resource name "{name}"')
                continue
            try:
                amounts[name] = capacity.amount(name, text)
            except UnreadableError as error:
                problems.append(f"tag {key}: {error}")
        elif key.startswith(TAINT):
            # EKS's documentation writes the effect alone. The Cluster Autoscaler accepts `value:Effect` only, and drops the rest.
            written = f":{text}" if text in _EFFECT_NAMES else f"={text}"
            parsed, taint_problems = capacity.taint_list(f"{key.removeprefix(TAINT)}{written}", f"tag {key}")
            taints.extend(taint for taint in parsed if _usable(taint.key, taint.value))
            problems.extend(taint_problems)
            problems.extend(_unusable(key, taint.key, taint.value) for taint in parsed if not _usable(taint.key, taint.value))
        elif key.startswith(LABEL) and not _usable(key.removeprefix(LABEL), text):
            problems.append(_unusable(key, key.removeprefix(LABEL), text))
    return amounts, taints, problems


def _labels(tags: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    return ((key.removeprefix(LABEL), text) for key, text in tags.items() if key.startswith(LABEL))


def _usable(name: str, value: str) -> bool:
    return not qualified_name_fault(name) and not label_value_fault(value)


def _unusable(tag: str, name: str, value: str) -> str:
    """Why no node can have it; then the template leaves it out."""
    if qualified_name_fault(name):
        return f'tag {tag}: invalid key "{name}" of a label or taint, so no node can have it'
    return f'tag {tag}: invalid value "{value}" of a label or taint, so no node can have it'


def _managed_taints(managed: ManagedNodeGroup) -> tuple[Taint, ...]:
    return tuple(
        Taint(taint.key, taint.value or "", _EFFECTS[taint.effect]) for taint in managed.taints or () if taint.effect in _EFFECTS
    )


def _least(choices: Choices) -> tuple[Resources, Resources, tuple[Resources, ...]] | None:
    """Capacity, allocatable and all capacities. None if nothing declares them, or if an unknown type may be smaller."""
    if not choices.types or choices.problems or not choices.declared:
        return None
    machines = [msgspec.structs.replace(known.machine, disk_gib=choices.disk_gib or DEFAULT_DISK_GIB) for known in choices.types]
    wholes = [machine_capacity(machine) for machine in machines]
    sizes = tuple(sorted(set(wholes)))
    return _minimum(wholes), _minimum([allocatable(machine) for machine in machines]), sizes if len(sizes) > 1 else ()


def _minimum(vectors: list[Resources]) -> Resources:
    names = {name for vector in vectors for name, _ in vector.items()}
    return Resources.of({name: min(vector.get(name) for vector in vectors) for name in names})


def _replaced(resources: Resources, amounts: Mapping[str, int]) -> Resources:
    return Resources.of({**dict(resources.items()), **amounts})


def _tagged_allocatable(whole: Resources, usable: Resources, amounts: Mapping[str, int]) -> Resources:
    """The amount in a tag is the capacity. What the machine reserves of it stays reserved."""
    kept = {name: max(0, amount - (whole.get(name) - usable.get(name))) for name, amount in amounts.items()}
    return _replaced(usable, kept)


def _marks(
    item: AutoScalingGroup,
    tags: Mapping[str, str],
    choices: Choices,
    managed: ManagedNodeGroup | None,
    taints: tuple[Taint, ...],
    amounts: Mapping[str, int],
) -> TargetTemplate:
    zones = item.availability_zones or ()
    region = region_of(item.auto_scaling_group_arn)
    architectures = {known.machine.architecture for known in choices.types}
    labels = {
        # With several zones, types or architectures, nobody can tell which one the next instance gets.
        **({ZONE_LABEL: zones[0]} if len(zones) == 1 else {}),
        **({_REGION_LABEL: region} if region else {}),
        **({_INSTANCE_TYPE_LABEL: choices.types[0].name} if len(choices.types) == 1 else {}),
        **({_ARCH_LABEL: min(architectures)} if len(architectures) == 1 else {}),
        **({_NODE_GROUP_LABEL: tags[_NODE_GROUP_TAG]} if tags.get(_NODE_GROUP_TAG) else {}),
        **({_CAPACITY_LABEL: managed.capacity_type} if managed and managed.capacity_type else {}),
        # SOURCE: EKS API reference, Nodegroup.amiType: WINDOWS_CORE_2022_x86_64, WINDOWS_FULL_2025_x86_64 and so on.
        **({_OS_LABEL: "windows"} if managed and managed.ami_type.startswith("WINDOWS_") else {}),
        **{name: text for name, text in _labels(tags) if _usable(name, text)},
        **((managed.labels if managed else None) or {}),
    }
    tagged = bool(amounts) or any(key.startswith((LABEL, TAINT)) for key in tags)
    types = sorted({known.origin for known in choices.types}) if choices.declared and not choices.problems else []
    origins = (
        *((_TAG_ORIGIN,) if tagged else ()),
        *((f"{choices.origin}, {' and '.join(types)}",) if types else ()),
        *(("the managed node group",) if managed is not None and (managed.labels or managed.taints) else ()),
    )
    return TargetTemplate(
        labels=label_pairs(labels),
        taints=capacity.merged_taints((), taints),
        architecture=labels.get(_ARCH_LABEL, ""),
        zone=labels.get(ZONE_LABEL, ""),
        zones=() if ZONE_LABEL in labels else tuple(sorted(set(zones))),
        # SOURCE: Amazon EC2 Auto Scaling launches in the zone with the fewest instances of the group.
        fills_zones=True,
        origins=origins,
    )
