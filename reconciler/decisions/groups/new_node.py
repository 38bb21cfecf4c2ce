"""The labels by which autoscalers and device plugins know the type of an accelerator before it is advertised."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

import msgspec

from reconciler.cluster.nodes.node import Node, NodeShape, Taint
from reconciler.cluster.target import Machine, TargetFacts, TargetTemplate
from reconciler.cluster.targets.capacity import apart
from reconciler.cluster.values.resources import PODS, Resources
from reconciler.cluster.world import World
from reconciler.decisions.groups.amounts import Offered, amounts_of, same_machine
from reconciler.decisions.groups.group import capacity_or_allocatable_difference, size_difference
from reconciler.decisions.groups.passing_taints import covers, is_starting, transient
from reconciler.decisions.groups.template_devices import DeviceEvidence, devices_of
from reconciler.decisions.groups.template_labels import LabelEvidence, labels_of
from reconciler.decisions.groups.template_volumes import VolumeEvidence, stated_over, with_room
from reconciler.decisions.reasons.groups import MixedShapes
from reconciler.decisions.reasons.sizes import SmallerThanTemplate
from reconciler.policy.documents import GroupFields
from reconciler.policy.levels import CAPACITY, TAINTS, added_startup_taints

ACCELERATOR_LABELS = (
    "cluster-api/accelerator",
    "k8s.amazonaws.com/accelerator",
    "cloud.google.com/gke-accelerator",
    "accelerator",
    "nvidia.com/gpu.product",
)


def accelerator_label(shape: NodeShape) -> tuple[str, str] | None:
    """The first such label with its value; None when the node has none."""
    return next(((key, value) for key in ACCELERATOR_LABELS if (value := shape.label(key))), None)


# How the nodes of a group contradict its template. Whatever the template promises, these nodes came from it.
#
# For each resource the smaller amount counts. Otherwise a pod that fits the template, but no node of the group, would add one
# node after the other. Nodes that were made from an older template do not count, because the present one may be right. Until a
# node has come from the present template, nodes are added one at a time.
#
# If nobody tells which template made a smaller node, it counts until a later node has what the template states. Until then, a
# probe is added now and then for pods that only the template would run (`growth.probes`).

INSTANCE_TYPE_LABEL = "node.kubernetes.io/instance-type"
_AT_ONCE = ("cpu", "memory", "pods")
"""What kubelet knows of a machine when it registers; devices and disks come later."""
_NODES_THAT_PROVE_A_LACK = 2


class Witnesses(msgspec.Struct, frozen=True, kw_only=True):
    """Ready nodes of one group, by the template that made them: the present one (or nobody knows, `unsure`), or an older one. Of
    nodes created after `complete_until` devices may be still to come."""

    present: tuple[Node, ...] = ()
    older: tuple[Node, ...] = ()
    unsure: frozenset[str] = frozenset()
    complete_until: int = 0


def witnesses(
    world: World,
    facts: TargetFacts | None,
    members: Iterable[int],
    machine_of: Mapping[int, Machine],
    complete_until: int,
) -> Witnesses:
    """The ready nodes of a group, apart. `machine_of` are the machines behind nodes, by the index of the node."""
    present: list[Node] = []
    older: list[Node] = []
    unsure: set[str] = set()
    other_types: dict[int, bool] = {}
    wanted = dict(facts.template.labels).get(INSTANCE_TYPE_LABEL) if facts is not None else None
    for index in members:
        node = world.nodes[index]
        if not node.ready:
            continue
        machine = machine_of.get(index)
        outdated = machine.outdated if machine is not None else None
        if outdated is None and wanted is not None:
            if node.shape not in other_types:
                other_types[node.shape] = world.node_shapes[node.shape].label(INSTANCE_TYPE_LABEL) not in (None, wanted)
            outdated = other_types[node.shape]
        elif outdated is None:
            unsure.add(node.name)
        (older if outdated else present).append(node)
    if facts is not None and facts.rolling_out and present:
        # Which of them are of the new revision nobody tells: the newest is what comes of the template now, if anything has.
        newest = max(present, key=lambda node: (node.created_seconds, node.name))
        older, present = [*older, *(node for node in present if node is not newest)], [newest]
        unsure.clear()
    return Witnesses(present=tuple(present), older=tuple(older), unsure=frozenset(unsure), complete_until=complete_until)


def overruled(world: World, stated: NodeShape, seen: Witnesses) -> tuple[Witnesses, tuple[int, ...]]:
    """The witnesses without smaller nodes that a later one overrules. Then when the smaller ones that count were created. It is
    empty if the template of one of these is known."""
    # Any node of a shape tells: of one node alone it does not matter whether its devices are complete.
    small = {
        shape: least_of(world, stated, msgspec.structs.replace(seen, present=(node,)))[1] is not None
        for shape, node in {node.shape: node for node in seen.present}.items()
    }
    if not any(small.values()):
        return seen, ()
    declared = max((node.created_seconds for node in seen.present if not small[node.shape]), default=0)
    doubted = [node for node in seen.present if small[node.shape] and node.name in seen.unsure]
    gone = [node for node in doubted if node.created_seconds < declared]
    present = tuple(node for node in seen.present if node not in gone)
    counting = sorted(node.created_seconds for node in doubted if node.created_seconds >= declared)
    certain = any(small[node.shape] and node.name not in seen.unsure for node in seen.present)
    return msgspec.structs.replace(seen, present=present, older=(*seen.older, *gone)), () if certain else tuple(counting)


def least_of(world: World, stated: NodeShape, seen: Witnesses) -> tuple[NodeShape, SmallerThanTemplate | None]:
    """The template with the smaller amount of each resource, and what to say of it; None where the nodes have all of it."""
    names: dict[int, str] = {}
    complete: Counter[int] = Counter()
    for node in seen.present:
        names[node.shape] = min(node.name, names.get(node.shape, node.name))
        complete[node.shape] += node.created_seconds <= seen.complete_until
    if not names:
        return stated, None
    shapes = [(world.node_shapes[shape], complete[shape]) for shape in names]
    capacity = _least(stated.capacity, [(shape.capacity, count) for shape, count in shapes])
    allocatable = _least(stated.allocatable, [(shape.allocatable, count) for shape, count in shapes])
    if (capacity, allocatable) == (stated.capacity, stated.allocatable):
        return stated, None
    least = msgspec.structs.replace(stated, capacity=capacity, allocatable=allocatable)
    differs = capacity_or_allocatable_difference(stated, least)
    if differs is None:
        return least, None
    small = (name for shape, name in names.items() if _has_less(world.node_shapes[shape], stated, differs[0]))
    return least, SmallerThanTemplate(node=min(small, default=""), differs=differs[1])


def untried(world: World, stated: NodeShape, seen: Witnesses) -> bool:
    """Whether all nodes that are there were made from an older template, and some have less than the present one promises."""
    if seen.present or not seen.older:
        return False
    least, _ = least_of(world, stated, msgspec.structs.replace(seen, present=seen.older))
    return bool(capacity_or_allocatable_difference(stated, least))


def _has_less(shape: NodeShape, stated: NodeShape, name: str) -> bool:
    return shape.capacity.get(name) < stated.capacity.get(name) or shape.allocatable.get(name) < stated.allocatable.get(name)


def _least(stated: Resources, sizes: list[tuple[Resources, int]]) -> Resources:
    return Resources.of({name: _amount(name, amount, sizes) for name, amount in stated.items()})


def _amount(name: str, stated: int, sizes: list[tuple[Resources, int]]) -> int:
    """`sizes` are what nodes of one shape have, and how many of them are complete."""
    amounts = [one.get(name) for one, _ in sizes]
    if name not in _AT_ONCE:
        # A device that one node lacks is that node's trouble; what several nodes lack, and none has, will not come with the next.
        lacking = sum(complete for one, complete in sizes if not one.get(name))
        amounts = [amount for amount in amounts if amount] or ([0] if lacking >= _NODES_THAT_PROVE_A_LACK else [])
    return min([stated, *amounts])


# What one new node of a group would offer, from the policy, the target, its infrastructure, or a node that is there.

LIVE_SOURCE = "the ready nodes of the group"


class TemplateResult(msgspec.Struct, frozen=True, kw_only=True):
    """The shape of a new node with the sources it was made from, or the problem that left it unknown. `pods_guessed`: nothing
    states how many pods it takes."""

    shape: NodeShape | None
    problem: str = ""
    sources: tuple[str, ...] = ()
    mixed: MixedShapes | None = None
    pods_guessed: bool = False


def new_node_shape(
    levels: Sequence[GroupFields],
    place: Callable[[int], str],
    target: TargetTemplate,
    world: World,
    members: tuple[Node, ...],
    evidence: LabelEvidence | None = None,
    volumes: VolumeEvidence | None = None,
    complete_until: int | None = None,
    devices: DeviceEvidence | None = None,
) -> TemplateResult:
    """The shape of one new node. `place` says where the template of a level is written.

    Capacity comes resource by resource from the nearest level of the policy, else from the target, else from `members`, the ready
    nodes of the group. The target has annotations, tags or an infrastructure template. A capacity computed for the machine type
    of the members does not count. Among the members, the smallest amount counts. Upstream uses the first member, so pods that fit
    only this one add nodes in vain. Allocatable: see `amounts_of`. Labels: see `labels_of`. Taints are what all members share,
    overlaid by the target's, else only the policy's. The number of volumes that a driver attaches is the least of the members,
    overlaid by the target's, then by the policy's. Devices: see `devices_of`. `evidence`, `volumes` and `devices` are those of
    the World, if they are already available. Members created after `complete_until` may still get devices. If others are older,
    only those count.
    """
    sources: list[str] = []
    complete = tuple(node for node in members if complete_until is None or node.created_seconds <= complete_until)
    live, sizes = _least_shape(world, complete or members)
    if target.estimated and live is not None and _of_type(target, world, members):
        target = msgspec.structs.replace(target, capacity=None, allocatable=None)
    base = _base(target, live, sources)
    made = amounts_of(levels, base, live.capacity.pods if live is not None else 0)
    if made.problem:
        return TemplateResult(shape=None, problem=made.problem)
    sources = [*map(place, made.levels), *(sources if made.from_base else ())]
    startup = added_startup_taints(levels)
    written, limits = apart({name: amount for _, pairs in CAPACITY.counting(levels, 0) for name, amount in pairs})
    return TemplateResult(
        shape=NodeShape(
            labels=labels_of(levels, target, evidence or LabelEvidence.of(world), world, members),
            taints=_taints(levels, target, world, members, startup),
            capacity=_without_limits(made.capacity) if limits else made.capacity,
            allocatable=_without_limits(made.allocatable) if limits else made.allocatable,
            devices=devices_of(levels, target, devices or DeviceEvidence.of(world), complete or members),
            volumes=with_room(
                stated_over((volumes or VolumeEvidence.of(world)).least(members), target.attach_limits, limits), levels
            ),
        ),
        sources=tuple(sources),
        pods_guessed=PODS not in written and not members and (target.pods_guessed or base is None or not base.capacity.pods),
        mixed=mixed_shapes(sizes if sources == [LIVE_SOURCE] else target.sizes if sources == [*target.origins] else ()),
    )


def _without_limits(amounts: Resources) -> Resources:
    return Resources.of(apart(dict(amounts.items()))[0])


def _base(target: TargetTemplate, live: NodeShape | None, sources: list[str]) -> Offered | None:
    """What is known from outside the policy; its origins go into `sources`."""
    if target.capacity is not None:
        sources.extend(target.origins)
        if target.allocatable is not None or live is None or not same_machine(live.capacity, target.capacity):
            return Offered(target.capacity, target.allocatable)
        # The same machine: what the target does not name, its nodes do, such as ephemeral storage.
        return Offered(Resources.of({**dict(live.capacity.items()), **dict(target.capacity.items())}), live.allocatable)
    if live is None:
        return None
    sources.append(LIVE_SOURCE)
    return Offered(live.capacity, live.allocatable)


def _of_type(target: TargetTemplate, world: World, members: tuple[Node, ...]) -> bool:
    """Whether all members are of the one machine type that the target's template is of."""
    wanted = dict(target.labels).get(INSTANCE_TYPE_LABEL)
    return wanted is not None and {world.node_shapes[node.shape].label(INSTANCE_TYPE_LABEL) for node in members} == {wanted}


def _least_shape(world: World, members: tuple[Node, ...]) -> tuple[NodeShape | None, tuple[Resources, ...]]:
    """The least of each resource over nodes that offer the same kinds of resources, and the capacities that it was taken from.

    A node whose devices are not there yet offers fewer kinds: the most frequent set of kinds counts, of equals the largest.
    """
    shapes = Counter(node.shape for node in members)
    kinds = Counter[tuple[str, ...]]()
    for index, count in shapes.items():
        kinds[_kinds(world.node_shapes[index])] += count
    if not kinds:
        return None, ()
    usual = min(kinds, key=lambda names: (-kinds[names], -len(names), names))
    alike = [world.node_shapes[index] for index in shapes if _kinds(world.node_shapes[index]) == usual]
    least = NodeShape(
        capacity=_template_least([shape.capacity for shape in alike]),
        allocatable=_template_least([shape.allocatable for shape in alike]),
    )
    return least, tuple(sorted({shape.capacity for shape in alike}))


def _kinds(shape: NodeShape) -> tuple[str, ...]:
    return tuple(name for name, amount in shape.allocatable.extended if amount)


def _template_least(amounts: list[Resources]) -> Resources:
    names = {name for amount in amounts for name, _ in amount.items()}
    return Resources.of({name: min(amount.get(name) for amount in amounts) for name in names})


def mixed_shapes(sizes: tuple[Resources, ...]) -> MixedShapes | None:
    """What to say of nodes that differ in size by more than machines of one type do; None when they do not."""
    for left, right in pairwise(sizes):
        broken = size_difference(left, right)
        if broken:
            return MixedShapes(shapes=len(sizes), differs=broken)
    return None


def _taints(
    levels: Sequence[GroupFields],
    target: TargetTemplate,
    world: World,
    members: tuple[Node, ...],
    startup: frozenset[tuple[str, str]],
) -> tuple[Taint, ...]:
    written = TAINTS.nearest(levels)
    if written is not None:
        return tuple(sorted(Taint(taint.key, taint.value, taint.effect) for taint in written[1]))
    shared: set[Taint] | None = None
    for index in {node.shape for node in members}:
        taints = {taint for taint in world.node_shapes[index].taints if not transient(taint)}
        shared = taints if shared is None else shared & taints
    merged = {(taint.key, taint.effect): taint for taint in shared or ()}
    merged.update({(taint.key, taint.effect): taint for taint in target.taints if not is_starting(taint.key)})
    return tuple(sorted(taint for taint in merged.values() if not any(_is(taint, *one) for one in startup)))


def _is(taint: Taint, key: str, effect: str) -> bool:
    return taint.effect == effect and covers(key, taint.key)
