"""Nodes that may leave: which ones, in which order, when, and what keeps each of the others."""

from collections.abc import Iterable
from itertools import islice

import msgspec

from reconciler.decisions.demand.purchase import NOTHING, Bought
from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.reasons.kept_nodes import (
    BudgetUsedUp,
    HeadroomElsewhere,
    NotManaged,
    RemovalPaceReached,
    RemovalsHalted,
    ReplacesOthers,
)
from reconciler.decisions.removal.approval_ceiling import ApprovalCeilings
from reconciler.decisions.removal.budgets import BudgetLedger, budgeted
from reconciler.decisions.removal.candidates import Candidate
from reconciler.decisions.removal.drains.disruption_ledger import DisruptionLedger
from reconciler.decisions.removal.examination_order import FIRST, MOVES_LATER, NOT_EXAMINED, RULES_OF, in_order, stopped_at
from reconciler.decisions.removal.keeps import (
    PLAN,
    SEARCH,
    TAKEOVER,
    Asker,
    RemovalAsked,
    SoFar,
    codes_asked_by,
    kept_by,
)
from reconciler.decisions.removal.kinds import KINDS, Leaving
from reconciler.decisions.removal.last_timer import LastTimers, Timer
from reconciler.decisions.removal.minimum_floors import floor_of
from reconciler.decisions.removal.moves_ahead import MovesAhead
from reconciler.decisions.removal.trial import Trials
from reconciler.decisions.situation.takeovers import Takeover
from reconciler.plan.reason import Because, Blocker
from reconciler.policy.documents import RemovalReason
from reconciler.scheduling.relocation import Places


class Judged(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The end of one node's trial. `safe`: nothing but time, budgets or cool-downs keeps it. `why` is set when it leaves."""

    candidate: Candidate
    safe: bool
    blockers: tuple[Blocker, ...]
    unneeded_since: int | None = None
    removable_at: int | None = None
    why: Because | None = None


class Removals:
    """One pass over all nodes. `halted` are reasons why no node leaves now and timers are reset. `bought` has the nodes added for
    the current demand, which must not make other nodes leave."""

    def __init__(
        self,
        draft: Draft,
        ledger: DisruptionLedger,
        halted: tuple[str, ...],
        ceilings: ApprovalCeilings,
        bought: Bought = NOTHING,
    ) -> None:
        self._draft = draft
        self._ceilings = ceilings
        self._ledger = ledger
        self.halted = halted
        self._so_far = SoFar(draft=draft, bought=bought, receivers=set(draft.promised), floor=floor_of(draft))
        self._budgets = BudgetLedger(draft.policy.budgets, budgeted(draft), draft.now_seconds)
        self._timers = LastTimers(draft, self._budgets)
        managed = sum(len(group.situation.nodes) for group in draft.groups)
        self._pace = -(-managed * draft.policy.pace.max_removed_percent // 100)
        self._trials = Trials(draft)
        self._ahead = MovesAhead(draft, self._so_far.receivers)
        self._places = {False: Places(draft.state), True: Places(draft.state)}
        self._full = set[int]()
        """Pod shapes that no node with headroom has room for, whatever else moves: places are only taken."""
        self.stopped_at = ""
        """The first node that was not examined for want of work, by name; empty where there is none."""

    def judge_all(
        self, candidates: tuple[Candidate, ...], waited_for: frozenset[int], under_way: tuple[Takeover, ...] = ()
    ) -> dict[int, Judged]:
        """Every node by index. `waited_for` are nodes that this plan counts on for pending pods."""
        self._so_far.waited_for = waited_for
        apart = {index for one in under_way for index in (*one.sources, *one.takers)}
        ready = [c for c in candidates if not c.blockers and c.group is not None and c.index not in apart]
        order = in_order(self._draft, ready)
        # What has to wait anyway, perhaps for days, must not keep a node that could leave now.
        order.sort(key=lambda candidate: (bool(candidate.awaited), candidate.reason not in FIRST))
        first = {candidate.index for candidate in order}
        # Pods move to nodes that stay anyway before they move to nodes that could leave, the last of those first: that
        # keeps the number of evictions and of receiving nodes small.
        others = [c.index for c in candidates if c.index not in first]
        every = [*others, *(c.index for c in reversed(order))]
        state = self._draft.state
        self._places = {
            True: Places(state, every),
            False: Places(state, (i for i in every if i not in self._so_far.bought.nodes)),
        }
        judged = {c.index: Judged(candidate=c, safe=False, blockers=c.keeps) for c in candidates}
        for one in under_way:
            self.take_over(one, judged)
        for position, candidate in enumerate(order):
            found = judged[candidate.index] = self._judge(candidate)
            if not found.safe:
                self._ahead.give_back()
            elif self._ahead.idle and candidate.group is not None and (reason := self._reason(candidate, candidate.group)):
                self._ahead.look(candidate, islice(order, position + 1, None), self._places_for(reason), reason)
        self.stopped_at = stopped_at(self._draft, order, {one.index: judged[one.index].blockers for one in order})
        return judged

    def _judge(self, candidate: Candidate) -> Judged:
        group = candidate.group
        if group is None:
            return Judged(candidate=candidate, safe=False, blockers=candidate.keeps)
        reason = self._reason(candidate, group)
        self._ahead.meet(candidate, reason)
        blocker = self._kept(PLAN, candidate, reason)
        # Without a known end, nobody knows which places are free then: the trial leaves nothing behind.
        endless = bool(candidate.awaited) and candidate.until_seconds is None
        if blocker is None and reason is not None:
            blocker = self._keep_headroom(candidate, reason) or self._move_pods(candidate, reason, only_tried=endless)
        if blocker is NOT_EXAMINED and not self.halted:
            # Nobody saw it needed: its time goes on until its turn comes again.
            name = self._draft.world.nodes[candidate.index].name
            since = self._draft.memory.unneeded_since.get(name)
            return Judged(candidate=candidate, safe=False, blockers=(blocker, *candidate.awaited), unneeded_since=since)
        if blocker is not None or reason is None:
            return Judged(candidate=candidate, safe=False, blockers=(*((blocker,) if blocker else ()), *candidate.awaited))
        if endless:
            since = None if self.halted else self._since(candidate)
            return Judged(candidate=candidate, safe=False, blockers=candidate.awaited, unneeded_since=since)
        return self._when(candidate, group, reason)

    def _reason(self, candidate: Candidate, group: GroupDraft) -> RemovalReason | None:
        """Why the node may leave, after those that leave already."""
        above = self._excess(group) > 0 and candidate.reason not in FIRST
        return RemovalReason.ABOVE_MAX if above else candidate.reason

    def _places_for(self, reason: RemovalReason) -> Places:
        return self._places[not KINDS[reason].saves]

    def may_replace(self, nodes: Iterable[int], reason: RemovalReason) -> bool:
        """Whether a replacement of these nodes may begin now: their drains would have to follow."""
        leaving = tuple(nodes)
        refused = any(self._budgets.refuses(reason, node) for node in leaving)
        free = self._timers.cool_down is None and self._pace > 0 and not refused
        return free and self._ceilings.allows(leaving)

    def keeps(self, candidate: Candidate, reason: RemovalReason) -> bool:
        """Whether its group, a limit or this very plan would keep a node from leaving after its replacement has come."""
        return self._kept(SEARCH, candidate, reason) is not None

    def keeps_without_new(self, candidate: Candidate) -> bool:
        """Whether it would be kept if nothing came in its place: for the demand that its group grew for, or by a share."""
        return self._kept(PLAN, candidate, RemovalReason.UNDERUTILIZED) is not None

    def take_over(self, one: Takeover, judged: dict[int, Judged]) -> None:
        """The nodes of a replacement under way: drained onto the new nodes once they are there."""
        stays = ReplacesOthers(nodes=tuple(self._draft.world.nodes[index].name for index in one.sources)).blocker()
        for index in one.takers:
            judged[index] = Judged(candidate=judged[index].candidate, safe=False, blockers=(stays,))
        places = Places(self._draft.state, (*one.takers, *(self._others(one) if one.replacement.elsewhere else ())))
        nodes = self._trials.largest_first(judged[index].candidate for index in one.sources)
        later = self._later(one, nodes, places) if one.replacement.elsewhere else frozenset()
        for candidate in nodes:
            index, group = candidate.index, candidate.group
            kept = self._stays(candidate, one)
            if group is None or kept:
                judged[index] = Judged(candidate=candidate, safe=False, blockers=kept)
                continue
            blocker = MOVES_LATER if index in later else None
            blocker = blocker or self._move_pods(candidate, one.replacement.reason, places)
            if blocker is not None:
                judged[index] = Judged(candidate=candidate, safe=False, blockers=(blocker,))
                continue
            judged[index] = self._when(candidate, group, one.replacement.reason, one)

    def _stays(self, candidate: Candidate, one: Takeover) -> tuple[Blocker, ...]:
        """What keeps a node of a replacement under way, apart from room for its pods."""
        own = tuple(blocker for blocker in candidate.keeps if blocker.code in codes_asked_by(TAKEOVER))
        if own or candidate.group is None:
            return own
        kept = self._kept(TAKEOVER, candidate, one.replacement.reason, one)
        return () if kept is None else (kept,)

    def _later(self, one: Takeover, nodes: Iterable[Candidate], places: Places) -> frozenset[int]:
        """Nodes whose pods, together with those of the others, may not all find a place, in whatever order they are bound. So
        they wait until the others have moved. None waits for a node that could not move alone."""
        reason = one.replacement.reason
        free = [n for n in nodes if not self._stays(n, one) and self._move_pods(n, reason, places, only_tried=True) is None]
        if self._trials.move_together(free, places.order):
            return frozenset()
        going, later = list[Candidate](), set[int]()
        for candidate in free:
            if not going or self._trials.move_together([*going, candidate], places.order):
                going.append(candidate)
            else:
                later.add(candidate.index)
        return frozenset(later)

    def _others(self, one: Takeover) -> Iterable[int]:
        """Nodes that stay and may take pods of a replacement as well as the new ones."""
        leaving, protected = frozenset(one.sources), self._draft.protected
        return (index for index in self._places[True].order if index not in leaving and index not in protected)

    def _excess(self, group: GroupDraft) -> int:
        return group.situation.size - self._so_far.gone[group.position] - group.group.max_size

    def _kept(
        self, asker: Asker, one: Candidate, reason: RemovalReason | None, takeover: Takeover | None = None
    ) -> Blocker | None:
        """What its group, a limit, or this very plan has against the removal."""
        if one.group is None:
            return NotManaged().blocker()
        wanted, saves, keeps_headroom = (True, KINDS[reason].saves, KINDS[reason].keeps_headroom) if reason else (False,) * 3
        asked = RemovalAsked(self._so_far, one.group, one.index, wanted, saves, keeps_headroom, takeover)
        return next(kept_by(RULES_OF[asker], asked), None)

    def _keep_headroom(self, candidate: Candidate, reason: RemovalReason) -> Blocker | None:
        """kube-scheduler does not know headroom and prefers empty nodes. Pods that fit there may move there, and the headroom
        would have to be added again."""
        if KINDS[reason].moves_beside_headroom:
            return None
        state, protected = self._draft.state, self._draft.protected
        shapes = [shape for shape in candidate.moving if shape not in self._full]
        for node in sorted(protected) if shapes else ():
            if node != candidate.index and any(state.fits(shape, node) for shape in shapes):
                return HeadroomElsewhere(node=state.name(node)).blocker()
        if candidate.index not in protected:
            self._full.update(shape for shape in shapes if state.node_local(shape))
        return None

    def _move_pods(
        self, candidate: Candidate, reason: RemovalReason, places: Places | None = None, *, only_tried: bool = False
    ) -> Blocker | None:
        """Find a place for every pod, all together. The places stay taken when all are found, unless it is `only_tried`."""
        draft, moving = self._draft, candidate.moving
        places = places or self._places_for(reason)
        short = self._ledger.short(candidate.evicted)
        if short:
            budget = self._ledger.budgets[short[0]]
            return BudgetUsedUp(budget=f"{budget.namespace}/{budget.name}").blocker()
        gang = self._ledger.gangs.short(candidate.evicted)
        if gang is not None:
            return gang.blocker()
        draft.shares.book()
        over = draft.shares.over
        if draft.work.exhausted or (over and not over.isdisjoint(map(draft.namespace, moving))):
            return NOT_EXAMINED
        if self._ahead.take():
            self._ledger.take(candidate.evicted)
            return None
        excluded = KINDS[reason].saves and bool(self._so_far.bought.nodes)
        parts = ((places, self._trials.by_size(moving)),)
        moved = self._trials.move(candidate, moving, parts, bought_excluded=excluded, only_tried=only_tried)
        if isinstance(moved, Blocker):
            return moved
        if not only_tried:
            self._ledger.take(candidate.evicted)
            self._so_far.receivers.update(node for node, _, _ in moved)
        return None

    def _when(self, candidate: Candidate, group: GroupDraft, reason: RemovalReason, takeover: Takeover | None = None) -> Judged:
        draft = self._draft
        self._so_far.gone[group.position] += 1
        if self._so_far.floor is not None:
            self._so_far.floor.count(group.group, draft.counted(candidate.index), -1)
        since = self._since(candidate)
        leaving = Leaving(draft=draft, group=group, candidate=candidate, since=since, takeover=takeover)
        due = max(KINDS[reason].due(leaving), candidate.until_seconds or 0)
        timer = self.last_timer(candidate.index, reason, due, cools_down=KINDS[reason].cools_down)
        blocker = self._not_now(candidate.index, reason, timer) or self._ceilings.refuses(group)
        if blocker is not None:
            remembered = None if self.halted else since
            at = timer.at_seconds if blocker is timer.blocker else None
            blockers = (blocker, *candidate.awaited)
            self._so_far.later[group.group.tier] += takeover is None
            return Judged(candidate=candidate, safe=True, blockers=blockers, unneeded_since=remembered, removable_at=at)
        self._budgets.take(reason, candidate.index)
        self._pace -= 1
        self._ceilings.take(group)
        why = KINDS[reason].why(leaving)
        group.removed.append(candidate.index)
        group.desired -= 1
        if takeover is None:
            draft.tier_shares.count(group.group, -1)
        return Judged(candidate=candidate, safe=True, blockers=(), unneeded_since=since, removable_at=due, why=why)

    def _since(self, candidate: Candidate) -> int:
        """Since when the node is unneeded, as the memory says (Unix time); now, if it does not."""
        return self._draft.memory.unneeded_since.get(self._draft.world.nodes[candidate.index].name, self._draft.now_seconds)

    def last_timer(self, index: int, reason: RemovalReason, due: int, *, cools_down: bool) -> Timer:
        """What a node waits for last, which has left its group already in this plan; its own time ends when it is due."""
        group = self._draft.groups[self._draft.members.group_of[index]]
        left = group.situation.size - self._so_far.gone[group.position]
        return self._timers.last(group, index, reason, due, left, cools_down=cools_down)

    def _not_now(self, index: int, reason: RemovalReason, timer: Timer) -> Blocker | None:
        if self.halted:
            return RemovalsHalted(why=self.halted[0]).blocker()
        if timer.blocker is not None:
            return timer.blocker
        used_up = self._budgets.refuses(reason, index)
        if used_up is not None:
            return used_up.blocker()
        if self._pace <= 0:
            percent = self._draft.policy.pace.max_removed_percent
            return RemovalPaceReached(percent=percent).blocker()
        return None
