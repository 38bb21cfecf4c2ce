"""Two policies against one cluster: what the second changes, now and in steady state."""

from decimal import Decimal

import msgspec

from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.cluster.world import World
from reconciler.decisions.decide import full_decision
from reconciler.decisions.groups.effective_groups import effective_groups, effective_view, named_targets
from reconciler.decisions.limits import LimitLedger
from reconciler.decisions.lints.cluster import findings_of
from reconciler.decisions.memory import Memory
from reconciler.decisions.work import Work
from reconciler.plan.comparison import compare_plans
from reconciler.plan.finding import Finding
from reconciler.plan.picture import Pictures, picture
from reconciler.plan.plan import GroupLine
from reconciler.plan.preview import LaterEffect, LimitSpent, Preview, PreviewSide, WeekCost
from reconciler.plan.what_if import WhatIf
from reconciler.policy.changes.comparison import compare_policies
from reconciler.policy.changes.loosening import ClusterGroup, loosened
from reconciler.policy.documents import Mode, NodeGroupPolicy, PolicySet, TargetAnnotations
from reconciler.policy.problems.problem import Problem
from reconciler.policy.windows import next_opening
from reconciler.simulation.settled import Rest, come_to_rest
from reconciler.simulation.what_if.decided import what_if
from reconciler.simulation.what_if.standard import standard_situations
from reconciler.simulation.what_if.timeline import timeline
from reconciler.simulation.what_if.week import per_hour_in_week
from reconciler.values.instant import instant_text
from reconciler.values.money import PRICE_HOURS, price_text


def compare(
    world: World,
    now_seconds: int,
    base: tuple[PreviewSide, PolicySet],
    head: tuple[PreviewSide, PolicySet],
    work_budget: int,
    warnings: tuple[Problem, ...] = (),
    *,
    pictured: bool = False,
    with_what_if: bool = False,
) -> Preview:
    """Both decisions on the same world, without any memory except the groups of the base.

    Each side shows the actions under its own policy: a target that is only observed is not written. If both policies only
    observe, both are shown as they would act. The decision for this PR gets the groups of main as its previous groups, so it
    releases a group that leaves the policy. `pictured` adds the pictures of the cluster now and in steady state with either
    policy. `with_what_if` adds what both do in other situations, where the policies differ.
    """
    before_side, before_policy = base
    after_side, after_policy = head
    observed_before, observed_after = _observed(world, before_policy, after_policy, now_seconds)
    today = msgspec.structs.replace(world, observed=observed_before)
    before, known = _decided(today, before_policy, Memory(), now_seconds, work_budget)
    # A renamed policy takes over the targets with the mark of the old name.
    ended = () if before_policy.policy.name == after_policy.policy.name else (before_policy.policy.name,)
    taken_over = msgspec.structs.replace(world, ended_policies=ended, observed=observed_after)
    after, _ = _decided(taken_over, after_policy, Memory(known_groups=known.known_groups), now_seconds, work_budget)
    before = _with_wanted(before, today, before_policy, Memory(), now_seconds, work_budget)
    after = _with_wanted(after, taken_over, after_policy, Memory(known_groups=known.known_groups), now_seconds, work_budget)
    comparison = compare_plans(before.plan, after.plan)
    changes = compare_policies(before_policy, after_policy, now_seconds)
    differing = {pair.either.name for pair in comparison.groups}
    earlier = {line.name for line in before.plan.groups}
    written = {line.name for line in before.plan.groups if not line.held}
    targets = {str(target) for target in observed_after - observed_before}
    return Preview(
        base=before_side,
        head=after_side,
        plan=after.plan,
        changes=changes,
        loosened=loosened(before_policy, after_policy, now_seconds, _discovered_groups(world, before_policy, after_policy)),
        comparison=comparison,
        impact_before=before.impact,
        impact_after=after.impact,
        spent_before=_spent(before, before_policy, now_seconds),
        spent_after=_spent(after, after_policy, now_seconds),
        later=_later((today, before_policy), (taken_over, after_policy), now_seconds, work_budget),
        untouched=tuple(line.name for line in after.plan.groups if line.name in earlier and line.name not in differing),
        week=_week((today, before_policy, before), (taken_over, after_policy, after), now_seconds, work_budget),
        timeline=timeline(((today, before_policy), (taken_over, after_policy)), now_seconds),
        findings=_new_findings((world, before_policy), (taken_over, after_policy), now_seconds, work_budget),
        unwritten=tuple(line.name for line in after.plan.groups if line.target in targets and line.name in written),
        warnings=warnings,
        pictures=_pictures(world, after, before) if pictured else None,
        what_if=_what_if(world, (before_policy, after_policy), ended, now_seconds, work_budget)
        if with_what_if and changes
        else None,
    )


def alone(
    world: World,
    now_seconds: int,
    base: PreviewSide,
    head: tuple[PreviewSide, PolicySet],
    work_budget: int,
    *,
    no_base: str,
    base_problems: tuple[Problem, ...] = (),
    warnings: tuple[Problem, ...] = (),
    pictured: bool = False,
) -> Preview:
    """The head's decision if there is nothing to compare it with; `no_base` states why."""
    side, policy = head
    rest, _ = _decided(world, policy, Memory(), now_seconds, work_budget)
    return Preview(
        base=base, head=side, plan=rest.plan, impact_after=rest.impact, warnings=warnings, no_base=no_base,
        base_problems=base_problems, spent_after=_spent(rest, policy, now_seconds),
        pictures=_pictures(world, rest, None) if pictured else None,
    )  # fmt: skip


def _week(
    before: tuple[World, PolicySet, Rest], after: tuple[World, PolicySet, Rest], now_seconds: int, work_budget: int
) -> WeekCost | None:
    """None if both policies have the same windows, whose hours then do not matter to the difference of now."""
    windows = [
        tuple(window for group in effective_groups(world, policy, now_seconds) for window in group.windows)
        if _names_times(policy) else ()
        for world, policy, _ in (before, after)
    ]  # fmt: skip
    if windows[0] == windows[1]:
        return None
    means = []
    for (world, policy, rest), mine in zip((before, after), windows, strict=True):

        def per_hour(instant: int, world: World = world, policy: PolicySet = policy, rest: Rest = rest) -> Decimal | None:
            if instant != now_seconds:
                rest, _ = _decided(world, policy, Memory(), instant, work_budget)
            price = rest.plan.cost.settled_per_hour
            return None if price is None else Decimal(price)

        mean = per_hour_in_week(mine, now_seconds, per_hour)
        means.append(None if mean is None else str(mean))
    return WeekCost(before=means[0], after=means[1]) if any(means) else None


def _new_findings(
    before: tuple[World, PolicySet], after: tuple[World, PolicySet], now_seconds: int, work_budget: int
) -> tuple[Finding, ...]:
    """What `doctor` finds under the second policy: other codes or objects than under the first one."""
    sides = [findings_of(world, policy, Memory(), now_seconds, work_budget) for world, policy in (before, after)]
    known = {(one.code, one.object) for one in sides[0]}
    return tuple(one for one in sides[1] if (one.code, one.object) not in known)


def _what_if(
    world: World, policies: tuple[PolicySet, PolicySet], ended: tuple[str, ...], now_seconds: int, work_budget: int
) -> WhatIf:
    """Both policies as if they were written to, whatever their mode: what `plan` shows of them."""
    before, after = policies
    taken_over = msgspec.structs.replace(world, ended_policies=ended)
    situations = standard_situations(world, policies, now_seconds)
    return what_if(((world, before), (taken_over, after)), now_seconds, situations, work_budget)


def _observed(
    world: World, before: PolicySet, after: PolicySet, now_seconds: int
) -> tuple[frozenset[TargetRef], frozenset[TargetRef]]:
    """Targets that are only observed: under `before`, under `after`. An observed target does not change, also next to written
    ones.

    None if both policies only observe: both are shown as they would act, so a change can be judged before it takes effect.
    """
    if before.policy.mode is Mode.OBSERVE is after.policy.mode:
        return frozenset(), frozenset()
    sides = [{group.target: group.mode for group in effective_groups(world, policy, now_seconds)} for policy in (before, after)]
    first, second = (frozenset(target for target, mode in modes.items() if mode is Mode.OBSERVE) for modes in sides)
    return first, second


def _with_wanted(rest: Rest, world: World, policy: PolicySet, memory: Memory, now_seconds: int, work_budget: int) -> Rest:
    """With the sizes that observed groups would get if all of them were written, and why, as a plan of the policy shows them."""
    if not world.observed:
        return rest
    acting = msgspec.structs.replace(world, observed=frozenset())
    plan = full_decision(acting, policy, memory, now_seconds, Work(work_budget)).plan
    acted = {line.name: line for line in plan.groups if not line.held}
    groups = tuple(_wanting(line, acted[line.name]) if line.held and line.name in acted else line for line in rest.plan.groups)
    return msgspec.structs.replace(rest, plan=msgspec.structs.replace(rest.plan, groups=groups))


def _wanting(line: GroupLine, acted: GroupLine) -> GroupLine:
    known = {reason.message for reason in line.reasons}
    more = tuple(reason for reason in acted.reasons if reason.message not in known)
    return msgspec.structs.replace(line, wanted=acted.desired, reasons=(*line.reasons, *more))


def _spent(rest: Rest, policy: PolicySet, now_seconds: int) -> tuple[LimitSpent, ...]:
    """The spending limits of a policy in its steady state."""
    limits, currency = policy.policy.limits, policy.policy.currency
    if not any(name in PRICE_HOURS for limit in limits for name, _ in limit.max):
        return ()
    ledger = LimitLedger(limits, currency)
    groups, members = effective_view(rest.world, policy, now_seconds)
    for index, node in enumerate(rest.world.nodes):
        position = members.group_of[index]
        ledger.count(groups[position] if position >= 0 else None, rest.world.node_shapes[node.shape])
    return tuple(
        LimitSpent(limit=limit, resource=name, spent=price_text(spent), max=price_text(most), currency=currency)
        for limit, name, spent, most in ledger.spent()
    )


_DAY_SECONDS = 24 * 3600
_MOST_LATER = 3


def _later(
    before: tuple[World, PolicySet], after: tuple[World, PolicySet], now_seconds: int, work_budget: int
) -> tuple[LaterEffect, ...]:
    """The results of both policies at the first instants of the next day at which a differing window opens or hold ends."""
    effects = []
    for instant in sorted(_turns(before, after, now_seconds))[:_MOST_LATER]:
        impacts = [_decided(world, policy, Memory(), instant, work_budget)[0].impact for world, policy in (before, after)]
        if impacts[0] != impacts[1]:
            effects.append(LaterEffect(at=instant_text(instant), impact_before=impacts[0], impact_after=impacts[1]))
    return tuple(effects)


def _turns(before: tuple[World, PolicySet], after: tuple[World, PolicySet], now_seconds: int) -> set[int]:
    if not any(_names_times(policy) for _, policy in (before, after)):
        return set()
    today, then = ({group.target: group for group in effective_groups(*side, now_seconds)} for side in (before, after))
    end, turns = now_seconds + _DAY_SECONDS, set()
    for target in {*today, *then}:
        old, new = today.get(target), then.get(target)
        windows = [() if group is None else group.windows for group in (old, new)]
        for window in {*windows[0]} ^ {*windows[1]}:
            turns.add(next_opening(window, now_seconds) or end)
        holds = [None if group is None else group.hold_until_seconds for group in (old, new)]
        if holds[0] != holds[1]:
            turns |= {until for until in holds if until is not None}
    return {instant for instant in turns if now_seconds < instant < end}


def _names_times(policy: PolicySet) -> bool:
    levels = (policy.policy.defaults, *(tier.defaults for tier in policy.policy.tiers), *policy.groups)
    return any(level.windows or level.hold is not None for level in levels)


def _discovered_groups(world: World, before: PolicySet, after: PolicySet) -> tuple[ClusterGroup, ...]:
    """Groups of both policies that at least one of them discovers and that get another document or tier under the other one."""
    if not before.policy.discovery and not after.policy.discovery:
        return ()
    today = {one.target: one for one in named_targets(world, before)}
    facts_of = {facts.ref: facts for facts in world.targets}
    groups = []
    for later in named_targets(world, after):
        earlier = today.get(later.target)
        if earlier is None or (earlier.document is not None and later.document is not None):
            continue
        old, new = (one.document or (one.tier.name if one.tier is not None else None) for one in (earlier, later))
        if old != new:
            facts = facts_of.get(later.target)
            size = (_target_size(facts, before.policy), _target_size(facts, after.policy))
            groups.append(ClusterGroup(name=later.name, before=old, after=new, size=size))
    return tuple(groups)


def _target_size(facts: TargetFacts | None, policy: NodeGroupPolicy) -> dict[str, int]:
    """The bounds on the target itself, if the policy reads them."""
    if facts is None or policy.target_annotations is TargetAnnotations.IGNORE:
        return {}
    bounds = {"size.min": facts.min_size, "size.max": facts.max_size}
    return {path: nodes for path, nodes in bounds.items() if nodes is not None}


def _pictures(world: World, rest: Rest, before: Rest | None) -> Pictures:
    return Pictures(
        now=picture(world, rest.plan.groups, rest.plan.nodes),
        rest=picture(rest.world, rest.plan.groups, rest.plan.nodes),
        rest_before=None if before is None else picture(before.world, before.plan.groups, before.plan.nodes),
    )


def _decided(world: World, policy: PolicySet, memory: Memory, now_seconds: int, work_budget: int) -> tuple[Rest, Memory]:
    made = full_decision(world, policy, memory, now_seconds, Work(work_budget))
    return come_to_rest(world, policy, made.memory, now_seconds, made.plan, work_budget, made), made.memory
