"""Consolidation: nodes that one cheaper node could replace, and the saving.

All pods of the replaced nodes must fit on the new node alone. Wherever the scheduler puts some of them, the others still fit, so
no replacement needs a second new node. (Karpenter's consolidation also counts room on other nodes, at the price of waiting pods.)
A node of a lower tier never replaces one of a higher tier.

Nodes whose pods fit on other existing nodes need no new one and are left to scale-down. It removes several of them in one plan if
their utilization is at or below `utilizationThresholdPercent` (100: any utilization). Their budgets are those of `Underutilized`.
`Consolidated` counts the nodes that a `Replace` names.
"""

from array import array
from collections.abc import Iterable
from operator import mul

import msgspec

from reconciler.decisions.demand.worth import worth
from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.memory import Memory, Replacement
from reconciler.decisions.reasons.groups import CouldBeReplaced
from reconciler.decisions.reasons.nodes import ReplacementsNotExamined
from reconciler.decisions.removal.candidates import Candidate
from reconciler.decisions.removal.kinds import Takeover
from reconciler.decisions.removal.scale_down import Judged, Removals
from reconciler.plan.plan import NodeState
from reconciler.policy.documents import RemovalReason, Toggle
from reconciler.scheduling.relocation import Places, is_too_much, lift, requested
from reconciler.values.money import parse_money, price_text

MOST_SOURCES = 64
"""So many nodes are looked at in one plan: those whose pods are worth least for their price."""
MOST_TRIALS = 1_000
YOUNG_SECONDS = 3600
"""A pod younger than this starts again within the hour, so that it counts twice."""
MOST_REPLACEMENTS = 5
_WORK = "the work budget of the plan"
# What a plan says of a node that has to stay unless something is bought for it.
_FOR_LACK_OF_ROOM = frozenset({"NotUnderutilized", "NoPlaceToMove", "SameDemand"})


class Opportunity(msgspec.Struct, frozen=True, kw_only=True):
    """One new node of the group at `position` for `nodes` (World indices, in World order). Prices are in millionths per hour.
    `wait_seconds` is how long this must have been true, by the groups of the nodes. `enabled`: all of them consolidate. It moves
    `pods`, of which `young_pods` are younger than an hour, and `weight_micros` is what these must save."""

    position: int
    nodes: tuple[int, ...]
    saving_micros: int
    price_micros: int
    pods: int
    young_pods: int = 0
    weight_micros: int = 0
    enabled: bool
    wait_seconds: int

    @property
    def saving_percent(self) -> int:
        """The share of the present price that is saved, rounded down."""
        return self.saving_micros * 100 // self.price_micros

    def key(self, draft: Draft) -> str:
        """What `Memory.replaceable_since` calls it."""
        names = ",".join(draft.world.nodes[index].name for index in self.nodes)
        return f"{names} -> {draft.groups[self.position].group.target}"


class Search:
    """One search over what a plan leaves where it is. The draft is as it was when it is over."""

    def __init__(self, draft: Draft, judged: dict[int, Judged]) -> None:
        self._draft = draft
        self._trials = 0
        candidates = [entry.candidate for entry in judged.values() if _stays_for_lack_of_room(entry)]
        self._there = array("i", range(len(draft.world.nodes)))
        self._nowhere = Places(draft.state)
        # What a pod of each shape requests, in money times 2^30.
        self._worths = [worth(shape.requests) for shape in draft.world.pod_shapes]
        order = sorted(candidates, key=self._worth)
        self._sources = order[:MOST_SOURCES]
        self._beyond = order[MOST_SOURCES:]
        self._requested = {one.index: requested(draft.state, one.index, one.moving) for one in self._sources}
        self._left_out: dict[str, set[int]] = {}
        self._free = {group.position: _removable(group) for group in draft.groups}

    def _worth(self, candidate: Candidate) -> tuple[int, str]:
        """Requests in money, per price: the nodes that are worth replacing first."""
        moving = candidate.moving
        worth = sum(map(mul, map(self._worths.__getitem__, moving), moving.values())) >> 30
        return worth // max(1, _price(candidate.group)), self._draft.world.nodes[candidate.index].name

    def run(self) -> tuple[Opportunity, ...]:
        """The replacement that saves most, then the one that saves most in addition, and so on."""
        draft = self._draft
        targets = [group for group in draft.groups if self._may_grow(group)]
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
            targets = [group for group in targets if group.position != best.position]
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
        if template is None or group.group.price_micros is None or group.cancelled is not None:
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
            key=lambda one: (one.weight_micros - one.saving_micros, len(one.nodes), names[one.position]),
            default=None,
        )

    def _for(self, target: GroupDraft) -> Opportunity | None:
        """The nodes whose pods one new node of `target` takes, as many as fit, and what that saves; None: too little."""
        draft, state, template = self._draft, self._draft.state, target.group.template
        if template is None:
            return None
        mark = state.mark()
        node = state.add_node(f"{target.group.name}-stand-in", template, target.daemons)
        chosen: list[Candidate] = []
        free = dict(self._free)
        free[target.position] += 1
        # A node that costs less than its pods weigh makes any replacement worse.
        sources = [one for one in self._sources if self._alike(one, target) and _price(one.group) > _weight(draft, one)]
        for number, source in enumerate(sources):
            group = source.group
            if group is None or free[group.position] <= 0:
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
        state.undo(mark)
        return _opportunity(draft, target, chosen)

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
        group = source.group
        return group is not None and group.group.tier_rank >= target.group.tier_rank and group.group.mode is target.group.mode

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


def _stays_for_lack_of_room(entry: Judged) -> bool:
    candidate = entry.candidate
    if candidate.group is None or candidate.group.group.price_micros is None or not candidate.moving or entry.safe:
        return False
    if candidate.state not in (NodeState.IN_USE, NodeState.UNDERUTILIZED) or not _price(candidate.group):
        return False
    return {blocker.code for blocker in entry.blockers} <= _FOR_LACK_OF_ROOM


def _removable(group: GroupDraft) -> int:
    """How many nodes the group could lose before it is at its minimum; none while some are leaving."""
    if group.situation.leaving or group.removed:
        return 0
    return max(0, min(group.desired, group.situation.size) - group.group.min_size)


def _price(group: GroupDraft | None) -> int:
    return 0 if group is None else group.group.price_micros or 0


def _young(draft: Draft, source: Candidate) -> int:
    """How many of the pods that move are younger than an hour."""
    pods, left = draft.world.pods, dict(source.moving)
    for row in source.pods:
        if pods.created_seconds[row] > draft.now_seconds - YOUNG_SECONDS and left.get(pods.shape[row], 0):
            left[pods.shape[row]] -= 1
    return sum(source.moving.values()) - sum(left.values())


def _weight(draft: Draft, source: Candidate) -> int:
    """What a replacement of the node must save for its pods alone, in millionths per hour."""
    if source.group is None:
        return 0
    each = parse_money(source.group.group.scale_down.consolidation.min_saving_per_moved_pod)
    return each * (sum(source.moving.values()) + _young(draft, source)) if each else 0


def _opportunity(draft: Draft, target: GroupDraft, chosen: list[Candidate]) -> Opportunity | None:
    groups = [source.group.group for source in chosen if source.group is not None]
    before = sum(group.price_micros or 0 for group in groups)
    saving, weight = before - _price(target), sum(_weight(draft, source) for source in chosen)
    if saving < max(weight, 1):
        return None
    if saving * 100 < before * max(group.scale_down.consolidation.min_saving_percent for group in groups):
        return None
    return Opportunity(
        position=target.position,
        nodes=tuple(sorted(source.index for source in chosen)),
        saving_micros=saving,
        price_micros=before,
        pods=sum(sum(source.moving.values()) for source in chosen),
        young_pods=sum(_young(draft, source) for source in chosen),
        weight_micros=weight,
        enabled=all(group.scale_down.consolidation.mode is Toggle.ENABLED for group in groups),
        wait_seconds=max(group.scale_down.unneeded_time_seconds for group in groups),
    )


# A `Replace` from start to end: it waits, grows, moves the pods, or is given up.
#
# The new node comes first, and the others are drained when it is there. So a machine that never comes disturbs nothing that runs.
# Replacements in progress are in the memory, which is stored before the target grows. So a restart continues them.

PATIENCE_SECONDS = 3600
"""So long after the new node should have been there, nodes that cannot be drained are no longer waited for."""


def takeovers(draft: Draft) -> tuple[Takeover, ...]:
    """The replacements in progress. A replacement is dropped if it never began (its write was refused or not made) or has ended.
    It is also dropped if its new node did not join in time. A failed machine backs its group off as usual."""
    names = {node.name: index for index, node in enumerate(draft.world.nodes)}
    groups = {str(group.group.target): group for group in draft.groups}
    in_progress = []
    for replacement in draft.memory.replacements:
        group = groups.get(replacement.target)
        sources = tuple(sorted(names[name] for name in replacement.nodes if name in names))
        if group is None or group.held_why or not sources:
            continue
        came = [
            index
            for index in group.situation.nodes
            if draft.world.nodes[index].created_seconds >= replacement.started_seconds and index not in sources
        ]
        takers = tuple(index for index in came if draft.states[index] is NodeState.IN_USE)
        began = bool(came) or group.situation.current >= replacement.to
        waited = draft.now_seconds - replacement.started_seconds
        times = group.group.scale_up
        late = waited > times.max_node_provision_time_seconds + (times.max_node_startup_time_seconds if came else 0)
        if began and (takers or not late):
            in_progress.append(Takeover(replacement=replacement, sources=sources, takers=takers))
    return tuple(in_progress)


class Replaced(msgspec.Struct, frozen=True):
    """What a plan does about consolidation: the replacement that begins now, and what to remember."""

    starts: Opportunity | None
    replaceable_since: dict[str, int]
    replacements: tuple[Replacement, ...]

    def noted_in(self, memory: Memory) -> Memory:
        """The memory with it."""
        return msgspec.structs.replace(memory, replaceable_since=self.replaceable_since, replacements=self.replacements)


def consolidate(draft: Draft, judged: dict[int, Judged], removals: Removals, under_way: tuple[Takeover, ...]) -> Replaced:
    """Look for replacements, tell of them, and begin the first that is due. One at a time: only a plan that neither grows nor
    removes begins one, and none begins while another is under way."""
    going_on = tuple(one.replacement for one in under_way if _still_wanted(draft, one, judged))
    if removals.halted:
        return Replaced(None, {}, going_on)
    since: dict[str, int] = {}
    starts: Opportunity | None = None
    calm = not draft.added and not going_on and not any(group.removed for group in draft.groups)
    search = Search(draft, judged)
    opportunities = search.run()
    for position, (nodes, bound) in search.left_out().items():
        group = draft.groups[position]
        group.reasons.append(ReplacementsNotExamined(group=group.group.name, nodes=nodes, bound=bound).reason())
    for opportunity in opportunities:
        _tell(draft, opportunity)
        if not opportunity.enabled:
            continue
        key = opportunity.key(draft)
        since[key] = draft.memory.replaceable_since.get(key, draft.now_seconds)
        due = since[key] + opportunity.wait_seconds
        for index in opportunity.nodes:
            timer = removals.last_timer(index, RemovalReason.CONSOLIDATED, due, cools_down=True)
            judged[index] = msgspec.structs.replace(judged[index], removable_at=timer.at_seconds)
        if starts is None and calm and due <= draft.now_seconds and removals.may_replace(opportunity.nodes):
            starts = opportunity
    if starts is None:
        return Replaced(None, since, going_on)
    since.pop(starts.key(draft))
    return Replaced(starts, since, (_begin(draft, starts),))


def _begin(draft: Draft, opportunity: Opportunity) -> Replacement:
    group = draft.groups[opportunity.position]
    group.desired += 1
    for index in opportunity.nodes:
        draft.groups[draft.members.group_of[index]].desired -= 1
    return Replacement(
        target=str(group.group.target),
        nodes=tuple(draft.world.nodes[index].name for index in opportunity.nodes),
        to=group.situation.current + 1,
        started_seconds=draft.now_seconds,
        saving_micros=opportunity.saving_micros,
    )


def _still_wanted(draft: Draft, one: Takeover, judged: dict[int, Judged]) -> bool:
    """Not after an hour in which nothing but time, budgets or cool-downs would have kept any of its nodes."""
    if draft.now_seconds - one.replacement.started_seconds <= PATIENCE_SECONDS:
        return True
    return any(judged[index].safe or draft.states[index] is NodeState.LEAVING for index in one.sources)


def _tell(draft: Draft, opportunity: Opportunity) -> None:
    groups: list[GroupDraft] = []
    for index in opportunity.nodes:
        group = draft.groups[draft.members.group_of[index]]
        if group not in groups:
            groups.append(group)
    reason = CouldBeReplaced(
        nodes=tuple(draft.world.nodes[index].name for index in opportunity.nodes),
        by=draft.groups[opportunity.position].group.name,
        saving_per_hour=price_text(opportunity.saving_micros),
        saving_percent=opportunity.saving_percent,
        pods=opportunity.pods,
        young_pods=opportunity.young_pods,
        enabled=opportunity.enabled,
    ).reason()
    for group in groups:
        group.reasons.append(reason)
