"""Finds nodes of a group that contradict its template.

Whatever the template promises, these nodes came from it. For each resource the smaller amount counts. Otherwise a pod that fits
the template, but no node of the group, would add one node after the other. Nodes that were made from an older template do not
count, because the present one may be right. Until a node has come from the present template, nodes are added one at a time. If
nobody tells which template made a smaller node, it counts until a later node has what the template states. Until then, a probe
is added now and then for pods that only the template would run (`growth.probes`).
"""

from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from reconciler.cluster.nodes.node import Node, NodeShape
from reconciler.cluster.target import Machine, TargetFacts
from reconciler.cluster.values.resources import Resources
from reconciler.cluster.world import World
from reconciler.decisions.groups.similar_groups import capacity_or_allocatable_difference
from reconciler.decisions.reasons.sizes import SmallerThanTemplate

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
