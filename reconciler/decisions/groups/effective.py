"""The groups of a policy over a World, every value decided, each with the chain that it came from."""

from collections import Counter
from collections.abc import Callable

from reconciler.cluster.target import TargetFacts, TargetRef, TargetTemplate
from reconciler.cluster.targets.hold_mark import read_hold
from reconciler.cluster.world import World
from reconciler.decisions.groups.chain import Chains, Resolved, Sources, resolve, target_option
from reconciler.decisions.groups.discovery import discovered, target_ref, tier_of
from reconciler.decisions.groups.group import EffectiveGroup, Origin
from reconciler.decisions.groups.membership import Membership, membership
from reconciler.decisions.groups.template import new_node_shape
from reconciler.decisions.groups.windows import OpenWindow, open_windows
from reconciler.decisions.reasons.amounts import duration_text
from reconciler.decisions.reasons.groups import TargetMissing, WindowOpen
from reconciler.decisions.reasons.sizes import NoMaxSize
from reconciler.plan.instant import instant_text
from reconciler.plan.reason import Reason
from reconciler.policy.documents import (
    Counting,
    Discovery,
    GroupFields,
    Growth,
    Headroom,
    Mode,
    NodeGroup,
    PolicySet,
    Template,
    Toggle,
    Window,
    WithoutMachines,
)
from reconciler.policy.values.money import parse_money

_NO_TEMPLATE = Template()
_NO_HEADROOM = Headroom()

ReadInt = Callable[[GroupFields], int | None]


def claimed_targets(policy: PolicySet, world: World) -> tuple[tuple[TargetRef, NodeGroup | None, Discovery | None], ...]:
    """Which targets the policy sizes: those of its documents, then discovered ones; an explicit NodeGroup wins."""
    explicit = {target_ref(group.target): group for group in policy.groups}
    found: list[tuple[TargetRef, NodeGroup | None, Discovery | None]] = [(ref, group, None) for ref, group in explicit.items()]
    for facts in world.targets:
        if facts.ref in explicit:
            continue
        item = discovered(policy.policy, facts)
        if item is not None:
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
        _group(
            world,
            policy,
            now_seconds,
            name,
            labels,
            ref,
            facts_of.get(ref),
            document,
            Sources(document=document, facts=facts_of.get(ref), policy=policy.policy, tier=tier, tier_index=rank),
            members.members[index],
        )
        for index, (rank, name, ref, document, tier, labels) in enumerate(named)
    )
    return groups, members


def _group(
    world: World,
    policy: PolicySet,
    now_seconds: int,
    name: str,
    labels: tuple[tuple[str, str], ...],
    ref: TargetRef,
    facts: TargetFacts | None,
    document: NodeGroup | None,
    sources: Sources,
    members: tuple[int, ...],
) -> EffectiveGroup:
    current = (facts.replicas or 0) if facts is not None else 0
    chains = Chains()

    def seconds(path: str, read: ReadInt, built_in: int) -> int:
        return chains.keep(path, resolve(sources, path, read, built_in, duration_text, target_option(facts, path)))

    def percent(path: str, read: ReadInt, built_in: int) -> int:
        return chains.keep(path, resolve(sources, path, read, built_in, lambda value: f"{value}%", target_option(facts, path)))

    size = _target_sizes(facts)
    lowest = chains.keep("size.min", resolve(sources, "size.min", lambda f: f.size.min, 0, str, size[0]))
    highest_found = resolve(
        sources, "size.max", lambda f: f.size.max, -1, lambda v: str(v) if v >= 0 else "current size", size[1]
    )
    highest = chains.keep("size.max", highest_found)
    reasons: list[Reason] = []
    if highest < 0:
        highest = max(current, lowest)
        reasons.append(NoMaxSize(current=current).reason())
    if facts is None:
        reasons.append(TargetMissing(target=str(ref)).reason())
    opened = open_windows(_windows(sources), now_seconds)
    for window in opened:
        lowest = max(lowest, window.window.size.min or 0)
        highest = min(highest, highest if window.window.size.max is None else window.window.size.max)
        reasons.append(WindowOpen(window=_window_name(window), until=instant_text(window.until_seconds)).reason())
    mode_found = resolve(sources, "mode", lambda f: f.mode, policy.policy.mode, str, last=sources.of_policy("mode"))
    mode = chains.keep("mode", mode_found)
    removals_path = "scaleDown.mode"
    removals = chains.keep(removals_path, resolve(sources, removals_path, lambda f: f.scale_down.mode, Toggle.ENABLED, str))
    consolidation_path = "scaleDown.consolidation.mode"
    consolidation_found = resolve(sources, consolidation_path, lambda f: f.scale_down.consolidation.mode, Toggle.DISABLED, str)
    consolidation = chains.keep(consolidation_path, consolidation_found)
    blind_path = "scaleDown.withoutMachines"
    blind_found = resolve(sources, blind_path, lambda f: f.scale_down.without_machines, WithoutMachines.BLOCK, str)
    without_machines = chains.keep(blind_path, blind_found)
    daemonsets_path, mirrors_path = "scaleDown.daemonSetUtilization", "scaleDown.mirrorPodUtilization"
    option = target_option(facts, daemonsets_path)
    of_target = (Counting.IGNORE if option[0] else Counting.COUNT, option[1]) if option is not None else None
    daemonsets_found = resolve(
        sources, daemonsets_path, lambda f: f.scale_down.daemon_set_utilization, Counting.COUNT, str, of_target
    )
    daemonsets = chains.keep(daemonsets_path, daemonsets_found)
    mirrors_found = resolve(sources, mirrors_path, lambda f: f.scale_down.mirror_pod_utilization, Counting.COUNT, str)
    mirrors = chains.keep(mirrors_path, mirrors_found)
    growth_path = "scaleUp.growth"
    growth = chains.keep(growth_path, resolve(sources, growth_path, lambda f: f.scale_up.growth, Growth.AS_NEEDED, str))
    balance = chains.keep("balanceWith", resolve(sources, "balanceWith", lambda f: f.balance_with, "Off", str))
    listed = (facts.price_per_hour, facts.price_origin) if facts is not None and facts.price_per_hour else None
    price_found = resolve(sources, "pricePerHour", lambda f: f.price_per_hour, "", lambda v: v or "unknown", listed)
    price = chains.keep("pricePerHour", price_found)
    hold, hold_until = _hold(sources, facts, now_seconds)
    template = new_node_shape(
        tuple(
            (fields.template, sources.place(level, "template"))
            for level, fields in enumerate(sources.fields())
            if fields.template != _NO_TEMPLATE
        ),
        facts.template if facts is not None else TargetTemplate(),
        world,
        tuple(world.nodes[index] for index in members if world.nodes[index].ready),
    )
    capacity_from = tuple(Origin(source=source, value="capacity") for source in template.sources)
    chains.keep("template.capacity", Resolved(template.shape, lambda: capacity_from))
    if template.mixed is not None and not (facts is not None and facts.rolling_out):
        reasons.append(template.mixed.reason())
    observe = Mode.OBSERVE in (mode, policy.policy.mode)
    return EffectiveGroup(
        name=name,
        namespace=document.namespace if document is not None else "",
        labels=labels,
        target=ref,
        facts=facts,
        tier=sources.tier.name if sources.tier is not None else "",
        tier_rank=sources.tier_index,
        mode=Mode.OBSERVE if observe else Mode.ENFORCE,
        min_size=lowest,
        max_size=highest,
        balance_with=balance,
        template=template.shape,
        template_problem=template.problem,
        whole=growth is Growth.ZERO_OR_MAX,
        startup_taints=tuple(sorted({taint.key for fields in sources.fields() for taint in fields.template.startup_taints})),
        price_micros=parse_money(price) if price else None,
        headroom=next((f.headroom for f in sources.fields() if f.headroom != _NO_HEADROOM), _NO_HEADROOM),
        removals_enabled=removals is Toggle.ENABLED,
        utilization_threshold_percent=percent(
            "scaleDown.utilizationThresholdPercent", lambda f: f.scale_down.utilization_threshold_percent, 50
        ),
        gpu_utilization_threshold_percent=percent(
            "scaleDown.gpuUtilizationThresholdPercent", lambda f: f.scale_down.gpu_utilization_threshold_percent, 50
        ),
        ignores_daemonsets=daemonsets is Counting.IGNORE,
        ignores_mirror_pods=mirrors is Counting.IGNORE,
        unneeded_time_seconds=seconds("scaleDown.unneededTime", lambda f: f.scale_down.unneeded_time_seconds, 600),
        unready_time_seconds=seconds("scaleDown.unreadyTime", lambda f: f.scale_down.unready_time_seconds, 1200),
        platform_chooses=without_machines is WithoutMachines.PLATFORM_CHOOSES,
        consolidates=consolidation is Toggle.ENABLED,
        min_saving_percent=percent(
            "scaleDown.consolidation.minSavingPercent", lambda f: f.scale_down.consolidation.min_saving_percent, 15
        ),
        max_node_provision_time_seconds=seconds(
            "scaleUp.maxNodeProvisionTime", lambda f: f.scale_up.max_node_provision_time_seconds, 900
        ),
        max_node_startup_time_seconds=seconds(
            "scaleUp.maxNodeStartupTime", lambda f: f.scale_up.max_node_startup_time_seconds, 900
        ),
        backoff_initial_seconds=seconds("scaleUp.backoff.initial", lambda f: f.scale_up.backoff.initial_seconds, 300),
        backoff_max_seconds=seconds("scaleUp.backoff.max", lambda f: f.scale_up.backoff.max_seconds, 1800),
        backoff_reset_seconds=seconds("scaleUp.backoff.reset", lambda f: f.scale_up.backoff.reset_seconds, 10800),
        hold=hold,
        hold_until_seconds=hold_until,
        reasons=tuple(reasons),
        chains=chains,
    )


def _target_sizes(facts: TargetFacts | None) -> tuple[tuple[int, str] | None, tuple[int, str] | None]:
    if facts is None or facts.min_size is None or facts.max_size is None:
        return None, None
    return (facts.min_size, facts.size_origin), (facts.max_size, facts.size_origin)


def _windows(sources: Sources) -> tuple[Window, ...]:
    return next((fields.windows for fields in sources.fields() if fields.windows), ())


def _window_name(opened: OpenWindow) -> str:
    return opened.window.name or f"#{opened.index + 1} ({opened.window.schedule})"


def _hold(sources: Sources, facts: TargetFacts | None, now_seconds: int) -> tuple[str, int | None]:
    """The hold in force: written in the policy and not expired, or on the target (rule: either holds)."""
    for level, fields in enumerate(sources.fields()):
        hold = fields.hold
        if hold is not None and (hold.until_seconds is None or hold.until_seconds > now_seconds):
            return f"{hold.reason} ({sources.place(level, 'hold')})", hold.until_seconds
    mark = read_hold(facts.owner.hold) if facts is not None else None
    if mark is not None and mark.holds(now_seconds):
        return f"{mark.reason} (annotation reconciler.dev/hold)", mark.until_seconds
    return "", None
