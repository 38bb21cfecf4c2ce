"""How many nodes a rollout replaces at the same time."""

from collections.abc import Sequence

import msgspec

from reconciler.cluster.nodes.node import NodeShape
from reconciler.cluster.target import RolloutPace
from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.reasons.groups import RolloutInProgress
from reconciler.decisions.reasons.kept_nodes import (
    DisruptionBudgetUsedUp,
    RemovalsHalted,
    ZoneBudgetUsedUp,
)
from reconciler.decisions.reasons.rollouts import AllowedAtOnce, NoSurgeRoom, RoomToGrow, TargetPace
from reconciler.decisions.reasons.sizes import AtMaxSize
from reconciler.decisions.removal.budgets import BudgetLedger, budgeted
from reconciler.decisions.removal.halts import halts
from reconciler.decisions.situation.lead_times import EXPECTS_FROM, learned
from reconciler.plan.reason import Because, Blocker
from reconciler.plan.rollout import Bound
from reconciler.policy.documents import RemovalReason

REASON = RemovalReason.CONSOLIDATED
"""The reason whose budgets count: a rollout replaces nodes, as a `Replace` does."""
_MOST_SPANS = 100


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """`at_once` nodes leave together, with `surge` new ones before them. `keeps` keeps every node; `starts_seconds` is when the
    first may leave (Unix time, None: now)."""

    at_once: int
    surge: int
    bounds: tuple[Bound, ...]
    obstacles: tuple[Because, ...]
    keeps: tuple[Blocker, ...]
    starts_seconds: int | None


def rollout_pace(draft: Draft, group: GroupDraft, members: Sequence[int]) -> Pace:
    """What the target, the room of the group and the budgets of the policy allow for a group of these nodes."""
    nodes = len(members)
    facts, template = group.group.facts, group.group.template
    target = facts.rollout if facts is not None else None
    bounds: list[Bound] = []
    obstacles: list[Because] = []
    if facts is not None and facts.rolling_out:
        obstacles.append(RolloutInProgress(group=group.group.name))
    stop = draft.growth_stop(group)
    if stop is not None:
        obstacles.append(stop)
    surge, unavailable = (nodes, 0) if target is None else (target.surge, target.unavailable)
    if target is not None:
        bounds.append(_target_bound(group, target))
    room, refusal = _room(draft, group, template)
    if surge and room and refusal is not None:
        why = RoomToGrow(group=group.group.name, room=room, bound=refusal.sentence())
        bounds.append(Bound(nodes=room + unavailable, reason=why.reason()))
    elif surge and refusal is not None:
        obstacles.append(NoSurgeRoom(group=group.group.name, bound=refusal.sentence(), forbidden=_never_misses(target)))
    surge = min(surge, room, nodes)
    allowed, own, keeps, starts = _allowed(draft, members)
    bounds.extend(own)
    at_once = min(surge + (unavailable or int(not surge)), allowed, nodes)
    halted = tuple(RemovalsHalted(why=why).blocker() for why in halts(draft))
    return Pace(
        at_once=at_once,
        surge=min(surge, at_once),
        bounds=tuple(sorted(bounds, key=lambda bound: bound.nodes)),
        obstacles=tuple(obstacles),
        keeps=(*halted, *keeps),
        starts_seconds=starts,
    )


def _target_bound(group: GroupDraft, pace: RolloutPace) -> Bound:
    why = TargetPace(
        target=str(group.group.target),
        surge=pace.surge,
        unavailable=pace.unavailable,
        on_delete=pace.on_delete,
        origin=pace.origin,
    )
    return Bound(nodes=pace.surge + pace.unavailable, reason=why.reason())


def _never_misses(pace: RolloutPace | None) -> bool:
    return pace is not None and not pace.unavailable


def _room(draft: Draft, group: GroupDraft, template: NodeShape | None) -> tuple[int, Because | None]:
    """How many nodes the group may gain, and what refuses the next one. Without a template the limits cannot be counted."""
    if template is not None:
        return draft.room(group, template)
    most = group.group.max_size
    return max(0, most - group.desired), AtMaxSize(group=group.group.name, max=most)


def _allowed(draft: Draft, nodes: Sequence[int]) -> tuple[int, tuple[Bound, ...], tuple[Blocker, ...], int | None]:
    """How many of these nodes the budgets of the policy let leave together, and which budget bounds them. Also what keeps all
    nodes, and when the first may leave. Nodes that are leaving now are gone by then. A budget of zero that keeps one of the nodes
    keeps the rollout from its end, so it counts for all."""
    budgeted_nodes = msgspec.structs.replace(budgeted(draft), leaving={})
    at, why = draft.now_seconds, None
    for _ in range(_MOST_SPANS):
        ledger = BudgetLedger(draft.policy.budgets, budgeted_nodes, at)
        shut = next((one for node in nodes if (one := ledger.shut_at(REASON, node, at)) is not None), None)
        if shut is None:
            break
        why, until = shut
        if until is None:
            return 0, (), (why.blocker(),), None
        at = until
    else:
        return 0, (), (why.blocker(),) if why is not None else (), None
    allowed = 0
    refusing: DisruptionBudgetUsedUp | ZoneBudgetUsedUp | None = None
    for node in nodes:
        refused = ledger.refuses(REASON, node)
        if refused is None:
            ledger.take(REASON, node)
            allowed += 1
        refusing = refusing or refused
    starts = at if at > draft.now_seconds else None
    if refusing is None:
        return allowed, (), (), starts
    if isinstance(refusing, ZoneBudgetUsedUp):
        bound = AllowedAtOnce(allowed=allowed, nodes=None, percent=None, zones=refusing.zones)
    else:
        bound = AllowedAtOnce(allowed=allowed, nodes=refusing.nodes, percent=refusing.percent)
    return allowed, (Bound(nodes=allowed, reason=bound.reason()),), (), starts


class _Start(msgspec.Struct, frozen=True):
    """How long a new node takes until it is ready, and of how many nodes that was observed (0: it is the longest allowed)."""

    seconds: int
    observed: int


def start_time(draft: Draft, group: GroupDraft) -> _Start:
    """The median that was learned of the group's requests. Where too few have ended, that of its ready nodes counts: from the
    creation of the Machine to the Ready condition of the node.

    Nodes that became ready a second time, much later, are not observed. Neither are nodes that are older than their Machine, as
    after `clusterctl move`. Some platforms do not tell when a machine was made.
    """
    known = learned(draft.memory.lead_times.get(str(group.group.target)))
    if known is not None and known.requests >= EXPECTS_FROM and known.median_seconds is not None:
        return _Start(known.median_seconds, known.requests)
    times = group.group.scale_up
    longest = times.max_node_provision_time_seconds + times.max_node_startup_time_seconds
    seen = []
    for index in group.situation.nodes:
        node, machine = draft.world.nodes[index], draft.members.machine_of.get(index)
        if machine is not None and machine.created_seconds and node.ready:
            took = node.ready_seconds - machine.created_seconds
            if 0 < took <= longest:
                seen.append(took)
    return _Start(sorted(seen)[len(seen) // 2], len(seen)) if seen else _Start(longest, 0)
