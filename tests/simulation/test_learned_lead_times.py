"""The loop on the embedded cluster learns how long nodes take, tells when the next one is expected, and falls over earlier."""

from collections.abc import Iterator

import msgspec

from reconciler.control.turn.loop import ControlLoop
from reconciler.control.turn.memory_store import InMemoryStore
from reconciler.control.turn.turn_report import LoopReport
from reconciler.decisions.memory import LeadTime, LeadTimes, Memory
from reconciler.policy.documents import PolicySet, ScaleDown, Tier
from reconciler.providers.simulated import SimulatedPort
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.embedded.durations import MachineBehaviour, Shortage
from reconciler.simulation.embedded.rules import RuleBook
from reconciler.values.instant import parse_instant
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.properties.test_returns import TIER_OF
from tests.properties.test_returns import Run as RandomRun

JOINS_AFTER = 120
SHORTAGE = NOW + 100_000
TARGET = "MachineDeployment prod/spot"
TURN = 10


class Run:
    """Pods of one workload, each on a node of its own: spot nodes come after two minutes, and none from `SHORTAGE` on."""

    def __init__(self) -> None:
        cluster = ClusterBuilder()
        cluster.group("spot", nodes=0, cpu="4")
        cluster.group("demand", nodes=0, cpu="4")
        cluster.pods("app", 1, cpu="3500m")
        groups = [
            node_group(name, tier=name, max=99, scale_down=ScaleDown(unneeded_time_seconds=60)) for name in ("spot", "demand")
        ]
        self.policy = policy(*groups, tiers=(Tier(name="spot"), Tier(name="demand")))
        none_left = MachineBehaviour(
            join_seconds=JOINS_AFTER, shortages=(Shortage(from_seconds=SHORTAGE, until_seconds=SHORTAGE + 100_000),)
        )
        self.cluster = SimulatedCluster(cluster.world(), self.policy, NOW, behaviours={"spot": none_left})
        self.store, self.book = InMemoryStore(), RuleBook(self.cluster)
        self.loop = ControlLoop(SimulatedPort(self.cluster), self, self.store, waits_for_bursts=False)
        self.broken: list[str] = []

    def current(self) -> PolicySet:
        return self.policy

    def turns(self, seconds: int) -> Iterator[LoopReport]:
        for _ in range(0, seconds, TURN):
            self.cluster.advance_to(self.cluster.now_seconds + TURN)
            report = self.loop.turn()
            assert report.plan is not None
            self.broken += [f"{one.rule} {one.object}: {one.message}" for one in self.book.check(self.policy, report.plan)]
            yield report

    def wants(self, pods: int) -> None:
        (workload,) = self.cluster.workloads.by_key.values()
        self.cluster.workloads.scale(workload, pods)
        controller = self.cluster.objects.controllers[workload.key]
        self.cluster.objects.controllers[workload.key] = msgspec.structs.replace(controller, replicas=pods)
        self.cluster.objects.touch()

    def grows(self, times: int) -> None:
        for pods in range(1, times + 1):
            self.wants(pods)
            assert list(self.turns(300))

    def until_demand(self) -> int:
        """After how many seconds without a spot node the lower tier is asked."""
        self.cluster.advance_to(SHORTAGE)
        self.wants(len(self.cluster.objects.pods) + 1)
        begun = self.cluster.now_seconds
        for report in self.turns(2000):
            assert report.plan is not None
            if any(action.group == "demand" for action in report.plan.actions):
                return self.cluster.now_seconds - begun
        raise AssertionError("never")


def test_the_loop_learns_what_the_cluster_does() -> None:
    """Six growths of one node: the loop looks every 10 s, and each node is usable as soon as it joins."""
    run = Run()
    run.grows(6)
    found = [(one.joined_seconds, one.usable_seconds) for one in run.store.load().lead_times[TARGET].requests]
    assert len(found) == 6
    assert all(JOINS_AFTER - TURN <= joined <= usable <= JOINS_AFTER + TURN for joined, usable in found)
    assert run.broken == []


def test_the_lower_tier_is_asked_earlier_once_nodes_have_shown_what_they_take() -> None:
    """Nothing is learned: 15 minutes, as the policy says. Twenty-five nodes took two minutes: five. No rule is broken."""
    new, experienced = Run(), Run()
    new.grows(2)
    experienced.grows(25)
    assert 900 <= new.until_demand() <= 900 + 2 * TURN
    assert 300 <= experienced.until_demand() <= 300 + 2 * TURN
    assert (new.broken, experienced.broken) == ([], [])


def test_the_plan_tells_when_the_next_node_is_expected() -> None:
    """After six growths. The one that grows says how long the others took. The next plans say by when, until it is there."""
    run = Run()
    run.grows(6)
    run.wants(7)
    asked, told = 0, []
    for report in run.turns(200):
        assert report.plan is not None
        (line,) = [line for line in report.plan.groups if line.name == "spot"]
        reasons = {reason.code: reason for reason in line.reasons}
        if report.plan.actions:
            asked = run.cluster.now_seconds
            assert reasons["LeadTime"].data["requests"] == 6
            assert abs(reasons["LeadTime"].data["p95Seconds"] - JOINS_AFTER) <= TURN
        if "UpcomingNodes" in reasons:
            told.append(reasons["UpcomingNodes"])
    assert asked
    assert told
    by = {parse_instant(one.data["expectedBy"]) for one in told}
    assert len(by) == 1
    assert abs(by.pop() - asked - JOINS_AFTER) <= TURN
    assert {(one.data["inTime"], one.data["earlier"]) for one in told} == {(6, 6)}
    assert told[0].message.endswith(". 6 of 6 earlier ones came in that time")


class Experienced(RandomRun):
    """A random loop whose tiers run short again and again. Its groups have shown 55 nodes that took a minute.
    The policy would wait for half an hour."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        took = tuple(LeadTime(NOW - 90_000 + number * 1200, 60, 60) for number in range(55))
        self.store.save(Memory(lead_times={f"MachineDeployment prod/{name}": LeadTimes(requests=took) for name in TIER_OF}))
        self.given_up = 0

    def _policy(self) -> PolicySet:
        rules = super()._policy()
        patient = [
            msgspec.structs.replace(group, scale_up=msgspec.structs.replace(group.scale_up, max_node_provision_time_seconds=1800))
            for group in rules.groups
        ]
        return msgspec.structs.replace(rules, groups=tuple(patient))

    def current(self) -> PolicySet:
        late = [one.usable_seconds for times in self.store.load().lead_times.values() for one in times.requests]
        self.given_up = max(self.given_up, late.count(-300))
        return self.policy


def test_giving_up_earlier_breaks_no_rule() -> None:
    """Random loops in which requests are given up after five minutes, as learned."""
    runs = [Experienced(seed).go() for seed in range(4)]
    assert [run.broken for run in runs] == 4 * [[]]
    assert sum(run.given_up for run in runs) >= 3
