"""The lines of a plan about groups: size, owner, price and every reason; and what all of them cost."""

from collections.abc import Iterator

import msgspec

from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.growth.requests import replacements
from reconciler.decisions.ownership.handover import from_topology
from reconciler.decisions.ownership.owner import NO_OWNER
from reconciler.decisions.reasons.groups import GroupUnhealthy, PlatformChooses, RolloutInProgress, TemplateUnknown
from reconciler.decisions.reasons.machines import LeadTime, MachinesFailed, MayNotReturn, UpcomingNodes
from reconciler.decisions.reasons.owners import GroupHeld, OtherPolicy, ResizeNextTime
from reconciler.decisions.reasons.sizes import AboveMax, MaxPodsGuessed, ReservedCapacity, ZoneAvoided, ZoneShiftedAway
from reconciler.decisions.removal.utilization import has_gpu
from reconciler.decisions.situation.group_situation import waits_for
from reconciler.decisions.situation.lead_times import EXPECTS_FROM, expectation, learned, overdue_after_seconds
from reconciler.decisions.situation.requests_under_way import last_asked_seconds
from reconciler.plan.plan import Cost, GroupLine, OwnerState
from reconciler.plan.reason import Because, Reason
from reconciler.values.instant import instant_text
from reconciler.values.money import price_text


def group_lines(draft: Draft, wanted: dict[str, int]) -> tuple[GroupLine, ...]:
    """All groups by tier and name; `wanted` by name for held ones."""
    return tuple(_group_line(draft, group, wanted.get(group.group.name)) for group in draft.groups)


def _group_line(plan: Draft, draft: GroupDraft, wanted: int | None) -> GroupLine:
    group, situation = draft.group, draft.situation
    return GroupLine(
        name=group.name,
        target=str(group.target),
        tier=group.tier,
        current=situation.current,
        desired=draft.desired,
        wanted=wanted if draft.held_why else None,
        min=group.min_size,
        max=group.max_size,
        owner=draft.judgement.ownership,
        held=bool(draft.held_why),
        price_per_hour=None if group.price_micros is None else price_text(group.price_micros),
        reasons=(*_group_reasons(plan, draft), *_hand_over(draft)),
    )


def _hand_over(draft: GroupDraft) -> tuple[Reason, ...]:
    """What to write so that a group whose replicas its topology declares becomes ours, whatever it would change to."""
    group, owner = draft.group, draft.judgement.ownership
    if group.facts is None or owner.state is not OwnerState.HELD or owner.by in NO_OWNER:
        return ()
    handover = from_topology(group.facts, group.min_size, group.max_size)
    return () if handover is None else (handover.reason(),)


def _group_reasons(plan: Draft, draft: GroupDraft) -> tuple[Reason, ...]:
    group, situation = draft.group, draft.situation
    reasons = list(draft.reasons)
    if draft.held_why:
        reasons.insert(0, GroupHeld(group=group.name, why=draft.held_why).reason())
    if (claim := draft.judgement.claimed) is not None:
        target, who = str(group.target), {"policy": claim.policy, "namespace": claim.namespace}
        reasons.append(OtherPolicy(target=target, holder=claim.holder or "nobody", **who).reason())
    if draft.not_ours is not None:
        reasons.append(draft.not_ours.reason())
    if draft.held_why and group.template is None and group.facts is not None:
        reasons.append(TemplateUnknown(group=group.name, why=group.template_problem).reason())
    if group.pods_guessed and group.template is not None and draft.desired > situation.current:
        reasons.append(MaxPodsGuessed(pods=group.template.allocatable.pods).reason())
    if draft.desired > situation.current and (took := _lead_time(plan, draft)) is not None:
        reasons.append(took.reason())
    stop = plan.growth_stop(draft)
    if isinstance(stop, GroupUnhealthy):
        reasons.append(stop.reason())
    if draft.judgement.ownership.state is OwnerState.ADOPTABLE and draft.desired != situation.current:
        reasons.append(ResizeNextTime().reason())
    replaced = replacements(plan, draft)
    if replaced is not None:
        reasons.append(replaced.reason())
    if draft.desired == 0 < situation.current and (scarce := _scarce(plan, draft)):
        reasons.append(MayNotReturn(why=scarce).reason())
    if situation.upcoming or situation.starting:
        reasons.append(_upcoming(plan, draft).reason())
    if situation.failed:
        name, message = situation.failed[0]
        reasons.append(MachinesFailed(count=len(situation.failed), first=f"{name}: {message}").reason())
    if situation.size > group.max_size:
        reasons.append(AboveMax(current=situation.size, max=group.max_size).reason())
    reasons.extend(one.reason() for one in _platform_notes(group))
    if group.facts is not None and group.facts.rolling_out:
        reasons.append(RolloutInProgress(group=group.name).reason())
    if draft.removed and group.facts is not None and not group.facts.selectable:
        names = tuple(sorted(plan.world.nodes[index].name for index in draft.removed))
        reasons.append(PlatformChooses(target=str(group.target), nodes=names).reason())
    return tuple(reasons)


def _upcoming(plan: Draft, draft: GroupDraft) -> UpcomingNodes:
    situation = draft.situation
    nodes, has_devices = plan.world.nodes, draft.group.template is not None and bool(draft.group.template.devices)
    evidence = plan.device_evidence if situation.starting and has_devices else None
    named = {what for index in situation.starting for what in waits_for(plan.world, nodes[index], draft.group, evidence)}
    what = UpcomingNodes(
        count=situation.upcoming + len(situation.starting),
        starting=len(situation.starting),
        waits_for=tuple(sorted(named)),
    )
    expected = expectation(plan.memory.lead_times.get(str(draft.group.target)))
    asked_seconds = last_asked_seconds(plan.memory, draft.group, situation)
    if expected is None or asked_seconds is None:
        return what
    by_seconds = asked_seconds + expected.within_seconds
    return msgspec.structs.replace(
        what,
        expected_by=instant_text(by_seconds),
        in_time=expected.came,
        earlier=expected.requests,
        late=plan.now_seconds > by_seconds,
    )


def _lead_time(plan: Draft, draft: GroupDraft) -> LeadTime | None:
    """How long its nodes took; None if too few have."""
    times, scale_up = plan.memory.lead_times.get(str(draft.group.target)), draft.group.scale_up
    known = learned(times)
    if known is None or known.requests < EXPECTS_FROM:
        return None
    overdue_after = overdue_after_seconds(times, scale_up.max_node_provision_time_seconds)
    return LeadTime(**msgspec.structs.asdict(known), overdue_after_seconds=overdue_after)


def _platform_notes(group: EffectiveGroup) -> Iterator[Because]:
    """What the platform has reserved for the group, and the zones that it launches nothing in for now."""
    if group.facts is None:
        return
    # The first are its own, the others are shared with groups that use more than these.
    for room in group.facts.reserved[:1]:
        yield ReservedCapacity(room=room.name, why=room.counted, left=room.left)
    for shift in group.facts.zone_shifts:
        until = instant_text(shift.until_seconds) if shift.until_seconds else ""
        if shift.closes:
            yield ZoneShiftedAway(group=group.name, zone=shift.zone, moved=shift.moved, until=until)
        else:
            yield ZoneAvoided(zone=shift.zone, moved=shift.moved, until=until)


def _scarce(plan: Draft, draft: GroupDraft) -> str:
    """Why machines of a group may be hard to get again; empty when nothing says so."""
    failed = plan.memory.backoffs.get(draft.group.name)
    if failed is not None:
        return f"the last {failed.failures} attempts to get some failed"
    template = draft.group.template
    return "they carry accelerators" if template is not None and has_gpu(template) else ""


def cost(draft: Draft) -> Cost:
    """What all replicas cost an hour, now and after the plan; groups without a price are named and left out."""
    priced = [(group, group.group.price_micros) for group in draft.groups]
    unpriced = tuple(group.group.name for group, price in priced if price is None)
    now = sum(group.situation.current * price for group, price in priced if price is not None)
    after = sum(group.desired * price for group, price in priced if price is not None)
    known = len(unpriced) < len(priced)
    return Cost(
        current_per_hour=price_text(now) if known else None,
        desired_per_hour=price_text(after) if known else None,
        currency=draft.policy.currency,
        unpriced_groups=unpriced,
    )
