"""The share of a tier in random loops: it holds wherever capacity allows, no pod waits for it, and nothing is added and removed
because of it."""

import random
import secrets
from collections import Counter

import pytest

from reconciler.control.turn.loop import ControlLoop
from reconciler.control.turn.memory_store import InMemoryStore
from reconciler.decisions.memory import Memory
from reconciler.decisions.situation.group_situation import LEAVING_TAINTS
from reconciler.plan.plan import Action, ActionKind, NodeState, Plan, PodOutcome
from reconciler.policy.documents import Backoff, Budget, Consolidation, PolicySet, ScaleDown, ScaleUp, Tier, Toggle
from reconciler.policy.pace import Pace
from reconciler.providers.simulated import SimulatedPort
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.embedded.durations import MachineBehaviour, Shortage
from reconciler.simulation.embedded.rules import RuleBook
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.properties.happenings import kill_some_node, scale_some_workload

TURNS = 40
QUIET_TURNS = 24
# One replacement moves one node in about four turns, and a group has at most MAX nodes: a chain of them outlasts the quiet turns.
# So the run goes on until this many plans in a row are empty. A loop that goes back and forth never gets there.
EMPTY_PLANS = 5
MOST_TURNS = TURNS + QUIET_TURNS + 4 * 5 * 8
FRESH = 2
PROVISION_SECONDS = 120
MAX = 8
TIER_OF = {"spot-a": "spot", "spot-b": "spot", "demand": "demand", "big": "demand", "other": ""}
# Checked in the stories. Here pods terminate while others come, which ends no demand that is remembered.
OF_ONE_DEMAND = ("BoughtAndRemoved", "GrewAndShrank", "EvictionBought")
FORCED = ("Unready", "AboveMax")


class Run:
    """One random loop, the same for the same seed. In a `calm` one, machines always come and nobody deletes nodes."""

    def __init__(self, seed: int, *, calm: bool) -> None:
        self.rng = random.Random(f"shares {seed} {calm}")
        self.calm = calm
        self.one_size = self.rng.random() < 0.5
        self.percent = {"demand": self.rng.choice((10, 30, 30, 50, 75)), "spot": 0}
        if self.rng.random() < 0.25:
            self.percent["spot"] = 100 - self.percent["demand"] - 5
        self.policy = self._policy()
        short = () if calm else ("spot-a", "spot-b", "demand", "big")
        shortages = {name: MachineBehaviour(join_seconds=30, shortages=self._shortages()) for name in short}
        self.cluster = SimulatedCluster(
            self._world(), self.policy, NOW, behaviours=shortages, otherwise=MachineBehaviour(join_seconds=60)
        )
        self.port, self.store, self.book = SimulatedPort(self.cluster), InMemoryStore(), RuleBook(self.cluster)
        self.loop = ControlLoop(self.port, self, self.store, waits_for_bursts=False)
        self.broken: list[str] = []
        self._grown: dict[str, int] = {}
        self._lost: set[str] = set()
        self._event_seconds = NOW
        self._passed: list[tuple[tuple[str, int], ...]] = []
        # A back-off may last for five minutes after that.
        ends = [one.until_seconds for behaviour in shortages.values() for one in behaviour.shortages]
        self._last_shortage_seconds = max(ends, default=NOW) + 300
        self.seen: Counter[str] = Counter()

    def current(self) -> PolicySet:
        """The policy in force."""
        return self.policy

    def _policy(self) -> PolicySet:
        quick = ScaleUp(
            max_node_provision_time_seconds=PROVISION_SECONDS,
            backoff=Backoff(initial_seconds=60, max_seconds=300, reset_seconds=3600),
        )
        mode = self.rng.choice((Toggle.ENABLED, Toggle.DISABLED))
        idle = ScaleDown(unneeded_time_seconds=self.rng.choice((0, 120, 600)), consolidation=Consolidation(mode=mode))
        prices = {"spot-a": "0.10", "spot-b": "0.19", "demand": "0.40", "big": "0.75"}
        groups = [
            node_group(name, tier=tier or None, max=MAX, scale_up=quick, scale_down=idle, price_per_hour=prices.get(name, "1.00"))
            for name, tier in TIER_OF.items()
        ]
        after = self.rng.choice((None, 300, 1200))
        tiers = (
            Tier(name="spot", return_after_seconds=after, share_percent=self.percent["spot"]),
            Tier(name="demand", share_percent=self.percent["demand"]),
        )
        pace = Pace(delay_after_add_seconds=60, delay_after_failure_seconds=60)
        return policy(*groups, tiers=tiers, budgets=(Budget(nodes=self.rng.choice((1, 3, 10))),), pace=pace)

    def _world(self):
        cluster = ClusterBuilder()
        for name in TIER_OF:
            cluster.group(name, nodes=0, cpu="8" if name in ("big", "spot-b") and not self.one_size else "4")
        for number in range(self.rng.randint(2, 5)):
            cluster.pods(f"app-{number}", self.rng.randint(1, 4), cpu=f"{self.rng.randint(1, 7) * 500}m")
        return cluster.world()

    def _shortages(self) -> tuple[Shortage, ...]:
        at, found = NOW - self.rng.choice((0, 600)), []
        for _ in range(3):
            at += self.rng.choice((600, 3000, 6000))
            long = self.rng.choice((300, 1200, 3000))
            found.append(Shortage(from_seconds=at, until_seconds=at + long))
            at += long
        return tuple(found)

    def go(self) -> "Run":
        """All iterations: first with events, then without, until nothing happens any more."""
        empty = 0
        for turn in range(MOST_TURNS):
            quiet = turn >= TURNS
            if turn >= TURNS + QUIET_TURNS and empty >= EMPTY_PLANS:
                break
            self.cluster.advance_to(self.cluster.now_seconds + (900 if quiet else self.rng.choice((30, 60, 60, 180, 600))))
            if not quiet and self.rng.random() < 0.25:
                self._something_happens()
            before = self._nodes()
            memory = self.store.load()
            report = self.loop.turn()
            assert report.plan is not None
            told = [one for one in self.book.check(self.policy, report.plan) if one.rule not in OF_ONE_DEMAND]
            self.broken += [f"{one.rule} {one.object}: {one.message}" for one in told]
            self._check(before, memory, report.plan)
            if self.calm:
                self._never_back(report.plan)
            empty = 0 if report.plan.actions else empty + 1
            if quiet:
                self._never_the_same_again(report.plan)
        if empty < EMPTY_PLANS:
            self.broken.append("it does not settle")
        return self

    def _never_the_same_again(self, plan: Plan) -> None:
        """While nothing happens from outside, nodes that were given up for others do not come back: the slow way to go back and
        forth, with empty plans between."""
        counts = tuple(sorted(self._nodes().items()))
        if plan.actions or self._in_motion() or self.cluster.now_seconds < self._last_shortage_seconds:
            return
        if counts in self._passed[:-1]:
            self.broken.append(f"at {self.cluster.now_seconds - NOW}: it is back where it was: {dict(counts)}")
        if counts not in self._passed[-1:]:
            self._passed.append(counts)

    def _in_motion(self) -> bool:
        """Whether machines come or nodes go, or the controllers have not made or ended all pods yet."""
        objects = self.cluster.objects
        moving = any(not machine.node or machine.deleting for machine in objects.machines.values())
        return moving or any(node.value.deleting for node in objects.nodes.values()) or not self._caught_up()

    def _caught_up(self) -> bool:
        """Whether the controllers have made and ended all pods since demand changed."""
        known = all(one.active == one.desired for one in self.cluster.workloads.by_key.values())
        return known and not any(pod.deletion for pod in self.cluster.objects.pods.values())

    def _nodes(self) -> dict[str, int]:
        """Nodes and requested machines by group, without those that leave or did not come in time."""
        objects, now = self.cluster.objects, self.cluster.now_seconds
        counts = dict.fromkeys(TIER_OF, 0)
        there: Counter[str] = Counter()
        for node in objects.nodes.values():
            there[node.target.name] += not node.value.deleting
            taints = objects.shape_of(node).taints
            if not node.value.deleting and not any(taint.key in LEAVING_TAINTS for taint in taints):
                counts[node.target.name] += 1
        for machine in objects.machines.values():
            there[machine.target.name] += not machine.node and not machine.deleting
            late = now - machine.created_seconds >= PROVISION_SECONDS
            if not machine.node and not machine.deleting and not machine.failed and not late:
                counts[machine.target.name] += 1
        # Of a node that somebody deleted, the next machine is still to come.
        for line in self.cluster.world().targets:
            counts[line.ref.name] += max(0, (line.replicas or 0) - there[line.ref.name])
        return counts

    def _check(self, before: dict[str, int], memory: Memory, plan: Plan) -> None:
        now, after, at = self.cluster.now_seconds, dict(before), self.cluster.now_seconds - NOW
        leaving: set[str] = set()
        group_of = {line.node: line.group or "" for line in plan.nodes}
        for action in plan.actions:
            self._apply(action, after, group_of)
            if action.kind is ActionKind.REPLACE or (action.kind is ActionKind.REMOVE_NODE and action.reason.code not in FORCED):
                leaving |= {TIER_OF[group_of[name]] for name in action.nodes}
        # One that this plan gives up leads to nothing: its nodes stay.
        goes_on = set(self.store.load().replacements)
        for one in filter(goes_on.__contains__, memory.replacements):
            # What it leads to counts from its beginning on. Their drains are no new loss.
            gone = {name for action in plan.actions if action.kind is ActionKind.REMOVE_NODE for name in action.nodes}
            gone |= {line.node for line in plan.nodes if line.state is NodeState.LEAVING}
            for name in set(one.nodes) & set(group_of) - gone:
                after[group_of[name]] -= 1
        backed_off = {name for name, one in self.store.load().backoffs.items() if one.until_seconds > now}
        able = {TIER_OF[name] for name, count in after.items() if count < MAX and name not in backed_off}
        grown = {action.group for action in plan.actions if action.kind is ActionKind.RESIZE and action.to > action.from_}
        grown = {TIER_OF[name] for name in grown} - {""}
        # A group that failed has had its turn: until the pods that wait are served, other groups come first, whatever their tier.
        out = backed_off | set(self.store.load().last_failures)
        turns_left = {TIER_OF[name] for name, count in after.items() if count < MAX and name not in out}
        self._tell(after, grown, leaving, turns_left, at)
        told = {reason.code for line in plan.groups for reason in line.reasons}
        told |= {blocker.code for line in plan.nodes for blocker in line.blockers}
        told |= {action.reason.code for action in plan.actions}
        self.seen.update(told)
        waiting = [line.pod for line in plan.pods if line.outcome is PodOutcome.UNPLACEABLE]
        if waiting and able:
            self.broken.append(f"at {at}: {waiting} wait though groups of {able} may grow")

    def _never_back(self, plan: Plan) -> None:
        """While demand is the same, what was added for a share stays, and what a tier has lost is not added again. Right after a
        change, the controllers have not made or ended all pods yet, so that a plan grows for pods that end in a moment."""
        objects, now = self.cluster.objects, self.cluster.now_seconds
        group_of = {line.node: line.group or "" for line in plan.nodes}
        caught_up = self._caught_up()
        for action in plan.actions:
            # With fewer, larger machines of the other tier, the share may need fewer nodes afterwards.
            moved = action.reason.code in ("Returned", "Consolidated") and not self.one_size
            if action.kind is ActionKind.REMOVE_NODE and action.reason.code not in FORCED and not moved:
                (name,) = action.nodes
                if objects.nodes[name].value.created_seconds >= self._grown.get(group_of[name], now + 1):
                    self.broken.append(f"at {now - NOW}: {name} was added for a share, and leaves: {action.reason.code}")
                if now - self._event_seconds >= PROVISION_SECONDS and caught_up:
                    self._lost.add(TIER_OF[group_of[name]])
        for line in plan.groups:
            if any(reason.code == "GrownForShare" for reason in line.reasons):
                if TIER_OF[line.name] in self._lost:
                    self.broken.append(f"at {now - NOW}: {line.name} grows for a share, and its tier has just lost nodes")
                if caught_up:
                    self._grown[line.name] = now

    def _apply(self, action: Action, after: dict[str, int], group_of: dict[str, str]) -> None:
        if action.kind is ActionKind.RESIZE:
            after[action.group] += action.to - action.from_
        elif action.kind is ActionKind.REPLACE:
            after[action.group] += 1
        if action.kind in (ActionKind.REPLACE, ActionKind.REMOVE_NODE):
            for name in action.nodes:
                after[group_of[name]] -= 1

    def _tell(self, after: dict[str, int], grown: set[str], leaving: set[str], able: set[str], at: int) -> None:
        totals: Counter[str] = Counter()
        for name, count in after.items():
            totals[TIER_OF[name]] += count
        every = totals["spot"] + totals["demand"]
        two = all(self.percent.values())
        for tier, percent in self.percent.items():
            other = "spot" if tier == "demand" else "demand"
            holds = 100 * totals[tier] >= percent * every
            self.seen["held"] += holds and every > 0
            self.seen["not held"] += not holds
            if not holds and tier in leaving:
                self.broken.append(f"at {at}: nodes of {tier} leave, then {totals[tier]} of {every} are less than {percent}%")
            # Two shares may exclude each other on few nodes: of one node nobody can have a half.
            if not holds and other in grown and tier in able and not two:
                self.broken.append(f"at {at}: {other} grows, though {totals[tier]} of {every} are less than {percent}% of {tier}")

    def _something_happens(self) -> None:
        self._grown.clear()
        self._lost.clear()
        self._event_seconds = self.cluster.now_seconds
        what = self.rng.choice(("scale", "scale", "scale", "restart") if self.calm else ("scale", "scale", "die", "restart"))
        if what == "die" and kill_some_node(self.cluster, self.rng):
            return
        if what == "restart":
            self.loop = ControlLoop(self.port, self, self.store, waits_for_bursts=False)
        else:
            scale_some_workload(self.cluster, self.rng)


@pytest.mark.parametrize("calm", [True, False])
def test_the_share_holds_wherever_capacity_allows(calm: bool) -> None:
    """With fresh seeds: growth of another tier leaves a tier less than its share only if none of its groups may grow. No node
    leaves a tier that would have less than its share then, unless it is broken. No pod waits while a group may grow. In the end
    nothing happens any more."""
    for _ in range(FRESH):
        seed = secrets.randbits(32)
        assert Run(seed, calm=calm).go().broken == [], seed


@pytest.mark.parametrize("calm", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_the_same_with_seeds_that_are_kept(seed: int, calm: bool) -> None:
    assert Run(seed, calm=calm).go().broken == []


def test_the_loops_are_about_shares() -> None:
    """Tiers grow and keep nodes for their share, some miss it for want of capacity, and nodes return next to it."""
    seen: Counter[str] = Counter()
    for seed in (0, 7, 11):
        seen += Run(seed, calm=False).go().seen
    assert min(seen[one] for one in ("GrownForShare", "KeptByShare", "ShareNotReached", "Return", "held", "not held")) > 0, seen
