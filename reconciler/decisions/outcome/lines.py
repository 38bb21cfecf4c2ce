"""The lines of a plan: groups, pods, nodes, cost, from what was drafted."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

import msgspec

from reconciler.cluster.platform_reading import of_any_group
from reconciler.cluster.target import TargetFacts
from reconciler.cluster.workloads.capacity_buffer import BUFFER
from reconciler.cluster.world import BufferPods, World
from reconciler.decisions.buffers import left_alone
from reconciler.decisions.demand.pending import Served
from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.groups.new_node import accelerator_label
from reconciler.decisions.growth.buffers import KeptRoom
from reconciler.decisions.growth.requests import replacements
from reconciler.decisions.limits import UnknownLimit
from reconciler.decisions.memory import Memory
from reconciler.decisions.outcome.request_lines import request_problems
from reconciler.decisions.ownership.handover import from_topology
from reconciler.decisions.ownership.owner import NO_OWNER
from reconciler.decisions.ownership.second_writer import REPORTED_FROM, UNDONE_TIMES
from reconciler.decisions.platform_rules import PlatformRules, platform_rules
from reconciler.decisions.reasons.buffers import BufferEmpty, BufferLimited, BufferRefused
from reconciler.decisions.reasons.groups import GroupUnhealthy, PlatformChooses, RolloutInProgress, TemplateUnknown
from reconciler.decisions.reasons.machines import LeadTime, MachinesFailed, MayNotReturn, UpcomingNodes
from reconciler.decisions.reasons.owners import Conflict, GroupHeld, OtherPolicy, ResizeNextTime
from reconciler.decisions.reasons.sizes import (
    AboveMax,
    LimitUnknown,
    MaxPodsGuessed,
    ReservedCapacity,
    ShareNotReached,
    ZoneAvoided,
    ZoneShiftedAway,
)
from reconciler.decisions.removal.do_not_disrupt import unreadable
from reconciler.decisions.removal.scale_down import Judged
from reconciler.decisions.removal.utilization import has_gpu
from reconciler.decisions.situation.group_situation import waits_for
from reconciler.decisions.situation.lead_times import EXPECTS_FROM, expectation, learned, overdue_after_seconds
from reconciler.decisions.situation.requests_under_way import last_asked_seconds
from reconciler.decisions.work import Shares
from reconciler.plan.plan import (
    BufferLine,
    BufferState,
    Cost,
    GroupLine,
    NodeLine,
    OwnerState,
    PlanProblem,
    PodLine,
    PodOutcome,
)
from reconciler.plan.reason import Because, Reason
from reconciler.policy.documents import Discovery, NodeGroupPolicy
from reconciler.policy.group_namespaces import RefusedGroup
from reconciler.policy.tree import CODE, HOW, none_was_read
from reconciler.values.instant import instant_text
from reconciler.values.money import price_text
from reconciler.values.plural import count_text

# What a plan says of second writers: who undoes our writes, and which pods keep asking for our value.

_NAMED_PODS = 3


def conflict_reasons(draft: Draft, served: Mapping[int, Served]) -> None:
    """Say at every group whose writes were undone more than once who does it, and which pods keep asking for our value."""
    states = {
        group.position: state
        for group in draft.groups
        if (state := draft.memory.conflicts.get(str(group.group.target))) is not None and state.count >= REPORTED_FROM
    }
    if not states:
        return
    asking: dict[str, list[str]] = defaultdict(list)
    for pod in sorted(served):
        entry = served[pod]
        wanted = entry.reasons[0].data.get("groups", ()) if entry.reasons else ()
        names = (entry.group,) if entry.group else wanted
        for name in names if isinstance(names, tuple) else ():
            asking[str(name)].append(draft.world.pods.key(pod))
    for position, state in states.items():
        group = draft.groups[position]
        pods = asking[group.group.name]
        reason = Conflict(
            writer=state.writer,
            times=state.count,
            hold_at=UNDONE_TIMES,
            ours=state.ours,
            theirs=state.theirs,
            asking=tuple(pods[:_NAMED_PODS]),
            more_asking=max(0, len(pods) - _NAMED_PODS),
        )
        group.reasons.append(reason.reason())


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


def pod_lines(draft: Draft, outcomes: Sequence[tuple[Served, Sequence[int]]]) -> tuple[PodLine, ...]:
    """Every pending pod, in World order; `outcomes` as of `in_runs`."""
    pods = draft.world.pods
    namespaces, names = pods.namespace, pods.name
    lines: list[PodLine] = []
    for entry, rows in outcomes:
        # There may be tens of thousands of pods, and looking up what they share would take half of the time.
        outcome, node, group, reasons = entry.outcome, entry.node, entry.group, entry.reasons
        lines += [
            PodLine(pod=f"{namespaces[row]}/{names[row]}", outcome=outcome, node=node, group=group, reasons=reasons)
            for row in rows
        ]
    return tuple(lines)


def node_lines(draft: Draft, judged: dict[int, Judged]) -> tuple[NodeLine, ...]:
    """Every node, by name."""
    lines = []
    for index, node in enumerate(draft.world.nodes):
        entry = judged[index]
        where = draft.members.group_of[index]
        lines.append(
            NodeLine(
                node=node.name,
                group=draft.groups[where].group.name if where >= 0 else None,
                state=entry.candidate.state,
                utilization_permille=entry.candidate.utilization_permille,
                removable=entry.safe,
                blockers=entry.blockers,
                unneeded_since=None if entry.unneeded_since is None else instant_text(entry.unneeded_since),
                removable_at=None if entry.removable_at is None else instant_text(entry.removable_at),
            )
        )
    return tuple(lines)


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


# What a reader of a plan must know beside its actions.

# What a policy names and nobody has read: discovery that takes nothing, and groups whose platform's targets are not there.

_PLACES_SHOWN = 3


def without_targets(world: World, policy: NodeGroupPolicy, groups: Sequence[EffectiveGroup]) -> Iterator[PlanProblem]:
    """One problem an item of discovery that takes no target, one a platform of which groups name targets and none was read."""
    for rules in platform_rules():
        read = [facts for facts in world.targets if facts.ref.kind in rules.kinds]
        for item in policy.discovery:
            if item.provider == rules.provider and not any(rules.takes(item, facts) for facts in read):
                message = f"{_asked(item)}: {_there(rules, read)}"
                yield PlanProblem(code="DiscoveryMatchesNothing", object=f"discovery {item.name}", message=message)
        named = [group.name for group in groups if group.target.kind in rules.kinds]
        if named and not read:
            yield PlanProblem(code=CODE, object=rules.provider, message=none_was_read(("group", named)))


def _asked(item: Discovery) -> str:
    """What the item asks for, in the words of the policy."""
    parts = [f"namespaces {', '.join(item.namespaces)}"] if item.namespaces else []
    parts += [f"clusterName {item.cluster_name}"] if item.cluster_name else []
    parts += [f"region {item.region}"] if item.region else []
    for word, pairs in (("labels", item.labels), ("tags", item.tags)):
        parts += [f"{word} {', '.join(f'{key}={value}' if value else key for key, value in pairs)}"] if pairs else []
    return f"it takes no target of {item.provider}" + (f" ({'; '.join(parts)})" if parts else "")


def _there(rules: PlatformRules, read: Sequence[TargetFacts]) -> str:
    if not read:
        return f"no {' or '.join(rules.kinds)} was read, and {HOW}"
    where = Counter(facts.ref.namespace or facts.ref.region for facts in read)
    places = ", ".join(f"{count} in {place}" for place, count in sorted(where.items())[:_PLACES_SHOWN])
    summary = f"{count_text(len(read), 'target')} {'was' if len(read) == 1 else 'were'} read, {places}"
    unbounded = sum(facts.max_size is None for facts in read)
    return f"{summary}; {unbounded} of them without a range of its own, which no discovery takes" if unbounded else summary


def buffer_lines(draft: Draft, kept: Sequence[KeptRoom]) -> tuple[BufferLine, ...] | msgspec.UnsetType:
    """What becomes of every CapacityBuffer, by name; unset if the policy reads none."""
    if not draft.policy.headroom_from.reads_buffers:
        return msgspec.UNSET
    rooms = {(room.buffer.namespace, room.buffer.name): room for room in kept}
    return tuple(_buffer_line(draft, one, rooms.get((one.namespace, one.name))) for one in draft.world.buffers)


def _buffer_line(draft: Draft, buffer: BufferPods, room: KeptRoom | None) -> BufferLine:
    if (why := left_alone(buffer, draft.policy)) is not None:
        return BufferLine(buffer=buffer.key, state=BufferState.IGNORED, pods=buffer.count, reasons=(why.reason(),))
    limited = BufferLimited(asked=buffer.asked, allowed=buffer.count, quotas=buffer.limited_by)
    reasons = (limited.reason(),) if buffer.limited_by else ()
    if room is None:
        return BufferLine(buffer=buffer.key, state=BufferState.FITS, pods=0, reasons=(*reasons, BufferEmpty().reason()))
    fits, upcoming, requested = (room.served.get(outcome, 0) for outcome in _WITH_ROOM)
    waiting = BufferState.WAITING if upcoming or requested else BufferState.FITS
    return BufferLine(
        buffer=buffer.key,
        state=waiting if fits + upcoming + requested == buffer.count else BufferState.SHORT,
        pods=buffer.count,
        fits=fits,
        upcoming=upcoming,
        requested=requested,
        reasons=(*reasons, *room.reasons),
    )


_WITH_ROOM = (PodOutcome.FITS_EXISTING, PodOutcome.FITS_UPCOMING, PodOutcome.TRIGGERS_SCALE_UP)


def plan_problems(
    draft: Draft, halted: tuple[str, ...], memory: Memory, refused: tuple[RefusedGroup, ...]
) -> tuple[PlanProblem, ...]:
    """Sorted; empty when all is well."""
    problems = [PlanProblem(code="RemovalsHalted", message=sentence) for sentence in halted]
    problems.extend(
        PlanProblem(code=problem.code, object=problem.object, message=problem.message) for problem in draft.world.problems
    )
    problems.extend(_unread(draft.world))
    for group in draft.groups:
        facts = group.group.facts
        if facts is None:
            continue
        problems.extend(PlanProblem(code="TargetProblem", object=str(facts.ref), message=text) for text in facts.problems)
    problems.extend(
        PlanProblem(code="NodeClaimedTwice", object=f"Node {node}", message=why) for node, why in draft.members.conflicts
    )
    problems.extend(PlanProblem(code=entry.code, object=entry.title, message=entry.message) for entry in refused)
    problems.extend(
        PlanProblem(code=LimitUnknown.code, object=limit.name, message=f"no node is added: {limit.why}")
        for limit in draft.policy.limits
        if isinstance(limit, UnknownLimit)
    )
    problems.extend(
        PlanProblem(code=BufferRefused.code, object=f"{BUFFER} {one.key}", message=why.sentence())
        for one in (draft.world.buffers if draft.policy.headroom_from.reads_buffers else ())
        if isinstance(why := left_alone(one, draft.policy), BufferRefused)
    )
    problems.extend(request_problems(draft))
    problems.extend(_unknown_accelerators(draft))
    problems.extend(_unreadable_holds(draft.world))
    problems.extend(_shares_of_nobody(draft))
    problems.extend(_daemons_left_out(draft))
    problems.extend(without_targets(draft.world, draft.policy, [group.group for group in draft.groups]))
    if memory.known_groups and not draft.groups and not draft.world.unread:
        message = f"the policy has no groups any more; it had {len(memory.known_groups)}: nothing is released"
        problems.append(PlanProblem(code="AllGroupsGone", message=message))
    if draft.work.exhausted:
        message = (
            f"the work budget of {draft.work.budget} steps ran out{_most(draft.shares.spent)}; what was not examined says so"
        )
        problems.append(PlanProblem(code="WorkBudgetExhausted", message=message))
    problems.extend(
        PlanProblem(code="NamespaceDelayed", object=f"Namespace {namespace}", message=_delayed(draft.shares, namespace))
        for namespace in draft.shares.over | draft.shares.delayed.keys()
    )
    return tuple(sorted(set(problems)))


def share_reasons(draft: Draft) -> None:
    """Every group of a tier that has less than its share after this plan says so."""
    for short in draft.tier_shares.shortages():
        mine = [group for group in draft.groups if group.group.tier == short.tier.name]
        stops = [(group.group.name, _stop(draft, group)) for group in mine]
        because = ShareNotReached(
            tier=short.tier.name,
            percent=short.tier.share_percent,
            nodes=short.nodes,
            total=short.total,
            needed=short.needed,
            unable=tuple(f"{name} ({code})" for name, code in stops if code),
        )
        for group in mine:
            group.reasons.append(because.reason())


def _stop(draft: Draft, group: GroupDraft) -> str:
    """The code of what keeps a group from growing; empty where nothing does."""
    stop, template = draft.growth_stop(group), group.group.template
    if stop is not None or template is None:
        return stop.code if stop is not None else ""
    room, refusal = draft.room(group, template)
    return refusal.code if room <= 0 and refusal is not None else ""


def _shares_of_nobody(draft: Draft) -> Iterator[PlanProblem]:
    """Tiers with a share and without groups."""
    tiers = {group.group.tier for group in draft.groups}
    for short in draft.tier_shares.shortages():
        if short.tier.name not in tiers:
            message = f"no group is of this tier, so its share of {short.tier.share_percent}% is never reached"
            yield PlanProblem(code="ShareWithoutGroups", object=f"tier {short.tier.name}", message=message)


def _unread(world: World) -> Iterator[PlanProblem]:
    """What cannot be read, one problem per kind and namespace: a tenant may have made very many such objects. Templates are left
    to the groups that need them."""
    told = (one for one in world.unread if not of_any_group(one.kind))
    for (kind, namespace), several in groupby(told, lambda one: (one.kind, one.namespace)):
        first, *more = several
        others = f" (and {count_text(len(more), 'more object')} of {kind} in {namespace})" if more else ""
        yield PlanProblem(code="Unread", object=first.title, message=f"it cannot be read: {first.why}{others}")


def _daemons_left_out(draft: Draft) -> Iterator[PlanProblem]:
    """DaemonSets of which nobody knows what their pods take of a new node."""
    for daemon in draft.world.daemon_pods:
        if unknown := draft.state.modelled(daemon.shape):
            message = f"its pods are counted on no new node: {unknown}"
            yield PlanProblem(code="DaemonSetNotCounted", object=f"DaemonSet {daemon.namespace}/{daemon.name}", message=message)


def _most(spent: Mapping[str, int]) -> str:
    """Whose pods took most of the steps."""
    if not spent:
        return ""
    steps, namespace = max((steps, namespace) for namespace, steps in spent.items())
    return f", {steps} of them for pods of namespace {namespace}"


def _delayed(shares: Shares, namespace: str) -> str:
    pods = shares.delayed.get(namespace, 0)
    waiting = f"{count_text(pods, 'pod')} of it were" if pods else "nodes that its pods run on were"
    return (
        f"its pods used {shares.spent.get(namespace, 0)} steps, more than its share of the work of a plan ({shares.each}, and "
        f"what nobody else is kept): {waiting} not examined, those of other namespaces were"
    )


def _unreadable_holds(world: World) -> Iterator[PlanProblem]:
    """Pods and nodes whose `do-not-disrupt` has a value that nobody understands, so that it holds without an end."""
    by_traits = {
        number: found
        for number, traits in enumerate(world.pod_traits)
        if traits.annotations and not (traits.mirror or traits.daemonset) and (found := unreadable(traits.annotations))
    }
    pods = world.pods
    held = [
        (f"Pod {pods.key(row)}", by_traits[number])
        for row, number in enumerate(pods.traits if by_traits else ())
        if number in by_traits and not pods.finished(row)
    ]
    held += [(f"Node {node.name}", unreadable(node.annotations)) for node in world.nodes if node.annotations]
    for about, found in held:
        yield from (PlanProblem(code=because.code, object=about, message=because.sentence()) for because in found)


def _unknown_accelerators(draft: Draft) -> Iterator[PlanProblem]:
    """Nodes that nobody manages, with a label that names an accelerator and none to offer: they count as nodes without one.

    Source: kubernetes/autoscaler#10301, where one such node ended every scale-up with an error.
    """
    for index, node in enumerate(draft.world.nodes):
        if draft.members.group_of[index] >= 0:
            continue
        shape = draft.world.node_shapes[node.shape]
        label = accelerator_label(shape)
        if label is not None and not has_gpu(shape):
            message = (
                f"label {label[0]}={label[1]} names an accelerator, it offers none and no group manages it: it counts without"
            )
            yield PlanProblem(code="AcceleratorUnknown", object=f"Node {node.name}", message=message)
