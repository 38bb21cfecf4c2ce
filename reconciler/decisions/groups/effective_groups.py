"""The groups of a policy at an instant, with every value decided."""

from collections import Counter
from collections.abc import Mapping

import msgspec

from reconciler.cluster import defects
from reconciler.cluster.nodes.node import ATTACH_LIMIT, NodeShape
from reconciler.cluster.target import Machine, TargetFacts, TargetRef, TargetTemplate
from reconciler.cluster.targets.owner_evidence import read_hold
from reconciler.cluster.unread import Unread, unread_target
from reconciler.cluster.world import World
from reconciler.decisions.groups.cluster_names import passed_over
from reconciler.decisions.groups.effective_values import Sources, Values, sources_at
from reconciler.decisions.groups.group import AUTO, EffectiveGroup, Origin
from reconciler.decisions.groups.membership import Membership, discovered, membership, target_ref, tier_of
from reconciler.decisions.groups.new_node import (
    LIVE_SOURCE,
    TemplateResult,
    least_of,
    new_node_shape,
    overruled,
    untried,
    witnesses,
)
from reconciler.decisions.groups.template_devices import DeviceEvidence
from reconciler.decisions.groups.template_labels import LabelEvidence, in_zones, with_zones
from reconciler.decisions.groups.template_volumes import VolumeEvidence, at_most
from reconciler.decisions.platform_rules import doubles, strangers
from reconciler.decisions.reasons.groups import TargetMissing, TargetUnread, WindowOpen
from reconciler.decisions.reasons.sizes import NoMaxSize, PlatformBound
from reconciler.plan.reason import Reason
from reconciler.policy.documents import Discovery, Headroom, Hold, Mode, NodeGroup, PolicySet, ScaleDown, ScaleUp, Tier
from reconciler.policy.levels import DEVICES, HEADROOM, HOLD, NOTHING, added_startup_taints, amounts_text, effective_mode
from reconciler.values.defect import defect_text
from reconciler.values.duration import duration_text
from reconciler.values.instant import instant_text
from reconciler.values.money import parse_money

# Where the platform itself refuses sizes: the narrower of its bounds and the policy's applies.


def within_platform(facts: TargetFacts | None, lowest: int, highest: int) -> tuple[int, int, tuple[PlatformBound, ...]]:
    """The part of `lowest` to `highest` that the platform allows, and each bound that the platform refuses. A minimum above the
    platform's maximum becomes that maximum. A maximum below the platform's minimum stays, because it requests no size that the
    platform refuses."""
    if facts is None or not facts.sizes_bind or facts.min_size is None or facts.max_size is None:
        return lowest, highest, ()
    least, most, origin = facts.min_size, facts.max_size, facts.size_origin
    passed: list[PlatformBound] = []
    if lowest > most:
        passed.append(PlatformBound(bound="size.min", wanted=lowest, allowed=most, side="most", origin=origin))
    elif lowest < least:
        passed.append(PlatformBound(bound="size.min", wanted=lowest, allowed=least, side="least", origin=origin))
    if highest > most:
        passed.append(PlatformBound(bound="size.max", wanted=highest, allowed=most, side="most", origin=origin))
    return min(max(lowest, least), most), min(highest, most), tuple(passed)


# One group with every value decided: what the policy, its target and the instant say of it.

_NO_HEADROOM = Headroom()


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A target that the policy sizes, under the name of its group, with the sources of its values.

    `members` are the indices of its nodes, `machine_of` the machines behind nodes. `evidence` is what the nodes of the cluster
    say about labels, `volumes` what their volume drivers say.
    """

    name: str
    labels: tuple[tuple[str, str], ...]
    target: TargetRef
    sources: Sources
    members: tuple[int, ...]
    machine_of: Mapping[int, Machine]
    evidence: LabelEvidence
    volumes: VolumeEvidence
    devices: DeviceEvidence

    @property
    def facts(self) -> TargetFacts | None:
        """What is known of the target; None when it is not there."""
        return self.sources.facts

    @property
    def template(self) -> TargetTemplate:
        """What is known of its new nodes, with the zones that the policy states."""
        return with_zones(self.facts.template if self.facts is not None else TargetTemplate(), self.sources.fields)


class _Bounds(msgspec.Struct, frozen=True):
    """The range in nodes, windows included, and what is to be said about it."""

    lowest: int
    highest: int
    reasons: tuple[Reason, ...]


def effective_group(world: World, claim: Claim, now_seconds: int) -> EffectiveGroup:
    """The group of one target at an instant."""
    sources, facts = claim.sources, claim.facts
    values = Values(sources, facts)
    bounds = _bounds(values, claim, unread_target(world.unread, claim.target))
    hold, hold_until = _hold(sources, facts, now_seconds)
    if not hold and claim.target in world.observed:
        hold = "mode Observe, in which nothing is written"
    scale_up = values.all_below("scaleUp", ScaleUp)
    complete_until = now_seconds - scale_up.max_node_startup_time_seconds
    seen = witnesses(world, facts, claim.members, claim.machine_of, complete_until)
    new_node = _new_node(world, claim, complete_until, claim.members)
    seen, smaller_since = (seen, ()) if new_node.shape is None else overruled(world, new_node.shape, seen)
    template, smaller = (new_node.shape, None) if new_node.shape is None else least_of(world, new_node.shape, seen)
    if template is not None:
        template = msgspec.structs.replace(template, volumes=at_most(template.volumes, claim.volumes.least(seen.present)))
    sources_of = (*((f"{LIVE_SOURCE}, which have less",) if smaller is not None else ()), *new_node.sources)
    values.written(now_seconds)
    offered = [shape for shape in (template, new_node.shape) if shape is not None]

    def capacity_from() -> tuple[Origin, ...]:
        if not offered:
            return (Origin(source=new_node.problem, value=NOTHING),)
        texts = [amounts_text(_with_limits(shape)) for shape in offered]
        return tuple(Origin(source=source, value=texts[0 if rank == 0 else -1]) for rank, source in enumerate(sources_of))

    values.chains.keep("template.capacity", capacity_from)
    mixed = None if facts is not None and facts.rolling_out else new_node.mixed
    listed = (facts.price_per_hour, facts.price_origin) if facts is not None and facts.price_per_hour else None
    price = values.text("pricePerHour", "unknown", listed)
    balance_with = values.text("balanceWith")
    return EffectiveGroup(
        name=claim.name,
        namespace=sources.document.namespace if sources.document is not None else "",
        labels=claim.labels,
        target=claim.target,
        facts=facts,
        tier=sources.tier.name if sources.tier is not None else "",
        tier_rank=sources.tier_index,
        mode=_mode(values),
        min_size=bounds.lowest,
        max_size=bounds.highest,
        balance_with=balance_with,
        template=template,
        in_zones=() if facts is None else in_zones(template, claim.template, claim.evidence),
        stated=new_node.shape,
        smaller_since=smaller_since,
        from_template=_new_node(world, claim, complete_until, ()).shape if balance_with == AUTO else None,
        made_of_template=frozenset(node.name for node in seen.present),
        untried=new_node.shape is not None and untried(world, new_node.shape, seen),
        template_problem=new_node.problem,
        pods_guessed=new_node.pods_guessed,
        devices_declared=DEVICES.nearest(sources.fields) is not None,
        startup_taints=tuple(sorted({key for key, _ in added_startup_taints(sources.fields)})),
        price_micros=parse_money(price) if price else None,
        headroom=_NO_HEADROOM if (headroom := HEADROOM.nearest(sources.fields)) is None else headroom[1],
        windows=sources.windows(),
        scale_down=values.all_below("scaleDown", ScaleDown),
        scale_up=scale_up,
        hold=hold,
        hold_until_seconds=hold_until,
        human_hold_time_seconds=_human_hold(values),
        reasons=(*bounds.reasons, *(one.reason() for one in (mixed, smaller) if one is not None)),
        chains=values.chains,
    )


def _with_limits(shape: NodeShape) -> tuple[tuple[str, int], ...]:
    """What a node offers, with how many volumes drivers attach, as `template.capacity` names them."""
    return (*shape.capacity.items(), *((ATTACH_LIMIT + driver, volume_count) for driver, volume_count in shape.volumes.limits))


def _mode(values: Values) -> Mode:
    """The stricter of the group's own mode and the policy's."""
    policy = values.sources.policy
    mode = values.choice("mode", Mode, policy.mode, values.sources.of_policy("mode"))
    return effective_mode(mode, policy.mode)


def _human_hold(values: Values) -> int:
    policy = values.sources.policy
    seconds = policy.human_hold_time_seconds
    return values.count("humanHoldTime", None, seconds, duration_text(seconds), values.sources.of_policy("humanHoldTime"))


def _bounds(values: Values, claim: Claim, unread: Unread | None) -> _Bounds:
    """Without any maximum the group keeps its size; windows narrow what is written, and the platform narrows both."""
    facts = claim.facts
    current = (facts.replicas or 0) if facts is not None else 0
    least, most = _target_sizes(facts)
    lowest = values.count("size.min", least, 0, "0")
    highest = values.count("size.max", most, -1, "current size")
    reasons: list[Reason] = []
    if highest < 0:
        highest = max(current, lowest)
        reasons.append(NoMaxSize(current=current).reason())
    if facts is None:
        target = str(claim.target)
        missing = TargetMissing(target=target) if unread is None else TargetUnread(target=target, why=unread.sentence())
        reasons.append(missing.reason())
    for opened in values.sources.opened:
        size = opened.window.size
        lowest = max(lowest, size.min or 0)
        highest = min(highest, highest if size.max is None else size.max)
        reasons.append(WindowOpen(window=opened.name, until=instant_text(opened.until_seconds)).reason())
    lowest, highest, passed = within_platform(facts, lowest, highest)
    return _Bounds(lowest, highest, (*reasons, *(one.reason() for one in passed)))


def _target_sizes(facts: TargetFacts | None) -> tuple[tuple[int, str] | None, tuple[int, str] | None]:
    if facts is None or facts.min_size is None or facts.max_size is None:
        return None, None
    return (facts.min_size, facts.size_origin), (facts.max_size, facts.size_origin)


def _new_node(world: World, claim: Claim, complete_until: int, members: tuple[int, ...]) -> TemplateResult:
    sources = claim.sources
    ready = tuple(world.nodes[index] for index in members if world.nodes[index].ready)
    return new_node_shape(
        sources.fields,
        lambda level: sources.place(level, "template"),
        claim.template,
        world,
        ready,
        claim.evidence,
        claim.volumes,
        complete_until,
        claim.devices,
    )


def _hold(sources: Sources, facts: TargetFacts | None, now_seconds: int) -> tuple[str, int | None]:
    """The hold in force: written in the policy and not expired, or on the target (rule: either holds)."""
    written = HOLD.nearest(sources.fields, now_seconds)
    if written is not None:
        level, hold = written
        return f"{hold.reason} ({sources.place(level, 'hold')})", hold.until_seconds
    mark = read_hold(facts.owner.hold) if facts is not None else None
    if facts is not None and mark is not None and mark.holds(now_seconds):
        by = f", written by {facts.owner.hold_by}" if facts.owner.hold_by else ""
        return f"{mark.reason} (annotation reconciler.dev/hold{by})", mark.until_seconds
    return "", None


# The groups of a policy over a World, every value decided, each with the chain that it came from.


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
