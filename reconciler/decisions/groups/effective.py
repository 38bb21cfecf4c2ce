"""The groups of a policy over a World, every value decided, each with the chain that it came from."""

from collections import Counter

from reconciler.cluster.target import TargetRef
from reconciler.cluster.world import World
from reconciler.decisions.groups.chain import Sources
from reconciler.decisions.groups.discovery import discovered, target_ref, tier_of
from reconciler.decisions.groups.effective_group import Claim, effective_group
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.groups.membership import Membership, membership
from reconciler.decisions.platform_rules import doubles, strangers
from reconciler.policy.documents import Discovery, NodeGroup, PolicySet


def claimed_targets(policy: PolicySet, world: World) -> tuple[tuple[TargetRef, NodeGroup | None, Discovery | None], ...]:
    """Which targets the policy sizes: those of its documents, then discovered ones; an explicit NodeGroup wins."""
    explicit = {target_ref(group.target): group for group in policy.groups}
    found: list[tuple[TargetRef, NodeGroup | None, Discovery | None]] = [(ref, group, None) for ref, group in explicit.items()]
    left_out = doubles(world.targets)
    foreign = strangers(world)
    for facts in world.targets:
        if facts.ref in explicit or facts.ref in left_out:
            continue
        item = discovered(policy.policy, facts)
        if item is not None and (item.tags or item.labels or facts.ref not in foreign):
            found.append((facts.ref, None, item))
    return tuple(sorted(found, key=lambda entry: entry[0]))


def effective_groups(world: World, policy: PolicySet, now_seconds: int) -> tuple[EffectiveGroup, ...]:
    """All groups, by tier rank and name."""
    return effective_view(world, policy, now_seconds)[0]


def platform_chooses(world: World | None, policy: PolicySet, target: TargetRef, now_seconds: int) -> bool:
    """Whether a target may lose nodes without anybody choosing which; False for one of no group, and without a view."""
    groups = effective_groups(world, policy, now_seconds) if world is not None else ()
    return any(group.platform_chooses for group in groups if group.target == target)


def effective_view(world: World, policy: PolicySet, now_seconds: int) -> tuple[tuple[EffectiveGroup, ...], Membership]:
    """All groups by tier rank and name, with the membership whose positions follow that order."""
    claimed = claimed_targets(policy, world)
    facts_of = {facts.ref: facts for facts in world.targets}
    discovered_names = Counter(ref.name for ref, document, _ in claimed if document is None)
    taken = {document.name for _, document, _ in claimed if document is not None}
    named = []
    for ref, document, item in claimed:
        if document is not None:
            name, labels = document.name, document.labels
        else:
            clash = discovered_names[ref.name] > 1 or ref.name in taken
            name = f"{ref.namespace or ref.region}/{ref.name}" if clash else ref.name
            labels = facts_of[ref].labels
        tier, rank = tier_of(policy.policy, name, labels, document, item)
        named.append((rank, name, ref, document, tier, labels))
    named.sort(key=lambda entry: (entry[0], entry[1]))
    members = membership(world, tuple((ref, document.nodes if document else None) for _, _, ref, document, _, _ in named))
    groups = tuple(
        effective_group(
            world,
            Claim(
                name=name,
                labels=labels,
                target=ref,
                sources=Sources(document=document, facts=facts_of.get(ref), policy=policy.policy, tier=tier, tier_index=rank),
                members=members.members[index],
                machine_of=members.machine_of,
            ),
            now_seconds,
        )
        for index, (rank, name, ref, document, tier, labels) in enumerate(named)
    )
    return groups, members
