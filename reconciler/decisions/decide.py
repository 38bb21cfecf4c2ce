"""`decide` and `settle`: the only door to the decisions. Pure, total, deterministic."""

import msgspec

from reconciler.cluster.world import World
from reconciler.decisions.actions import actions, releases
from reconciler.decisions.backoff import forget, note_failures
from reconciler.decisions.candidates import look_at_nodes
from reconciler.decisions.conflict import conflict_sentence, note_conflicts
from reconciler.decisions.demand import pending_demand
from reconciler.decisions.disruption import DisruptionLedger
from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.effective import effective_view
from reconciler.decisions.group import EffectiveGroup
from reconciler.decisions.halts import halts
from reconciler.decisions.headroom import keep_headroom
from reconciler.decisions.lines import cost, group_lines, node_lines, pod_lines
from reconciler.decisions.membership import Membership
from reconciler.decisions.memory import Memory
from reconciler.decisions.ownership import NO_OWNER, Judgement, Terms, judge
from reconciler.decisions.problems import plan_problems
from reconciler.decisions.remember import remember, settle
from reconciler.decisions.scale_down import Removals
from reconciler.decisions.scale_up import Queue, Served, explain_rest, fill_existing, grow_for, heal_minimums
from reconciler.decisions.situation import GroupSituation, group_situations, node_states
from reconciler.decisions.work import Work
from reconciler.plan.digest import with_digest
from reconciler.plan.instant import instant_text
from reconciler.plan.plan import NodeState, OwnerState, Plan, PodOutcome
from reconciler.plan.summary import summary
from reconciler.policy.documents import PolicySet

__all__ = ["DEFAULT_WORK_BUDGET", "decide", "settle"]

DEFAULT_WORK_BUDGET = 50_000_000


class _View(msgspec.Struct, frozen=True):
    """What is known before anything is decided, worked out once for all passes."""

    world: World
    policy: PolicySet
    memory: Memory
    now_seconds: int
    work: Work
    groups: tuple[EffectiveGroup, ...]
    members: Membership
    states: tuple[NodeState, ...]
    situations: tuple[GroupSituation, ...]
    judgements: tuple[Judgement, ...]


class _Grown(msgspec.Struct, frozen=True):
    """A draft after its growth, with what became of the pending pods."""

    draft: Draft
    served: dict[int, Served]
    waited_for: frozenset[int]


def decide(
    world: World, policy: PolicySet, memory: Memory, now_seconds: int, work_budget: int = DEFAULT_WORK_BUDGET
) -> tuple[Plan, Memory]:
    """One decision at the instant `now_seconds` (Unix time): the plan (without `settled` columns) and what to remember."""
    work = Work(work_budget)
    groups, members = effective_view(world, policy, now_seconds)
    resumed = frozenset(group.name for group in groups if group.name in memory.held_groups and not group.hold)
    memory = forget(memory, groups, resumed, now_seconds)
    states = node_states(world, groups, members, memory, now_seconds)
    situations = group_situations(world, groups, members, states, now_seconds)
    memory = note_conflicts(note_failures(memory, groups, situations, now_seconds), groups, situations, now_seconds)
    judgements = tuple(_judge(group, policy, memory, now_seconds) for group in groups)
    held = tuple(_held_why(group, judgement) for group, judgement in zip(groups, judgements, strict=True))
    view = _View(world, policy, memory, now_seconds, work, groups, members, states, situations, judgements)
    grown = _grow(view, held)
    draft = grown.draft
    wanted: dict[str, int] = {}
    if any(held):
        free = _grow(view, ("",) * len(groups))
        wanted = {entry.group.name: entry.desired for entry in free.draft.groups}
    ledger = DisruptionLedger(world)
    halted = halts(draft)
    judged = Removals(draft, ledger, halted).judge_all(look_at_nodes(draft, ledger), grown.waited_for)
    gone = releases(
        world.targets,
        frozenset(str(group.target) for group in groups),
        memory if groups else Memory(),
        _terms(policy, memory, now_seconds, ""),
        policy.digest,
    )
    done = actions(draft, judged, policy.digest, gone)
    problems = plan_problems(draft, halted, memory)
    lines, pods, bill = group_lines(draft, wanted), pod_lines(draft, grown.served), cost(draft)
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
        nodes=node_lines(draft, judged),
        cost=bill,
        not_captured=world.not_captured,
        problems=problems,
    )
    return with_digest(plan), remember(draft, judged, memory)


def _grow(view: _View, held: tuple[str, ...]) -> _Grown:
    """Heal minimums, place pending pods, and grow for the rest, with the groups that `held` names left alone."""
    draft = Draft(
        world=view.world,
        policy=view.policy.policy,
        memory=view.memory,
        now_seconds=view.now_seconds,
        work=view.work,
        groups=tuple(
            GroupDraft(position, group, view.situations[position], view.judgements[position], held[position])
            for position, group in enumerate(view.groups)
        ),
        members=view.members,
        states=view.states,
    )
    demand = pending_demand(view.world, draft.state, view.policy.policy.pods, view.now_seconds)
    queue = Queue(demand.demands)
    queue.served.update({index: Served(outcome=outcome, reasons=(reason,)) for index, outcome, reason in demand.apart})
    draft.replace_leaving()
    heal_minimums(draft)
    fill_existing(draft, queue)
    grow_for(draft, queue)
    keep_headroom(draft)
    explain_rest(draft, queue)
    waited_for = frozenset(
        entry.node for entry in queue.served.values() if entry.outcome is PodOutcome.FITS_EXISTING and entry.node
    )
    by_name = {node.name: index for index, node in enumerate(view.world.nodes)}
    return _Grown(draft, queue.served, frozenset(by_name[name] for name in waited_for))


def _judge(group: EffectiveGroup, policy: PolicySet, memory: Memory, now_seconds: int) -> Judgement:
    return judge(group.facts, _terms(policy, memory, now_seconds, str(group.target)), conflict_sentence(memory, group))


def _terms(policy: PolicySet, memory: Memory, now_seconds: int, target: str) -> Terms:
    return Terms(
        adopt_from=policy.policy.adopt_from,
        human_hold_seconds=policy.policy.human_hold_time_seconds,
        now_seconds=now_seconds,
        first_seen_seconds=memory.foreign_since.get(target, now_seconds),
    )


def _held_why(group: EffectiveGroup, judgement: Judgement) -> str:
    """Why nothing is written for the group; empty when something may be."""
    if group.hold:
        return group.hold
    if not judgement.ours:
        ownership = judgement.ownership
        if ownership.state is OwnerState.UNKNOWN:
            return f"its owner is unknown, {ownership.evidence[-1]}"
        if ownership.by in NO_OWNER:
            return ownership.evidence[0]
        return f"{ownership.by} decides its replicas"
    return ""
