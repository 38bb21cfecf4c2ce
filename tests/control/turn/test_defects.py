"""A defect of the product while the loop turns: it ends no process, and acts on nobody by guess."""

import pytest

from reconciler.cluster import defects
from reconciler.control.turn import loop as turning
from reconciler.control.turn.loop import ControlLoop, InMemoryStore, LoopReport, ResultState
from reconciler.decisions import view
from reconciler.policy.documents import PolicySet
from reconciler.providers.simulated import SimulatedPort
from reconciler.simulation.embedded.cluster import SimulatedCluster
from tests.builders import NOW, ClusterBuilder, node_group, policy


class _InForce:
    def __init__(self, rules: PolicySet) -> None:
        self._rules = rules

    def current(self) -> PolicySet:
        return self._rules


def _turn() -> LoopReport:
    rules = policy(node_group("a", max=5), node_group("b", max=5))
    cluster = ClusterBuilder()
    for name in ("a", "b"):
        cluster.group(name, nodes=1, cpu="4", labels={"for": name})
        cluster.pods(name, 2, cpu="4", node_selector={"for": name}, age=60)
    simulated = SimulatedCluster(cluster.world(), rules, NOW)
    simulated.advance_to(NOW)
    return ControlLoop(SimulatedPort(simulated), _InForce(rules), InMemoryStore()).turn()


def test_a_decision_that_fails_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """The report says that there is none, and the next turn comes."""

    def fails(*_: object) -> object:
        raise RecursionError

    monkeypatch.setattr(turning, "decide", fails)
    report = _turn()
    assert report.plan is None
    assert report.unavailable.startswith("no decision: a defect of reconciler (RecursionError at ")


def test_a_group_that_cannot_be_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written for it; the other one grows."""
    monkeypatch.setattr(defects, "CAUGHT", (Exception,))
    whole = view._judge

    def judge(one: object, *rest: object) -> object:
        if one.name == "a" and not one.facts.problems:  # type: ignore[attr-defined]
            raise ValueError("made up")
        return whole(one, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(view, "_judge", judge)
    report = _turn()
    assert {(one.action.group, one.state) for one in report.results} == {("b", ResultState.DONE)}
