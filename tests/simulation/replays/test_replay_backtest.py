"""Snapshots one after the other as demand."""

import msgspec
import pytest

from reconciler.cluster.world import World
from reconciler.simulation.replays.backtest import BacktestError, backtest
from reconciler.simulation.replays.replay import replay
from tests.builders import NOW, ClusterBuilder
from tests.policies import node_group, policy

HOUR = 3_600


def capture(hours: int, replicas: int, *, pending: int = 0, nodes: int = 1, bare: bool = False) -> World:
    """A cluster of nodes with four cores; `replicas` pods of one core run on the first, `pending` more wait."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=nodes, cpu="4", memory="16Gi")
    cluster.pods("web", replicas + pending, cpu="1", on=["general-1"] * replicas + [None] * pending)
    if bare:
        cluster.pods("lonely", 1, cpu="1", owner=None, on=[None])
    cluster.daemonset("agent")
    return msgspec.structs.replace(cluster.world(), captured_seconds=NOW + hours * HOUR)


def test_pods_of_each_capture_are_wanted_until_the_next():
    """Three, then three and four that wait, then two: pending ones count like running ones; DaemonSets are no demand."""
    found = backtest("history", [("c", capture(3, 2)), ("a", capture(0, 3)), ("b", capture(1, 3, pending=4))])
    trace = found.trace
    assert (trace.start_seconds, trace.end_seconds) == (NOW, NOW + 5 * HOUR)
    assert trace.present == (3,)
    assert [(step.at_seconds - NOW, step.changes) for step in trace.steps] == [(HOUR, ((0, 7),)), (3 * HOUR, ((0, 2),))]
    assert trace.peak_pods == 7


def test_the_demand_of_captures_is_replayed():
    """Seven pods want two more nodes when the second capture was taken; they are not needed any more from the third on."""
    found = backtest("history", [("a", capture(0, 3)), ("b", capture(1, 3, pending=4)), ("c", capture(3, 2))])
    side = replay([("p", policy(node_group("general", min=1, max=5)))], found.trace, found.world, lead_seconds=0).sides[0]
    # Beside the agent's pod a node has room for three: all four wait for the machines, which also get agents that nobody counts.
    # Of the seven the youngest of the two nodes that have three go first, then two of the first node: the one pod of the third
    # node is left beside it, is evicted, and gets a place at once.
    assert (side.pods_placed, side.evictions) == (5, 1)
    assert (side.wait_p50_seconds, side.unplaced_pod_seconds) == (90, 4 * 90)
    assert (side.grown_nodes, side.removed_nodes, side.peak_nodes, side.pods_pending) == (2, 2, 3, 0)


def test_a_pod_without_controller_is_wanted_by_its_name():
    """It comes with the second capture and goes with the third."""
    captures = [("a", capture(0, 3)), ("b", capture(1, 3, bare=True)), ("c", capture(3, 3))]
    found = backtest("history", captures)
    assert [source.pod_name for source in found.trace.sources if source.traits.controller is None] == ["lonely-1"]
    side = replay([("p", policy(node_group("general", min=1, max=5)))], found.trace, found.world, lead_seconds=0).sides[0]
    assert (side.pods_placed, side.pods_pending, side.wait_max_seconds) == (1, 0, 90)


def test_one_capture_is_no_history():
    """Neither are two of the same instant, nor one of no instant."""
    with pytest.raises(BacktestError, match="at least two"):
        backtest("h", [("a", capture(0, 3))])
    with pytest.raises(BacktestError, match="a and b were taken at the same instant"):
        backtest("h", [("a", capture(0, 3)), ("b", capture(0, 3))])
    unknown = msgspec.structs.replace(capture(0, 3), captured_seconds=0)
    with pytest.raises(BacktestError, match="nothing in b tells when"):
        backtest("h", [("a", capture(0, 3)), ("b", unknown)])


def test_what_later_captures_refer_to_is_there():
    """A budget and a controller that only the second capture has."""
    later = ClusterBuilder()
    later.group("general", nodes=1, cpu="4", memory="16Gi")
    later.pods("new", 1, cpu="1", on=[None])
    later.budget("new", min_available="50%")
    second = msgspec.structs.replace(later.world(), captured_seconds=NOW + HOUR)
    world = backtest("h", [("a", capture(0, 3)), ("b", second)]).world
    assert "new" in [budget.name for budget in world.budgets]
    assert {"new", "web"} <= {controller.name for controller in world.controllers}
