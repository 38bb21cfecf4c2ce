"""A burst is bought for when it is whole; no pod waits longer for that than the policy says."""

import pytest

from reconciler.control.turn.loop import Chooser, ControlLoop
from reconciler.control.turn.memory_store import InMemoryStore
from reconciler.control.turn.turn_report import LoopReport
from reconciler.policy.documents import PodRules, PolicySet
from reconciler.providers.simulated import SimulatedPort
from reconciler.simulation.embedded.cluster import SimulatedCluster
from tests.builders import NOW, ClusterBuilder, node_group, policy

DEFAULT = PodRules()


class _InForce:
    def __init__(self, rules: PolicySet) -> None:
        self._rules = rules

    def current(self) -> PolicySet:
        return self._rules


def _turn(cluster: ClusterBuilder, pods: PodRules = DEFAULT, choose: Chooser | None = None, **group: int) -> LoopReport:
    rules = policy(node_group("general", **{"max": 40, **group}), pods=pods)
    simulated = SimulatedCluster(cluster.world(), rules, NOW)
    simulated.advance_to(NOW)
    return ControlLoop(SimulatedPort(simulated), _InForce(rules), InMemoryStore(), choose=choose).turn()


def _burst(*ages: int) -> ClusterBuilder:
    """A pod of a core for each age, and no node yet."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0, cpu="4")
    for number, age in enumerate(ages):
        cluster.pods(f"web-{number}", 1, cpu="1", age=age)
    return cluster


def _codes(report: LoopReport) -> list[str]:
    return [result.code or result.state.value for result in report.results]


@pytest.mark.parametrize(
    ("ages", "code"),
    [
        ((5, 0), "BurstArriving"),
        ((5, 1), "BurstArriving"),
        ((5, 2), "Done"),
        ((9, 0), "BurstArriving"),
        ((10, 0), "Done"),
        ((-30,), "Done"),
    ],
)
def test_growth_waits_for_the_end_of_a_burst(ages: tuple[int, ...], code: str) -> None:
    """No pod for 2 s, or one that waits for 10 s, exactly; pods from the future say nothing."""
    assert _codes(_turn(_burst(*ages))) == [code]


def test_who_waits_is_told_why_and_until_when() -> None:
    """The plan has what would be bought, the result what it waits for."""
    report = _turn(_burst(5, 1))
    assert report.plan is not None
    assert report.plan.actions[0].to == 1
    assert report.results[0].message == (
        "pods are still arriving: nodes are added after 2s without a new pod, after 10s at most, at 2027-01-15T08:00:01Z"
    )


def test_other_growth_waits_for_no_burst() -> None:
    """A minimum is healed at once, with the nodes for the pods."""
    assert _codes(_turn(_burst(0), min=2)) == ["Done"]


def test_a_pod_that_fits_nowhere_ends_no_burst() -> None:
    """It waits for days: the others wait for the end of theirs all the same."""
    cluster = _burst(1)
    cluster.pods("huge", 1, cpu="64", age=90_000)
    assert _codes(_turn(cluster)) == ["BurstArriving"]


def test_actions_that_somebody_chose_wait_for_no_burst() -> None:
    """A saved plan is applied now."""
    assert _codes(_turn(_burst(0), choose=lambda plan, _: plan.actions)) == ["Done"]


def test_turns_that_are_far_apart_wait_for_no_burst() -> None:
    """Nobody would look again within seconds."""
    rules = policy(node_group("general", max=40))
    simulated = SimulatedCluster(_burst(0).world(), rules, NOW)
    simulated.advance_to(NOW)
    loop = ControlLoop(SimulatedPort(simulated), _InForce(rules), InMemoryStore(), waits_for_bursts=False)
    assert _codes(loop.turn()) == ["Done"]


def test_a_pause_of_zero_waits_for_nobody() -> None:
    """Every turn buys for what it sees."""
    assert _codes(_turn(_burst(0), PodRules(burst_pause_seconds=0))) == ["Done"]


def test_a_group_below_its_minimum_grows_beside_one_that_waits() -> None:
    """What is bought for pods waits for the end of the burst, what is bought for the minimum does not."""
    cluster = _burst()
    cluster.pods("web", 1, cpu="1", age=0, node_selector={"pool": "general"})
    cluster.group("other", nodes=1)
    rules = policy(node_group("general", max=40), node_group("other", min=3))
    simulated = SimulatedCluster(cluster.world(), rules, NOW)
    simulated.advance_to(NOW)
    report = ControlLoop(SimulatedPort(simulated), _InForce(rules), InMemoryStore()).turn()
    assert {result.action.group: result.code for result in report.results} == {"general": "BurstArriving", "other": ""}
