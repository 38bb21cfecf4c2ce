"""Which node belongs to which group, and which requests of a group are not nodes yet."""

from collections import defaultdict

import msgspec

from reconciler.cluster.nodes.node import HOSTNAME_LABEL
from reconciler.cluster.target import Machine, TargetRef
from reconciler.cluster.world import World
from reconciler.policy.values.label_selector import Selector, selector_matches


class Membership(msgspec.Struct, frozen=True, kw_only=True):
    """`group_of[node index]` is a position in the given list of targets, or -1. `members[position]` are node indices in World
    order. `conflicts` names nodes that two groups claim; they belong to neither."""

    group_of: tuple[int, ...]
    members: tuple[tuple[int, ...], ...]
    machines: tuple[tuple[Machine, ...], ...]
    machine_of: dict[int, Machine]
    conflicts: tuple[tuple[str, str], ...] = ()


def membership(world: World, targets: tuple[tuple[TargetRef, Selector | None], ...]) -> Membership:
    """Membership by Machine.nodeRef, by provider id, by instance id, and by `nodes.matchLabels` where that is written."""
    position = {ref: index for index, (ref, _) in enumerate(targets)}
    by_name = {node.name: index for index, node in enumerate(world.nodes)}
    by_provider = {node.provider_id: index for index, node in enumerate(world.nodes) if node.provider_id}
    group_of = [-1] * len(world.nodes)
    machines: dict[int, list[Machine]] = defaultdict(list)
    machine_of: dict[int, Machine] = {}
    for machine in world.machines:
        node = by_name.get(machine.node, -1) if machine.node else by_provider.get(machine.provider_id, -1)
        if node >= 0:
            machine_of[node] = machine
        where = position.get(machine.target) if machine.target is not None else None
        if where is None:
            continue
        machines[where].append(machine)
        if node >= 0:
            group_of[node] = where
    conflicts: list[tuple[str, str]] = []
    for where, (ref, selector) in enumerate(targets):
        if selector is None:
            continue
        for index, member in enumerate(world.nodes):
            labels = {HOSTNAME_LABEL: member.name, **dict(world.node_shapes[member.shape].labels)}
            if not selector_matches(selector, labels):
                continue
            if group_of[index] not in (-1, where):
                conflicts.append((member.name, f"{ref} and {targets[group_of[index]][0]} both claim it"))
            else:
                group_of[index] = where
    members: dict[int, list[int]] = defaultdict(list)
    for index, where in enumerate(group_of):
        if where >= 0:
            members[where].append(index)
    return Membership(
        group_of=tuple(group_of),
        members=tuple(tuple(members[where]) for where in range(len(targets))),
        machines=tuple(tuple(machines[where]) for where in range(len(targets))),
        machine_of=machine_of,
        conflicts=tuple(conflicts),
    )
