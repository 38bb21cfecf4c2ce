"""What the nodes of a group say against its template: whatever it promises, they are what was bought with it.

Of each resource the smaller counts: a pod that fits the template and no node of the group would buy one node after the other. Not
asked are nodes that were made from an older template: the present one may be right then. Until a node has come of it, it is tried
one node at a time.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from reconciler.cluster.nodes.node import Node, NodeShape
from reconciler.cluster.target import Machine, TargetFacts
from reconciler.cluster.values.resources import Resources
from reconciler.cluster.world import World
from reconciler.decisions.groups.similarity import capacity_or_allocatable_difference
from reconciler.decisions.reasons.sizes import SmallerThanTemplate

INSTANCE_TYPE_LABEL = "node.kubernetes.io/instance-type"
_AT_ONCE = ("cpu", "memory", "pods")
"""What kubelet knows of a machine when it registers; devices and disks come later."""
_TOO_MANY_TO_BE_BROKEN = 2


class Witnesses(msgspec.Struct, frozen=True, kw_only=True):
    """Ready nodes of one group, by the template that made them: the present one (or nobody knows), or an older one. Of nodes
    created after `complete_until` devices may be still to come."""

    present: tuple[Node, ...] = ()
    older: tuple[Node, ...] = ()
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
        (older if outdated else present).append(node)
    if facts is not None and facts.rolling_out and present:
        # Which of them are of the new revision nobody tells: the newest is what comes of the template now, if anything has.
        newest = max(present, key=lambda node: (node.created_seconds, node.name))
        older, present = [*older, *(node for node in present if node is not newest)], [newest]
    return Witnesses(present=tuple(present), older=tuple(older), complete_until=complete_until)


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


def _least(stated: Resources, found: list[tuple[Resources, int]]) -> Resources:
    return Resources.of({name: _amount(name, amount, found) for name, amount in stated.items()})


def _amount(name: str, stated: int, found: list[tuple[Resources, int]]) -> int:
    """`found` are what nodes of one shape have, and how many of them are complete."""
    amounts = [one.get(name) for one, _ in found]
    if name not in _AT_ONCE:
        # A device that one node lacks is that node's trouble; what several nodes lack, and none has, will not come with the next.
        lacking = sum(complete for one, complete in found if not one.get(name))
        amounts = [amount for amount in amounts if amount] or ([0] if lacking >= _TOO_MANY_TO_BE_BROKEN else [])
    return min([stated, *amounts])
