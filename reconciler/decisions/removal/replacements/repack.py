"""Several nodes for fewer: sets of nodes whose pods find room on other nodes and on new ones that cost less.

A set is judged as a whole. All its nodes leave, their pods take the room of nodes that stay, and the cheapest mix of new nodes
takes those that find none. Sets are the nodes whose pods are worth least for their price: one, two, three of them and so on. The
cheapest mix for all of them may have nodes of a group that also loses some. Then these stay, and the others are a set, too. Then
nodes leave the best set and join it while that saves more (large neighbourhood search: Shaw 1998). All is bounded by a number of
sets.

The set that is chosen is drained in thought, one node after the other, as the replacement will be. So no node is added for pods
that could not move to it.
"""

from array import array
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Protocol

from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.removal.candidates import Candidate
from reconciler.decisions.removal.replacements.opportunity import Opportunity, Weights, as_consolidation, price_of
from reconciler.decisions.removal.trial import Trials
from reconciler.scheduling.relocation import lift

MOST_SETS, MOST_STEPS = 40, 100_000
"""So many sets are judged in one plan, and sets are judged for so many steps of its work budget: about a second."""
FIRST_SETS = (1, 2, 3, 5, 8, 16, 32, 64)
_MOST_REPAIRS = 4
_MOST_SURE = 3
"""Of so many sets, the last ones that were better than all before, it is made sure what they save, and of those without likes."""

_NEARLY_PERCENT = 90
"""A set that saves nearly as much as the best is preferred if it moves fewer pods."""


class Bought(Protocol):
    """Nodes in a draft that were added for pods: how many of the group at a position."""

    adds: Mapping[int, int]

    def take_back(self) -> None:
        """The draft as it was before."""


class Buy(Protocol):
    """Adds the cheapest nodes of groups for pods."""

    def __call__(
        self, draft: Draft, groups: Sequence[GroupDraft], pods: Sequence[tuple[int, int]], *, solved: bool
    ) -> Bought | None:
        """Of `pods` (shape, count) none is left over. None, and an unchanged draft, if no nodes take them all. Without `solved`,
        a quick answer will do."""


class Repack:
    """Nodes that are `needed` leave only if new ones come. The search among `sources`, the ones that are worth replacing first.
    `targets` may grow. At most `free` nodes of a group (by position) may leave. The draft is as it was when a question is
    answered."""

    def __init__(
        self,
        draft: Draft,
        weights: Weights,
        sources: Sequence[Candidate],
        targets: Sequence[GroupDraft],
        free: Mapping[int, int],
        needed: Container[int],
        buy: Buy,
    ) -> None:
        self._draft = draft
        self._weights = weights
        self._sources = sources
        self._targets = targets
        self._free = free
        self._needed = needed
        self._buy = buy
        self._left = MOST_SETS
        self._steps = draft.work.spent + MOST_STEPS
        self._trials = Trials(draft)
        rank = {one.index: place for place, one in enumerate(sources)}
        # Those that are replaced last take pods before those that are replaced first.
        staying = (index for index in range(len(draft.world.nodes)) if index not in draft.protected)
        self._staying = sorted(staying, key=lambda index: (-rank.get(index, len(rank)), index))

    @property
    def cut_short(self) -> bool:
        """Whether sets were left that could have saved more."""
        return not self._left

    def covers(self, nodes: Iterable[int]) -> bool:
        """Whether all of these nodes are among its sources."""
        return {one.index for one in self._sources}.issuperset(nodes)

    def best(self, seeds: Iterable[Sequence[int]] = ()) -> Opportunity | None:
        """The set that saves most beyond what its pods weigh, or nearly as much by moving fewer pods. None: no set saves enough.
        `seeds` are sets to begin with."""
        by_index = {one.index: one for one in self._sources}
        starts = [[by_index[index] for index in seed if index in by_index] for seed in seeds]
        starts += [list(self._within(self._sources[:size])) for size in FIRST_SETS if size < 2 * len(self._sources)]
        without_likes = list(self._without_likes())
        starts += without_likes
        best: Opportunity | None = None
        found = list[Opportunity | None]()
        for start in starts:
            found.append(best := self._better(start, best))
        tried = set[tuple[int, ...]]()
        while best is not None and self._left:
            before = best
            for nodes in self._neighbours(before):
                key = tuple(sorted(one.index for one in nodes))
                if key not in tried and self._left:
                    tried.add(key)
                    best = self._better(nodes, best)
                    if best is not before:
                        break
            if best is before:
                break
            found.append(best)
        sets = list(dict.fromkeys(one.nodes for one in found if one is not None))[-_MOST_SURE:]
        sets += [tuple(sorted(one.index for one in nodes)) for nodes in without_likes]
        return least_moved(one for one in map(self.of, dict.fromkeys(sets)) if one is not None)

    def of(self, nodes: Iterable[int]) -> Opportunity | None:
        """What it saves to replace just these nodes; None: too little."""
        chosen = frozenset(nodes)
        return self._sure([one for one in self._sources if one.index in chosen])

    def _better(self, nodes: Sequence[Candidate], best: Opportunity | None) -> Opportunity | None:
        return _better_of(best, self._judge(nodes))

    def _within(self, sources: Iterable[Candidate]) -> Iterable[Candidate]:
        """Those of these that may leave together."""
        left = Counter(self._free)
        for one in sources:
            if one.group is not None and left[one.group.position] > 0:
                left[one.group.position] -= 1
                yield one

    def _neighbours(self, best: Opportunity) -> Iterable[list[Candidate]]:
        """Sets with one node less, those first whose like is added again, and with one more."""
        inside = [one for one in self._sources if one.index in best.nodes]
        outside = [one for one in self._sources if one.index not in best.nodes]
        again = {position for position, _ in best.adds}
        inside_first = [*(one for one in inside[::-1] if _of(one, again)), *(one for one in inside[::-1] if not _of(one, again))]
        for one in inside_first:
            yield [other for other in inside if other is not one]
        for one in outside:
            more = [*inside, one]
            if len(list(self._within(more))) == len(more):
                yield more

    def _judge(self, nodes: Sequence[Candidate], *, solved: bool = False) -> Opportunity | None:
        adds = self._replaced(nodes, solved=solved)
        return None if adds is None else as_consolidation(self._draft, self._weights, adds, nodes)

    def _without_likes(self) -> Iterable[list[Candidate]]:
        """All sources but those whose like would be added again: of these, the ones stay whose pods are worth most."""
        nodes = list(self._within(self._sources))
        for _ in range(_MOST_REPAIRS):
            adds = self._replaced(nodes, solved=True)
            if not adds:
                break
            again = Counter(dict(adds))
            fewer = list[Candidate]()
            for one in nodes[::-1]:
                position = one.group.position if one.group is not None else -1
                again[position] -= 1
                if again[position] < 0:
                    fewer.append(one)
            fewer.reverse()
            if len(fewer) == len(nodes):
                break
            nodes = fewer
            yield nodes

    def _replaced(self, nodes: Sequence[Candidate], *, solved: bool) -> Mapping[int, int] | None:
        """The new nodes with which these can leave; None: they cannot, or nothing has to move."""
        draft, state = self._draft, self._draft.state
        moving = Counter[int]()
        for one in nodes:
            moving.update(one.moving)
        if not moving or not self._left or not draft.work.spend(len(self._staying) * len(moving)):
            return None
        self._left = self._left - 1 if draft.work.spent < self._steps else 0
        mark = state.mark()
        waiting = self._waiting(nodes, self._staying)
        bought = self._buy(draft, self._targets, waiting, solved=solved) if waiting else None
        adds = {} if bought is None else bought.adds
        leave_alone = not waiting and all(one.index not in self._needed for one in nodes)
        placed = (bought is not None or leave_alone) and self._keeps_shares(nodes, adds)
        if bought is not None:
            bought.take_back()
        state.undo(mark)
        return adds if placed else None

    def _keeps_shares(self, nodes: Sequence[Candidate], adds: Mapping[int, int]) -> bool:
        """Whether no tier has less of its share than without the new nodes, which are in the draft, and without the old ones."""
        shares, groups = self._draft.tier_shares, [one.group.group for one in nodes if one.group is not None]
        for position, count in adds.items():
            shares.count(self._draft.groups[position].group, -count)
        kept = self._shares_hold(groups, adds)
        for position, count in adds.items():
            shares.count(self._draft.groups[position].group, count)
        return kept

    def _shares_hold(self, leaving: Sequence[EffectiveGroup], adds: Mapping[int, int]) -> bool:
        """The same for new nodes that are not in the draft yet."""
        shares = self._draft.tier_shares
        before = shares.missing()
        for position, count in adds.items():
            shares.count(self._draft.groups[position].group, count)
        for group in leaving:
            shares.count(group, -1)
        kept = shares.missing() > before
        for group in leaving:
            shares.count(group)
            # As for every other removal: no node of a tier leaves that has less than its share then.
            kept = kept or shares.keeps(group) is not None
            shares.count(group, -1)
        for group in leaving:
            shares.count(group)
        for position, count in adds.items():
            shares.count(self._draft.groups[position].group, -count)
        return not kept

    def _sure(self, nodes: Sequence[Candidate]) -> Opportunity | None:
        """The cheapest way to replace these nodes, and what it certainly saves. Nodes stay that could not be drained in turn."""
        self._left, left = 1, self._left
        found = self._judge(nodes, solved=True)
        self._left = left
        if found is None:
            return None
        best = self._widened(nodes, Counter(dict(found.adds)))
        if best is None:
            return None
        # Some of the nodes may stay: the shares were judged as if all of them left.
        leaving = [one.group.group for one in nodes if one.group is not None and one.index in best.nodes]
        return best if self._shares_hold(leaving, dict(best.adds)) else None

    def _widened(self, nodes: Sequence[Candidate], adds: Counter[int]) -> Opportunity | None:
        """The best of these new nodes and more, until all nodes can be drained, and then of fewer again while they still can."""
        best: Opportunity | None = None
        for _ in range(_MOST_REPAIRS):
            one, all_leave, more = self._drained(nodes, adds)
            best = _better_of(best, one)
            if all_leave or not more or not self._have_room(adds + more):
                break
            adds = adds + more
        for position in sorted(adds, key=lambda position: (-price_of(self._draft.groups[position]), position)):
            leave = all_leave
            while leave and adds[position] and self._draft.work.spent < self._steps:
                fewer = adds - Counter((position,))
                # Some nodes may leave only if new ones come.
                one, leave, _ = self._drained(nodes, fewer) if fewer else (None, False, fewer)
                best = _better_of(best, one)
                adds = fewer if leave else adds
        return best

    def _have_room(self, adds: Mapping[int, int]) -> bool:
        """Whether the groups may grow by so many nodes. What others add counts against each, since limits may cover several."""
        groups = [self._draft.groups[position] for position in adds]
        rooms = [self._draft.room(one, one.group.template)[0] if one.group.template is not None else 0 for one in groups]
        return min(rooms, default=0) >= sum(adds.values())

    def _drained(self, nodes: Sequence[Candidate], adds: Mapping[int, int]) -> tuple[Opportunity | None, bool, Counter[int]]:
        """What these new nodes save when one node after the other is drained, those with the largest pods first. Nodes stay of
        which some pods find no room by then: whether there are none, and else the new nodes that would take these pods."""
        draft, state = self._draft, self._draft.state
        mark = state.mark()
        new: list[int] = []
        for position, count in adds.items():
            group = draft.groups[position]
            if group.group.template is not None:
                names = [f"{group.group.name}-stand-in-{number}" for number in range(count)]
                new.extend(state.add_nodes(names, group.group.template, group.daemons))
        asked = frozenset(one.index for one in nodes)
        places = array("i", (*new, *(index for index in self._staying if index not in asked)))
        draft.work.spend(len(places) * len(nodes))
        drained = list(self._trials.that_move(places, self._trials.largest_first(nodes)))
        gone = frozenset(one.index for one in drained)
        waiting = self._waiting([one for one in nodes if one.index not in gone], places, -1)
        bought = self._buy(draft, self._targets, waiting, solved=False) if waiting else None
        more = Counter[int]() if bought is None else Counter(dict(bought.adds))
        if bought is not None:
            bought.take_back()
        state.undo(mark)
        found = as_consolidation(draft, self._weights, adds, drained, elsewhere=True) if drained else None
        return found, len(drained) == len(nodes), more

    def _waiting(self, nodes: Sequence[Candidate], places: Sequence[int], step: int = 1) -> list[tuple[int, int]]:
        """The pods (shape, count) of these nodes for which the places have no room, the largest first. Afterwards, the other pods
        are there. With a `step` of -1, the smallest come first."""
        state, moving = self._draft.state, Counter[int]()
        for one in nodes:
            lift(state, one.index, one.moving)
            moving.update(one.moving)
        waiting = []
        for shape in self._trials.by_size(moving)[::step]:
            left = moving[shape] - sum(pods for _, pods in state.place(shape, moving[shape], places))
            if left:
                waiting.append((shape, left))
        return waiting[::step]


def least_moved(sets: Iterable[Opportunity]) -> Opportunity | None:
    """Of those that save nearly as much as the best, the one that moves the fewest pods. The rest can be saved later."""
    found = list(sets)
    most = max((one.net_micros for one in found), default=0)
    near = [one for one in found if one.net_micros * 100 >= most * _NEARLY_PERCENT]
    return min(near, key=lambda one: (one.pods, -one.net_micros, one.nodes), default=None)


def _better_of(one: Opportunity | None, other: Opportunity | None) -> Opportunity | None:
    if one is None or other is None:
        return one or other
    return other if (other.net_micros, -other.pods) > (one.net_micros, -one.pods) else one


def _of(one: Candidate, positions: Container[int]) -> bool:
    return one.group is not None and one.group.position in positions
