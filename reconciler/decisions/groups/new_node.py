"""The labels by which autoscalers and device plugins know the type of an accelerator before it is advertised."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

import msgspec

from reconciler.cluster.nodes.node import Node, NodeShape, Taint
from reconciler.cluster.target import TargetTemplate
from reconciler.cluster.targets.capacity import apart
from reconciler.cluster.values.resources import PODS, Resources
from reconciler.cluster.world import World
from reconciler.decisions.groups.amounts import Offered, amounts_of, same_machine
from reconciler.decisions.groups.passing_taints import covers, is_starting, transient
from reconciler.decisions.groups.similar_groups import size_difference
from reconciler.decisions.groups.template_devices import DeviceEvidence, devices_of
from reconciler.decisions.groups.template_labels import LabelEvidence, labels_of
from reconciler.decisions.groups.template_volumes import VolumeEvidence, stated_over, with_room
from reconciler.decisions.groups.witnesses import INSTANCE_TYPE_LABEL
from reconciler.decisions.reasons.groups import MixedShapes
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
