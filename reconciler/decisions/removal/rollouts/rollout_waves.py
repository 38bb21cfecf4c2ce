"""Plays a rollout wave by wave."""

from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from reconciler.cluster.nodes.node import ZONE_LABEL
from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.reasons.drain_rules import NotEnoughPdb
from reconciler.decisions.reasons.kept_nodes import (
    NodeNotExamined,
)
from reconciler.decisions.reasons.rollouts import PodsPending, ZoneNotKnown
from reconciler.decisions.removal.budgets import BudgetLedger, budgeted
from reconciler.decisions.removal.candidates import Candidate
from reconciler.decisions.removal.drains.disruption_ledger import DisruptionLedger
from reconciler.decisions.removal.examination_order import in_order
from reconciler.decisions.removal.rollouts.rollout_pace import REASON, Pace, start_time
from reconciler.decisions.removal.trial import Placed, Trials
from reconciler.decisions.situation.zone_order import Landing, ZoneOrder
from reconciler.plan.reason import Because, Blocker
from reconciler.plan.rollout import PacingBudget, Wave
from reconciler.scheduling.relocation import Places


class _Refused(msgspec.Struct, frozen=True):
    """A node whose pods have no place now, and why."""

    candidate: Candidate
    blocker: Blocker


class Play:
    """The rollout played through in the scheduling state of a draft, which is of no use afterwards. `free` are the nodes that
    nothing keeps."""

    def __init__(self, draft: Draft, group: GroupDraft, pace: Pace, free: list[Candidate]) -> None:
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
        self.start = start_time(draft, group)
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
        draft, ledger = self._draft, DisruptionLedger(self._draft.world, self._draft.policy.drain.pod_groups)
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
            short, gang = ledger.short(evicted), ledger.gangs.short(evicted)
            if (short or gang is not None) and not wave.taken:
                blocker = _not_enough(ledger, evicted, short[0]) if gang is None else gang.blocker()
                wave.refused[one.index] = _Refused(one, blocker)
                continue
            refusal = budgets.refuses(REASON, one.index)
            if refusal is not None and not wave.taken:
                wave.refused[one.index] = _Refused(one, refusal.blocker())
                continue
            if short or gang is not None or refusal is not None or one.index in wave.receivers:
                wave.later.append(one)
                wave.waits_for.update(_budget_name(ledger, index) for index in short)
                wave.waits_for.update((f"PodGroup {gang.group}",) if gang is not None else ())
                continue
            outcome = NodeNotExamined().blocker() if draft.work.exhausted else self._move(one, moving, places)
            if isinstance(outcome, Blocker):
                wave.refused[one.index] = _Refused(one, outcome)
                continue
            turns, grace = _turns(ledger, evicted), max((self._graces.get(shape, 0) for shape in evicted), default=0)
            ledger.take(evicted)
            budgets.take(REASON, one.index)
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


def rollout_budgets(ledger: DisruptionLedger, candidates: Iterable[Candidate]) -> tuple[PacingBudget, ...]:
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
