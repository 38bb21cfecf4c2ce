"""What the replacement of all nodes of a group would take: waves, blockers, budgets, time and cost. Nothing is ever written.

A wave adds new nodes, drains old ones onto them and onto nodes that are there, and ends when the evicted pods run again. So
every wave finds the disruption budgets whole. The rules for removals judge which nodes come first, what keeps a node, whether its
pods have a place, and what the budgets allow.

The prediction does not depend on who carries the rollout out. Cluster API and cloud services know neither the maximum nor the
budgets of the policy. So they may be faster, and then some pods wait for a place.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from reconciler.cluster.nodes.node import ZONE_LABEL, NodeShape
from reconciler.cluster.target import RolloutPace
from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.reasons.drain_rules import NotEnoughPdb
from reconciler.decisions.reasons.groups import RolloutInProgress
from reconciler.decisions.reasons.kept_nodes import (
    DisruptionBudgetUsedUp,
    NodeNotExamined,
    RemovalsHalted,
    ZoneBudgetUsedUp,
)
from reconciler.decisions.reasons.rollouts import AllowedAtOnce, NoSurgeRoom, PodsPending, RoomToGrow, TargetPace, ZoneNotKnown
from reconciler.decisions.reasons.sizes import AtMaxSize
from reconciler.decisions.removal.budgets import BudgetLedger, budgeted, halts
from reconciler.decisions.removal.candidates import Candidate, look_at_nodes
from reconciler.decisions.removal.drain import DisruptionLedger
from reconciler.decisions.removal.drain_report import keeps_from_draining
from reconciler.decisions.removal.scale_down import in_order
from reconciler.decisions.removal.trial import Placed, Trials
from reconciler.decisions.situation.lead_times import EXPECTS_FROM, learned
from reconciler.decisions.situation.zone_order import Landing, ZoneOrder
from reconciler.decisions.view import View
from reconciler.plan.plan import NodeState
from reconciler.plan.reason import Because, Blocker
from reconciler.plan.rollout import Bound, KeptNode, PacingBudget, Rollout, RolloutCost, RolloutTime, Wave
from reconciler.policy.documents import RemovalReason
from reconciler.scheduling.relocation import Places
from reconciler.values.duration import duration_text
from reconciler.values.instant import instant_text
from reconciler.values.money import price_text
from reconciler.values.plural import count_text

_REASON = RemovalReason.CONSOLIDATED
"""The reason whose budgets count: a rollout replaces nodes, as a `Replace` does."""
_MOST_SPANS = 100
_HOUR = 3600


def predict_rollout(view: View, name: str) -> Rollout:
    """The prediction for the group of that name. Raises `KeyError` if there is none. A hold changes nothing about it."""
    position = {group.name: position for position, group in enumerate(view.groups)}[name]
    draft = view.draft(lift_holds=True)
    draft.replace_leaving()
    group, ledger = draft.groups[position], DisruptionLedger(view.world)
    candidates = [one for one in look_at_nodes(draft, ledger) if one.group is group and one.state is not NodeState.LEAVING]
    pace = _pace(draft, group, [one.index for one in candidates])
    keeps = {one.index: (*keeps_from_draining(one), *pace.keeps) for one in candidates}
    free = [one for one in candidates if not keeps[one.index]]
    play = _Play(draft, group, pace, free)
    play.run()
    keeps |= play.kept
    names = {one.index: view.world.nodes[one.index].name for one in candidates}
    kept = tuple(KeptNode(node=names[index], blockers=blockers) for index, blockers in sorted(keeps.items()) if blockers)
    time = _time(play, pace)
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
        nodes=len(candidates),
        at_once=pace.at_once,
        surge=pace.surge,
        bounds=pace.bounds,
        obstacles=tuple(one.reason() for one in (*pace.obstacles, *play.obstacles())),
        waves=tuple(play.waves),
        last_adds=play.last_adds,
        kept=kept,
        budgets=_budgets(ledger, candidates),
        time=time,
        cost=_cost(play, group, draft.policy.currency),
    )
    return msgspec.structs.replace(rollout, summary=_summary(rollout))


# How many nodes at the same time.


class _Pace(msgspec.Struct, frozen=True, kw_only=True):
    """`at_once` nodes leave together, with `surge` new ones before them. `keeps` keeps every node; `starts_seconds` is when the
    first may leave (Unix time, None: now)."""

    at_once: int
    surge: int
    bounds: tuple[Bound, ...]
    obstacles: tuple[Because, ...]
    keeps: tuple[Blocker, ...]
    starts_seconds: int | None


def _pace(draft: Draft, group: GroupDraft, members: Sequence[int]) -> _Pace:
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
    return _Pace(
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
        shut = next((one for node in nodes if (one := ledger.shut_at(_REASON, node, at)) is not None), None)
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
        refused = ledger.refuses(_REASON, node)
        if refused is None:
            ledger.take(_REASON, node)
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


# Wave by wave.


class _Refused(msgspec.Struct, frozen=True):
    """A node whose pods have no place now, and why."""

    candidate: Candidate
    blocker: Blocker


class _Play:
    """The rollout played through in the scheduling state of a draft, which is of no use afterwards. `free` are the nodes that
    nothing keeps."""

    def __init__(self, draft: Draft, group: GroupDraft, pace: _Pace, free: list[Candidate]) -> None:
        self._draft = draft
        self._group = group
        self._pace = pace
        self._queue = in_order(draft, free) if pace.at_once else []
        self._nodes = len(self._queue)
        self._others = self._staying({one.index for one in free})
        self._new: list[int] = []
        self._uncertain: dict[int, tuple[str, ...]] = {}
        self._minding = draft.minding({shape: draft.world.pod_shapes[shape] for one in free for shape in one.moving})
        self._received: dict[int, Counter[int]] = {}
        self._pending = _pending(draft)
        self._budgeted = msgspec.structs.replace(budgeted(draft), leaving={})
        self._serve(self._others + [one.index for one in self._queue])
        self._graces = _graces(draft, free)
        self._drained: list[int] = []
        self._trials = Trials(draft)
        self.start = _start_time(draft, group)
        self.waves: list[Wave] = []
        self.ahead: list[int] = []
        """By wave: how many nodes there are beyond the present number."""
        self.kept: dict[int, tuple[Blocker, ...]] = {}

    @property
    def last_adds(self) -> int:
        """New nodes that come after the last wave."""
        return max(0, len(self._drained) - len(self._new))

    def run(self) -> None:
        """All waves. Nodes without a place are tried again at the end, because new nodes have come since."""
        queue, without, progress, adds = self._queue, dict[int, _Refused](), False, 0
        while queue:
            adds += self._add()
            wave = _WaveDraft(queue)
            self._fill(wave)
            without.update(wave.refused)
            queue = wave.later
            if wave.taken:
                self._close(wave, adds)
                adds, progress = 0, True
            if not queue and progress:
                queue, without, progress = [one.candidate for one in without.values()], {}, False
        self.kept = {index: (one.blocker,) for index, one in without.items()}

    def obstacles(self) -> tuple[Because, ...]:
        """What makes the waves less certain."""
        obstacles: list[Because] = []
        if waiting := sum(map(len, self._draft.waiting.values())):
            obstacles.append(PodsPending(pods=waiting))
        if self._uncertain and self._minding:
            zones = sorted({zone for zones in self._uncertain.values() for zone in zones})
            obstacles.append(ZoneNotKnown(group=self._group.group.name, nodes=len(self._uncertain), zones=tuple(zones)))
        return tuple(obstacles)

    def _staying(self, leaving: set[int]) -> list[int]:
        """Nodes that keep what they get, by World order."""
        return [index for index in range(len(self._draft.world.nodes)) if index not in leaving]

    def _add(self) -> int:
        """New nodes for what has left, and the surge beyond it."""
        wanted = max(0, min(len(self._drained) + self._pace.surge, self._nodes) - len(self._new))
        order = self._zones() if self._group.group.in_zones else None
        for number in range(wanted):
            landing = order.landing(number) if order is not None else None
            self._new.append(self._new_node(landing, certain=landing is None or landing.last < wanted))
        self._serve([node for node in self._new[-wanted:] if node >= 0] if wanted else [])
        return wanted

    def _serve(self, nodes: list[int]) -> None:
        """Pending pods take what room there is on these nodes, before any pod moves there. They move with an old node."""
        if not self._draft.work.spend(len(self._pending) * len(nodes)):
            return
        for shape, count in list(self._pending.items()):
            for node, pods in self._draft.state.place(shape, count, nodes):
                self._received.setdefault(node, Counter())[shape] += pods
                self._pending[shape] -= pods
        self._pending = {shape: count for shape, count in self._pending.items() if count}

    def _new_node(self, landing: Landing | None, *, certain: bool) -> int:
        """The number of a new node in the state; -1 where nobody knows what it would be. It is `certain` where it comes, or that
        each of the possible zones gets one."""
        group = self._group
        shape = landing.shape if landing is not None else group.group.template
        if shape is None:
            return -1
        node = self._draft.state.add_node(f"{group.group.name}-rollout-{len(self._new) + 1}", shape, group.daemons)
        if landing is not None and not certain:
            self._uncertain[node] = landing.zones
        return node

    def _zones(self) -> ZoneOrder:
        """Where the platform puts the next nodes: in the zone with the fewest, which nobody knows once one is uncertain."""
        draft, drained = self._draft, frozenset(self._drained)
        there = [index for index in self._group.situation.nodes if index not in drained] + [n for n in self._new if n >= 0]
        zones = [draft.state.shape_of(index).label(ZONE_LABEL) or "" for index in there]
        known = all(zones) and not self._uncertain
        return ZoneOrder(self._group.group, Counter(zones) if known else None, ())

    def _fill(self, wave: "_WaveDraft") -> None:
        """Take as many nodes into the wave as may leave together, in the order of the queue."""
        draft, ledger = self._draft, DisruptionLedger(self._draft.world)
        at_seconds = self._pace.starts_seconds or draft.now_seconds
        budgets = BudgetLedger(draft.policy.budgets, self._budgeted, at_seconds)
        drained = frozenset(self._drained)
        old = [one.index for one in reversed(self._queue) if one.index not in drained]
        order = [*(node for node in self._new if node >= 0), *self._others, *old]
        certain = Places(draft.state, (node for node in order if node not in self._uncertain))
        places = certain, Places(draft.state, order)
        for number, one in enumerate(wave.queue):
            if len(wave.taken) == self._pace.at_once:
                wave.later.extend(wave.queue[number:])
                break
            moving, evicted = self._load(one.moving, one.index), self._load(one.evicted, one.index)
            short = ledger.short(evicted)
            if short and not wave.taken:
                wave.refused[one.index] = _Refused(one, _not_enough(ledger, evicted, short[0]))
                continue
            refusal = budgets.refuses(_REASON, one.index)
            if refusal is not None and not wave.taken:
                wave.refused[one.index] = _Refused(one, refusal.blocker())
                continue
            if short or refusal is not None or one.index in wave.receivers:
                wave.later.append(one)
                wave.waits_for.update(_budget_name(ledger, index) for index in short)
                continue
            outcome = NodeNotExamined().blocker() if draft.work.exhausted else self._move(one, moving, places)
            if isinstance(outcome, Blocker):
                wave.refused[one.index] = _Refused(one, outcome)
                continue
            turns, grace = _turns(ledger, evicted), max((self._graces.get(shape, 0) for shape in evicted), default=0)
            ledger.take(evicted)
            budgets.take(_REASON, one.index)
            wave.take(one, moving, outcome, turns, grace)

    def _close(self, wave: "_WaveDraft", adds: int) -> None:
        """The wave is over: its nodes are gone, and its pods run elsewhere."""
        for node, shape, count in wave.moved:
            self._received.setdefault(node, Counter())[shape] += count
        self.ahead.append(len(self._new) - len(self._drained))
        self._drained.extend(one.index for one in wave.taken)
        new = frozenset(self._new)
        self.waves.append(
            Wave(
                adds=adds,
                nodes=tuple(self._draft.world.nodes[one.index].name for one in wave.taken),
                pods=wave.pods,
                to_new=sum(count for node, _, count in wave.moved if node in new),
                waits_for=tuple(sorted(wave.waits_for)) if len(wave.taken) < self._pace.at_once else (),
                turns=wave.turns,
                seconds=wave.drain_seconds + (self.start.seconds if adds else 0),
            )
        )

    def _load(self, own: Mapping[int, int], node: int) -> dict[int, int]:
        """Pods by shape, with those that came to the node since."""
        return dict(Counter(own) + self._received.get(node, Counter()))

    def _move(self, one: Candidate, moving: Mapping[int, int], places: tuple[Places, Places]) -> list[Placed] | Blocker:
        """`places` are the nodes whose zone is known, and all. Pods that mind their zone come first and go to the former."""
        order, minding = self._trials.by_size(moving), self._minding if self._uncertain else frozenset[int]()
        parts = [shape for shape in order if shape in minding], [shape for shape in order if shape not in minding]
        return self._trials.move(one, moving, tuple(zip(places, parts, strict=True)))


class _WaveDraft:
    """One wave while it is made out of a queue of nodes. `moved` are its pods (node, shape, count)."""

    def __init__(self, queue: list[Candidate]) -> None:
        self.queue = queue
        self.taken: list[Candidate] = []
        self.later: list[Candidate] = []
        self.refused: dict[int, _Refused] = {}
        self.receivers: set[int] = set()
        self.waits_for: set[str] = set()
        self.moved: list[Placed] = []
        self.pods = 0
        self.turns = 0
        self.drain_seconds = 0

    def take(self, one: Candidate, moving: Mapping[int, int], placed: list[Placed], turns: int, grace_seconds: int) -> None:
        """A node that leaves in this wave, its pods one after the other in so many turns."""
        self.taken.append(one)
        self.moved.extend(placed)
        self.receivers.update(node for node, _, _ in placed)
        self.pods += sum(moving.values())
        self.turns = max(self.turns, turns)
        self.drain_seconds = max(self.drain_seconds, turns * grace_seconds)


def _budget_name(ledger: DisruptionLedger, index: int) -> str:
    return f"{ledger.budgets[index].namespace}/{ledger.budgets[index].name}"


def _needed(ledger: DisruptionLedger, evicted: Mapping[int, int]) -> Counter[int]:
    """How many of these pods (by shape) each budget covers."""
    needed: Counter[int] = Counter()
    for shape, count in evicted.items():
        needed.update(dict.fromkeys(ledger.budgets_of(shape), count))
    return needed


def _not_enough(ledger: DisruptionLedger, evicted: Mapping[int, int], index: int) -> Blocker:
    """A budget that refuses pods though nobody else uses it: they were pending, or not ready on their first node."""
    allowed = max(0, ledger.left[index])
    return NotEnoughPdb(budget=_budget_name(ledger, index), allowed=allowed, needed=_needed(ledger, evicted)[index]).blocker()


def _turns(ledger: DisruptionLedger, evicted: Mapping[int, int]) -> int:
    """How many evictions follow each other, because a budget lets fewer pods go at once than it covers here."""
    if not any(evicted.values()):
        return 0
    needed = _needed(ledger, evicted)
    return max((-(-count // ledger.left[index]) for index, count in needed.items() if ledger.left[index] > 0), default=1)


def _budgets(ledger: DisruptionLedger, candidates: Iterable[Candidate]) -> tuple[PacingBudget, ...]:
    """The disruption budgets over pods of the group, by name."""
    pods: Counter[int] = Counter()
    nodes: Counter[int] = Counter()
    for one in candidates:
        needed = _needed(ledger, one.evicted)
        pods.update(needed)
        nodes.update(needed.keys())
    pacing = (
        PacingBudget(budget=_budget_name(ledger, index), allowed=max(0, ledger.left[index]), pods=pods[index], nodes=nodes[index])
        for index in pods
    )
    return tuple(sorted(pacing, key=lambda one: one.budget))


def _pending(draft: Draft) -> dict[int, int]:
    """Pods that wait for a node, by shape: those that kube-scheduler binds first come first."""
    world = draft.world
    order = sorted(
        draft.waiting, key=lambda shape: (-world.pod_shapes[shape].priority, -world.pod_shapes[shape].requests.cpu_milli, shape)
    )
    return {shape: len(draft.waiting[shape]) for shape in order}


def _graces(draft: Draft, candidates: Iterable[Candidate]) -> Mapping[int, int]:
    """The longest grace period of the pods of each shape on these nodes, in seconds."""
    pods, traits = draft.world.pods, draft.world.pod_traits
    longest: dict[int, int] = {}
    for one in candidates:
        for index in one.pods:
            shape = pods.shape[index]
            longest[shape] = max(longest.get(shape, 0), traits[pods.traits[index]].grace_seconds)
    return longest


# How long it takes, and what it costs.


class _Start(msgspec.Struct, frozen=True):
    """How long a new node takes until it is ready, and of how many nodes that was observed (0: it is the longest allowed)."""

    seconds: int
    observed: int


def _start_time(draft: Draft, group: GroupDraft) -> _Start:
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


def _time(play: _Play, pace: _Pace) -> RolloutTime:
    whole = sum(wave.seconds for wave in play.waves) + (play.start.seconds if play.last_adds else 0)
    starts = None if pace.starts_seconds is None else instant_text(pace.starts_seconds)
    return RolloutTime(new_node_seconds=play.start.seconds, observed=play.start.observed, seconds=whole, starts_at=starts)


def _cost(play: _Play, group: GroupDraft, currency: str) -> RolloutCost:
    """Every wave pays for the nodes beyond the present number as long as it lasts."""
    price = group.group.price_micros
    if price is None:
        return RolloutCost(surge_per_hour=None, in_all=None, currency=currency)
    extra = [max(0, nodes) for nodes in play.ahead]
    in_all = sum(price * nodes * wave.seconds for nodes, wave in zip(extra, play.waves, strict=True))
    whole = price_text((in_all + _HOUR // 2) // _HOUR)
    return RolloutCost(surge_per_hour=price_text(price * max(extra, default=0)), in_all=whole, currency=currency)


def _summary(rollout: Rollout) -> str:
    """One sentence: `Rollout of general: 5 nodes in 3 waves, 2 at once, about 12m; 1 node stays.`"""
    about = f"Rollout of {rollout.group}:"
    if not rollout.nodes:
        return f"{about} it has no nodes."
    if not rollout.waves:
        return f"{about} none of its {count_text(rollout.nodes, 'node')} can be drained."
    word = "about" if rollout.time.learned else "at most"
    parts = [
        f"{count_text(rollout.replaced, 'node')} in {count_text(len(rollout.waves), 'wave')}",
        f"{max(len(wave.nodes) for wave in rollout.waves)} at once",
        f"{word} {duration_text(rollout.time.seconds)}",
    ]
    stays = f". {count_text(len(rollout.kept), 'node')} cannot be drained" if rollout.kept else ""
    return f"{about} {', '.join(parts)}{stays}."
