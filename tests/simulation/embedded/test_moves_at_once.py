"""Pods that move all at once end where they would end one after the other, and what is special about a pod is left to those who
know it."""

import random

import msgspec
import pytest

from reconciler.cluster.pods.pod_table import PodTable
from reconciler.cluster.world import World
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.embedded.durations import AT_ONCE, NO_DELAY
from reconciler.simulation.embedded.journal import Happened
from reconciler.simulation.embedded.moves_at_once import MovesAtOnce
from reconciler.simulation.embedded.writes import SimulatedWrites
from reconciler.simulation.execution import execute
from reconciler.simulation.settled import Rest, come_to_rest
from tests.benchmarks.mixed.situations import Situation, small
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.properties.random_clusters import random_cluster


def _situation(seed: int) -> Situation:
    if seed % 2:
        return small(seed)
    rng = random.Random(seed)
    found = random_cluster(seed, headroom=rng.random() < 0.5, expendable=rng.random() < 0.5, protected=rng.random() < 0.5)
    return found.world, found.policy, Memory(unneeded_since=dict.fromkeys((node.name for node in found.world.nodes), NOW - 9_999))


def _rest(seed: int) -> Rest:
    world, rules, memory = _situation(seed)
    plan, memory = decide(world, rules, memory, NOW)
    return come_to_rest(world, rules, memory, NOW, plan)


def _outcome(rest: Rest) -> tuple[object, ...]:
    sizes = {line.name: line.settled for line in rest.plan.groups}
    budgets = [(budget.name, budget.current_healthy, budget.disruptions_allowed) for budget in rest.world.budgets]
    return sizes, len(rest.impact.waiting), len(rest.world.pods), budgets


@pytest.mark.seeds(6)
def test_at_once_is_one_after_the_other(seed: int, monkeypatch: pytest.MonkeyPatch):
    """Sizes, pods that wait and the status of disruption budgets, where everything has come to rest."""
    together = _outcome(_rest(seed))
    monkeypatch.setattr(MovesAtOnce, "step", lambda self: False)
    assert _outcome(_rest(seed)) == together


def _drained(cluster: ClusterBuilder, world: World | None = None, **durations: object) -> SimulatedCluster:
    """`general-1` has been drained, in no time."""
    simulated = SimulatedCluster(
        world or cluster.world(),
        policy(node_group("general", min=0)),
        NOW,
        durations=msgspec.structs.replace(NO_DELAY, **durations),
        otherwise=AT_ONCE,
    )
    node = simulated.objects.nodes["general-1"]
    simulated.drains.begin(node, None, lambda: None, lambda _: None)
    simulated.advance_to(NOW)
    return simulated


def _three() -> ClusterBuilder:
    cluster = ClusterBuilder()
    cluster.group("general", nodes=3, cpu="4")
    cluster.pods("web", 4, cpu="1", on=["general-1", "general-1", "general-2", "general-3"])
    return cluster


def _on(simulated: SimulatedCluster) -> dict[str, str]:
    world = simulated.world()
    return {pod.name: world.nodes[pod.node].name if pod.node >= 0 else "" for pod in world.pods}


def test_pods_keep_their_names_and_are_young():
    """They run on the first node that has room. Their age is that of a new pod, and nobody made objects of the others."""
    simulated = _drained(_three())
    assert _on(simulated) == {"web-1": "general-2", "web-2": "general-2", "web-3": "general-2", "web-4": "general-3"}
    ages = {pod.name: pod.created_seconds for pod in simulated.world().pods}
    assert [ages["web-1"], ages["web-2"]] == [NOW, NOW]
    assert ages["web-3"] < NOW
    assert [event.object for event in simulated.journal.events if event.kind is Happened.POD_EVICTED] == [
        "shop/web-1",
        "shop/web-2",
    ]
    assert simulated.objects.pods.made() == []


def test_a_budget_of_one_lets_all_go_one_after_the_other():
    """Each runs elsewhere before the next one goes. A budget that allows nothing keeps them."""
    cluster = _three()
    cluster.budget("web", max_unavailable="1", allowed=1, healthy=4, desired=3, expected=4)
    simulated = _drained(cluster)
    assert "general-1" not in _on(simulated).values()
    assert [budget.disruptions_allowed for budget in simulated.world().budgets] == [1]
    cluster = _three()
    cluster.budget("web", max_unavailable="0", allowed=0, healthy=4, desired=4, expected=4)
    assert _on(_drained(cluster))["web-1"] == "general-1"


def test_pods_that_find_no_room_are_evicted_too():
    """Eleven of twelve cores are taken: one of the two pods waits afterwards, under a new name."""
    cluster = _three()
    cluster.pods("full", 2, cpu="2", on=["general-2", "general-3"])
    cluster.pods("last", 1, cpu="1", on="general-3")
    placed = _on(_drained(cluster))
    assert sorted(node for name, node in placed.items() if name.startswith("web")) == ["", "general-2", "general-2", "general-3"]


def test_a_pod_that_nobody_makes_again_is_gone():
    cluster = _three()
    world = cluster.world()
    lone = tuple(msgspec.structs.replace(traits, controller=None) for traits in world.pod_traits)
    simulated = _drained(cluster, msgspec.structs.replace(world, pod_traits=lone))
    assert set(_on(simulated)) == {"web-3", "web-4"}


@pytest.mark.parametrize("field", ["deletion_seconds", "nominated"])
def test_with_pods_that_end_or_are_promised_it_goes_one_by_one(field: str):
    """What such pods lead to is more than a move. The others get new names, as from their controllers."""
    world = _three().world()
    rows = [*world.pods]
    rows[3] = msgspec.structs.replace(rows[3], **{field: NOW + 60 if field == "deletion_seconds" else 1})
    simulated = _drained(_three(), msgspec.structs.replace(world, pods=PodTable(rows)), honour_grace=False)
    assert "web-1" not in _on(simulated) or field == "deletion_seconds"
    assert "general-1" not in _on(simulated).values()


def test_what_takes_time_is_not_done_at_once():
    """Pods that start in three seconds wait for that."""
    simulated = _drained(_three(), pod_start_seconds=3)
    assert "web-1" not in _on(simulated)


def test_nodes_of_one_plan_leave_together():
    """The loop's own writes: two nodes drained by one plan are gone, with their machines."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=3, cpu="4")
    cluster.pods("web", 3, cpu="1", on=["general-1", "general-2", "general-3"])
    world, rules = cluster.world(), policy(node_group("general"))
    memory = Memory(unneeded_since=dict.fromkeys(("general-1", "general-2", "general-3"), NOW - 9_999))
    plan, _ = decide(world, rules, memory, NOW)
    simulated = SimulatedCluster(world, rules, NOW, durations=NO_DELAY, otherwise=AT_ONCE)
    execute(plan, simulated, SimulatedWrites(simulated))
    left = {node.name for node in simulated.world().nodes}
    assert left == {machine.node for machine in simulated.world().machines}
    assert len(left) == 3 - sum(len(action.nodes) for action in plan.actions)
    assert set(_on(simulated).values()) <= left
