"""Replacements: nodes that cheaper nodes could replace, and nodes that return to a preferred tier.

`Search` looks for nodes whose pods fit on one new node alone: wherever the scheduler puts some of them, the others still fit.
Where groups consolidate, `Repack` looks for more: any number of new nodes, and room on nodes that stay. All of them are told,
begun and carried out in the same way. A node of a lower tier never replaces one of a higher tier. No replacement leaves a tier
with less than its `share`.

A return replaces nodes of lower tiers by one of a tier with `returnAfter`. The tier must have had capacity for its wait, and the
nodes must be as old as that. So a node that came by a return does not return again within the wait. Such a tier takes nodes of
lower tiers in no other way. A return needs no price and no saving, because the order of tiers is the priority. It comes before
consolidation.

Scale-down removes nodes whose pods fit on other existing nodes if their utilization is at or below `utilizationThresholdPercent`.
Their budgets are those of `Underutilized`. `Consolidated` and `Returned` count the nodes that a `Replace` names, and those that
leave without new ones above the threshold.
"""

from array import array
from collections.abc import Container, Iterable, Mapping, Sequence
from operator import mul

from reconciler.decisions.demand.worth import worth
from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.memory import TierState
from reconciler.decisions.removal.candidates import Candidate
from reconciler.decisions.removal.keeps import SEARCH, codes_asked_by
from reconciler.decisions.removal.replacements.opportunity import (
    REPACKED_SECONDS,
    Opportunity,
    ReturnTier,
    Weights,
    as_consolidation,
    as_return,
    price_of,
)
from reconciler.decisions.removal.replacements.repack import MOST_SETS, MOST_STEPS, Buy, Repack
from reconciler.decisions.removal.scale_down import Judged, Removals
from reconciler.decisions.situation.tier_returns import return_wait_seconds
from reconciler.plan.plan import NodeState
from reconciler.policy.documents import Mode, RemovalReason, Toggle
from reconciler.scheduling.relocation import Places, is_too_much, lift, requested

MOST_SOURCES = 64
"""So many nodes are looked at in one plan: those whose pods are worth least for their price."""
MOST_TRIALS = 1_000
MOST_REPLACEMENTS = 5
_WORK = "the work budget of the plan"


def return_tiers(draft: Draft, states: Mapping[str, TierState]) -> dict[int, ReturnTier]:
    """The tiers with `returnAfter`, by rank."""
    return {
        rank: ReturnTier(name=tier.name, state=state, wait_seconds=return_wait_seconds(state, after, draft.now_seconds))
        for rank, tier in enumerate(draft.policy.tiers)
        if (after := tier.return_after_seconds) is not None and (state := states.get(tier.name)) is not None
    }


class Search:
    """One search over what a plan leaves where it is. The draft is as it was when it is over."""

    def __init__(
        self,
        draft: Draft,
        judged: dict[int, Judged],
        removals: Removals,
        tiers: Mapping[str, TierState],
        given_up: Container[str],
        repacked: Mapping[str, int],
        buy: Buy,
    ) -> None:
        self._draft = draft
        self._removals = removals
        self._given_up = given_up
        lately = draft.now_seconds - REPACKED_SECONDS
        self._new_lately = frozenset(name for name, at in repacked.items() if at > lately)
        self._buy = buy
        self._trials = 0
        self._weights = Weights(draft, (entry.candidate for entry in judged.values()))
        staying = [entry.candidate for entry in judged.values() if stays_for_lack_of_room(entry)]
        self._tiers = return_tiers(draft, tiers)
        self._returning = self._may_return(staying, removals) if self._tiers else []
        candidates = [one for one in staying if price_of(one.group) and not _paid_for(one.group) and not self._failed(one)]
        self._there = array("i", range(len(draft.world.nodes)))
        self._nowhere = Places(draft.state)
        # What a pod of each shape requests, in money times 2^30.
        self._worths = [worth(shape.requests) for shape in draft.world.pod_shapes]
        order = sorted(candidates, key=self._worth)
        self._sources = order[:MOST_SOURCES]
        self._beyond = order[MOST_SOURCES:]
        self._repacks = list[Repack]()
        every = {one.index: one for one in (*self._sources, *self._returning[:MOST_SOURCES])}
        self._requested = {index: requested(draft.state, index, one.moving) for index, one in every.items()}
        self._left_out: dict[str, set[int]] = {}
        self._free = {group.position: _removable(group) for group in draft.groups}

    def _worth(self, candidate: Candidate) -> tuple[int, str]:
        """Requests in money, per price: the nodes that are worth replacing first."""
        moving = candidate.moving
        worth = sum(map(mul, map(self._worths.__getitem__, moving), moving.values())) >> 30
        return worth // max(1, price_of(candidate.group)), self._draft.world.nodes[candidate.index].name

    def run(self, *, calm: bool) -> tuple[Opportunity, ...]:
        """The returns, then the replacement that saves most, then the one that saves most in addition, and so on. Several new
        nodes are looked for only if it is `calm`, so that a replacement may begin."""
        returns = self._returns()
        due = [one for one in returns if min(one.dues) <= self._draft.now_seconds]
        for one in due:
            self._sources = [source for source in self._sources if source.index not in one.nodes]
        taken = {position for one in due for position, _ in one.adds}
        sources = self._sources
        singles = self._consolidations(taken)
        best = self._repacked(sources, taken, singles) if calm else None
        if best is None:
            return (*returns, *singles)
        return (*returns, best, *(one for one in singles if set(best.nodes).isdisjoint(one.nodes)))

    def paying_late(self, found: Iterable[Opportunity]) -> dict[int, dict[int, int]]:
        """By group (its position) and node: when a replacement pays that pays too late. Not of nodes in those `found`."""
        told = {index for one in found for index in one.nodes}
        late: dict[int, dict[int, int]] = {}
        for index in sorted(self._weights.late.keys() - told):
            late.setdefault(self._draft.members.group_of[index], {})[index] = self._weights.late[index]
        return late

    def only(self, opportunity: Opportunity, nodes: Sequence[int]) -> Opportunity | None:
        """A part of a replacement, if it saves enough; None for one that was not found by sets."""
        parts = (one.of(nodes) for one in self._repacks if one.covers(opportunity.nodes))
        return next(parts, None)

    def _repacked(
        self, sources: Sequence[Candidate], taken: Container[int], singles: Iterable[Opportunity]
    ) -> Opportunity | None:
        """The set of nodes of which any number of new ones takes over, if that saves more than one new node does."""
        classes: dict[tuple[int, Mode], list[Candidate]] = {}
        for one in sources:
            if one.group is None or one.group.group.scale_down.consolidation.mode is Toggle.DISABLED:
                continue
            if self._draft.world.nodes[one.index].name in self._new_lately:
                continue
            if not self._removals.keeps(one, RemovalReason.CONSOLIDATED):
                classes.setdefault((one.group.group.tier_rank, one.group.group.mode), []).append(one)
        growing = [
            group
            for group in self._draft.groups
            if group.position not in taken and group.group.price_micros is not None and classes and self._may_grow(group)
        ]
        least = max((one.net_micros for one in singles if one.enabled), default=-1)
        found: Opportunity | None = None
        for alike in classes.values():
            targets = [group for group in growing if self._alike(alike[0], group)]
            needed = frozenset(one.index for one in alike if self._removals.keeps_without_new(one))
            repack = Repack(self._draft, self._weights, alike, targets, self._free, needed, self._buy)
            better = repack.best([single.nodes for single in singles])
            self._repacks.append(repack)
            if repack.cut_short:
                self._leave_out(f"{MOST_SETS} sets of nodes or {MOST_STEPS} steps per plan", alike)
            if better is not None and better.net_micros > least:
                found, least = better, better.net_micros
        return found

    def _failed(self, one: Candidate) -> bool:
        return self._draft.world.nodes[one.index].name in self._given_up

    def _returns(self) -> list[Opportunity]:
        """At most one for each group of a tier with `returnAfter`: as many nodes as one new node takes. Returns that are due come
        first, and of these those to the first tier."""
        draft = self._draft
        targets = [group for group in draft.groups if group.group.tier_rank in self._tiers and self._may_grow(group)]
        if targets:
            self._leave_out(f"{MOST_SOURCES} nodes per plan", self._returning[MOST_SOURCES:])
        self._returning = self._returning[:MOST_SOURCES]
        found: list[Opportunity] = []
        mark = draft.state.mark()
        while targets and self._returning and len(found) < MOST_REPLACEMENTS:
            options = [one for target in targets if (one := self._return_to(target)) is not None]
            best = min(options, key=self._return_rank, default=None)
            if best is None:
                break
            found.append(best)
            targets = [group for group in targets if group.position != best.adds[0][0]]
            self._returning = [source for source in self._returning if source.index not in best.nodes]
            if min(best.dues) <= draft.now_seconds:
                for index in best.nodes:
                    self._free[draft.members.group_of[index]] -= 1
        draft.state.undo(mark)
        return found

    def _return_rank(self, one: Opportunity) -> tuple[int, int, int, int, str]:
        """Due first, then by tier, then most nodes, then most saved, then by name of the group."""
        group = self._draft.groups[one.adds[0][0]].group
        due = max(min(one.dues), self._draft.now_seconds)
        return due, group.tier_rank, -len(one.nodes), -one.saving_micros, group.name

    def _may_return(self, staying: Iterable[Candidate], removals: Removals) -> list[Candidate]:
        """Nodes of tiers below one that nodes return to, which nothing would keep afterwards; the oldest first."""
        first = min(self._tiers)
        nodes = self._draft.world.nodes
        below = [
            one
            for one in staying
            if one.group is not None and one.group.group.tier_rank > first and not removals.keeps(one, RemovalReason.RETURNED)
        ]
        return sorted(below, key=lambda one: (nodes[one.index].created_seconds, nodes[one.index].name))

    def _return_to(self, target: GroupDraft) -> Opportunity | None:
        """The nodes of lower tiers whose pods one new node of `target` takes. Those that are due do not wait for others."""
        tier, now = self._tiers[target.group.tier_rank], self._draft.now_seconds
        dues = {one.index: tier.due_seconds(self._draft.world.nodes[one.index].created_seconds) for one in self._returning}
        below = [
            one
            for one in self._returning
            if one.group is not None
            and one.group.group.tier_rank > target.group.tier_rank
            and one.group.group.mode is target.group.mode
        ]
        for sources in ([one for one in below if dues[one.index] <= now], [one for one in below if dues[one.index] > now]):
            chosen = self._chosen(target, sources)
            if chosen:
                return as_return(self._draft, target, chosen, tier, dues)
        return None

    def _consolidations(self, taken: Container[int]) -> tuple[Opportunity, ...]:
        """Those of groups that are not `taken`."""
        draft = self._draft
        targets = [
            group
            for group in draft.groups
            if group.position not in taken and group.group.price_micros is not None and self._may_grow(group)
        ]
        if not targets or not self._sources:
            return ()
        opportunities: list[Opportunity] = []
        self._leave_out(f"{MOST_SOURCES} nodes per plan", self._beyond)
        mark = draft.state.mark()
        # One that alone has no place has none together with others either.
        self._sources = [source for source in self._sources if not self._has_places(source)]
        while targets and self._sources:
            if len(opportunities) == MOST_REPLACEMENTS:
                self._leave_out(f"{MOST_REPLACEMENTS} replacements per plan", self._sources)
                break
            best = self._best(targets)
            if best is None:
                break
            opportunities.append(best)
            targets = [group for group in targets if group.position != best.adds[0][0]]
            self._sources = [source for source in self._sources if source.index not in best.nodes]
            for index in best.nodes:
                group = draft.members.group_of[index]
                self._free[group] -= 1
        draft.state.undo(mark)
        return tuple(opportunities)

    def left_out(self) -> dict[int, tuple[int, str]]:
        """By group (its position): how many of its nodes were not compared with every group that could stand in for them, and
        by which bounds."""
        group_of = self._draft.members.group_of
        unexamined: dict[int, tuple[set[int], list[str]]] = {}
        for bound, nodes in self._left_out.items():
            for position in sorted({group_of[index] for index in nodes}):
                known = unexamined.setdefault(position, (set(), []))
                known[0].update(index for index in nodes if group_of[index] == position)
                known[1].append(bound)
        return {position: (len(nodes), ", ".join(bounds)) for position, (nodes, bounds) in sorted(unexamined.items())}

    def _leave_out(self, bound: str, sources: Iterable[Candidate]) -> None:
        nodes = {source.index for source in sources}
        if nodes:
            self._left_out.setdefault(bound, set()).update(nodes)

    def _may_grow(self, group: GroupDraft) -> bool:
        template = group.group.template
        if template is None or group.cancelled is not None:
            return False
        if group.desired > group.situation.current or group.situation.upcoming or group.situation.starting:
            return False
        return self._draft.growth_stop(group) is None and self._draft.room(group, template)[0] > 0

    def _best(self, targets: list[GroupDraft]) -> Opportunity | None:
        """Most saved beyond what the moved pods weigh, then fewest nodes, then by name of the group."""
        opportunities = [opportunity for target in targets if (opportunity := self._for(target)) is not None]
        names = {group.position: group.group.name for group in targets}
        return min(
            opportunities,
            key=lambda one: (-one.net_micros, len(one.nodes), names[one.adds[0][0]]),
            default=None,
        )

    def _for(self, target: GroupDraft) -> Opportunity | None:
        """The nodes whose pods one new node of `target` takes, as many as fit, and what that saves; None: too little."""
        draft = self._draft
        # A node that costs less than its pods weigh makes any replacement worse.
        sources = [one for one in self._sources if self._alike(one, target) and price_of(one.group) > self._weights.of(one)]
        return as_consolidation(draft, self._weights, {target.position: 1}, self._chosen(target, sources))

    def _chosen(self, target: GroupDraft, sources: list[Candidate]) -> list[Candidate]:
        """Those whose pods one new node of `target` takes, as many as fit, in their order."""
        draft, state, template = self._draft, self._draft.state, target.group.template
        if template is None:
            return []
        mark = state.mark()
        node = state.add_node(f"{target.group.name}-stand-in", template, target.daemons)
        chosen: list[Candidate] = []
        free = dict(self._free)
        free[target.position] += 1
        draft.tier_shares.count(target.group)
        for number, source in enumerate(sources):
            group = source.group
            if group is None or free[group.position] <= 0 or draft.tier_shares.keeps(group.group) is not None:
                continue
            if self._trials >= MOST_TRIALS:
                self._leave_out(f"{MOST_TRIALS} trials per plan", sources[number:])
                break
            if not draft.work.spend(len(source.moving)):
                self._leave_out(_WORK, sources[number:])
                break
            if self._takes(node, source):
                chosen.append(source)
                free[group.position] -= 1
                draft.tier_shares.count(group.group, -1)
        state.undo(mark)
        draft.tier_shares.count(target.group, -1)
        for source in chosen:
            if source.group is not None:
                draft.tier_shares.count(source.group.group)
        return chosen

    def _has_places(self, source: Candidate) -> bool:
        """Whether all pods of a node fit on the other existing nodes. If the work budget does not suffice to know, the search
        ends, because no node is added on a guess."""
        if not self._draft.work.spend(len(self._there) * len(source.moving)):
            self._leave_out(_WORK, [source])
            return True
        mark = self._draft.state.mark()
        fits = self._fit(source, self._there)
        self._draft.state.undo(mark)
        return fits

    def _fit(self, source: Candidate, places: "array[int]") -> bool:
        """Whether these places take all pods of a node; the pods are there when they do, and the node is closed."""
        lift(self._draft.state, source.index, source.moving)
        shapes = sorted(source.moving)
        return self._nowhere.fit(shapes, [source.moving[shape] for shape in shapes], places).short is None

    def _alike(self, source: Candidate, target: GroupDraft) -> bool:
        if source.group is None or source.group.group.mode is not target.group.mode:
            return False
        rank, above = source.group.group.tier_rank, target.group.tier_rank
        return rank == above or (rank > above and above not in self._tiers)

    def _takes(self, node: int, source: Candidate) -> bool:
        """Whether a node takes all pods of another one; they are on it when it does."""
        self._trials += 1
        state = self._draft.state
        # Most are refused here, at a hundredth of the price.
        if is_too_much(self._requested[source.index], state.free(node)):
            return False
        mark = state.mark()
        fits = self._fit(source, array("i", (node,)))
        if not fits:
            state.undo(mark)
        return fits


def stays_for_lack_of_room(entry: Judged) -> bool:
    """Whether a node would leave if its pods had room elsewhere."""
    candidate = entry.candidate
    if candidate.group is None or not candidate.moving or entry.safe:
        return False
    if candidate.state not in (NodeState.IN_USE, NodeState.UNDERUTILIZED):
        return False
    codes = codes_asked_by(SEARCH)
    return not entry.blockers or codes.isdisjoint([blocker.code for blocker in entry.blockers])


def _removable(group: GroupDraft) -> int:
    """How many nodes the group could lose before it is at its minimum; none while some are leaving."""
    if group.situation.leaving or group.removed:
        return 0
    return max(0, min(group.desired, group.situation.size) - group.group.min_size)


def _paid_for(group: GroupDraft | None) -> bool:
    """Whether nodes of the group are in reserved capacity. It is paid for anyway, so their removal saves nothing."""
    return group is not None and group.group.facts is not None and bool(group.group.facts.reserved)
