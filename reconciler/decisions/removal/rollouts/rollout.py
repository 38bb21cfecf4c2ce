"""What the replacement of all nodes of a group would take: waves, blockers, budgets, time and cost. Nothing is ever written.

A wave adds new nodes, drains old ones onto them and onto nodes that are there, and ends when the evicted pods run again. So
every wave finds the disruption budgets whole. The rules for removals judge which nodes come first, what keeps a node, whether its
pods have a place, and what the budgets allow.

The prediction does not depend on who carries the rollout out. Cluster API and cloud services know neither the maximum nor the
budgets of the policy. So they may be faster, and then some pods wait for a place.
"""

from collections.abc import Sequence

import msgspec

from reconciler.decisions.platform_rules import rules_of
from reconciler.decisions.reasons.rollouts import UpdatedInPlace
from reconciler.decisions.removal.candidates import Candidate, look_at_nodes
from reconciler.decisions.removal.drains.disruption_ledger import DisruptionLedger
from reconciler.decisions.removal.drains.drain_report import keeps_from_draining
from reconciler.decisions.removal.keeps import MachineUpdating
from reconciler.decisions.removal.rollouts.rollout_cost import rollout_cost, rollout_summary, rollout_time
from reconciler.decisions.removal.rollouts.rollout_pace import rollout_pace
from reconciler.decisions.removal.rollouts.rollout_waves import Play, rollout_budgets
from reconciler.decisions.view import View
from reconciler.plan.plan import NodeState
from reconciler.plan.rollout import KeptNode, Rollout
from reconciler.values.instant import instant_text


def _in_place(name: str, candidates: Sequence[Candidate]) -> tuple[UpdatedInPlace, ...]:
    updated = sum(any(blocker.code == MachineUpdating.code for blocker in one.keeps) for one in candidates)
    return (UpdatedInPlace(group=name, nodes=updated),) if updated else ()


def predict_rollout(view: View, name: str) -> Rollout:
    """The prediction for the group of that name. Raises `KeyError` if there is none. A hold changes nothing about it."""
    position = {group.name: position for position, group in enumerate(view.groups)}[name]
    draft = view.draft(lift_holds=True)
    draft.replace_leaving()
    group, ledger = draft.groups[position], DisruptionLedger(view.world, draft.policy.drain.pod_groups)
    candidates = [one for one in look_at_nodes(draft, ledger) if one.group is group and one.state is not NodeState.LEAVING]
    platform = rules_of(group.group.target.kind)
    pace = rollout_pace(draft, group, [one.index for one in candidates])
    keeps = {one.index: (*keeps_from_draining(one), *pace.keeps) for one in candidates}
    free = [one for one in candidates if not keeps[one.index]]
    play = Play(draft, group, pace, free)
    play.run()
    keeps |= play.kept
    names = {one.index: view.world.nodes[one.index].name for one in candidates}
    kept = tuple(KeptNode(node=names[index], blockers=blockers) for index, blockers in sorted(keeps.items()) if blockers)
    time = rollout_time(play, pace)
    rollout = Rollout(
        now=instant_text(view.now_seconds),
        cluster=view.world.name,
        policy=view.policy.policy.name,
        group=name,
        target=str(group.group.target),
        summary="",
        current=group.situation.current,
        max=group.group.max_size,
        owner=view.judgements[position].ownership,
        held=view.held[position] or None,
        in_place_if=platform.updates_in_place(group.group.target) if platform is not None else "",
        nodes=len(candidates),
        at_once=pace.at_once,
        surge=pace.surge,
        bounds=pace.bounds,
        obstacles=tuple(one.reason() for one in (*_in_place(name, candidates), *pace.obstacles, *play.obstacles())),
        waves=tuple(play.waves),
        last_adds=play.last_adds,
        kept=kept,
        budgets=rollout_budgets(ledger, candidates),
        time=time,
        cost=rollout_cost(play, group, draft.policy.currency),
    )
    return msgspec.structs.replace(rollout, summary=rollout_summary(rollout))
