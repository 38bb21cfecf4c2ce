"""A `Replace` from start to end: it waits, grows, moves the pods, or is given up.

The new node comes first, and the others are drained when it is there. So a machine that never comes disturbs nothing that runs.
Replacements in progress are in the memory, which is stored before the target grows. So a restart continues them.
"""

from collections.abc import Iterable, Mapping

import msgspec

from reconciler.decisions.demand.purchase import GIVEN_UP_SECONDS, Demand, Owed, may_begin
from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.memory import Memory, Replacement, TierState
from reconciler.decisions.reasons.groups import CouldBeRepacked, CouldBeReplaced, CouldReturn
from reconciler.decisions.reasons.nodes import ReplacementsNotExamined
from reconciler.decisions.reasons.replacements import ReplacementPaysLate, ReplacementUnpaid
from reconciler.decisions.removal.last_timer import Timer
from reconciler.decisions.removal.replacements.consolidation import Search, stays_for_lack_of_room
from reconciler.decisions.removal.replacements.opportunity import Opportunity, price_of
from reconciler.decisions.removal.replacements.repack import Buy
from reconciler.decisions.removal.scale_down import Judged, Removals
from reconciler.decisions.situation.takeovers import Takeover
from reconciler.decisions.situation.tier_returns import failed_again, return_rule
from reconciler.plan.plan import NodeState
from reconciler.plan.reason import Because
from reconciler.policy.documents import RemovalReason
from reconciler.values.instant import instant_text
from reconciler.values.money import price_text

PATIENCE_SECONDS = 3600
"""So long after the new node should have been there, nodes that cannot be drained are no longer waited for."""


class Replaced(msgspec.Struct, frozen=True):
    """What a plan does about consolidation: the replacement that begins now, and what to remember."""

    starts: Opportunity | None
    replaceable_since: dict[str, int]
    replacements: tuple[Replacement, ...]
    tiers: Mapping[str, TierState]
    given_up: Mapping[str, int]
    repacked: Mapping[str, int]
    owed: Owed | None = None

    def noted_in(self, memory: Memory) -> Memory:
        """The memory with it."""
        return msgspec.structs.replace(
            memory,
            replaceable_since=self.replaceable_since,
            replacements=self.replacements,
            tiers=self.tiers,
            given_up=self.given_up,
            repacked=self.repacked,
        )


def consolidate(
    draft: Draft, judged: dict[int, Judged], removals: Removals, under_way: tuple[Takeover, ...], buy: Buy, demand: Demand
) -> Replaced:
    """Look for replacements, tell of them, and begin the first that is due. One at a time: only a plan that neither grows nor
    removes begins one, and none begins while another is under way. None adds nodes before the last one for the same demand has
    saved what its pods weigh, but for one that repairs it."""
    wanted = {part: _still_wanted(draft, one, judged) for one in under_way for part in one.parts}
    going_on = tuple(one for one, goes_on in wanted.items() if goes_on)
    over = [one for one, goes_on in wanted.items() if not goes_on]
    stayed = {name for one in over if one.reason is RemovalReason.CONSOLIDATED for name in one.nodes}
    came = {draft.world.nodes[i].name for one in under_way if one.replacement.elsewhere for i in one.takers}
    kept = (
        _after_given_up(draft, over),
        _for_a_day(draft, draft.memory.given_up, stayed),
        _for_a_day(draft, draft.memory.repacked, came),
    )
    if removals.halted:
        return Replaced(None, {}, going_on, *kept)
    calm = not draft.added and not going_on and not any(group.removed for group in draft.groups)
    # What could not be looked at goes on.
    since = {} if calm else _still_staying(draft, judged)
    starts: Opportunity | None = None
    tiers, given_up, repacked = kept
    search = Search(draft, judged, removals, tiers, given_up, repacked, buy)
    opportunities = search.run(calm=calm)
    for position, (nodes, bound) in search.left_out().items():
        group = draft.groups[position]
        group.reasons.append(ReplacementsNotExamined(group=group.group.name, nodes=nodes, bound=bound).reason())
    for position, late in search.paying_late(opportunities).items():
        names = tuple(draft.world.nodes[index].name for index in late)
        draft.groups[position].reasons.append(ReplacementPaysLate(nodes=names, payback_seconds=min(late.values())).reason())
    cost = _cost_micros(draft)
    unpaid = demand.unpaid(cost)
    for opportunity in opportunities:
        _tell(draft, opportunity)
        if not opportunity.enabled:
            continue
        owes = opportunity.returns is None and bool(opportunity.adds)
        if unpaid is not None and owes and not may_begin(unpaid, cost, opportunity.net_micros):
            _tell_unpaid(draft, opportunity, unpaid.replaced_seconds)
            continue
        dues = opportunity.dues
        if opportunity.returns is None:
            names = opportunity.names(draft)
            since.update({name: draft.memory.replaceable_since.get(name, draft.now_seconds) for name in names})
            dues = tuple(since[name] + opportunity.wait_seconds for name in names)
        for index, at in zip(opportunity.nodes, dues, strict=True):
            _wait(judged, index, removals.last_timer(index, opportunity.reason, at, cools_down=True))
        due = [index for index, at in zip(opportunity.nodes, dues, strict=True) if at <= draft.now_seconds]
        if starts is not None or not calm or not due:
            continue
        now = opportunity if len(due) == len(opportunity.nodes) else search.only(opportunity, due)
        if now is not None and removals.may_replace(now.nodes, now.reason):
            starts = now
    if starts is None:
        return Replaced(None, since, going_on, *kept)
    if not starts.adds:
        removals.take_over(_without_new(draft, starts), judged)
        return Replaced(None, since, going_on, *kept)
    for name in starts.names(draft):
        since.pop(name, None)
    return Replaced(starts, since, _begin(draft, starts), *kept, Owed.by(cost, starts.weight_micros, unpaid))


def _cost_micros(draft: Draft) -> int:
    """What all nodes that stay cost an hour."""
    return sum(price_of(group) * group.situation.without_leaving for group in draft.groups)


def _still_staying(draft: Draft, judged: Mapping[int, Judged]) -> dict[str, int]:
    """Since when replacements of nodes have saved enough, of those that still stay for lack of room."""
    before = draft.memory.replaceable_since
    if not before:
        return {}
    names = {draft.world.nodes[index].name for index, entry in judged.items() if stays_for_lack_of_room(entry)}
    return {name: at for name, at in before.items() if name in names}


def _wait(judged: dict[int, Judged], index: int, timer: Timer) -> None:
    """A node may leave at the end of the first of its timers."""
    known = [at for at in (judged[index].removable_at, timer.at_seconds) if at is not None]
    judged[index] = msgspec.structs.replace(judged[index], removable_at=min(known, default=None))


def _after_given_up(draft: Draft, given_up: Iterable[Replacement]) -> Mapping[str, TierState]:
    """The capacity of tiers. A return that could not be finished counts as a failure, so that it does not begin again at once."""
    tiers = dict(draft.memory.tiers)
    after = {tier.name: tier.return_after_seconds for tier in draft.policy.tiers}
    for one in given_up:
        name = next((group.group.tier for group in draft.groups if str(group.group.target) == one.target), "")
        seconds = after.get(name)
        if one.reason is RemovalReason.RETURNED and seconds is not None and name in tiers:
            tiers[name] = failed_again(tiers[name], return_rule(seconds), draft.now_seconds)
    return tiers


def _for_a_day(draft: Draft, before: Mapping[str, int], now: Iterable[str]) -> Mapping[str, int]:
    """Nodes that are there, each with when it was last noted; those noted a day ago are forgotten."""
    noted = {name: at for name, at in before.items() if draft.now_seconds - at < GIVEN_UP_SECONDS}
    noted.update(dict.fromkeys(now, draft.now_seconds))
    names = {node.name for node in draft.world.nodes} if noted else frozenset()
    return {name: at for name, at in sorted(noted.items()) if name in names}


def _begin(draft: Draft, opportunity: Opportunity) -> tuple[Replacement, ...]:
    names = opportunity.names(draft)
    for index in opportunity.nodes:
        source = draft.groups[draft.members.group_of[index]]
        source.desired -= 1
        draft.tier_shares.count(source.group, -1)
    begun = []
    for position, count in opportunity.adds:
        group = draft.groups[position]
        group.desired += count
        draft.tier_shares.count(group.group, count)
        begun.append(
            Replacement(
                target=str(group.group.target),
                nodes=names,
                to=group.situation.current + count,
                started_seconds=draft.now_seconds,
                saving_micros=opportunity.saving_micros,
                reason=opportunity.reason,
                new=count,
                elsewhere=opportunity.elsewhere,
            )
        )
    return tuple(begun)


def _without_new(draft: Draft, opportunity: Opportunity) -> Takeover:
    """Nodes for whose pods others have room. What cannot leave at once is looked at again in the next plan."""
    at_once = Replacement(
        target="",
        nodes=opportunity.names(draft),
        to=0,
        started_seconds=draft.now_seconds,
        saving_micros=opportunity.saving_micros,
        new=0,
        elsewhere=True,
    )
    return Takeover(parts=(at_once,), sources=opportunity.nodes, takers=(), awaited={})


def _still_wanted(draft: Draft, one: Takeover, judged: dict[int, Judged]) -> bool:
    """Not after an hour in which nothing but time, budgets or cool-downs would have kept any of its nodes."""
    if draft.now_seconds - one.replacement.started_seconds <= PATIENCE_SECONDS:
        return True
    return any(judged[index].safe or draft.states[index] is NodeState.LEAVING for index in one.sources)


def _tell(draft: Draft, opportunity: Opportunity) -> None:
    reason = _reason(draft, opportunity).reason()
    for group in _groups(draft, opportunity):
        group.reasons.append(reason)


def _tell_unpaid(draft: Draft, opportunity: Opportunity, since: int) -> None:
    until = instant_text(since + GIVEN_UP_SECONDS)
    reason = ReplacementUnpaid(nodes=opportunity.names(draft), since=instant_text(since), until=until).reason()
    for group in _groups(draft, opportunity):
        group.reasons.append(reason)


def _groups(draft: Draft, opportunity: Opportunity) -> Iterable[GroupDraft]:
    """Those that lose nodes by it."""
    return [draft.groups[position] for position in dict.fromkeys(draft.members.group_of[index] for index in opportunity.nodes)]


def _reason(draft: Draft, opportunity: Opportunity) -> Because:
    names = opportunity.names(draft)
    if opportunity.returns is not None:
        return CouldReturn(
            nodes=names,
            by=opportunity.by(draft),
            tier=opportunity.returns.name,
            since=instant_text(opportunity.returns.state.since_seconds),
            wait_seconds=opportunity.returns.wait_seconds,
            failures=opportunity.returns.state.failures,
            due=instant_text(min(opportunity.dues)),
        )
    if opportunity.elsewhere:
        return CouldBeRepacked(nodes=names, mix=opportunity.mix(draft), **opportunity.figures)
    return CouldBeReplaced(
        nodes=names,
        by=opportunity.by(draft),
        saving_per_hour=price_text(opportunity.saving_micros),
        saving_percent=opportunity.saving_percent,
        pods=opportunity.pods,
        young_pods=opportunity.young_pods,
        enabled=opportunity.enabled,
    )
