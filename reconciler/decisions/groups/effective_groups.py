"""The groups of a policy at an instant, with every value decided."""

from collections import Counter

import msgspec

from reconciler.cluster import defects
from reconciler.cluster.target import TargetRef
from reconciler.cluster.world import World
from reconciler.decisions.groups.cluster_names import passed_over
from reconciler.decisions.groups.discovered_groups import discovered, target_ref, tier_of
from reconciler.decisions.groups.effective_group import Claim, effective_group
from reconciler.decisions.groups.effective_values import sources_at
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.groups.membership import Membership, membership
from reconciler.decisions.groups.template_devices import DeviceEvidence
from reconciler.decisions.groups.template_labels import LabelEvidence
from reconciler.decisions.groups.template_volumes import VolumeEvidence
from reconciler.decisions.platform_rules import doubles, strangers
from reconciler.policy.documents import Discovery, Hold, NodeGroup, PolicySet, Tier
from reconciler.values.defect import defect_text


def claimed_targets(policy: PolicySet, world: World) -> tuple[tuple[TargetRef, NodeGroup | None, Discovery | None], ...]:
    """Which targets the policy sizes: those of its documents, then discovered ones; an explicit NodeGroup wins."""
    explicit = {target_ref(group.target): group for group in policy.groups}
    claimed: list[tuple[TargetRef, NodeGroup | None, Discovery | None]] = [(ref, group, None) for ref, group in explicit.items()]
    left_out = doubles(world.targets)
    foreign = strangers(world)
    for facts in world.targets:
        if facts.ref in explicit or facts.ref in left_out or passed_over(world, facts):
            continue
        item = discovered(policy.policy, facts)
        if item is not None and (item.tags or item.labels or facts.ref not in foreign):
            claimed.append((facts.ref, None, item))
    return tuple(sorted(claimed, key=lambda entry: entry[0]))


class NamedTarget(msgspec.Struct, frozen=True, kw_only=True):
    """A target that the policy sizes, what its group is called, and which tier takes it. `document` None: it was discovered."""

    name: str
    labels: tuple[tuple[str, str], ...]
    target: TargetRef
    document: NodeGroup | None
    tier: Tier | None
    rank: int


def named_targets(world: World, policy: PolicySet) -> tuple[NamedTarget, ...]:
    """All of them, by tier rank and name."""
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
        named.append(NamedTarget(name=name, labels=labels, target=ref, document=document, tier=tier, rank=rank))
    return tuple(sorted(named, key=lambda one: (one.rank, one.name)))


def effective_groups(world: World, policy: PolicySet, now_seconds: int) -> tuple[EffectiveGroup, ...]:
    """All groups, by tier rank and name."""
    return effective_view(world, policy, now_seconds)[0]


def platform_chooses(world: World | None, policy: PolicySet, target: TargetRef, now_seconds: int) -> bool:
    """Whether a target may lose nodes without anybody choosing which; False for one of no group, and without a view."""
    groups = effective_groups(world, policy, now_seconds) if world is not None else ()
    return any(group.platform_chooses for group in groups if group.target == target)


def effective_view(world: World, policy: PolicySet, now_seconds: int) -> tuple[tuple[EffectiveGroup, ...], Membership]:
    """All groups by tier rank and name, with the membership whose positions follow that order."""
    facts_of = {facts.ref: facts for facts in world.targets}
    named = [(one.rank, one.name, one.target, one.document, one.tier, one.labels) for one in named_targets(world, policy)]
    members = membership(world, tuple((ref, document.nodes if document else None) for _, _, ref, document, _, _ in named))
    evidence, volumes, devices = LabelEvidence.of(world), VolumeEvidence.of(world), DeviceEvidence.of(world)

    def of(index: int, document: NodeGroup | None) -> EffectiveGroup:
        rank, name, ref, _, tier, labels = named[index]
        claim = Claim(
            name=name,
            labels=labels,
            target=ref,
            sources=sources_at(document, facts_of.get(ref), policy.policy, tier, rank, now_seconds),
            members=members.members[index],
            machine_of=members.machine_of,
            evidence=evidence,
            volumes=volumes,
            devices=devices,
        )
        return effective_group(world, claim, now_seconds)

    def judged(index: int) -> EffectiveGroup:
        document = named[index][3]
        try:
            return of(index, document)
        except defects.CAUGHT as error:
            # Tenants may write documents: one that meets a defect is held, and the others are decided.
            if document is None:
                raise
            return of(index, document.held(Hold(reason=defect_text(error)), document.place))

    groups = tuple(map(judged, range(len(named))))
    return groups, members
