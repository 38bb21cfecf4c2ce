"""`decide` and `settle`: the only door to the decisions. Pure, total, deterministic."""

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from reconciler.cluster.defects import judged_again
from reconciler.cluster.nodes.node import NodeShape
from reconciler.cluster.world import World
from reconciler.decisions.demand.gangs import gangs, given_up, place_beside_nominated, place_nominated, second_chances, without
from reconciler.decisions.demand.pending import Queue, Served, in_runs, pending_demand
from reconciler.decisions.demand.purchase import Demand
from reconciler.decisions.demand.refutations import remembered as remembered_refutations
from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.growth.buffers import KeptRoom, keep_buffers
from reconciler.decisions.growth.crowding import crowded_out, with_first
from reconciler.decisions.growth.ending_nodes import make_room_before_ends
from reconciler.decisions.growth.filling import Outrun, open_late, outrun
from reconciler.decisions.growth.headroom import keep_headroom
from reconciler.decisions.growth.pledges import pledges
from reconciler.decisions.growth.probes import probe, remembered_probes
from reconciler.decisions.growth.promises import Keeping, leave_to_others, promised_again, promises
from reconciler.decisions.growth.provisioning import KeptRequests, keep_requests
from reconciler.decisions.growth.requests import cancel_requests
from reconciler.decisions.growth.scale_up import explain_rest, fill_existing, grow_for, heal_minimums
from reconciler.decisions.memory import Memory
from reconciler.decisions.outcome.actions import actions, releases
from reconciler.decisions.outcome.buffer_lines import buffer_lines
from reconciler.decisions.outcome.conflicts import conflict_reasons
from reconciler.decisions.outcome.foreseen import Foreseen, foreseen
from reconciler.decisions.outcome.group_lines import cost, group_lines
from reconciler.decisions.outcome.pod_and_node_lines import node_lines, pod_lines
from reconciler.decisions.outcome.problems import plan_problems
from reconciler.decisions.outcome.request_lines import bookings, request_lines
from reconciler.decisions.outcome.share_reasons import share_reasons
from reconciler.decisions.ownership.other_policies import promises_by_shape
from reconciler.decisions.remember import remember, settle
from reconciler.decisions.removal.approval_ceiling import ApprovalCeilings
from reconciler.decisions.removal.budgets import halts
from reconciler.decisions.removal.candidates import look_at_nodes
from reconciler.decisions.removal.consolidation import consolidate
from reconciler.decisions.removal.drain import DisruptionLedger
from reconciler.decisions.removal.scale_down import Removals
from reconciler.decisions.situation.backoff import denials_of
from reconciler.decisions.situation.evidence import contradictions
from reconciler.decisions.view import View
from reconciler.decisions.work import Work
from reconciler.plan.plan import ActionKind, Plan, PodOutcome
from reconciler.plan.summary import summary, with_digest
from reconciler.policy.documents import Headroom, PolicySet
from reconciler.values.instant import instant_text

__all__ = ["DEFAULT_WORK_BUDGET", "Decision", "decide", "decide_ahead", "decide_counted", "settle"]

DEFAULT_WORK_BUDGET = 50_000_000
_MOST_TURNS = 3
_NO_HEADROOM = Headroom()
_UNSERVED = (PodOutcome.TRIGGERS_SCALE_UP, PodOutcome.UNPLACEABLE)


class _Grown(msgspec.Struct, frozen=True):
    """A draft after its growth. `served` has the outcome of each pending pod, and `outcomes` has the same as runs of pods (see
    `in_runs`). `waited_for` are existing nodes that pending pods fit on. `for_headroom` are the names of groups that grow to keep
    room free. `outrun` has the pods whose spread the plan cannot keep. `kept` is the room for CapacityBuffers, and `asked` that
    for ProvisioningRequests. `left` are pods without a place, by priority. `crowded_out` are shapes for which others could have
    made room, see `growth.crowding`."""

    draft: Draft
    served: dict[int, Served]
    outcomes: Sequence[tuple[Served, Sequence[int]]]
    waited_for: frozenset[int]
    for_headroom: frozenset[str]
    outrun: Outrun
    kept: tuple[KeptRoom, ...]
    asked: KeptRequests
    left: Counter[int]
    crowded_out: dict[int, int]


class Decision(msgspec.Struct, frozen=True):
    """A plan (without `settled` columns), what to remember, and what it leads to where that can be told (see `Foreseen`). `world`
    is what was judged: without objects whose judging fails (see `cluster.defects`)."""

    plan: Plan
    memory: Memory
    foreseen: Foreseen | None
    world: World


def decide(
    world: World, policy: PolicySet, memory: Memory, now_seconds: int, work_budget: int = DEFAULT_WORK_BUDGET
) -> tuple[Plan, Memory]:
    """One decision at the instant `now_seconds` (Unix time): the plan (without `settled` columns) and what to remember."""
    return decide_counted(world, policy, memory, now_seconds, Work(work_budget))


def decide_counted(
    world: World, policy: PolicySet, memory: Memory, now_seconds: int, work: Work, *, tells_wanted: bool = True
) -> tuple[Plan, Memory]:
    """The same with the steps counted in `work`, for who makes many decisions within one bound.

    Without `tells_wanted`, no held group has `wanted`. That saves growing a second time; nothing else of the plan changes.
    """
    decision = _decided(world, policy, memory, now_seconds, work, tells_wanted=tells_wanted, ahead=False)
    return decision.plan, decision.memory


def decide_ahead(
    world: World, policy: PolicySet, memory: Memory, now_seconds: int, work: Work, *, tells_wanted: bool = True
) -> Decision:
    """The same with what the plan leads to."""
    return _decided(world, policy, memory, now_seconds, work, tells_wanted=tells_wanted, ahead=True)


def _decided(
    world: World, policy: PolicySet, memory: Memory, now_seconds: int, work: Work, *, tells_wanted: bool, ahead: bool
) -> Decision:
    """What fails while one object is judged stops no decision about others. Such objects are remembered."""

    def decided(some: World) -> tuple[Decision, Work]:
        own = work.copy()
        return _all_judged(some, policy, memory, now_seconds, own, tells_wanted=tells_wanted, ahead=ahead), own

    (decision, own), defects = judged_again(world, decided, memory.defects)
    work.spent = own.spent
    return msgspec.structs.replace(decision, memory=msgspec.structs.replace(decision.memory, defects=defects))


def _all_judged(
    world: World, policy: PolicySet, memory: Memory, now_seconds: int, work: Work, *, tells_wanted: bool, ahead: bool
) -> Decision:
    view = View.of(world, policy, memory, now_seconds, work)
    grown = _grown(view, lift_holds=False)
    draft = grown.draft
    wanted = _wanted(view, grown, asked=tells_wanted) if any(view.held) else {}
    ledger = DisruptionLedger(view.world)
    halted = halts(draft)
    demand = Demand(draft, policy.digest)
    ceilings = ApprovalCeilings(draft, policy)
    removals = Removals(draft, ledger, halted, ceilings, demand.bought())
    looked = removals.judge_all(look_at_nodes(draft, ledger), grown.waited_for, draft.takeovers)
    replaced = consolidate(draft, looked, removals, draft.takeovers)
    ceilings.tell()
    share_reasons(draft)
    gone = releases(
        world.targets,
        frozenset(str(group.target) for group in view.groups),
        view.memory if view.groups else Memory(),
        view.terms(),
        policy,
        world.fleet,
    )
    done = actions(draft, looked, policy.digest, gone, replaced.starts)
    problems = plan_problems(draft, halted, view.memory, policy.refused)
    lines, pods, bill = group_lines(draft, wanted), pod_lines(draft, grown.outcomes), cost(draft)
    plan = Plan(
        now=instant_text(now_seconds),
        cluster=world.name,
        policy=policy.policy.name,
        mode=policy.policy.mode.value,
        policy_revision=policy.revision,
        summary=summary(lines, done, pods, bill, problems),
        groups=lines,
        actions=done,
        pods=pods,
        nodes=node_lines(draft, looked),
        cost=bill,
        not_captured=view.world.not_captured,
        problems=problems,
        buffers=buffer_lines(draft, grown.kept),
        provisioning_requests=request_lines(draft, grown.asked.outcomes),
    )
    # What keeps room free is bought for the demand too: pods that come and go in a moment must not buy a node and give it back.
    grew = {
        entry.group or "" for entry, _ in grown.outcomes if entry.outcome is PodOutcome.TRIGGERS_SCALE_UP
    } | grown.for_headroom
    if replaced.starts is not None:
        grew.add(draft.groups[replaced.starts.position].group.name)
    remembered = replaced.noted_in(remember(draft, looked, view.memory))
    adopted = {action.group for action in done if action.kind is ActionKind.ADOPT}
    remembered = msgspec.structs.replace(
        remembered,
        purchase=demand.purchase(grew, adopted),
        promised=promises(draft, grown.outcomes),
        bookings=bookings(draft, grown.asked.outcomes),
        refuted=remembered_refutations(draft),
        pledges=pledges(draft),
        probes=remembered_probes(draft),
        examine_next=removals.stopped_at,
    )
    later = foreseen(draft, looked, grown.served, done, halted) if ahead else None
    return Decision(with_digest(plan), remembered, later, world)


def _wanted(view: View, grown: _Grown, *, asked: bool) -> dict[str, int]:
    """The size of every group, by name, without any hold; none if nobody asked."""
    if not asked or _holds_cost_nothing(grown):
        # Growing again would come to the same. Its steps are counted all the same, so that the work budget of a plan does not
        # hang on whether this was seen.
        view.work.spend(view.work.spent)
        if not asked:
            return {}
    else:
        grown = _grown(view, lift_holds=True)
    return {entry.group.name: entry.desired for entry in grown.draft.groups}


def _holds_cost_nothing(grown: _Grown) -> bool:
    """Whether held groups would certainly keep their size. Then every pod fits on an existing or requested node, and none of
    these groups lacks nodes, keeps headroom or has failed requests, and no node ends soon."""
    if grown.draft.endings or any(entry.outcome in _UNSERVED for entry, _ in grown.outcomes):
        return False
    if any(room.served.get(outcome) for room in grown.kept for outcome in _UNSERVED):
        return False
    if any(one.asked.grows and one.ended is None and not one.there for one in grown.asked.outcomes):
        return False
    return all(_keeps_size(entry) for entry in grown.draft.groups if entry.held_why)


def _keeps_size(entry: GroupDraft) -> bool:
    group, situation = entry.group, entry.situation
    asks = situation.cancellable or situation.unmade or group.headroom != _NO_HEADROOM
    return not asks and entry.desired >= group.min_size


def _grown(view: View, *, lift_holds: bool) -> _Grown:
    """Grow. If that adds nodes again for pods that wait for a node added before, grow with these on it. That counts if it adds
    fewer nodes, or as many for others alone."""
    grown = _grow_in_gangs(view, lift_holds=lift_holds)
    if not promised_again(grown.draft, grown.served):
        return grown
    for keeping in (Keeping.FIRST_FIT, Keeping.EMPTIEST):
        kept = _grow_in_gangs(view, keeping, lift_holds=lift_holds)
        if kept.draft.work.exhausted:
            break
        again = promised_again(kept.draft, kept.served)
        # If nothing is added for such pods, others that are left have to wait, as they had to when the nodes were added. As many
        # nodes as before may be added for others.
        saved, none_left = grown.draft.added - kept.draft.added, _unplaced(kept) <= _unplaced(grown)
        if (saved > 0 and (not again or none_left)) or (saved == 0 and not again and none_left):
            grown = kept
        if not again:
            break
    return grown


def _unplaced(grown: _Grown) -> int:
    return sum(entry.outcome is PodOutcome.UNPLACEABLE for entry in grown.served.values())


def _grow_in_gangs(view: View, keeping: Keeping = Keeping.NOT, *, lift_holds: bool) -> _Grown:
    """Grow, then again without the incomplete gangs. Then retry each of these that gangs given up later may have left room
    for."""
    waiting = gangs(view.world, view.policy.policy.pods.gang_labels)
    refused: dict[int, Served] = {}
    if not waiting:
        return _grow_for_scarce(view, refused, keeping, with_requests=True, lift_holds=lift_holds)
    rounds = 0
    while True:
        grown = _grow_for_scarce(view, refused, keeping, lift_holds=lift_holds)
        broken = given_up(view.world, waiting, grown.served, refused, rounds)
        if not broken:
            break
        refused |= broken
        rounds += 1
    for gang in second_chances(view.world, waiting, refused):
        others = {pod: entry for pod, entry in refused.items() if pod not in gang.pods}
        again = _grow_for_scarce(view, others, keeping, lift_holds=lift_holds)
        if not again.draft.work.exhausted and not given_up(view.world, waiting, again.served, others, 0):
            grown, refused = again, others
    if not grown.draft.requests:
        return grown
    return _grow_for_scarce(view, refused, keeping, with_requests=True, lift_holds=lift_holds)


def _grow_for_scarce(
    view: View, refused: Mapping[int, Served], keeping: Keeping, *, with_requests: bool = False, lift_holds: bool
) -> _Grown:
    """Grow. If pods are left because others took scarce nodes, grow again with those pods first. That counts if fewer pods are
    left, and none of a higher priority more."""
    first: dict[int, int] = {}
    grown = _grow_in_turns(view, refused, keeping, first, with_requests=with_requests, lift_holds=lift_holds)
    for _ in range(_MOST_TURNS):
        if grown.crowded_out.keys() <= first.keys():
            break
        first = first | grown.crowded_out
        again = _grow_in_turns(view, refused, keeping, first, with_requests=with_requests, lift_holds=lift_holds)
        if again.draft.work.exhausted or not _leaves_fewer(again, grown):
            break
        grown = again
    return grown


def _grow_in_turns(
    view: View,
    refused: Mapping[int, Served],
    keeping: Keeping,
    first: dict[int, int],
    *,
    with_requests: bool,
    lift_holds: bool,
) -> _Grown:
    """Grow. If nodes for some pods break the spread of others that were served before, those have their turn after them.
    ProvisioningRequests are left out unless `with_requests`."""
    turns: tuple[frozenset[int], ...] = ()
    grown = _grow(view.draft(lift_holds=lift_holds), view, refused, keeping, first, with_requests=with_requests)
    for _ in range(_MOST_TURNS):
        late = _with_lower(grown)
        if not late or late in turns[-1:]:
            break
        turns = (*(rest for turn in turns if (rest := turn - late)), late)
        again = _grow(
            view.draft(lift_holds=lift_holds),
            view,
            refused,
            keeping,
            first,
            turns,
            grown.outrun.domains,
            with_requests=with_requests,
        )
        if again.draft.work.exhausted:
            break
        grown = again
    return grown


def _by_priority(draft: Draft, left: Sequence[tuple[int, int]]) -> Counter[int]:
    pods = Counter[int]()
    for shape, count in left:
        pods[draft.state.pod_shape(shape).priority] += count
    return pods


def _leaves_fewer(one: _Grown, other: _Grown) -> bool:
    """Whether the first leaves fewer pods of the highest priority of which they leave different numbers."""
    priorities = sorted(one.left.keys() | other.left.keys(), reverse=True)
    return [one.left[priority] for priority in priorities] < [other.left[priority] for priority in priorities]


def _with_lower(grown: _Grown) -> frozenset[int]:
    """What is outrun, with all that waits and is of lower priority: nobody gets a node before those who come first."""
    late, draft = grown.outrun.shapes, grown.draft
    if not late:
        return late
    waiting = {draft.world.pods.shape[pod] for pod in grown.served}
    highest = max(draft.state.pod_shape(shape).priority for shape in late)
    return late | {shape for shape in waiting if draft.state.pod_shape(shape).priority < highest}


def _grow(
    draft: Draft,
    view: View,
    refused: Mapping[int, Served],
    keeping: Keeping,
    first: dict[int, int],
    turns: Sequence[frozenset[int]] = (),
    domains: Sequence[NodeShape] = (),
    *,
    with_requests: bool,
) -> _Grown:
    """Heal minimums, place pending pods but those of `refused` gangs, grow for the rest, keep room free. Shapes of `turns` come
    after the others, those of one set after those of the sets before it, when `domains` are open."""
    demand = pending_demand(view.world, draft.state, view.policy.policy.pods, view.now_seconds)
    waiting, nominated = place_nominated(draft, without(demand.demands, refused))
    draft.share_among(draft.namespace(one.shape) for one in waiting)
    queue = Queue(with_first(draft, waiting, first) if first else waiting)
    queue.served.update(nominated)
    queue.served.update({index: Served(outcome=outcome, reasons=(reason,)) for index, outcome, reason in demand.apart})
    queue.served.update(refused)
    draft.replace_leaving()
    heal_minimums(draft)
    promised_elsewhere = promises_by_shape(view.world.claims)
    for turn in range(len(turns) + 1):
        queue.later = frozenset().union(*turns[turn:])
        if turn:
            open_late(draft, domains)
        fill_existing(draft, queue, keeping)
        if not turn:
            place_beside_nominated(draft, queue, nominated)
        leave_to_others(draft, queue, promised_elsewhere)
        grow_for(draft, queue)
    late = outrun(draft)
    left = queue.waiting()
    crowded = crowded_out(draft, left)
    probing = probe(draft, queue)
    asked = keep_requests(draft) if with_requests and draft.requests else KeptRequests()
    kept, for_buffers = keep_buffers(draft)
    for_headroom = asked.grown | for_buffers | keep_headroom(draft) | probing | make_room_before_ends(draft)
    explain_rest(draft, queue)
    cancel_requests(draft)
    conflict_reasons(draft, queue.served)
    for group in draft.groups:
        group.reasons.extend(one.reason() for one in denials_of(draft.memory, str(group.group.target)))
        found = contradictions(draft.memory, str(group.group.target), draft.now_seconds)
        group.reasons.extend(one.reason() for _, one in found)
    outcomes = in_runs(queue.served)
    waited_for = frozenset(entry.node for entry, _ in outcomes if entry.outcome is PodOutcome.FITS_EXISTING and entry.node)
    by_name = {node.name: index for index, node in enumerate(view.world.nodes)}
    return _Grown(
        draft,
        queue.served,
        outcomes,
        frozenset(by_name[name] for name in waited_for),
        for_headroom,
        late,
        kept,
        asked,
        _by_priority(draft, left),
        crowded,
    )
