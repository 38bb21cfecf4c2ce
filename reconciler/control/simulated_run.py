"""The real loop on the embedded cluster, through a scenario, in virtual time."""

from collections.abc import Iterator

import msgspec

from reconciler.cluster.world import World
from reconciler.control.turn.loop import ControlLoop
from reconciler.control.turn.memory_store import InMemoryStore
from reconciler.control.turn.turn_report import LoopReport
from reconciler.decisions.groups.effective_groups import effective_groups
from reconciler.plan.replay import RunTotals
from reconciler.policy.documents import PolicySet
from reconciler.providers.simulated import SimulatedPort
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.embedded.journal import Event
from reconciler.simulation.embedded.rules import RuleBook, Violation
from reconciler.simulation.scenarios.run_summary import summarize
from reconciler.simulation.scenarios.scenario import ScenarioText
from reconciler.simulation.scenarios.scenario_play import ScenarioPlay, behaviours
from reconciler.simulation.timers import next_timer_seconds
from reconciler.values.plural import count_text

IDLE_SECONDS = 60
"""The loop also looks when nothing seems to have happened, this long after it last did."""


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """One iteration: `events` is what happened since the one before it, `violations` what this one broke."""

    at_seconds: int
    report: LoopReport
    events: tuple[Event, ...]
    violations: tuple[Violation, ...]


class SimulatedRun:
    """One run of one scenario. Deterministic: same inputs, same turns.

    The loop's interval is the scenario's. An iteration that would decide the same is left out: nothing changed, no timer ran out,
    and the last one is under a minute old.
    """

    def __init__(
        self,
        text: ScenarioText,
        world: World,
        policy: PolicySet,
        policies: dict[str, PolicySet],
        until_seconds: int | None = None,
    ) -> None:
        """`policies` are those that events switch to, by their path as written; `until_seconds` shortens or lengthens
        the run. Raises `DocumentError`."""
        spec = text.scenario.spec
        self.start_seconds = world.captured_seconds
        self.end_seconds = self.start_seconds + (until_seconds or spec.until.seconds)
        self.interval_seconds = spec.interval.seconds
        self._text = text
        self._policy = policy
        by_target, otherwise = behaviours(text, self.start_seconds)
        self.cluster = SimulatedCluster(world, policy, self.start_seconds, behaviours=by_target, otherwise=otherwise)
        ScenarioPlay(text, self.cluster, policies, self._follow)
        self._started_nodes = {node.name: str(node.target or "") for node in self.cluster.objects.nodes.values()}
        self._waiting = {pod.key: pod.created for pod in self.cluster.objects.pending()}
        self._prices = {
            str(group.target): group.price_micros
            for group in effective_groups(world, policy, self.start_seconds)
            if group.price_micros is not None
        }
        self.rules = RuleBook(self.cluster)
        self.store = InMemoryStore()
        # Turns are many seconds of its clock apart: no burst is seen in two of them.
        self.loop = ControlLoop(SimulatedPort(self.cluster), self, self.store, waits_for_bursts=False)

    def current(self) -> PolicySet:
        """The policy in force."""
        return self._policy

    def _follow(self, policy: PolicySet) -> None:
        self._policy = policy

    def turns(self) -> Iterator[Turn]:
        """Turn by turn, to the end."""
        cluster = self.cluster
        read, looked_at = 0, self.start_seconds
        revision: int | None = None
        timer: int | None = None
        for instant in range(self.start_seconds, self.end_seconds + 1, self.interval_seconds):
            cluster.advance_to(instant)
            due = timer is not None and timer <= instant
            if cluster.objects.revision == revision and not due and instant - looked_at < IDLE_SECONDS:
                continue
            looked_at = instant
            report = self.loop.turn()
            broken = self.rules.check(self._policy, report.plan) if report.plan is not None else ()
            revision = cluster.objects.revision
            if report.plan is not None:
                timer = next_timer_seconds(report.plan, self.store.load(), self._policy.policy, instant)
            events = tuple(cluster.journal.since(read))
            read += len(events)
            yield Turn(at_seconds=instant, report=report, events=events, violations=broken)

    def summary(self) -> RunTotals:
        """Totals up to now."""
        return summarize(
            self.cluster.journal.events,
            self.start_seconds,
            self.cluster.now_seconds,
            self._started_nodes,
            self._waiting,
            sum(1 for _ in self.cluster.objects.pending()),
            self._prices,
            self._policy.policy.currency,
        )

    def unmet(self) -> tuple[str, ...]:
        """Expectations of the scenario that do not hold now, as sentences."""
        expect = self._text.scenario.spec.expect
        nodes: dict[str, int] = {}
        for node in self.cluster.objects.nodes.values():
            if node.target is not None:
                nodes[node.target.name] = nodes.get(node.target.name, 0) + 1
        sentences = []
        for group in expect.groups:
            there = nodes.get(group.name, 0)
            if group.nodes is not None and there != group.nodes:
                sentences.append(f"{group.name} has {count_text(there, 'node')} at the end instead of {group.nodes}")
            if group.at_least is not None and there < group.at_least:
                sentences.append(f"{group.name} has {count_text(there, 'node')} at the end instead of at least {group.at_least}")
            if group.at_most is not None and there > group.at_most:
                sentences.append(f"{group.name} has {count_text(there, 'node')} at the end instead of at most {group.at_most}")
        pending = sum(1 for _ in self.cluster.objects.pending())
        if expect.pending_pods is not None and pending != expect.pending_pods:
            sentences.append(f"{count_text(pending, 'pending pod')} at the end instead of {expect.pending_pods}")
        if len(self.rules.violations) > expect.max_violations:
            sentences.append(f"{len(self.rules.violations)} rules were broken, {expect.max_violations} are allowed")
        return tuple(sentences)
