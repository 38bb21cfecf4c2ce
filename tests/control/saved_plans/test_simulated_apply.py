"""A saved plan on the embedded cluster: what is said to be done has come to its end there."""

from types import SimpleNamespace

import pytest

from reconciler.control.saved_plans.apply_document import apply_document
from reconciler.control.saved_plans.simulated_apply import LONGEST_SECONDS, SimulatedApply
from reconciler.decisions.decide import DEFAULT_WORK_BUDGET, decide
from reconciler.decisions.memory import Memory
from reconciler.policy.documents import Budget, Consolidation, PolicySet, ScaleDown, Toggle
from reconciler.rendering.documents.apply import ApplyDocument
from tests.builders import NOW, ClusterBuilder, node_group, policy

AT_ONCE = ScaleDown(unneeded_time_seconds=0)
CHEAPER = ScaleDown(unneeded_time_seconds=0, consolidation=Consolidation(mode=Toggle.ENABLED))


def applied(cluster: ClusterBuilder, rules: PolicySet) -> tuple[ApplyDocument, set[str]]:
    """What became of the plan of a cluster, and the nodes there afterwards."""
    world = cluster.world()
    plan = decide(world, rules, Memory(), NOW)[0]
    stage = SimulatedApply(world, rules, NOW, plan, None, DEFAULT_WORK_BUDGET)
    document = apply_document(plan, stage.run()[0], NOW)
    return document, set(stage.cluster.objects.nodes)


def two_nodes(**traits: object) -> ClusterBuilder:
    """One node is half full, and one has a small pod, which fits on the other."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2, cpu="4")
    cluster.pods("big", 1, cpu="2", on="general-1")
    cluster.pods("small", 1, cpu="1", on="general-2", traits=traits)
    return cluster


@pytest.mark.parametrize(("grace_seconds", "state"), [(30, "Done"), (500, "Done"), (900, "Failed")])
def test_a_removal_is_done_when_its_node_has_left(grace_seconds: int, state: str):
    """A pod takes its grace period to end, and a drain is given up after 600 s: the action follows the node."""
    document, nodes = applied(two_nodes(grace_seconds=grace_seconds), policy(node_group("general", min=1, scale_down=AT_ONCE)))
    (action,) = document.actions
    assert (action.kind, action.nodes, action.state) == ("RemoveNode", ("general-2",), state)
    assert nodes == ({"general-1"} if state == "Done" else {"general-1", "general-2"})
    assert [why.code for why in action.reasons] == ([] if state == "Done" else ["DrainTimeout"])
    assert document.complete is (state == "Done")


def test_a_replacement_is_done_when_the_old_nodes_have_left():
    """Two nodes of 0.20 that one of 0.30 can stand in for: it has come, they are gone."""
    cluster = ClusterBuilder()
    cluster.group("small", nodes=2, cpu="4")
    cluster.group("mega", nodes=0, cpu="8")
    cluster.pods("web", 2, cpu="3", on=["small-1", "small-2"])
    prices = {"small": "0.20", "mega": "0.30"}
    groups = (node_group(name, price_per_hour=price, scale_down=CHEAPER) for name, price in prices.items())
    document, nodes = applied(cluster, policy(*groups, budgets=(Budget(nodes=100),)))
    assert [(action.kind, action.nodes, action.state) for action in document.actions] == [
        ("Replace", ("small-1", "small-2"), "Done")
    ]
    assert nodes == {"mega-1"}


def happened(cluster: ClusterBuilder, rules: PolicySet) -> tuple[str, ...]:
    """What is told of the plan of a cluster."""
    world = cluster.world()
    plan = decide(world, rules, Memory(), NOW)[0]
    return SimulatedApply(world, rules, NOW, plan, None, DEFAULT_WORK_BUDGET).run()[1]


def test_what_happened_to_a_node_that_leaves():
    """Its pod gets 30 s to end and finds the room that is left; then the machine takes 20 s to go."""
    assert happened(two_nodes(grace_seconds=30), policy(node_group("general", min=1, scale_down=AT_ONCE))) == (
        "MachineDeployment prod/general: replicas 2 -> 1, written by nodegroup-reconciler",
        "1 node (general-2) began to drain",
        "1 pod (shop/small-1) evicted",
        "1 node (general-2) gone, the last after 50s",
        "pods without a node: 0 before, 0 after",
    )


def test_what_happened_to_nodes_that_come():
    """Five are asked for, three are named; of six pods one is too large for any."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0, cpu="4")
    cluster.pods("web", 5, cpu="3")
    cluster.pods("giant", 1, cpu="64")
    assert happened(cluster, policy(node_group("general"))) == (
        "MachineDeployment prod/general: replicas 0 -> 5, written by nodegroup-reconciler",
        "5 nodes (general-1, general-2, general-3 and 2 more) joined, the last after 1m30s",
        "pods without a node: 6 before, 1 after",
    )


def test_three_nodes_are_all_named():
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0, cpu="4")
    cluster.pods("web", 3, cpu="3")
    assert "3 nodes (general-1, general-2, general-3) joined, the last after 1m30s" in happened(
        cluster, policy(node_group("general"))
    )


def test_what_happened_to_a_node_that_stays():
    """Its pod takes a quarter of an hour to end, and a drain ten minutes at most."""
    assert happened(two_nodes(grace_seconds=900), policy(node_group("general", min=1, scale_down=AT_ONCE))) == (
        "1 node (general-2) began to drain",
        "1 pod (shop/small-1) evicted",
        "general-2: DrainTimeout: 1 pod has not ended",
        "pods without a node: 0 before, 0 after",
    )


def _stage() -> SimulatedApply:
    world, rules = two_nodes().world(), policy(node_group("general"))
    return SimulatedApply(world, rules, NOW, decide(world, rules, Memory(), NOW)[0], None, DEFAULT_WORK_BUDGET)


@pytest.mark.parametrize(
    ("replacing", "due", "looks"),
    [(False, None, None), (False, 500, 500), (True, None, 160), (True, 130, 130), (True, 500, 160)],
)
def test_when_it_looks_again(*, replacing: bool, due: int | None, looks: int | None):
    """When something happens; at a replacement each minute, whether or not something does."""
    stage = _stage()
    stage.cluster = SimpleNamespace(agenda=SimpleNamespace(next_seconds=due), now_seconds=100)  # type: ignore[assignment]
    stage._departures = SimpleNamespace(replacing=replacing)  # type: ignore[assignment]
    assert stage._next_seconds() == looks


def test_an_hour_is_waited_for(monkeypatch: pytest.MonkeyPatch):
    """What happens then is still seen, what happens later is not."""
    assert LONGEST_SECONDS == 3600
    stage, seen = _stage(), list[int]()
    due = iter((NOW + 3600, NOW + 3601))
    monkeypatch.setattr(stage, "_next_seconds", lambda: next(due))
    monkeypatch.setattr(stage.cluster, "advance_to", seen.append)
    stage.run()
    assert NOW + 3600 in seen
    assert NOW + 3601 not in seen
