"""What is known before anything is decided, worked out once for all passes over it."""

from collections.abc import Sequence

import msgspec

from reconciler.cluster.targets.owner_evidence import OWNER_UNKNOWN
from reconciler.cluster.unread import unread_target
from reconciler.cluster.world import PolicyClaim, World
from reconciler.decisions.buffers import with_buffers_asked
from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.groups.effective_groups import effective_view
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.groups.membership import Membership
from reconciler.decisions.limits import with_quotas
from reconciler.decisions.memory import Memory
from reconciler.decisions.ownership.other_policies import by_target, contest
from reconciler.decisions.ownership.owner import NO_OWNER, Judgement, Terms, held_for_a_person, judge
from reconciler.decisions.ownership.second_writer import (
    conflict_sentence,
    note_conflicts,
    other_autoscalers,
    undone_write,
    with_last_writes,
)
from reconciler.decisions.provisioning import with_requests_asked
from reconciler.decisions.situation.backoff import forget, note_failures
from reconciler.decisions.situation.belonging import Belonging, belongings, note_targets
from reconciler.decisions.situation.clocks import by_now
from reconciler.decisions.situation.evidence import as_observed, note_arrivals
from reconciler.decisions.situation.group_situation import GroupSituation, group_situations, node_states
from reconciler.decisions.situation.loose_groups import without_loose_groups
from reconciler.decisions.situation.request_clocks import note_waiting
from reconciler.decisions.situation.requests_under_way import note_lead_times
from reconciler.decisions.situation.tier_returns import note_tiers
from reconciler.decisions.situation.turns import note_turns
from reconciler.decisions.situation.waiting_pods import WaitingPods, waiting_pods
from reconciler.decisions.situation.zone_order import note_zones
from reconciler.decisions.work import Work
from reconciler.plan.plan import NodeState, OwnerState
from reconciler.policy.documents import PolicySet
from reconciler.scheduling.configured import configured
from reconciler.values.instant import instant_text


class View(msgspec.Struct, frozen=True):
    """Groups with their effective values, members, situations and owners; `memory` has the failures and conflicts of this
    view already counted. `held` says, a group, why nothing is written for it (empty: something may be)."""

    world: World
    policy: PolicySet
    memory: Memory
    now_seconds: int
    work: Work
    waiting: WaitingPods
    groups: tuple[EffectiveGroup, ...]
    members: Membership
    states: tuple[NodeState, ...]
    situations: tuple[GroupSituation, ...]
    judgements: tuple[Judgement, ...]
    held: tuple[str, ...]
    belongings: tuple[Belonging, ...]

    @staticmethod
    def of(world: World, policy: PolicySet, memory: Memory, now_seconds: int, work: Work) -> "View":
        """Look at everything, with the sizes that we wrote where a read may be older than that. Pods have the constraints that
        the scheduler gives them. Numbers of pod shapes are those of the view's own World."""
        memory = by_now(memory, now_seconds)
        policy = with_quotas(world, policy)
        world = with_buffers_asked(with_last_writes(world, memory, now_seconds), policy.policy)
        world = with_requests_asked(world, policy.policy)
        world = configured(world, policy.policy)
        world = without_loose_groups(world, policy.policy.pods.gang_labels)
        memory = note_arrivals(memory, world, policy.digest, now_seconds)
        world = as_observed(world, memory, now_seconds)
        waiting = waiting_pods(world)
        groups, members = effective_view(world, policy, now_seconds)
        memory = note_zones(memory, world, groups, members)
        resumed = frozenset(group.name for group in groups if group.name in memory.held_groups and not group.hold)
        memory = forget(note_turns(memory, world, waiting, groups, now_seconds), groups, resumed, now_seconds)
        states = node_states(world, groups, members, memory, now_seconds)
        waited_since = memory.waiting_since
        memory = note_waiting(memory, groups, members, states, now_seconds)
        memory = note_targets(memory, groups, members, in_fleet=world.fleet is not None)
        belonging = belongings(world, policy.policy, groups, members, memory)
        situations = group_situations(world, groups, members, states, memory, now_seconds, belonging)
        memory = note_lead_times(
            memory, waited_since, world, groups, members, states, situations, belonging, now_seconds
        )  # fmt: skip
        memory = note_turns(note_failures(memory, groups, situations, now_seconds), world, waiting, groups, now_seconds)
        memory = note_tiers(memory, policy.policy.tiers, groups, now_seconds)
        memory = note_conflicts(memory, groups, situations, now_seconds, other_autoscalers(world), resumed)
        claims = by_target(world.claims)
        judgements = tuple(
            _judge(group, world, policy, memory, now_seconds, claims.get(str(group.target), ())) for group in groups
        )
        held = tuple(_held_why(*entry) for entry in zip(groups, judgements, belonging, strict=True))
        return View(
            world, policy, memory, now_seconds, work, waiting, groups, members, states, situations, judgements, held, belonging
        )  # fmt: skip

    def draft(self, *, lift_holds: bool = False) -> Draft:
        """A fresh working state; with `lift_holds` as if no group were held."""
        return Draft(
            world=self.world,
            policy=self.policy.policy,
            memory=self.memory,
            now_seconds=self.now_seconds,
            work=self.work,
            waiting=self.waiting,
            groups=tuple(
                GroupDraft(
                    position,
                    group,
                    self.situations[position],
                    self.judgements[position],
                    "" if lift_holds else self.held[position],
                    self.belongings[position].reason,
                )
                for position, group in enumerate(self.groups)
            ),
            members=self.members,
            states=self.states,
            policy_digest=self.policy.digest,
        )

    def terms(self) -> Terms:
        """Terms for targets that belong to no group."""
        return _terms(self.policy, self.memory, self.now_seconds, "")


def _judge(
    group: EffectiveGroup, world: World, policy: PolicySet, memory: Memory, now_seconds: int, others: Sequence[PolicyClaim]
) -> Judgement:
    missing = unread_target(world.unread, group.target)
    terms = msgspec.structs.replace(
        _terms(policy, memory, now_seconds, str(group.target)), rivals=world.rivals, undone=undone_write(memory, group),
        ended=world.ended_policies, claimed=contest(others, memory.claims.get(str(group.target)), policy.policy.name).held_by,
        human_hold_seconds=group.human_hold_time_seconds, unread=missing.sentence() if missing is not None else "",
    )  # fmt: skip
    return judge(group.facts, terms, conflict_sentence(memory, group))


def _terms(policy: PolicySet, memory: Memory, now_seconds: int, target: str) -> Terms:
    return Terms(
        adopt_from=policy.policy.adopt_from,
        human_hold_seconds=policy.policy.human_hold_time_seconds,
        now_seconds=now_seconds,
        first_seen_seconds=memory.foreign_since.get(target),
        policy=policy.policy.name,
    )


def _held_why(group: EffectiveGroup, judgement: Judgement, belonging: Belonging) -> str:
    """Why nothing is written for the group; empty when something may be."""
    if group.hold:
        ends = group.hold_until_seconds
        return group.hold if ends is None else f"{group.hold}, until {instant_text(ends)}"
    if not judgement.ours:
        ownership = judgement.ownership
        if ownership.state is OwnerState.UNKNOWN:
            text = ownership.evidence[-1]
            return text if text.startswith(OWNER_UNKNOWN) else f"its owner is unknown, {text}"
        if ownership.by in NO_OWNER:
            return ownership.evidence[0]
        if held_for_a_person(ownership):
            return f"{ownership.by} set its replicas, and {ownership.evidence[-1]}"
        return f"{ownership.by} decides its replicas"
    return belonging.held.sentence() if belonging.held is not None else ""
