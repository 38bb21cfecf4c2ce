"""A defect of the product while the loop turns: it ends no process, and acts on nobody by guess."""

import pytest

from reconciler.cluster import defects
from reconciler.cluster.world import World
from reconciler.control.turn import loop as turning
from reconciler.control.turn import revalidation
from reconciler.control.turn.loop import ControlLoop
from reconciler.control.turn.memory_store import InMemoryStore
from reconciler.control.turn.revalidation import Moved, Stands
from reconciler.control.turn.turn_report import LoopReport, ResultState
from reconciler.decisions import view
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import Action, ActionKind
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


def test_a_node_that_fails_what_a_killed_process_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """The turn goes on without that node, and decides for all others."""
    monkeypatch.setattr(defects, "CAUGHT", (Exception,))
    whole = turning.recovered

    def recovered(memory: Memory, world: World, now_seconds: int) -> Memory:
        if any(node.name == "a-1" and not world.node_shapes[node.shape].unschedulable for node in world.nodes):
            raise OverflowError("made up")
        return whole(memory, world, now_seconds)

    monkeypatch.setattr(turning, "recovered", recovered)
    assert {one.action.group for one in _turn().results} == {"a", "b"}


def test_a_removal_that_cannot_be_judged_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its node stays, and the other empty node goes."""
    whole = revalidation.revalidate

    def revalidate(action: Action, judged: World, fresh: World) -> Stands | Moved:
        if action.nodes == ("a-1",):
            raise KeyError("made up")
        return whole(action, judged, fresh)

    monkeypatch.setattr(turning, "revalidate", revalidate)
    rules = policy(node_group("a", min=0, max=5), node_group("b", min=0, max=5))
    cluster = ClusterBuilder()
    for name in ("a", "b"):
        cluster.group(name, nodes=1, cpu="4")
    store = InMemoryStore()
    store.save(Memory(unneeded_since={"a-1": NOW - 86_400, "b-1": NOW - 86_400}))
    simulated = SimulatedCluster(cluster.world(), rules, NOW)
    simulated.advance_to(NOW)
    report = ControlLoop(SimulatedPort(simulated), _InForce(rules), store).turn()
    assert {(one.action.nodes, one.state, one.action.kind) for one in report.results} == {
        (("a-1",), ResultState.FAILED, ActionKind.REMOVE_NODE), (("b-1",), ResultState.DONE, ActionKind.REMOVE_NODE),
    }  # fmt: skip
