"""Which node belongs to which group, and which requests of a group are not nodes yet."""

from collections import defaultdict

import msgspec

from reconciler.cluster.nodes.node import HOSTNAME_LABEL
from reconciler.cluster.target import Machine, TargetFacts, TargetRef
from reconciler.cluster.world import World
from reconciler.decisions.platform_rules import kind_of, platform_rules, rules_of
from reconciler.policy.documents import Discovery, NodeGroup, NodeGroupPolicy, TargetSpec, Tier
from reconciler.policy.levels import tier_rank
from reconciler.policy.values.label_selector import Selector, selector_matches

# Which targets become groups without a document of their own, and which tier takes a group.


def target_ref(spec: TargetSpec) -> TargetRef:
    """The target that a NodeGroup document names."""
    kind = kind_of(spec.provider, spec.kind)
    return TargetRef(kind=kind, namespace=spec.namespace, region=spec.region, name=spec.name)


def discovered(policy: NodeGroupPolicy, facts: TargetFacts) -> Discovery | None:
    """The first discovery item that takes the target; None when none does. OR between items; inside one, its platform's rules."""
    rules = rules_of(facts.ref.kind)
    if rules is None:
        return None
    return next((item for item in policy.discovery if item.provider == rules.provider and rules.takes(item, facts)), None)


def clusters_of_discovery(policy: NodeGroupPolicy) -> frozenset[str]:
    """Names of clusters that the policy asks for where it discovers targets."""
    rules = {one.provider: one for one in platform_rules()}
    return frozenset(
        name for item in policy.discovery if item.provider in rules for name in rules[item.provider].clusters_named(item)
    )


def tier_of(
    policy: NodeGroupPolicy,
    name: str,
    labels: tuple[tuple[str, str], ...],
    document: NodeGroup | None,
    discovery: Discovery | None,
) -> tuple[Tier | None, int]:
    """The tier of a group and its rank: named by the document, else by the discovery item, else the first whose `match` fits. If
    none does, the rank is `len(tiers)`, without a tier."""
    named = (document.tier if document is not None else None) or (discovery.tier if discovery is not None else None)
    rank = tier_rank(policy, named, name, labels)
    return (None, len(policy.tiers)) if rank is None else (policy.tiers[rank], rank)


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
