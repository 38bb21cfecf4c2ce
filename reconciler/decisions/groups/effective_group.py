"""Resolves one group: the effective values from the policy, the target and the instant."""

from collections.abc import Mapping

import msgspec

from reconciler.cluster.nodes.node import ATTACH_LIMIT, NodeShape
from reconciler.cluster.target import Machine, TargetFacts, TargetRef, TargetTemplate
from reconciler.cluster.targets.hold_mark import read_hold
from reconciler.cluster.unread import Unread, unread_target
from reconciler.cluster.world import World
from reconciler.decisions.groups.effective_values import Sources
from reconciler.decisions.groups.group import EffectiveGroup, Origin
from reconciler.decisions.groups.group_values import Values
from reconciler.decisions.groups.new_node import LIVE_SOURCE, TemplateResult, new_node_shape
from reconciler.decisions.groups.platform_bounds import within_platform
from reconciler.decisions.groups.similar_groups import AUTO
from reconciler.decisions.groups.template_devices import DeviceEvidence
from reconciler.decisions.groups.template_labels import LabelEvidence, in_zones, with_zones
from reconciler.decisions.groups.template_volumes import VolumeEvidence, at_most
from reconciler.decisions.groups.witnesses import least_of, overruled, untried, witnesses
from reconciler.decisions.reasons.groups import TargetMissing, TargetUnread, WindowOpen
from reconciler.decisions.reasons.sizes import NoMaxSize
from reconciler.plan.reason import Reason
from reconciler.policy.documents import Headroom, Mode, ScaleDown, ScaleUp
from reconciler.policy.levels import DEVICES, HEADROOM, HOLD, NOTHING, added_startup_taints, amounts_text, effective_mode
from reconciler.values.duration import duration_text
from reconciler.values.instant import instant_text
from reconciler.values.money import parse_money

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
